//! Cuts a trace into windows that are analysed one by one.
//!
//! Windows are for detectors whose memory or time does not allow the whole trace. Accesses in different windows are never compared,
//! and what orders two accesses of one window is searched for in that window alone: a race may be missed, and a pair may be
//! suspected that the rest of the trace orders. Sections that are open where a window begins count as beginning there.

use mayhap_trace::validate::Validator;
use mayhap_trace::{Columns, Error, Event, EventId, NONE, Op, Tables};

use crate::stream::{Access, Feed, Input, Joined, Pass, Sync, check_length};

/// Events of a window that take part: checked, and without marks, branches and re-entrant lock operations.
#[derive(Default)]
struct Buffer {
    events: Columns,
    ids: Vec<u32>,
    /// For each of them, its partner ([`Sync::partner`]) and whether it is the write of a read-modify-write.
    notes: Vec<(u32, bool)>,
    /// The acquires of the sections that are open where it begins.
    open: Vec<Event>,
    /// First event, and one beyond the last.
    start: usize,
    end: usize,
}

/// One window.
pub(crate) struct Window<'a> {
    buffer: &'a Buffer,
    tables: &'a Tables,
}

impl Feed for Window<'_> {
    fn feed<P: Pass>(&mut self, pass: &mut P) -> Result<u64, Error> {
        pass.grow(self.tables);
        for event in &self.buffer.open {
            pass.sync(&Sync { id: self.buffer.start as u32, event, partner: None });
        }
        let events = self.buffer.events.iter().zip(&self.buffer.ids).zip(&self.buffer.notes);
        for ((event, &id), &(partner, updates)) in events {
            if !event.op.is_access() {
                let partner = (partner != NONE).then_some(partner);
                pass.sync(&Sync { id, event: &event, partner });
                continue;
            }
            let access = Access::of(id, &event, updates);
            if pass.access(access) {
                return Ok((id as usize + 1 - self.buffer.start) as u64);
            }
        }
        Ok((self.buffer.end - self.buffer.start) as u64)
    }
}

/// Passes each window of `length` events to `look` until that returns `true`. Returns the number of windows, and the names that
/// occurred.
pub(crate) fn each_window(
    input: &mut dyn Input,
    length: u64,
    mut look: impl FnMut(&mut Window<'_>) -> Result<bool, Error>,
) -> Result<(u64, Tables), Error> {
    let length = usize::try_from(length.max(1)).unwrap_or(usize::MAX);
    let mut source = input.open()?;
    let mut validator = Validator::new();
    let mut joined = Joined::default();
    let (mut chunk, mut buffer, mut count) = (Columns::default(), Buffer::default(), 0);
    while source.next_chunk(&mut chunk)? {
        check_length(buffer.end + chunk.len())?;
        for event in chunk.iter() {
            if buffer.end - buffer.start == length {
                count += 1;
                if look(&mut Window { buffer: &buffer, tables: source.tables() })? {
                    return Ok((count, source.into_tables()));
                }
                buffer.advance();
            }
            let step = validator.step(source.tables(), EventId::at(buffer.end), &event)?;
            let updates = joined.take(&event);
            if step.relevant && event.op != Op::Branch {
                buffer.push(event, step.partner.map_or(NONE, EventId::cell), updates);
            }
            buffer.end += 1;
        }
    }
    if buffer.end > buffer.start {
        count += 1;
        look(&mut Window { buffer: &buffer, tables: source.tables() })?;
    }
    Ok((count, source.into_tables()))
}

impl Buffer {
    fn push(&mut self, event: Event, partner: u32, updates: bool) {
        self.events.push(event);
        self.ids.push(self.end as u32);
        self.notes.push((partner, updates));
    }

    /// Proceeds to the next window, with the sections that are open now.
    fn advance(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        for event in self.events.iter().filter(|e| e.op.is_lock()) {
            if event.op.is_acquire() {
                open.push(event);
                continue;
            }
            let shared = event.op.is_shared();
            let same = |e: &Event| e.thread == event.thread && e.object == event.object && e.op.is_shared() == shared;
            if let Some(at) = open.iter().rposition(same) {
                open.remove(at);
            }
        }
        self.events.clear();
        self.ids.clear();
        self.notes.clear();
        *self = Buffer { open, start: self.end, ..std::mem::take(self) };
    }
}
