//! Creates files so that a name never stands for half a trace: the bytes go to a temporary file beside it, which takes
//! the name when it is complete and goes away when it is not.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use super::Compression;

/// Where a writer's bytes go.
pub trait Sink: Write {
    /// All bytes have been written; `head` replaces the first of them, for formats that begin with their totals.
    fn complete(self, head: &[u8]) -> io::Result<()>;
}

impl Sink for &mut Vec<u8> {
    fn complete(self, head: &[u8]) -> io::Result<()> {
        self[..head.len()].copy_from_slice(head);
        Ok(())
    }
}

const BUFFER: usize = 1 << 17;

/// A file being written.
pub(super) struct Output {
    stream: Stream,
    file: PendingFile,
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
        Ok(Output { stream: Stream::new(handle, compression)?, file })
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
    fn complete(self, head: &[u8]) -> io::Result<()> {
        let mut handle = self.stream.into_file()?;
        if !head.is_empty() {
            handle.seek(SeekFrom::Start(0))?;
            handle.write_all(head)?;
        }
        self.file.keep(handle)
    }
}

/// A file under a temporary name; removed unless kept.
struct PendingFile {
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl PendingFile {
    /// Creates the temporary file. A path that exists and is no regular file (a pipe, a terminal) is written as it is.
    fn create(path: &Path) -> io::Result<(Self, File)> {
        // A link keeps pointing where it does: the file behind it is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                let handle = OpenOptions::new().write(true).open(&path)?;
                return Ok((PendingFile { temporary: None, path }, handle));
            }
            _ => {}
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for attempt in 0.. {
            let temporary = path.with_file_name(format!(".{name}.{}-{attempt}.partial", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&temporary) {
                Ok(handle) => return Ok((PendingFile { temporary: Some(temporary), path }, handle)),
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
            let _ = fs::remove_file(temporary);
        }
    }
}
