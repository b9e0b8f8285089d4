//! Whether a run shows a finding: the same accesses, by operation, object and place in the code, in the order that makes the finding.

use mayhap_trace::{EventId, ThreadId, Trace};

use crate::{Finding, Kind, Side};

/// The event that a side is about, in another trace of the same program.
fn is_side(trace: &Trace, id: EventId, side: &Side) -> bool {
    let (event, tables) = (trace.event(id), trace.tables());
    event.op.word() == side.op
        && tables.object(event.op, event.object) == side.object.as_str()
        && tables.location(event.location) == side.location.as_deref()
}

/// Whether the finding happened in the run of this trace. A run that failed may have ended before the last of its accesses.
pub fn occurs(finding: &Finding, trace: &Trace) -> bool {
    let all = || (0..trace.len()).map(EventId::at);
    let thread = |id: EventId| -> ThreadId { trace.event(id).thread };
    let accesses = |side: &Side| -> Vec<EventId> { all().filter(|&id| is_side(trace, id, side)).collect() };
    match (finding.kind, &finding.events[..]) {
        // Both accesses, one directly after the other as far as other writes of the same memory are concerned.
        (Kind::Race, [first, second]) => {
            let same = |id: EventId| {
                let event = trace.event(id);
                event.op.word() == "w" && trace.tables().object(event.op, event.object) == first.object.as_str()
            };
            let (firsts, seconds) = (accesses(first), accesses(second));
            firsts.iter().any(|&a| {
                seconds.iter().any(|&b| {
                    let (low, high) = (a.min(b), a.max(b));
                    thread(a) != thread(b) && !all().any(|id| low < id && id < high && same(id))
                })
            })
        }
        // The read comes before the write that was to come first.
        (Kind::Order, [expected, early]) => {
            let (expected, early) = (accesses(expected), accesses(early));
            match (expected.first(), early.first()) {
                (Some(expected), Some(early)) => early < expected,
                // Memory that only one thread accessed is not in the trace: the other one did not come to its write before the run failed.
                (expected, _) => expected.is_none(),
            }
        }
        // Another thread's access comes after the first one and before the second, if that is reached.
        (Kind::Atomicity, [first, between, second]) => {
            let (firsts, betweens, seconds) = (accesses(first), accesses(between), accesses(second));
            firsts.iter().any(|&a| {
                betweens.iter().any(|&c| {
                    let ends = seconds.iter().find(|&&b| b > a && thread(b) == thread(a));
                    thread(a) != thread(c) && a < c && ends.is_none_or(|&b| c < b)
                })
            })
        }
        // The write that it saw in the recorded run, the read, and the other write, if that is not the initial value.
        (Kind::Nondeterminism, [read, other] | [_, read, other]) if read.op == "r" => sees(trace, read, Some(other)),
        (Kind::Nondeterminism, [_, read]) => sees(trace, read, None),
        _ => false,
    }
}

/// A read of the side's thread sees this write; `None` is the initial value.
fn sees(trace: &Trace, read: &Side, write: Option<&Side>) -> bool {
    let Some(thread) = trace.tables().threads.find(&read.thread) else { return false };
    let all = || (0..trace.len()).map(EventId::at);
    let is_write = |id: &EventId| {
        let event = trace.event(*id);
        event.op.word() == "w" && trace.tables().object(event.op, event.object) == read.object.as_str()
    };
    let is_read = |id: &EventId| trace.event(*id).thread.index() == thread && is_side(trace, *id, read);
    all().filter(is_read).any(|id| match (all().take(id.index()).rfind(is_write), write) {
        (Some(seen), Some(write)) => is_side(trace, seen, write),
        (seen, write) => seen.is_none() && write.is_none(),
    })
}
