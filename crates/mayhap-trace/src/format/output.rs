//! Creates files so that a name never refers to half a trace: the bytes go to a temporary file next to it, which takes
//! the name when it is complete and goes away when it is not, unless it was said that a part is worth keeping.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use super::Compression;

/// Where a writer's bytes go.
pub trait Sink: Write {
    /// Should writing fail, what was written until then is worth keeping.
    fn keep_part(&mut self) {}

    /// All bytes have been written.
    fn complete(self) -> io::Result<()>;

    /// All bytes have been written; `head` replaces the first of them and `edit` changes the rest, eight-byte record by
    /// record. For formats whose beginning says what comes later.
    fn complete_with(self, head: &[u8], edit: &mut dyn FnMut(&mut [u8])) -> io::Result<()>;
}

impl Sink for &mut Vec<u8> {
    fn complete(self) -> io::Result<()> {
        Ok(())
    }

    fn complete_with(self, head: &[u8], edit: &mut dyn FnMut(&mut [u8])) -> io::Result<()> {
        let (front, records) = self.split_at_mut(head.len());
        front.copy_from_slice(head);
        records.chunks_exact_mut(8).for_each(edit);
        Ok(())
    }
}

const BUFFER: usize = 1 << 17;

/// A file being written.
pub(super) struct Output {
    stream: Stream,
    file: PendingFile,
    /// The compression of a file that is written plain at first because its bytes are still to be changed.
    later: Option<Compression>,
}

enum Stream {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(ZstdEncoder<'static, BufWriter<File>>),
}

impl Stream {
    fn new(file: File, compression: Compression) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(match compression {
            Compression::None => Stream::Plain(file),
            Compression::Gzip => Stream::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Compression::Zstd => {
                let mut encoder = ZstdEncoder::new(file, 3)?;
                encoder.include_checksum(true)?;
                Stream::Zstd(encoder)
            }
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Stream::Plain(out) => out,
            Stream::Gzip(out) => out,
            Stream::Zstd(out) => out,
        }
    }

    /// Ends the compression and empties the buffer.
    fn into_file(self) -> io::Result<File> {
        let buffered = match self {
            Stream::Plain(out) => out,
            Stream::Gzip(out) => out.finish()?,
            Stream::Zstd(out) => out.finish()?,
        };
        buffered.into_inner().map_err(|e| e.into_error())
    }
}

impl Output {
    /// Begins a file that will be called `path`.
    pub(super) fn create(path: &Path, compression: Compression) -> io::Result<Self> {
        let (file, handle) = PendingFile::create(path)?;
        Ok(Output { stream: Stream::new(handle, compression)?, file, later: None })
    }

    /// Begins a file that will be changed when it is complete.
    pub(super) fn create_editable(path: &Path, compression: Compression) -> io::Result<Self> {
        let (file, handle) = PendingFile::create(path)?;
        if file.temporary.is_none() {
            return Err(io::Error::other("the format needs a regular file to be written to"));
        }
        Ok(Output { stream: Stream::new(handle, Compression::None)?, file, later: Some(compression) })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.writer().write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.writer().write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.writer().flush()
    }
}

impl Sink for Output {
    fn keep_part(&mut self) {
        self.file.keep_part = true;
    }

    fn complete(self) -> io::Result<()> {
        let handle = self.stream.into_file()?;
        self.file.keep(handle)
    }

    fn complete_with(self, head: &[u8], edit: &mut dyn FnMut(&mut [u8])) -> io::Result<()> {
        let mut plain = self.stream.into_file()?;
        plain.seek(SeekFrom::Start(head.len() as u64))?;
        let mut plain = BufReader::with_capacity(BUFFER, plain);
        // What is kept is a second file: the first goes away with its pending name.
        let (file, handle) = PendingFile::create(&self.file.path)?;
        let mut out = Stream::new(handle, self.later.unwrap_or(Compression::None))?;
        out.writer().write_all(head)?;
        let mut record = [0; 8];
        while !plain.fill_buf()?.is_empty() {
            plain.read_exact(&mut record)?;
            edit(&mut record);
            out.writer().write_all(&record)?;
        }
        file.keep(out.into_file()?)
    }
}

/// A file under a temporary name; removed unless kept.
struct PendingFile {
    temporary: Option<PathBuf>,
    path: PathBuf,
    keep_part: bool,
}

impl PendingFile {
    /// Creates the temporary file. A path that exists and is not a regular file (a pipe, a terminal) is written directly.
    fn create(path: &Path) -> io::Result<(Self, File)> {
        // A link is kept: the file that it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                let handle = OpenOptions::new().write(true).open(&path)?;
                return Ok((PendingFile { temporary: None, path, keep_part: false }, handle));
            }
            _ => {}
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for attempt in 0.. {
            let temporary = path.with_file_name(format!(".{name}.{}-{attempt}.partial", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&temporary) {
                Ok(handle) => return Ok((PendingFile { temporary: Some(temporary), path, keep_part: false }, handle)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(e) => return Err(e),
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// Gives the file its name once its bytes are on the disk.
    fn keep(mut self, handle: File) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            handle.sync_all()?;
            drop(handle);
            fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing is left to be done if even that fails.
            let _ = if self.keep_part { fs::rename(temporary, &self.path) } else { fs::remove_file(temporary) };
        }
    }
}
