//! Pointers that can be null where they are used: a read whose value became an address, and a write of null that it could see instead.
//!
//! That the value became an address shows in the trace: the next branch of the thread is one that no basic block stands for, so nothing
//! was tested between the read and the use. The candidate is a nondeterministic read that sees the null. What the thread does then was
//! not recorded; a replay shows it.
//!
//! Left out are reads that must-order puts before the write of the null, and writes whose value is not known.
//!
//! Cost: linear in the accesses of variables that hold pointers.

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, Flags, Op, Relations, Trace, Value};
use mayhap_witness::{Kind, Target};

use super::{Group, Limits, Nearest, place, shared_accesses};

/// The most groups.
const MOST: usize = 64;
/// How many events of the reading thread are looked at for the use.
const AFTER: usize = 8;

/// Candidates by the locations of the read and the write of the null.
pub(super) fn can_see_null(execution: &Execution<'_>, limits: &Limits) -> Vec<Group> {
    let (trace, relations) = execution.parts();
    if trace.columns().values.is_empty() {
        return Vec::new();
    }
    let (accesses, bounds) = shared_accesses(trace);
    let mut groups: Vec<Nearest> = Vec::new();
    let mut by_places: HashMap<(u64, u64), usize, foldhash::fast::FixedState> = HashMap::default();
    for variable in bounds.windows(2).filter(|w| w[0] < w[1]) {
        let accesses = &accesses[variable[0] as usize..variable[1] as usize];
        let is_null = |e: &EventId| is(trace, *e, Op::Write) && value(trace, *e) == Some(Value::Bits(0));
        let nulls: Vec<EventId> = accesses.iter().copied().filter(is_null).collect();
        if nulls.is_empty() {
            continue;
        }
        for &read in accesses.iter().filter(|&&e| is(trace, e, Op::Read) && is_address(trace, relations, e)) {
            // The nearest on each side will do.
            let at = nulls.partition_point(|&null| null < read);
            for &null in nulls[..at].last().into_iter().chain(nulls.get(at)) {
                let before = read < null && relations.ordered(trace, read, null);
                let same = trace.columns().threads[read.index()] == trace.columns().threads[null.index()];
                let key = (place(trace, read), place(trace, null));
                if before || same || by_places.len() >= MOST && !by_places.contains_key(&key) {
                    continue;
                }
                let group = *by_places.entry(key).or_insert_with(|| {
                    groups.push(Nearest::default());
                    groups.len() - 1
                });
                groups[group].offer(&[read, null], limits.instances);
            }
        }
    }
    let target =
        |e: &[EventId]| Target::Nondeterminism { write: relations.read_from(e[0]), read: e[0], other: Some(e[1]) };
    groups.into_iter().map(|g| g.into_group(Kind::Order, target)).collect()
}

fn is(trace: &Trace, event: EventId, op: Op) -> bool {
    trace.columns().ops[event.index()] == op
}

fn value(trace: &Trace, event: EventId) -> Option<Value> {
    trace.tables().value(trace.event(event).value)
}

/// Whether the read saw a pointer that the thread used without a test.
fn is_address(trace: &Trace, relations: &Relations, read: EventId) -> bool {
    let seen = relations.read_from(read).and_then(|write| value(trace, write));
    if !matches!(seen, Some(Value::Pointer { .. })) {
        return false;
    }
    let events = relations.thread_events(trace.event(read).thread);
    let rank = relations.rank(read);
    let after = &events[rank + 1..events.len().min(rank + 1 + AFTER)];
    let branch = after.iter().find(|&&event| is(trace, event, Op::Branch));
    branch.is_some_and(|&branch| trace.event(branch).flags.has(Flags::IMPLICIT))
}
