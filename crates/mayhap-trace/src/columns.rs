//! Events as columns, and sources that deliver them piece by piece.

use crate::error::Error;
use crate::event::{Event, Op};
use crate::id::{LocId, ThreadId};
use crate::names::Tables;
use crate::summary::Summary;

/// How many events sources deliver at a time.
pub const CHUNK: usize = 1 << 16;

/// Events as a struct of arrays: 11 bytes an event.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Columns {
    /// Thread of each event.
    pub threads: Vec<u16>,
    /// Operation of each event.
    pub ops: Vec<Op>,
    /// Object cell of each event, see [`Event::object`].
    pub objects: Vec<u32>,
    /// Location cell of each event; [`crate::NONE`] where the trace gives none.
    pub locations: Vec<u32>,
}

impl Columns {
    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// No event.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Forgets the events, keeps the memory.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.ops.clear();
        self.objects.clear();
        self.locations.clear();
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.push_cells(event.thread.cell() as u16, event.op, event.object, event.location_cell());
    }

    /// Appends an event given as cells. The caller vouches that they index the tables.
    #[inline]
    pub fn push_cells(&mut self, thread: u16, op: Op, object: u32, location: u32) {
        self.threads.push(thread);
        self.ops.push(op);
        self.objects.push(object);
        self.locations.push(location);
    }

    /// The event at `index`.
    ///
    /// # Panics
    /// If `index` is not below [`Self::len`].
    #[inline]
    pub fn get(&self, index: usize) -> Event {
        Event {
            thread: ThreadId::at(self.threads[index] as usize),
            op: self.ops[index],
            object: self.objects[index],
            location: LocId::from_cell(self.locations[index]),
        }
    }

    /// All events in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends the events of `other`.
    pub fn append(&mut self, other: &Columns) {
        self.append_range(other, 0..other.len());
    }

    /// Appends the events of `other` at positions in `range`.
    ///
    /// # Panics
    /// If `range` is not within `other`.
    pub fn append_range(&mut self, other: &Columns, range: std::ops::Range<usize>) {
        self.threads.extend_from_slice(&other.threads[range.clone()]);
        self.ops.extend_from_slice(&other.ops[range.clone()]);
        self.objects.extend_from_slice(&other.objects[range.clone()]);
        self.locations.extend_from_slice(&other.locations[range]);
    }

    /// Gives back memory that growth reserved.
    pub fn shrink_to_fit(&mut self) {
        self.threads.shrink_to_fit();
        self.ops.shrink_to_fit();
        self.objects.shrink_to_fit();
        self.locations.shrink_to_fit();
    }

    /// Bytes of memory that the columns take.
    pub fn memory(&self) -> usize {
        self.threads.capacity() * 2 + self.ops.capacity() + (self.objects.capacity() + self.locations.capacity()) * 4
    }
}

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

    /// What is known of the whole trace, if the source knows: a native file that can be sought in tells it before the
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
