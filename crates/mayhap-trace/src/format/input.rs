//! Opens files for reading: detects the format, unpacks, counts the bytes.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mayhap_wire::frame::{MAGIC, RECORDING};

use super::native::NativeReader;
use super::rapidbin::RapidBinReader;
use super::roadrunner::RoadRunnerReader;
use super::std_text::StdReader;
use super::{Compression, Format};
use crate::columns::Columns;
use crate::error::{Error, Position};
use crate::names::Tables;
use crate::source::{Missing, Progress, Source};
use crate::summary::Summary;

const BUFFER: usize = 1 << 17;

pub(super) fn open(path: &Path) -> Result<Box<dyn Source>, Error> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Error::syntax(Position::Whole, "this is a directory, not a trace file"));
    }
    let mut head = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut head)?;
    if head == RECORDING {
        let message = "this is a recording, not a trace yet: commands of mayhap that read traces make it one";
        return Err(Error::syntax(Position::Whole, message));
    }
    let compression = compression_of(&head);
    let seekable = metadata.is_file();
    if seekable {
        file.seek(SeekFrom::Start(0))?;
    }
    let read = Arc::new(AtomicU64::new(0));
    let total = seekable.then_some(metadata.len());
    let native = head == MAGIC;
    let source: Box<dyn Source> = if native && seekable {
        Box::new(NativeReader::with_summary(BufReader::with_capacity(
            BUFFER,
            Counted { inner: file, read: read.clone() },
        ))?)
    } else {
        // What was read to look at is put back in front of a pipe.
        let front = if seekable { Vec::new() } else { head };
        let input = Counted { inner: std::io::Cursor::new(front).chain(file), read: read.clone() };
        by_contents(path, unpack(input, compression)?)?
    };
    Ok(Box::new(FileSource { source, read, total }))
}

fn compression_of(head: &[u8]) -> Compression {
    match head {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

fn unpack(input: impl Read + 'static, compression: Compression) -> Result<Box<dyn Read>, Error> {
    Ok(match compression {
        Compression::None => Box::new(input),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, input))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(input)?),
    })
}

/// Returns the reader for unpacked contents: native by its magic, else as the name says.
fn by_contents(path: &Path, mut input: Box<dyn Read>) -> Result<Box<dyn Source>, Error> {
    let mut head = Vec::new();
    (&mut input).take(MAGIC.len() as u64).read_to_end(&mut head)?;
    let native = head == MAGIC;
    let empty = head.is_empty();
    let input = std::io::Cursor::new(head).chain(input);
    if native {
        return Ok(Box::new(NativeReader::new(BufReader::with_capacity(BUFFER, input))?));
    }
    let (format, _) = Format::of(path)?;
    if empty {
        return Err(Error::syntax(Position::Whole, "the file is empty"));
    }
    Ok(match format {
        Format::Std => Box::new(StdReader::new(input)),
        Format::RoadRunner => Box::new(RoadRunnerReader::new(input)),
        Format::Native => Box::new(NativeReader::new(BufReader::with_capacity(BUFFER, input))?),
        Format::RapidBin => Box::new(RapidBinReader::new(BufReader::with_capacity(BUFFER, input))?),
    })
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<R> {
    /// What was read before does not count any more.
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.read.store(0, Ordering::Relaxed);
        self.inner.seek(to)
    }
}

/// A source with the file that it comes from.
struct FileSource {
    source: Box<dyn Source>,
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Source for FileSource {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        self.source.next_chunk(chunk)
    }

    fn tables(&self) -> &Tables {
        self.source.tables()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.source.into_tables()
    }

    fn missing(&self) -> Option<Missing> {
        self.source.missing()
    }

    fn summary(&self) -> Option<&Summary> {
        self.source.summary()
    }

    fn progress(&self) -> Option<Progress> {
        let read = self.read.load(Ordering::Relaxed);
        self.total.map(|total| Progress { read: read.min(total), total })
    }

    fn notes(&self) -> Vec<String> {
        self.source.notes()
    }
}
