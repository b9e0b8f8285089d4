//! Where events come from.

use crate::columns::Columns;
use crate::error::Error;
use crate::names::Tables;
use crate::summary::Summary;

/// A place where events come from: a file of any format, or a generator.
///
/// Ids are dense and grow as the source is read; after each chunk, [`Source::tables`] names every id in it.
pub trait Source {
    /// Replaces the contents of `chunk` by the next events. `false`, with an empty chunk, at the end.
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error>;

    /// The names of all ids delivered so far.
    fn tables(&self) -> &Tables;

    /// The tables, when the source has been read.
    fn into_tables(self: Box<Self>) -> Tables;

    /// Bytes that go with the trace without being events of it, piece by piece: the kind of their block, and they. A file
    /// that is read delivers none here; [`crate::format::native::attachments`] reads them.
    fn attachment(&mut self) -> Option<(u8, Vec<u8>)> {
        None
    }

    /// What is known to be missing from the source, such as the tail of a file that was cut off. Meaningful at the end.
    fn missing(&self) -> Option<Missing> {
        None
    }

    /// What is known about the whole trace, if the source knows: a native file that supports seeking provides it before the
    /// first event, one that is streamed only at its end.
    fn summary(&self) -> Option<&Summary> {
        None
    }

    /// How far into its input the source has read, if it has one of known length.
    fn progress(&self) -> Option<Progress> {
        None
    }

    /// What the user should know of the input besides its events, such as records that have no meaning here.
    /// Meaningful at the end.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How far a source has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes of the file, as stored, read so far.
    pub read: u64,
    /// Bytes of the file.
    pub total: u64,
}

/// What a source could not deliver although the input promised it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Events delivered.
    pub delivered: u64,
    /// Events that the input says it should have had, if it says.
    pub promised: Option<u64>,
    /// What is wrong, in one sentence.
    pub reason: String,
}
