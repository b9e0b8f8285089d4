//! The brute-force oracle: every reachable state of a small trace, and so the truth about every target.
//!
//! Breadth-first search over the states of [`space`], from the definition of a correct reordering alone. Races, deadlocks
//! and reachable positions are read off one exploration; sequences, atomicity violations, nondeterministic reads and
//! whole-trace orders are separate searches whose steps are pruned by the required order. Witnesses are shortest.
//!
//! Cost: the number of states, which grows exponentially with the threads; [`TooBig`] says that a bound was hit.

mod questions;
mod relevance;
mod space;
mod unordered;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use hashbrown::HashSet;
use mayhap_trace::{EventId, Trace};
use mayhap_witness::{Model, Witness};
use space::{Demands, Space, State};

/// The trace has more states than allowed, or does not fit the packed form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooBig;

impl fmt::Display for TooBig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many states to enumerate")
    }
}

impl std::error::Error for TooBig {}

/// All that can happen in the reorderings of one trace under one model.
pub struct Oracle {
    space: Space,
    limit: usize,
    /// Holds for the exploration and all later searches.
    standing: Demands,
    explored: Explored,
    /// For two events, 1 + the first state in which both are next.
    both_next: Vec<u32>,
    /// Races by happens-before, by the access that runs first, searched for when first asked.
    seconds: RefCell<BTreeMap<usize, unordered::Seconds>>,
}

/// The states found by one search.
struct Explored {
    states: Vec<u128>,
    /// The state before, and the event that led on.
    parents: Vec<(u32, u32)>,
}

impl Oracle {
    /// How many states [`Oracle::new`] visits at most.
    pub const LIMIT: usize = 2_000_000;

    /// Explores the correct reorderings of a well-formed trace.
    pub fn new(trace: &Trace, model: Model) -> Result<Oracle, TooBig> {
        Self::explore(trace, model, Self::LIMIT)
    }

    /// The same, visiting at most `limit` states.
    pub fn explore(trace: &Trace, model: Model, limit: usize) -> Result<Oracle, TooBig> {
        Self::with(Space::new(trace, model)?, limit, Demands::default())
    }

    /// Explores only the reorderings that keep, for each lock, the observed order of those sections that are in them.
    ///
    /// Sections that do not exclude each other (two readers) may change places.
    pub fn sync_preserving(trace: &Trace, model: Model, limit: usize) -> Result<Oracle, TooBig> {
        let space = Space::new(trace, model)?;
        let facts = &space.facts;
        let acquires: Vec<usize> =
            (0..trace.len()).filter(|&i| facts.events[i].op.is_acquire() && facts.rank[i].is_some()).collect();
        let mut standing = Demands::default();
        for (i, &a) in acquires.iter().enumerate() {
            for &b in &acquires[i + 1..] {
                let (first, second) = (facts.events[a], facts.events[b]);
                let exclude = !(first.op.is_shared() && second.op.is_shared());
                if first.object == second.object && first.thread != second.thread && exclude {
                    standing.never_after.push((b, a));
                }
            }
        }
        Self::with(space, limit, standing)
    }

    fn with(space: Space, limit: usize, standing: Demands) -> Result<Oracle, TooBig> {
        let nothing = Explored { states: Vec::new(), parents: Vec::new() };
        let seconds = RefCell::default();
        let mut oracle = Oracle { space, limit, standing, explored: nothing, both_next: Vec::new(), seconds };
        let (explored, _) = oracle.search(&oracle.standing, |_| false)?;
        oracle.explored = explored;
        oracle.index_pairs();
        Ok(oracle)
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.explored.states.len()
    }

