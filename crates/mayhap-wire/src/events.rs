//! The contents of a block of events: thread segments, then one column each for operations, objects and locations.
//!
//! Objects step from the object of the same table that the same thread named last, locations from the thread's last
//! location; both start at 0 in every block, so a block can be read on its own. A step is a zigzag number, stored as
//! byte planes: the low bytes of all events, then the next bytes, as many as the largest step needs. Planes decode
//! without a branch per event and compress well.

use core::fmt;

use crate::varint::{self, unzigzag, zigzag};
use crate::{limits, table};

/// How many operations there are. The codes are those of `mayhap_trace::Op`.
pub const OPS: usize = 19;
/// The entry of [`OBJECT`] for an operation without an object.
pub const NOTHING: u8 = 5;
/// The table that the object of each operation belongs to: read, write, acquire, release, shared acquire and release,
/// fork, join, wait, notify, notify all, branch, begin, end, try, failed acquire, failed shared acquire, failed wait, fence.
pub const OBJECT: [u8; OPS] = {
    use table::{CONDITIONS as C, LOCKS as L, THREADS as T, VARIABLES as V};
    [V, V, L, L, L, L, T, T, C, C, C, NOTHING, NOTHING, NOTHING, NOTHING, L, L, C, NOTHING]
};
/// The object or location cell that says "none".
pub const NONE: u32 = u32::MAX;

/// Events to encode: columns of one length.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a> {
    /// Thread of each event.
    pub threads: &'a [u16],
    /// Operation code of each event.
    pub ops: &'a [u8],
    /// Object of each event, [`NONE`] for operations without one.
    pub objects: &'a [u32],
    /// Location of each event or [`NONE`].
    pub locations: &'a [u32],
}

/// Columns to decode into: of one length, the block's number of events.
#[derive(Debug)]
pub struct EventsMut<'a> {
    /// Thread of each event.
    pub threads: &'a mut [u16],
    /// Operation code of each event.
    pub ops: &'a mut [u8],
    /// Object of each event.
    pub objects: &'a mut [u32],
    /// Location of each event.
    pub locations: &'a mut [u32],
}

/// What a thread named last within the block. Coder and decoder keep one for each thread between blocks only to avoid
/// clearing them: `block` says whether the rest is valid.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ThreadState {
    block: u64,
    last: [u32; 6],
    location: u32,
}

const _: () = assert!(size_of::<ThreadState>() == 40);

impl ThreadState {
    #[inline]
    fn enter(&mut self, block: u64) -> &mut Self {
        if self.block != block {
            *self = ThreadState { block, last: [0; 6], location: 0 };
            self.last[NOTHING as usize] = NONE;
        }
        self
    }
}

/// Why contents are not those of a block of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventsError {
    /// They end too early.
    Short,
    /// Bytes follow the last column.
    Long,
    /// The segments do not add up to the block's events.
    Segments,
    /// The event at this position within the block names a thread beyond its table.
    Thread(u32),
    /// The event at this position has an unknown operation.
    Op(u32),
    /// The event at this position names an object or a location beyond its table.
    Cell(u32),
    /// A column is wider than its cells.
    Width(u8),
    /// Columns follow that this version does not know.
    Columns(u8),
    /// The event at this position has a value beyond the table, or none of its own.
    Value(u32),
}

impl fmt::Display for EventsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventsError::Short => f.write_str("its contents end too early"),
            EventsError::Long => f.write_str("bytes follow its contents"),
            EventsError::Segments => f.write_str("its thread segments do not add up to its events"),
            EventsError::Thread(at) => write!(f, "its event {} names a thread that is not defined", at + 1),
            EventsError::Op(at) => write!(f, "its event {} has an unknown operation", at + 1),
            EventsError::Cell(at) => {
                write!(f, "its event {} names an object or a location that is not defined", at + 1)
            }
            EventsError::Width(width) => write!(f, "a column is {width} bytes wide"),
            EventsError::Columns(which) => write!(f, "its columns {which} are not known"),
            EventsError::Value(at) => write!(f, "its event {} has a value that is not defined", at + 1),
        }
    }
}

impl core::error::Error for EventsError {}

