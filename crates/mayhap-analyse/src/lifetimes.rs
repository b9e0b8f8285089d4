//! What a use after free makes superfluous: the races and patterns that the same free takes part in, and further accesses of the
//! same block by the same thread. And what its proof shows of objects that can begin another life where they ended: a lock, the number of a
//! descriptor, a variable of a function. A thread that comes there later may find the next one.

use mayhap_detect::candidates::{frees, place};
use mayhap_trace::{EventId, Execution, Trace, VarId, VariableKind};
use mayhap_witness::{Checked, Checker, Kind, Target, Witness};

use crate::Finding;

/// The most events that one call which frees a block consists of, as far as that is looked at.
const MOST: usize = 4096;

/// Whether a use after free that was found says what this finding says.
pub(crate) fn is_covered(trace: &Trace, (kind, target): (Kind, &Target), findings: &[Finding]) -> bool {
    let events = target.events();
    let own = uses(target).filter(|_| kind == Kind::UseAfterFree);
    let uses = findings.iter().filter(|f| f.kind == Kind::UseAfterFree).filter_map(|f| uses(&f.target));
    match own {
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

/// Whether a proof of a use after free has the thread come to its use before the end, so that what it uses is what has ended. Of memory that
/// is known by pointers this does not matter: a pointer leads to one block alone.
pub fn is_certain(trace: &Trace, proof: &Checked) -> bool {
    let Some((free, access)) = uses(proof.target()) else { return true };
    let kind = VarId::from_cell(trace.event(free).object).map(|variable| trace.tables().variable_kind(variable));
    if matches!(kind, None | Some(VariableKind::Unspecified | VariableKind::Memory | VariableKind::Atomic)) {
        return true;
    }
    let threads = &trace.columns().threads;
    let mut after = proof.witness().schedule.iter().rev().take_while(|&event| event != free);
    !after.any(|event| threads[event.index()] == threads[access.index()])
}

/// The same proof with the end as its last step, where it is not certain and the checker accepts that.
pub(crate) fn with_end_last(execution: &Execution<'_>, proof: Checked) -> Checked {
    let trace = execution.trace();
    let Some((free, _)) = uses(proof.target()).filter(|_| !is_certain(trace, &proof)) else { return proof };
    let threads = &trace.columns().threads;
    let is_later = |event: &EventId| threads[event.index()] == threads[free.index()] && *event >= free;
    let before = proof.witness().schedule.iter().filter(|event| !is_later(event));
    let schedule = before.chain([free]).collect();
    let checked = Checker::new(execution).check(proof.target(), proof.model(), Witness { schedule });
    checked.unwrap_or(proof)
}

fn uses(target: &Target) -> Option<(EventId, EventId)> {
    match target {
        Target::UseAfterFree { free, access } => Some((*free, *access)),
        _ => None,
    }
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