    /// Searches breadth-first for a wanted state; returns its number if there is one.
    fn search(&self, demands: &Demands, wanted: impl Fn(&State) -> bool) -> Result<(Explored, Option<u32>), TooBig> {
        let start = self.space.start();
        let mut found = Explored { states: vec![self.space.pack(&start)], parents: vec![(0, 0)] };
        if wanted(&start) {
            return Ok((found, Some(0)));
        }
        let mut seen: HashSet<u128, foldhash::fast::RandomState> = HashSet::default();
        seen.insert(found.states[0]);
        let mut at = 0;
        while at < found.states.len() {
            let state = self.space.unpack(found.states[at]);
            for thread in 0..self.space.threads.len() {
                let Some(node) = self.space.next(&state, thread) else { continue };
                let Some(next) = self.space.step(&state, node, demands) else { continue };
                let word = self.space.pack(&next);
                if seen.insert(word) {
                    if found.states.len() == self.limit {
                        return Err(TooBig);
                    }
                    found.states.push(word);
                    found.parents.push((at as u32, node.event as u32));
                    if wanted(&next) {
                        let number = found.states.len() as u32 - 1;
                        return Ok((found, Some(number)));
                    }
                }
            }
            at += 1;
        }
        Ok((found, None))
    }

    /// Stores for every two events the first state in which both are next.
    fn index_pairs(&mut self) {
        let n = self.space.facts.events.len();
        self.both_next = vec![0; n * n];
        for (number, &word) in self.explored.states.iter().enumerate() {
            let state = self.space.unpack(word);
            for t in 0..self.space.threads.len() {
                let Some(a) = self.space.next(&state, t) else { continue };
                for u in 0..t {
                    let Some(b) = self.space.next(&state, u) else { continue };
                    let (a, b) = (a.event.min(b.event), a.event.max(b.event));
                    let cell = &mut self.both_next[a * n + b];
                    if *cell == 0 {
                        *cell = number as u32 + 1;
                    }
                }
            }
        }
    }
}

impl Explored {
    /// Returns the schedule that leads to a state.
    fn witness(&self, mut state: u32) -> Witness {
        let mut schedule = Vec::new();
        while state != 0 {
            let (parent, event) = self.parents[state as usize];
            schedule.push(EventId::at(event as usize));
            state = parent;
        }
        schedule.reverse();
        Witness { schedule: schedule.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace;

    fn event(number: u64) -> EventId {
        EventId::from_number(number).unwrap()
    }

    fn schedule(witness: Option<Witness>) -> Option<Vec<u64>> {
        witness.map(|w| w.schedule.iter().map(|e| e.number()).collect())
    }

    #[test]
    fn a_later_read_races_only_where_values_do_not_count() {
        let trace = trace("T1 w x; T2 r x; T2 r x");
        let races = |model| Oracle::new(&trace, model).unwrap().all_races();
        assert_eq!(races(Model::Data), [(event(1), event(2))]);
        assert_eq!(races(Model::Sync), [(event(1), event(2)), (event(1), event(3))]);
    }

    #[test]
    fn opposite_lock_orders_deadlock() {
        let trace = trace("T1 acq l; T1 acq m; T1 rel m; T1 rel l; T2 acq m; T2 acq l; T2 rel l; T2 rel m");
        let oracle = Oracle::new(&trace, Model::Data).unwrap();
        assert_eq!(oracle.all_deadlocks(), [vec![event(2), event(6)]]);
        assert_eq!(schedule(oracle.deadlock(&[event(2), event(6)])), Some(vec![1, 5]));
        let kept = Oracle::sync_preserving(&trace, Model::Data, 1000).unwrap();
        assert_eq!(schedule(kept.deadlock(&[event(2), event(6)])), Some(vec![1, 5]));
    }

    #[test]
    fn sync_preserving_orders_keep_sections_in_place() {
        let trace = trace("T1 acq l; T1 rel l; T1 w x; T2 acq l; T2 rel l; T2 w x; T2 w y; T1 r y");
        let all = Oracle::new(&trace, Model::Sync).unwrap();
        let kept = Oracle::sync_preserving(&trace, Model::Sync, 1000).unwrap();
        assert!(all.sequence(&[event(5), event(1)], &[]).unwrap().is_some());
        assert!(kept.sequence(&[event(5), event(1)], &[]).unwrap().is_none());
        assert!(kept.both_next(event(3), event(6)).is_some());
    }

    #[test]
    fn too_many_states_are_refused() {
        let trace = trace("T1 w x; T2 w x; T3 w x");
        assert_eq!(Oracle::explore(&trace, Model::Sync, 3).err(), Some(TooBig));
    }
}