/// Encodes at most [`limits::BLOCK_EVENTS`] events into `out` and returns the length; `None` where `out` is too short
/// ([`limits::events_raw`] is always enough).
///
/// `states` has an entry for each thread; `block` is a number greater than 0 that no earlier call with these states had.
///
/// # Panics
/// If the columns differ in length, an operation code is unknown or a thread has no state.
pub fn encode(events: Events<'_>, states: &mut [ThreadState], block: u64, out: &mut [u8]) -> Option<usize> {
    let Events { threads, ops, objects, locations } = events;
    let count = ops.len();
    assert!(
        threads.len() == count && objects.len() == count && locations.len() == count && count <= limits::BLOCK_EVENTS
    );
    let segments = threads.chunk_by(|a, b| a == b);
    let mut at = varint::put(segments.clone().count() as u64, out)?;
    for segment in segments.clone() {
        at += varint::put(segment[0].into(), &mut out[at..])?;
        at += varint::put(segment.len() as u64, &mut out[at..])?;
    }
    out.get_mut(at..at + count)?.copy_from_slice(ops);
    at += count;
    let mut column = Column::new(out.get_mut(at..)?, count)?;
    let mut i = 0;
    for segment in segments.clone() {
        let state = states[usize::from(segment[0])].enter(block);
        for _ in segment {
            let last = &mut state.last[usize::from(OBJECT[usize::from(ops[i])])];
            column.put(i, zigzag(*last, objects[i]));
            *last = objects[i];
            i += 1;
        }
    }
    at += column.finish();
    let mut column = Column::new(out.get_mut(at..)?, count)?;
    i = 0;
    for segment in segments {
        let state = states[usize::from(segment[0])].enter(block);
        for _ in segment {
            let location = locations[i].wrapping_add(1);
            column.put(i, zigzag(state.location, location));
            state.location = location;
            i += 1;
        }
    }
    at += column.finish();
    Some(at)
}

/// A column being written: all four planes, of which as many are kept as the largest step needs.
pub(crate) struct Column<'a> {
    width: &'a mut u8,
    planes: [&'a mut [u8]; 4],
    all: u32,
}

impl<'a> Column<'a> {
    /// A column at the front of `out`, which needs room for all four planes.
    pub(crate) fn new(out: &'a mut [u8], count: usize) -> Option<Self> {
        let (width, planes) = out.split_first_mut()?;
        let (low, high) = planes.get_mut(..4 * count)?.split_at_mut(2 * count);
        let ((p0, p1), (p2, p3)) = (low.split_at_mut(count), high.split_at_mut(count));
        Some(Column { width, planes: [p0, p1, p2, p3], all: 0 })
    }

    #[inline]
    pub(crate) fn put(&mut self, i: usize, step: u32) {
        self.all |= step;
        for (plane, byte) in self.planes.iter_mut().zip(step.to_le_bytes()) {
            plane[i] = byte;
        }
    }

    /// Sets the width; returns how many bytes the column takes.
    pub(crate) fn finish(self) -> usize {
        *self.width = (32 - self.all.leading_zeros()).div_ceil(8) as u8;
        1 + usize::from(*self.width) * self.planes[0].len()
    }
}

/// Decodes the contents of a block into columns that have its number of events. Returns what follows the columns of
/// version 1: nothing there, and the columns of [`crate::properties`] since.
///
/// `sizes` are the numbers of names that the tables have so far; every cell that comes out indexes its table. `states`
/// and `block` as in [`encode`].
///
/// # Panics
/// If the columns differ in length or `states` is shorter than the table of threads.
pub fn decode<'b>(
    mut bytes: &'b [u8],
    sizes: &[usize; table::COUNT],
    states: &mut [ThreadState],
    block: u64,
    out: EventsMut<'_>,
) -> Result<&'b [u8], EventsError> {
    let count = out.ops.len();
    assert!(out.threads.len() == count && out.objects.len() == count && out.locations.len() == count);
    let segments = varint::take(&mut bytes).ok_or(EventsError::Short)?;
    let segment_bytes = bytes;
    take_threads(&mut bytes, segments, sizes[table::THREADS as usize], out.threads)?;
    let (ops, rest) = bytes.split_at_checked(count).ok_or(EventsError::Short)?;
    let bytes = rest;
    if let Some(at) = ops.iter().position(|&op| usize::from(op) >= OPS) {
        return Err(EventsError::Op(at as u32));
    }
    out.ops.copy_from_slice(ops);
    let bytes = take_column(bytes, out.objects)?;
    let further = take_column(bytes, out.locations)?;

    let bounds = Bounds::new(sizes);
    let (mut bytes, mut from, mut good) = (segment_bytes, 0, true);
    while from < count {
        let (thread, run) = take_segment(&mut bytes).ok_or(EventsError::Short)?;
        let to = from + run as usize;
        let state = states[thread as usize].enter(block);
        good &= bounds.step(state, &out.ops[from..to], &mut out.objects[from..to], &mut out.locations[from..to]);
        from = to;
    }
    if good { Ok(further) } else { Err(EventsError::Cell(bounds.first_bad(&out))) }
}

