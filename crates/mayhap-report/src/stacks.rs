//! The call stacks of the events that findings are about, from a trace file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mayhap_analyse::windows::Window;
use mayhap_trace::attachments::stacks::{Stacks, attached, parse, parse_where};
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::Target;

/// The stacks of the targets' events and of the starts of their threads. None where the trace has none: it was recorded by
/// something else, or what it has of them is damaged.
pub fn of<'t>(path: &Path, execution: &Execution<'_>, targets: impl Iterator<Item = &'t Target>) -> Stacks {
    at(path, execution.trace(), &wanted(execution, targets))
}

/// The events of targets, and the starts of their threads.
fn wanted<'t>(execution: &Execution<'_>, targets: impl Iterator<Item = &'t Target>) -> BTreeSet<EventId> {
    let (trace, relations) = execution.parts();
    let mut wanted = BTreeSet::new();
    for event in targets.flat_map(Target::events) {
        wanted.insert(event);
        wanted.extend(relations.fork_of(trace.event(event).thread));
    }
    wanted
}

/// Returns the stacks of some events.
pub fn at(path: &Path, trace: &Trace, wanted: &BTreeSet<EventId>) -> Stacks {
    match wanted.is_empty() {
        true => Stacks::new(),
        false => attached(path).and_then(|bytes| parse(&bytes, trace, wanted)).unwrap_or_default(),
    }
}

/// The same as [`of`] for a part of the trace that the stacks are of.
pub fn of_window<'t>(
    bytes: &[u8],
    window: &Window,
    execution: &Execution<'_>,
    targets: impl Iterator<Item = &'t Target>,
) -> Stacks {
    let wanted = wanted(execution, targets);
    let numbers = wanted.iter().map(|&event| (EventId::from_number(window.whole(event.number())), event));
    let by_number: BTreeMap<EventId, EventId> = numbers.filter_map(|(whole, event)| Some((whole?, event))).collect();
    let found = parse_where(bytes, by_number.keys().copied(), &|whole| window.trace.event(by_number[&whole]));
    found.unwrap_or_default().into_iter().map(|(whole, stack)| (by_number[&whole], stack)).collect()
}
