//! Events as columns.

use crate::event::Event;
use crate::flags::Flags;
use crate::id::{LocId, NONE, ThreadId, ValueId};
use crate::op::Op;

/// How many events sources deliver at a time.
pub const CHUNK: usize = 1 << 16;

/// Events as a struct of arrays: 11 bytes an event, 2 more where the trace has flags and 4 more where it has values.
#[derive(Clone, Default, Debug)]
pub struct Columns {
    /// Thread of each event.
    pub threads: Vec<u16>,
    /// Operation of each event.
    pub ops: Vec<Op>,
    /// Object cell of each event, see [`Event::object`].
    pub objects: Vec<u32>,
    /// Location cell of each event; [`crate::NONE`] where the trace gives none.
    pub locations: Vec<u32>,
    /// Flags of each event ([`crate::Flags::bits`]); empty if no event has any.
    pub flags: Vec<u16>,
    /// Value cell of each event; empty if no event has a value.
    pub values: Vec<u32>,
}

impl Columns {
    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there is no event.
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
        self.flags.clear();
        self.values.clear();
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.push_cells(event.thread.cell() as u16, event.op, event.object, event.location_cell());
        if event.flags != Flags::NONE || event.value.is_some() {
            self.set_last(event.flags, event.value_cell());
        }
    }

    /// Gives the last event its flags and value.
    #[inline]
    pub fn set_last(&mut self, flags: Flags, value: u32) {
        let Some(last) = self.len().checked_sub(1) else { return };
        if flags != Flags::NONE && self.flags.is_empty() {
            self.flags.resize(last + 1, 0);
        }
        if let Some(cell) = self.flags.last_mut() {
            *cell = flags.bits();
        }
        if value != NONE && self.values.is_empty() {
            self.values.resize(last + 1, NONE);
        }
        if let Some(cell) = self.values.last_mut() {
            *cell = value;
        }
    }

    /// Gives the event at `index` other flags.
    ///
    /// # Panics
    /// If `index` is not below [`Self::len`].
    pub fn set_flags(&mut self, index: usize, flags: Flags) {
        if self.flags.is_empty() {
            if flags == Flags::NONE {
                return;
            }
            self.flags.resize(self.len(), 0);
        }
        self.flags[index] = flags.bits();
    }

    /// Gives the event at `index` another value cell.
    ///
    /// # Panics
    /// If `index` is not below [`Self::len`].
    pub fn set_value(&mut self, index: usize, value: u32) {
        if self.values.is_empty() {
            if value == NONE {
                return;
            }
            self.values.resize(self.len(), NONE);
        }
        self.values[index] = value;
    }

    /// Returns the flags of the event at `index`.
    #[inline]
    pub fn flags_at(&self, index: usize) -> Flags {
        self.flags.get(index).and_then(|&bits| Flags::from_bits(bits)).unwrap_or_default()
    }

    /// Returns the value cell of the event at `index`.
    #[inline]
    pub fn value_at(&self, index: usize) -> u32 {
        self.values.get(index).copied().unwrap_or(NONE)
    }

    /// Appends an event given as cells. The caller vouches that they index the tables.
    #[inline]
    pub fn push_cells(&mut self, thread: u16, op: Op, object: u32, location: u32) {
        self.threads.push(thread);
        self.ops.push(op);
        self.objects.push(object);
        self.locations.push(location);
        if !self.flags.is_empty() {
            self.flags.push(0);
        }
        if !self.values.is_empty() {
            self.values.push(NONE);
        }
    }

    /// Returns the event at `index`.
    ///
    /// # Panics
    /// If `index` is not below [`Self::len`].
    #[inline(always)]
    pub fn get(&self, index: usize) -> Event {
        Event {
            thread: ThreadId::at(self.threads[index] as usize),
            op: self.ops[index],
            object: self.objects[index],
            location: LocId::from_cell(self.locations[index]),
            flags: self.flags_at(index),
            value: ValueId::from_cell(self.value_at(index)),
        }
    }

    /// Returns the event at `index` without its flags and value, which is the event if the columns have neither.
    ///
    /// # Panics
    /// If `index` is not below [`Self::len`].
    #[inline(always)]
    pub fn get_plain(&self, index: usize) -> Event {
        Event {
            thread: ThreadId::at(self.threads[index] as usize),
            op: self.ops[index],
            object: self.objects[index],
            location: LocId::from_cell(self.locations[index]),
            flags: Flags::NONE,
            value: None,
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
        let before = self.len();
        append_optional(&mut self.flags, before, &other.flags, range.clone(), 0);
        append_optional(&mut self.values, before, &other.values, range.clone(), NONE);
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
        self.flags.shrink_to_fit();
        self.values.shrink_to_fit();
    }

    /// Bytes of memory that the columns take.
    pub fn memory(&self) -> usize {
        self.threads.capacity() * 2
            + self.ops.capacity()
            + (self.objects.capacity() + self.locations.capacity()) * 4
            + self.flags.capacity() * 2
            + self.values.capacity() * 4
    }
}

/// Equal when they hold the same events: an optional column that holds nothing equals a missing one.
impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        fn same<T: Copy + PartialEq>(a: &[T], b: &[T], nothing: T) -> bool {
            match (a.is_empty(), b.is_empty()) {
                (true, _) => b.iter().all(|&cell| cell == nothing),
                (_, true) => a.iter().all(|&cell| cell == nothing),
                _ => a == b,
            }
        }
        self.threads == other.threads
            && self.ops == other.ops
            && self.objects == other.objects
            && self.locations == other.locations
            && same(&self.flags, &other.flags, 0)
            && same(&self.values, &other.values, NONE)
    }
}

impl Eq for Columns {}

/// Appends a range of an optional column, which is empty if every cell of it is `nothing`.
fn append_optional<T: Copy>(to: &mut Vec<T>, before: usize, from: &[T], range: std::ops::Range<usize>, nothing: T) {
    match (to.is_empty(), from.is_empty()) {
        (true, true) => {}
        (false, true) => to.resize(before + range.len(), nothing),
        (_, false) => {
            to.resize(before, nothing);
            to.extend_from_slice(&from[range]);
        }
    }
}
