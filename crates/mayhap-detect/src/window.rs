//! Cuts a trace into windows that are analysed one by one.
//!
//! Windows are for detectors whose memory or time does not allow the whole trace. Accesses in different windows are never compared,
//! and what orders two accesses of one window is searched for in that window alone: a race may be missed, and a pair may be
//! suspected that the rest of the trace orders. Sections that are open where a window begins count as beginning there.

use mayhap_trace::validate::Validator;
use mayhap_trace::{Columns, Error, Event, EventId, Op, Tables};

use crate::stream::{Access, Feed, Input, Joined, Pass, Sync, check_length};

/// Events of a window that take part: checked, and without marks, branches and re-entrant lock operations.
#[derive(Default)]
struct Buffer {
    events: Columns,
    ids: Vec<u32>,
    /// Which of them have a partner ([`Sync::partner`]), and which are writes of read-modify-writes, in their order.
    partners: Vec<(usize, u32)>,
    updates: Vec<usize>,
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
        let mut partners = self.buffer.partners.iter().peekable();
        let mut updates = self.buffer.updates.iter().peekable();
        for (at, &id) in self.buffer.ids.iter().enumerate() {
            let event = self.buffer.events.get(at);
            if !event.op.is_access() {
                let partner = partners.next_if(|(of, _)| *of == at).map(|&(_, partner)| partner);
                pass.sync(&Sync { id, event: &event, partner });
                continue;
            }
            let updates = updates.next_if(|&&of| of == at).is_some();
            if pass.access(Access::of(id, &event, updates)) {
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
        for at in 0..chunk.len() {
            let event = chunk.get(at);
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
                buffer.push(event, step.partner, updates);
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
    #[inline]
    fn push(&mut self, event: Event, partner: Option<EventId>, updates: bool) {
        let at = self.ids.len();
        self.events.push(event);
        self.ids.push(self.end as u32);
        // The other partners, acquires of releases, are not asked for.
        if let Some(partner) = partner.filter(|_| event.op == Op::Wait || event.op.is_failed_attempt()) {
            self.partners.push((at, partner.cell()));
        }
        if updates {
            self.updates.push(at);
        }
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
        self.partners.clear();
        self.updates.clear();
        *self = Buffer { open, start: self.end, ..std::mem::take(self) };
    }
}
