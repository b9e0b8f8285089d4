//! Candidates of nondeterministic reads: a read, the write it saw, and another write that it might see.
//!
//! The other write is one of another thread (or the initial value) that must-order does not put after the read, nor, where
//! the read's write must follow it, before that write. Candidates are grouped by the locations of the three; of each class of
//! other writes (thread and location) the nearest on either side of the read are tried.
//!
//! Cost: O(reads × classes of writes × log).

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, Op, Relations, Trace};
use mayhap_witness::{Kind, Target};

use super::{Group, Limits, Nearest, place, shared_accesses};

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Other writes of a class that are tried with a read, on either side.
const AROUND: usize = 2;
/// The place of the initial value.
const INITIAL: u64 = u64::MAX;

/// Candidates by the locations of the write seen, the read, and the other write.
pub fn nondeterministic_reads(execution: &Execution<'_>, limits: &Limits) -> Vec<Group> {
    let (trace, relations) = execution.parts();
    let (accesses, bounds) = shared_accesses(trace);
    let mut groups: Vec<(bool, bool, Nearest)> = Vec::new();
    let mut by_places: Map<(u64, u64, u64), usize> = Map::default();
    for variable in bounds.windows(2).filter(|w| w[0] < w[1]) {
        let accesses = &accesses[variable[0] as usize..variable[1] as usize];
        let classes = write_classes(trace, accesses);
        for &read in accesses.iter().filter(|&&a| trace.event(a).op == Op::Read) {
            let write = relations.read_from(read);
            let seen = write.map_or(INITIAL, |w| place(trace, w));
            let mut offer = |other: Option<EventId>| {
                let key = (seen, place(trace, read), other.map_or(INITIAL, |o| place(trace, o)));
                let group = *by_places.entry(key).or_insert_with(|| {
                    groups.push((write.is_some(), other.is_some(), Nearest::default()));
                    groups.len() - 1
                });
                let events: Vec<EventId> = write.into_iter().chain([read]).chain(other).collect();
                groups[group].2.offer(&events, limits.instances);
            };
            if write.is_some_and(|w| !relations.ordered(trace, w, read)) {
                offer(None);
            }
            for class in &classes {
                let at = class.partition_point(|&w| w < read);
                for &other in &class[at.saturating_sub(AROUND)..class.len().min(at + AROUND)] {
                    if Some(other) != write && is_open(trace, relations, write, read, other) {
                        offer(Some(other));
                    }
                }
            }
        }
    }
    let target = |has_write: bool, has_other: bool, e: &[EventId]| Target::Nondeterminism {
        write: has_write.then(|| e[0]),
        read: e[usize::from(has_write)],
        other: has_other.then(|| e[e.len() - 1]),
    };
    groups.into_iter().map(|(w, o, g)| g.into_group(Kind::Nondeterminism, |e| target(w, o, e))).collect()
}

/// Whether must-order allows the other write to be the last before the read.
fn is_open(trace: &Trace, relations: &Relations, write: Option<EventId>, read: EventId, other: EventId) -> bool {
    if other > read {
        return !relations.ordered(trace, read, other);
    }
    // Before a write that itself must come before the read, the other one is overwritten.
    write.is_none_or(|w| !(other < w && relations.ordered(trace, other, w) && relations.ordered(trace, w, read)))
}

/// The writes of each thread and place.
fn write_classes(trace: &Trace, accesses: &[EventId]) -> Vec<Vec<EventId>> {
    let mut classes: Vec<Vec<EventId>> = Vec::new();
    let mut index: Map<(u16, u64), usize> = Map::default();
    for &write in accesses.iter().filter(|&&a| trace.event(a).op == Op::Write) {
        let class = *index.entry((trace.columns().threads[write.index()], place(trace, write))).or_insert_with(|| {
            classes.push(Vec::new());
            classes.len() - 1
        });
        classes[class].push(write);
    }
    classes
}
