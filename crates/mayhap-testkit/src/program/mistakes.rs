//! Traces as a recorder with a mistake would make them: what the program-level oracle must notice.

use mayhap_trace::{Columns, ConditionKind, Event, Flags, Op, Trace};

use super::lower::{Lowered, Origin};

/// A mistake of a recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// An acquire load waits for the release store that it read: a read that could have seen something else cannot.
    OrderedAtomics,
    /// Every write counts as a constant of the code, whatever its thread has read.
    NoTaint,
    /// Try and timed operations that failed are left out.
    NoFailedAttempts,
}

impl Mistake {
    /// All mistakes.
    pub const ALL: [Mistake; 3] = [Mistake::OrderedAtomics, Mistake::NoTaint, Mistake::NoFailedAttempts];

    /// Returns the trace with the mistake.
    pub fn make(self, lowered: &Lowered) -> Lowered {
        match self {
            Mistake::OrderedAtomics => order_atomics(lowered),
            Mistake::NoTaint => rebuild(lowered, |mut event| {
                if event.op == Op::Write {
                    event.flags = event.flags.with(Flags::CONSTANT);
                }
                Some(event)
            }),
            Mistake::NoFailedAttempts => rebuild(lowered, |event| (!event.op.is_failed_attempt()).then_some(event)),
        }
    }
}

fn rebuild(lowered: &Lowered, change: impl Fn(Event) -> Option<Event>) -> Lowered {
    let mut columns = Columns::default();
    let mut origins = Vec::new();
    for ((_, event), origin) in lowered.trace.events().zip(&lowered.origins) {
        if let Some(event) = change(event) {
            columns.push(event);
            origins.push(*origin);
        }
    }
    Lowered { trace: Trace::from_parts(columns, lowered.trace.tables().clone()), origins }
}

fn order_atomics(lowered: &Lowered) -> Lowered {
    let events: Vec<Event> = lowered.trace.events().map(|(_, event)| event).collect();
    let mut tables = lowered.trace.tables().clone();
    let (mut before, mut after) = (vec![Vec::new(); events.len()], vec![Vec::new(); events.len()]);
    for (read, event) in events.iter().enumerate() {
        let acquires = event.op == Op::Read && event.flags.order().is_some_and(|order| order.acquires());
        let same = |&write: &usize| events[write].op == Op::Write && events[write].object == event.object;
        let Some(write) = (0..read).rev().find(same).filter(|_| acquires) else { continue };
        let releases = events[write].flags.order().is_some_and(|order| order.releases());
        if releases && events[write].thread != event.thread {
            let name = format!("atomic{read}");
            let cell = tables.conditions.intern(name.as_bytes()).expect("small programs fit the tables");
            tables.condition_kinds.set(cell as usize, ConditionKind::Channel);
            after[write].push(Event::new(events[write].thread, Op::Notify, cell, events[write].location));
            before[read].push(Event::new(event.thread, Op::Wait, cell, event.location));
        }
    }
    let mut columns = Columns::default();
    let mut origins = Vec::new();
    for (i, event) in events.into_iter().enumerate() {
        let further = lowered.origins[i].step().map_or(Origin::Decision, Origin::Further);
        let around = [(std::mem::take(&mut before[i]), further), (vec![event], lowered.origins[i])];
        for (events, origin) in around.into_iter().chain([(std::mem::take(&mut after[i]), further)]) {
            events.into_iter().for_each(|event| {
                columns.push(event);
                origins.push(origin);
            });
        }
    }
    Lowered { trace: Trace::from_parts(columns, tables), origins }
}
