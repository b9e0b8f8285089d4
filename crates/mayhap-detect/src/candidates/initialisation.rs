//! Candidates for use before initialisation: a read that could run before the first write of its variable.
//!
//! The first write of a variable is assumed to initialise it. A candidate is a read by another thread that saw this write and
//! that must-order does not put after it. It is expressed as a nondeterministic read that sees the initial value. Left out are:
//! later reads of a thread that saw the write before, because the first one decides; variables that some thread also reads before
//! any write in the observed run, because the initial value was harmless there; and, unless [`Limits::all_patterns`] asks for
//! them, reads whose value is tested before it is used ([`Intent::is_tested`]), because `while (!ready)` is meant to see the
//! initial value. With [`Limits::all_patterns`] come pointers that can be null, too ([`super::null_pointers`]).
//!
//! Cost: linear in the accesses of shared variables.

use std::cell::LazyCell;

use hashbrown::{HashMap, HashSet};
use mayhap_trace::{EventId, Execution, Op};
use mayhap_witness::{Kind, Target};

use super::intent::Intent;
use super::null_pointers::can_see_null;
use super::{Group, Limits, Nearest, place, shared_accesses};

/// Candidates by the locations of write and read.
pub fn uses_before_initialisation(execution: &Execution<'_>, limits: &Limits) -> Vec<Group> {
    let (trace, relations) = execution.parts();
    let (accesses, bounds) = shared_accesses(trace);
    let intent = LazyCell::new(|| Intent::new(execution));
    let mut groups: Vec<Nearest> = Vec::new();
    let mut by_places: HashMap<(u64, u64), usize, foldhash::fast::FixedState> = HashMap::default();
    for variable in bounds.windows(2).filter(|w| w[0] < w[1]) {
        let accesses = &accesses[variable[0] as usize..variable[1] as usize];
        let first = accesses[0];
        let ops = &trace.columns().ops;
        if ops[first.index()] != Op::Write {
            continue;
        }
        // After the second write nobody sees the first one.
        let second = accesses[1..].iter().position(|a| ops[a.index()] == Op::Write).map_or(accesses.len(), |at| at + 1);
        let mut readers: HashSet<u16, foldhash::fast::FixedState> = HashSet::default();
        for &read in accesses[1..second].iter().filter(|&&a| relations.read_from(a) == Some(first)) {
            let thread = trace.columns().threads[read.index()];
            let new = thread != trace.columns().threads[first.index()] && readers.insert(thread);
            let is_open = || !relations.ordered(trace, first, read);
            if new && is_open() && (limits.all_patterns || !intent.is_tested(read)) {
                let group = *by_places.entry((place(trace, first), place(trace, read))).or_insert_with(|| {
                    groups.push(Nearest::default());
                    groups.len() - 1
                });
                groups[group].offer(&[first, read], limits.instances);
            }
        }
    }
    let target = |e: &[EventId]| Target::Nondeterminism { write: Some(e[0]), read: e[1], other: None };
    let nulls = if limits.all_patterns { can_see_null(execution, limits) } else { Vec::new() };
    nulls.into_iter().chain(groups.into_iter().map(|g| g.into_group(Kind::Order, target))).collect()
}
