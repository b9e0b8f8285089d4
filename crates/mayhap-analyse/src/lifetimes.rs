//! What a use after free makes superfluous: the races and patterns that the same free takes part in, and further accesses of the
//! same block by the same thread.

use mayhap_detect::candidates::{frees, place};
use mayhap_trace::{EventId, Trace};
use mayhap_witness::{Kind, Target};

use crate::Finding;

/// The most events that one call which frees a block consists of, as far as that is looked at.
const MOST: usize = 4096;

/// Whether a use after free that was found says what this finding says.
pub(crate) fn is_covered(trace: &Trace, finding: &Finding, findings: &[Finding]) -> bool {
    let events = finding.target.events();
    let uses = findings.iter().filter(|f| f.kind == Kind::UseAfterFree).filter_map(|f| uses(&f.target));
    match uses_of(finding) {
        Some((free, access)) => {
            let threads = &trace.columns().threads;
            let same_thread = |other: EventId| threads[other.index()] == threads[access.index()];
            uses.into_iter().any(|(other, used)| same_thread(used) && is_one_call(trace, free, other))
        }
        None => {
            let freed: Vec<u64> = events.iter().filter(|&&e| frees(trace, e)).map(|&e| place(trace, e)).collect();
            !freed.is_empty() && uses.into_iter().any(|(free, _)| freed.contains(&place(trace, free)))
        }
    }
}

fn uses(target: &Target) -> Option<(EventId, EventId)> {
    match target {
        Target::UseAfterFree { free, access } => Some((*free, *access)),
        _ => None,
    }
}

fn uses_of(finding: &Finding) -> Option<(EventId, EventId)> {
    if finding.kind == Kind::UseAfterFree { uses(&finding.target) } else { None }
}

/// Whether two writes that stand for frees are parts of one call: nothing else lies between them.
fn is_one_call(trace: &Trace, a: EventId, b: EventId) -> bool {
    let (first, last) = (a.index().min(b.index()), a.index().max(b.index()));
    let threads = &trace.columns().threads;
    place(trace, a) == place(trace, b)
        && last - first <= MOST
        && (first..=last).all(|i| threads[i] == threads[first] && is_part(trace, EventId::at(i)))
}

/// The writes of a free, and the branches that computed addresses are.
fn is_part(trace: &Trace, event: EventId) -> bool {
    frees(trace, event) || trace.event(event).op == mayhap_trace::Op::Branch
}
