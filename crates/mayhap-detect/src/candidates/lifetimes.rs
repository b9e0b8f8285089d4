//! Candidates for use after free: an access of memory that could come after the memory is freed.
//!
//! A candidate is a free and another access of the same variable that must-order does not put before it. Locks are not looked at:
//! they keep critical sections apart but do not say which one comes first. Of the accesses of one thread at one place, the
//! [`RECENT`] latest before the free are tried: what the thread did before is then as recorded. An access that the recorded run
//! itself made after the free is one too, of any thread.
//!
//! Cost: linear in the accesses of variables that are freed.

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, Flags, Op, Relations, Trace, VarId, VariableKind};
use mayhap_witness::{Kind, Target};

use super::{Group, Limits, Nearest, place, shared_accesses};

/// How many accesses of a thread at a place are tried with each free.
const RECENT: u32 = 4;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Whether the event frees memory.
pub fn frees(trace: &Trace, event: EventId) -> bool {
    let columns = trace.columns();
    columns.ops[event.index()] == Op::Write && columns.flags_at(event.index()).has(Flags::FREE)
}

/// Candidates by the locations of the free and the access.
pub fn uses_after_free(execution: &Execution<'_>, limits: &Limits) -> Vec<Group> {
    let (trace, relations) = execution.parts();
    let frees_something = |&flags: &u16| flags & Flags::FREE.bits() != 0;
    if !trace.columns().flags.iter().any(frees_something) {
        return Vec::new();
    }
    let (accesses, bounds) = shared_accesses(trace);
    let mut groups: Vec<Nearest> = Vec::new();
    let mut by_places: Map<(u64, u64), usize> = Map::default();
    let mut scratch = Before::default();
    for variable in bounds.windows(2).filter(|w| w[0] < w[1]) {
        let accesses = &accesses[variable[0] as usize..variable[1] as usize];
        for (at, &free) in accesses.iter().enumerate().filter(|(_, access)| frees(trace, **access)) {
            scratch.before(trace, relations, &accesses[..at], free);
            let after = after(trace, &accesses[at + 1..], free);
            for &used in scratch.found.iter().chain(&after) {
                let group = *by_places.entry((place(trace, free), place(trace, used))).or_insert_with(|| {
                    groups.push(Nearest::default());
                    groups.len() - 1
                });
                groups[group].offer(&[free, used], limits.instances);
            }
        }
    }
    let target = |e: &[EventId]| Target::UseAfterFree { free: e[0], access: e[1] };
    groups.into_iter().map(|group| group.into_group(Kind::UseAfterFree, target)).collect()
}

/// The accesses before a free that could come after it. Its room is used for one free after the other: a program may free a variable for
/// each byte.
#[derive(Default)]
struct Before {
    found: Vec<EventId>,
    ordered: Vec<u16>,
    tried: Map<(u16, u64), u32>,
}

impl Before {
    /// The most entries that are cleared instead of given back.
    const ROOM: usize = 64;

    fn before(&mut self, trace: &Trace, relations: &Relations, accesses: &[EventId], free: EventId) {
        let Before { found, ordered, tried } = self;
        if tried.capacity() > Before::ROOM {
            *tried = Map::default();
        }
        tried.clear();
        found.clear();
        ordered.clear();
        let threads = &trace.columns().threads;
        ordered.push(threads[free.index()]);
        for &access in accesses.iter().rev() {
            let thread = threads[access.index()];
            // The later part of an indivisible step is never next by itself.
            if ordered.contains(&thread) || trace.columns().flags_at(access.index()).is_joined() || frees(trace, access)
            {
                continue;
            }
            if relations.ordered(trace, access, free) {
                ordered.push(thread);
                continue;
            }
            let tried = tried.entry((thread, place(trace, access))).or_default();
            *tried += 1;
            if *tried <= RECENT {
                found.push(access);
            }
        }
    }
}

/// The accesses that the recorded run made after the free. On its own stack a thread has other variables where those of a function or a block were.
fn after(trace: &Trace, accesses: &[EventId], free: EventId) -> Vec<EventId> {
    let threads = &trace.columns().threads;
    let variable = VarId::from_cell(trace.event(free).object);
    let kind = variable.map(|variable| trace.tables().variable_kind(variable));
    let is_local = matches!(kind, Some(VariableKind::Local | VariableKind::BlockLocal));
    let is_own = |access: EventId| is_local && threads[access.index()] == threads[free.index()];
    let is_use = |access: &&EventId| {
        !trace.columns().flags_at(access.index()).is_joined() && !frees(trace, **access) && !is_own(**access)
    };
    accesses.iter().filter(is_use).take(RECENT as usize).copied().collect()
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;

    use super::*;

    fn candidates(text: &str) -> Vec<(u64, u64)> {
        let execution = Execution::derive(parse_std(text).unwrap()).unwrap();
        let groups = uses_after_free(&execution, &Limits::default());
        let pair = |target: &Target| match target {
            Target::UseAfterFree { free, access } => (free.number(), access.number()),
            other => panic!("{other:?}"),
        };
        groups.iter().flat_map(|group| group.targets.iter().map(pair)).collect()
    }

    #[test]
    fn what_a_join_puts_before_the_free_is_none() {
        let text = "m|fork(t)\nt|w(x)|a\nt|r(x)|b\nm|r(x)|c\nm|w.free(x)|d\n";
        assert_eq!(candidates(text), [(5, 3), (5, 2)]);
        let joined = "m|fork(t)\nt|w(x)|a\nt|r(x)|b\nm|join(t)\nm|w.free(x)|d\n";
        assert_eq!(candidates(joined), []);
    }

    #[test]
    fn an_access_after_the_free_is_one() {
        assert_eq!(candidates("m|fork(t)\nt|w(x)|a\nt|w.free(x)|d\nm|r(x)|b\n"), [(3, 4)]);
    }
}
