//! Bugs as sequences, as printed (SeqCheck, Algorithm 5). For the literal engine only; [`super::plan`] has the right ones.

use mayhap_trace::{EventId, LockId};
use mayhap_witness::Target;

use super::index::Index;

/// Where a linearisation is cut to become a witness of the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    End,
    Before(EventId),
    Through(EventId),
}

impl Until {
    pub(crate) fn cut(self, mut order: Vec<EventId>) -> Vec<EventId> {
        let place = |event| order.iter().position(|&e| e == event);
        let length = match self {
            Until::End => None,
            Until::Before(event) => place(event),
            Until::Through(event) => place(event).map(|at| at + 1),
        };
        order.truncate(length.unwrap_or(order.len()));
        order
    }
}

/// A sequence with its adjacent pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Encoding {
    pub(crate) sequence: Vec<EventId>,
    pub(crate) adjacent: Vec<(EventId, EventId)>,
    pub(crate) until: Until,
}

/// The printed sequences of a target, of which one must be feasible.
pub(crate) fn encode(index: &Index<'_>, target: &Target) -> Result<Vec<Encoding>, &'static str> {
    let plain = |sequence, until| Encoding { sequence, adjacent: Vec::new(), until };
    match target {
        Target::Race(a, b) => Ok(vec![race(index, *a, *b)]),
        Target::Deadlock(requests) => deadlock(index, requests),
        Target::Atomicity { first, remote, second } => {
            Ok(vec![plain(vec![*first, *remote, *second], Until::Through(*second))])
        }
        Target::Sequence { events, adjacent } => {
            Ok(vec![Encoding { sequence: events.clone(), adjacent: adjacent.clone(), until: Until::End }])
        }
        Target::UnorderedRace(..) | Target::UseAfterFree { .. } | Target::Nondeterminism { .. } => {
            Err("seqcheck decides races, deadlocks, atomicity violations and sequences")
        }
    }
}

/// Lines 1 to 5: last(a), b, a, next(b), with b and a adjacent.
fn race(index: &Index<'_>, a: EventId, b: EventId) -> Encoding {
    let (ta, tb) = (index.thread(a), index.thread(b));
    let last = index.rank(a).checked_sub(1).map(|rank| index.at(ta, rank));
    let next = (index.rank(b) + 1 < index.length(tb)).then(|| index.at(tb, index.rank(b) + 1));
    let sequence = last.into_iter().chain([b, a]).chain(next).collect();
    Encoding { sequence, adjacent: vec![(b, a)], until: Until::Before(b) }
}

/// Lines 6 to 10, for two threads: the outer acquire of one, then the inner ones.
fn deadlock(index: &Index<'_>, requests: &[EventId]) -> Result<Vec<Encoding>, &'static str> {
    let [inner1, inner2] = requests[..] else {
        return Err("SeqCheck as published encodes deadlocks of two threads only");
    };
    let outer = |holder: EventId, wanted: EventId| {
        let lock = LockId::at(index.trace.event(wanted).object as usize);
        let open = index.open_after(index.thread(holder), index.rank(holder));
        open.iter().find(|s| s.lock == lock).map(|s| s.acquire)
    };
    let (Some(outer1), Some(outer2)) = (outer(inner1, inner2), outer(inner2, inner1)) else {
        return Err("the two acquires do not wait for each other's threads");
    };
    let sequence = |events: [EventId; 3]| Encoding {
        until: Until::Before(events[1]),
        sequence: events.to_vec(),
        adjacent: Vec::new(),
    };
    Ok(vec![sequence([outer2, inner1, inner2]), sequence([outer1, inner2, inner1])])
}