#[inline]
fn take_segment(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    if let [thread @ 0..0x80, run @ 0..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Some((u64::from(*thread), u64::from(*run)));
    }
    Some((varint::take(bytes)?, varint::take(bytes)?))
}

/// Reads the segments into the thread column and checks them.
fn take_threads(bytes: &mut &[u8], segments: u64, threads: usize, out: &mut [u16]) -> Result<(), EventsError> {
    let mut from = 0;
    for _ in 0..segments {
        let (thread, run) = take_segment(bytes).ok_or(EventsError::Short)?;
        if thread >= threads.min(limits::THREADS) as u64 {
            return Err(EventsError::Thread(from as u32));
        }
        if run == 0 || run > (out.len() - from) as u64 {
            return Err(EventsError::Segments);
        }
        let to = from + run as usize;
        out[from..to].fill(thread as u16);
        from = to;
    }
    if from == out.len() { Ok(()) } else { Err(EventsError::Segments) }
}

/// Reads a width and its planes as steps; returns what follows them.
pub(crate) fn take_column<'a>(bytes: &'a [u8], out: &mut [u32]) -> Result<&'a [u8], EventsError> {
    let (&width, bytes) = bytes.split_first().ok_or(EventsError::Short)?;
    if width > 4 {
        return Err(EventsError::Width(width));
    }
    let count = out.len();
    let (planes, rest) = bytes.split_at_checked(usize::from(width) * count).ok_or(EventsError::Short)?;
    let plane = |i: usize| &planes[i * count..(i + 1) * count];
    match width {
        0 => out.fill(0),
        1 => out.iter_mut().zip(plane(0)).for_each(|(o, &a)| *o = u32::from(a)),
        2 => {
            let low = plane(0).iter().zip(plane(1));
            out.iter_mut().zip(low).for_each(|(o, (&a, &b))| *o = u32::from_le_bytes([a, b, 0, 0]));
        }
        3 => {
            let low = plane(0).iter().zip(plane(1)).zip(plane(2));
            out.iter_mut().zip(low).for_each(|(o, ((&a, &b), &c))| *o = u32::from_le_bytes([a, b, c, 0]));
        }
        _ => {
            let all = plane(0).iter().zip(plane(1)).zip(plane(2)).zip(plane(3));
            out.iter_mut().zip(all).for_each(|(o, (((&a, &b), &c), &d))| *o = u32::from_le_bytes([a, b, c, d]));
        }
    }
    Ok(rest)
}

/// The cells that each table allows: `low..low + size` in wrapping arithmetic.
struct Bounds {
    low: [u32; 8],
    size: [u64; 8],
    locations: u64,
}

/// [`OBJECT`] with a length that any operation code below it can index unchecked.
const SLOT: [u8; 32] = {
    let mut slots = [NOTHING; 32];
    let mut i = 0;
    while i < OPS {
        slots[i] = OBJECT[i];
        i += 1;
    }
    slots
};

impl Bounds {
    fn new(sizes: &[usize; table::COUNT]) -> Self {
        let (mut low, mut size) = ([0; 8], [0; 8]);
        for (slot, &names) in size.iter_mut().zip(sizes) {
            *slot = names.min(limits::IDS) as u64;
        }
        low[NOTHING as usize] = NONE;
        size[NOTHING as usize] = 1;
        Bounds { low, size, locations: sizes[table::LOCATIONS as usize].min(limits::IDS) as u64 }
    }

