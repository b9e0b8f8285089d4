//! Trace files.
//!
//! [`open`] and [`create`] choose the format by the file's name: `.std` (text), `.mhp` (native), `.data` (RapidBin), `.rr`
//! (RoadRunner's log, read only), each optionally followed by `.gz` or `.zst`. Whatever a file is called, compression and
//! the native format are recognised by their first bytes when reading.

mod fill;
mod input;
mod lines;
pub mod native;
mod output;
pub mod rapidbin;
pub mod roadrunner;
pub mod std_text;

use std::fmt;
use std::path::Path;

use output::Output;
pub use output::Sink;
pub use std_text::StdOptions;

use crate::columns::Columns;
use crate::error::{Error, Position};
use crate::names::Tables;
use crate::source::{Missing, Source};
use crate::summary::Summary;
use crate::trace::Trace;

/// Takes a trace piece by piece and writes it in some format.
pub trait TraceWriter {
    /// Takes the next events; `tables` names at least their ids and only grows between calls.
    fn write(&mut self, chunk: &Columns, tables: &Tables) -> Result<(), Error>;

    /// Adds bytes that are not events: `code` is the kind of their block ([`mayhap_wire::attachment`]). Formats other than
    /// the native one cannot carry them and pass over them.
    fn attach(&mut self, _code: u8, _bytes: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    /// Whether a partly written file is kept when writing fails; `false` if half a file of the format is useless.
    fn keep_part(&mut self) -> bool {
        false
    }

    /// Ends the output; `tables` are the names of the whole trace. Returns what the user should know, such as what the
    /// format could not carry. A writer that is dropped without this leaves no file,
    /// or a part if that was wanted.
    fn finish(self: Box<Self>, tables: &Tables) -> Result<Vec<String>, Error>;
}

/// A trace file's format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Text, one event a line.
    Std,
    /// mayhap's own.
    Native,
    /// RAPID's binary format.
    RapidBin,
    /// What RoadRunner's print tool logs. It can only be read.
    RoadRunner,
}

/// How a file is compressed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// It is not.
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

impl Format {
    /// The format and compression that a file's name selects.
    pub fn of(path: &Path) -> Result<(Format, Compression), Error> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let (stem, compression) = match name.rsplit_once('.') {
            Some((stem, "gz")) => (stem, Compression::Gzip),
            Some((stem, "zst")) => (stem, Compression::Zstd),
            _ => (name.as_str(), Compression::None),
        };
        let format = match stem.rsplit_once('.').map(|(_, extension)| extension) {
            Some("std") => Format::Std,
            Some("mhp") => Format::Native,
            Some("data") => Format::RapidBin,
            Some("rr") => Format::RoadRunner,
            _ => {
                let message = "unknown format: the name must end in .std, .mhp, .data or .rr, followed by .gz or .zst if compressed";
                return Err(Error::syntax(Position::Whole, message));
            }
        };
        Ok((format, compression))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Std => "STD",
            Format::Native => "native",
            Format::RapidBin => "RapidBin",
            Format::RoadRunner => "RoadRunner",
        })
    }
}

/// Opens a trace file for reading.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Source>, Error> {
    input::open(path.as_ref())
}

/// Creates a trace file. It appears under its name only when it is finished.
pub fn create(path: impl AsRef<Path>) -> Result<Box<dyn TraceWriter>, Error> {
    create_with(path, StdOptions::default())
}

/// The same, with what STD text should be like if it is one.
pub fn create_with(path: impl AsRef<Path>, options: StdOptions) -> Result<Box<dyn TraceWriter>, Error> {
    let path = path.as_ref();
    let (format, compression) = Format::of(path)?;
    Ok(match format {
        Format::Std => Box::new(std_text::StdWriter::with(Output::create(path, compression)?, options)),
        Format::Native => Box::new(native::NativeWriter::new(Output::create(path, compression)?)?),
        Format::RapidBin => Box::new(rapidbin::RapidBinWriter::new(Output::create_editable(path, compression)?)?),
        Format::RoadRunner => {
            return Err(Error::syntax(Position::Whole, "RoadRunner logs can be read but not written"));
        }
    })
}

/// A whole trace file in memory.
#[derive(Debug)]
pub struct Loaded {
    /// The trace.
    pub trace: Trace,
    /// What the file promised and did not have.
    pub missing: Option<Missing>,
    /// What the file says about the whole trace.
    pub summary: Option<Summary>,
    /// See [`Source::notes`].
    pub notes: Vec<String>,
}

/// Reads a trace file.
pub fn read(path: impl AsRef<Path>) -> Result<Loaded, Error> {
    load(open(path)?)
}

/// Reads a source to its end.
pub fn load(mut source: Box<dyn Source + '_>) -> Result<Loaded, Error> {
    let columns = Trace::columns_of(&mut *source)?;
    let (missing, summary, notes) = (source.missing(), source.summary().cloned(), source.notes());
    Ok(Loaded { trace: Trace::from_columns(columns, source.into_tables()), missing, summary, notes })
}

/// Writes a whole trace to a file.
pub fn write(path: impl AsRef<Path>, trace: &Trace) -> Result<Vec<String>, Error> {
    let mut writer = create(path)?;
    writer.write(trace.columns(), trace.tables())?;
    writer.finish(trace.tables())
}

/// Copies a source to a writer. `watch` sees the source and the chunk after each one, to show progress or to keep the events.
pub fn copy(
    source: &mut dyn Source,
    mut writer: Box<dyn TraceWriter + '_>,
    mut watch: impl FnMut(&dyn Source, &Columns),
) -> Result<Vec<String>, Error> {
    let mut chunk = Columns::default();
    while source.next_chunk(&mut chunk)? {
        writer.write(&chunk, source.tables())?;
        while let Some((code, bytes)) = source.attachment() {
            writer.attach(code, &bytes)?;
        }
        watch(source, &chunk);
    }
    while let Some((code, bytes)) = source.attachment() {
        writer.attach(code, &bytes)?;
    }
    let mut notes = source.notes();
    notes.extend(writer.finish(source.tables())?);
    Ok(notes)
}

/// Reads a trace from STD text.
pub fn parse_std(text: &str) -> Result<Trace, Error> {
    Trace::from_source(Box::new(std_text::StdReader::new(text.as_bytes())))
}
