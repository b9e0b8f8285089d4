//! All targets that make sense for a small trace.

use mayhap_trace::{EventId, Op, Trace};
use mayhap_witness::{Kind, Target};

use crate::{Facts, Judge};

/// Every target of a kind. Races: both next, and unordered by happens-before; deadlocks: two acquires, or three; sequences: two accesses, next to each other and not.
pub fn targets(trace: &Trace, kind: Kind) -> Vec<Target> {
    let facts = Facts::of(trace);
    let judge = Judge::new(trace);
    let of = |wanted: &dyn Fn(Op) -> bool| -> Vec<EventId> {
        trace.events().filter(|(id, e)| wanted(e.op) && facts.rank[id.index()].is_some()).map(|(id, _)| id).collect()
    };
    let accesses = of(&Op::is_access);
    let mut targets = Vec::new();
    match kind {
        Kind::UseAfterFree => pairs(&accesses, |a, b| {
            let both = [(a, b), (b, a)];
            targets.extend(both.map(|(free, access)| Target::UseAfterFree { free, access }));
        }),
        Kind::Race => pairs(&accesses, |a, b| targets.extend([Target::Race(a, b), Target::UnorderedRace(a, b)])),
        Kind::Deadlock => {
            let acquires = of(&Op::is_acquire);
            pairs(&acquires, |a, b| {
                targets.push(Target::Deadlock(vec![a, b]));
                let third = acquires.iter().filter(|&&c| c > b);
                targets.extend(third.map(|&c| Target::Deadlock(vec![a, b, c])));
            });
        }
        // A double free is stated as an atomicity violation.
        Kind::DoubleFree => {}
        Kind::Atomicity => pairs(&accesses, |first, second| {
            targets.extend(accesses.iter().map(|&remote| Target::Atomicity { first, remote, second }));
        }),
        Kind::Order => pairs(&accesses, |a, b| {
            for events in [vec![a, b], vec![b, a]] {
                let adjacent = vec![(events[0], events[1])];
                targets.push(Target::Sequence { events: events.clone(), adjacent: Vec::new() });
                targets.push(Target::Sequence { events, adjacent });
            }
        }),
        Kind::Nondeterminism => {
            let writes = of(&|op| op == Op::Write);
            for read in of(&|op| op == Op::Read) {
                let write = facts.saw[read.index()].map(EventId::at);
                let others = writes.iter().map(|&w| Some(w)).chain([None]);
                targets.extend(others.map(|other| Target::Nondeterminism { write, read, other }));
            }
        }
    }
    targets.retain(|target| judge.makes_sense(target));
    targets
}

/// Calls `each` with every two of the events, the earlier first.
fn pairs(events: &[EventId], mut each: impl FnMut(EventId, EventId)) {
    for (i, &a) in events.iter().enumerate() {
        events[i + 1..].iter().for_each(|&b| each(a, b));
    }
}