    #[inline]
    fn allows(&self, slot: usize, object: u32) -> bool {
        u64::from(object.wrapping_sub(self.low[slot])) < self.size[slot]
    }

    /// Turns the steps of one segment into cells; `false` if one is out of bounds.
    #[inline]
    fn step(&self, state: &mut ThreadState, ops: &[u8], objects: &mut [u32], locations: &mut [u32]) -> bool {
        let mut last = [0; 8];
        last[..6].copy_from_slice(&state.last);
        let mut location = state.location;
        let mut good = true;
        for ((op, object), place) in ops.iter().zip(objects).zip(locations) {
            let slot = usize::from(SLOT[usize::from(op & 31)] & 7);
            let cell = unzigzag(last[slot], *object);
            last[slot] = cell;
            *object = cell;
            location = unzigzag(location, *place);
            *place = location.wrapping_sub(1);
            good &= self.allows(slot, cell) & (u64::from(location) <= self.locations);
        }
        state.last.copy_from_slice(&last[..6]);
        state.location = location;
        good
    }

    fn first_bad(&self, out: &EventsMut<'_>) -> u32 {
        let bad = |i: usize| {
            let slot = usize::from(SLOT[usize::from(out.ops[i] & 31)]);
            !self.allows(slot, out.objects[i]) || u64::from(out.locations[i].wrapping_add(1)) > self.locations
        };
        (0..out.ops.len()).find(|&i| bad(i)).unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; table::COUNT] = [3, 2, 300, 1, 70_000];
    const THREADS: [u16; 6] = [0, 0, 2, 2, 1, 0];
    const CODES: [u8; 6] = [0, 2, 1, 11, 6, 8];
    const OBJECTS: [u32; 6] = [299, 1, 0, NONE, 2, 0];
    const LOCATIONS: [u32; 6] = [NONE, 69_999, 0, 3, NONE, 1];

    fn encoded(out: &mut [u8]) -> Option<usize> {
        let events = Events { threads: &THREADS, ops: &CODES, objects: &OBJECTS, locations: &LOCATIONS };
        encode(events, &mut [ThreadState::default(); 3], 1, out)
    }

    fn decoded(bytes: &[u8], sizes: &[usize; table::COUNT]) -> Result<(), EventsError> {
        let (mut threads, mut ops, mut objects, mut locations) = ([0; 6], [0; 6], [0; 6], [0; 6]);
        let out = EventsMut { threads: &mut threads, ops: &mut ops, objects: &mut objects, locations: &mut locations };
        let states = &mut [ThreadState::default(); 3];
        if !decode(bytes, sizes, states, 1, out)?.is_empty() {
            return Err(EventsError::Long);
        }
        assert_eq!((threads, ops, objects, locations), (THREADS, CODES, OBJECTS, LOCATIONS));
        Ok(())
    }

    #[test]
    fn columns_round_trip() {
        let mut out = [0; limits::events_raw(6)];
        let length = encoded(&mut out).unwrap();
        assert_eq!(decoded(&out[..length], &SIZES), Ok(()));
        for short in 0..length {
            assert!(decoded(&out[..short], &SIZES).is_err(), "{short} bytes");
        }
        let mut long = [0; limits::events_raw(6) + 1];
        long[..length].copy_from_slice(&out[..length]);
        assert_eq!(decoded(&long[..length + 1], &SIZES), Err(EventsError::Long));
        for short in 0..length {
            assert_eq!(encoded(&mut [0; limits::events_raw(6)][..short]), None, "{short} bytes");
        }
        assert!(length < limits::events_raw(6));
    }

    #[test]
    fn cells_beyond_their_tables_are_refused() {
        let mut out = [0; limits::events_raw(6)];
        let length = encoded(&mut out).unwrap();
        let errors = [EventsError::Thread(2), EventsError::Cell(1), EventsError::Cell(0), EventsError::Cell(5)];
        for (index, error) in errors.into_iter().enumerate() {
            let mut sizes = SIZES;
            sizes[index] -= 1;
            assert_eq!(decoded(&out[..length], &sizes), Err(error));
        }
        let mut sizes = SIZES;
        sizes[4] = 69_999;
        assert_eq!(decoded(&out[..length], &sizes), Err(EventsError::Cell(1)));
    }
}
