//! The questions that an [`Oracle`] answers, each with a shortest witness.

use mayhap_trace::{EventId, Op};
use mayhap_witness::{Target, Witness};

use super::space::{Demands, State};
use super::{Oracle, TooBig};

impl Oracle {
    /// Decides any target. The target must make sense for the trace.
    pub fn decide(&self, target: &Target) -> Result<Option<Witness>, TooBig> {
        match target {
            Target::UnorderedRace(a, b) => self.unordered_race(*a, *b),
            Target::Race(a, b) => Ok(self.both_next(*a, *b)),
            Target::UseAfterFree { free, access } => {
                Ok(self
                    .first_state(|state| self.space.has_run(state, free.index()) && self.all_next(state, &[*access])))
            }
            Target::Deadlock(requests) => Ok(self.deadlock(requests)),
            Target::Atomicity { first, remote, second } => self.atomicity(*first, *remote, *second),
            Target::Sequence { events, adjacent } => self.sequence(events, adjacent),
            Target::Nondeterminism { write, read, other } => match self.nondeterminism(*write, *read, *other, 3)? {
                Some(witness) => Ok(Some(witness)),
                None => self.nondeterminism(*write, *read, *other, 2),
            },
        }
    }

    /// A schedule after which both events, of different threads, are next: a race if they conflict.
    pub fn both_next(&self, a: EventId, b: EventId) -> Option<Witness> {
        let (a, b) = (a.index().min(b.index()), a.index().max(b.index()));
        let cell = self.both_next[a * self.space.facts.events.len() + b];
        (cell > 0).then(|| self.explored.witness(cell - 1))
    }

    /// Whether each of these events is next in its started thread.
    fn all_next(&self, state: &State, next: &[EventId]) -> bool {
        next.iter().all(|e| {
            let thread = self.space.facts.events[e.index()].thread.index();
            self.space.next(state, thread).is_some_and(|n| n.event == e.index())
        })
    }

    fn first_state(&self, wanted: impl Fn(&State) -> bool) -> Option<Witness> {
        let number = self.explored.states.iter().position(|&word| wanted(&self.space.unpack(word)))?;
        Some(self.explored.witness(number as u32))
    }

    /// A schedule that blocks each of these acquires by the thread of another of them.
    pub fn deadlock(&self, requests: &[EventId]) -> Option<Witness> {
        let members = requests.iter().fold(0, |m, e| m | 1 << self.space.facts.events[e.index()].thread.index());
        self.first_state(|state| self.all_next(state, requests) && self.is_stuck(state, members))
    }

    /// Whether every member's next event is an acquire of a lock that another member holds.
    fn is_stuck(&self, state: &State, members: u16) -> bool {
        (0..self.space.threads.len()).filter(|t| members >> t & 1 == 1).all(|t| {
            let node = self.space.next(state, t);
            node.is_some_and(|n| n.blocks() && self.space.holders(state, n) & members != 0)
        })
    }

    /// Returns all races: conflicting accesses, not both atomic, that can both be next, earlier event first, sorted.
    pub fn all_races(&self) -> Vec<(EventId, EventId)> {
        let events = &self.space.facts.events;
        let mut races = Vec::new();
        for a in 0..events.len() {
            for b in a + 1..events.len() {
                if events[a].races_with(&events[b]) && self.both_next[a * events.len() + b] > 0 {
                    races.push((EventId::at(a), EventId::at(b)));
                }
            }
        }
        races
    }

    /// All deadlocks that have no smaller deadlock within: their acquires in trace order, sorted.
    pub fn all_deadlocks(&self) -> Vec<Vec<EventId>> {
        let mut all: Vec<Vec<EventId>> = Vec::new();
        for &word in &self.explored.states {
            let state = self.space.unpack(word);
            let blocked = (0..self.space.threads.len()).filter(|&t| {
                let node = self.space.next(&state, t);
                node.is_some_and(|n| n.blocks() && self.space.holders(&state, n) != 0)
            });
            let blocked = blocked.fold(0u16, |m, t| m | 1 << t);
            if blocked.count_ones() < 2 {
                continue;
            }
            let mut minimal: Vec<u16> = Vec::new();
            let mut sets: Vec<u16> = (1..=blocked).filter(|s| s & !blocked == 0 && s.count_ones() > 1).collect();
            sets.sort_by_key(|s| s.count_ones());
            for set in sets {
                if minimal.iter().all(|m| m & set != *m) && self.is_stuck(&state, set) {
                    minimal.push(set);
                }
            }
            for set in minimal {
                let members = (0..self.space.threads.len()).filter(|t| set >> t & 1 == 1);
                let mut requests: Vec<EventId> = members
                    .map(|t| EventId::at(self.space.next(&state, t).expect("a member is blocked").event))
                    .collect();
                requests.sort();
                all.push(requests);
            }
        }
        all.sort();
        all.dedup();
        all
    }

    /// A schedule that runs the events in this order, nothing between the two of an adjacent pair.
    pub fn sequence(&self, events: &[EventId], adjacent: &[(EventId, EventId)]) -> Result<Option<Witness>, TooBig> {
        let mut demands = self.standing.clone();
        demands.before.extend(events.windows(2).map(|pair| (pair[0].index(), pair[1].index())));
        demands.adjacent.extend(adjacent.iter().map(|(x, y)| (x.index(), y.index())));
        let last = events.last().expect("a sequence has an event").index();
        self.find(&demands, |state| self.space.has_run(state, last))
    }

    /// A schedule in which `remote` runs between `first` and `second`, and `second` last.
    pub fn atomicity(&self, first: EventId, remote: EventId, second: EventId) -> Result<Option<Witness>, TooBig> {
        let (first, remote, second) = (first.index(), remote.index(), second.index());
        let mut demands = self.standing.clone();
        demands.before.extend([(first, remote), (remote, second)]);
        demands.free = vec![remote, second];
        self.find(&demands, |state| self.space.has_run(state, second))
    }

    /// One kind of the triplet. 2: `read` is next, `write` has run and then `other`. 3: `read` is next, `other` has run,
    /// `write` has not. 1: `other`, `read`, `write` run in this order, and in the data model the read's thread stops there.
    ///
    /// # Panics
    /// If there is no such kind.
    pub fn nondeterminism(
        &self,
        write: Option<EventId>,
        read: EventId,
        other: Option<EventId>,
        kind: u8,
    ) -> Result<Option<Witness>, TooBig> {
        let mut demands = self.standing.clone();
        let [w, c] = [write, other].map(|e| e.map(EventId::index));
        match (kind, w, c) {
            // The initial value precedes everything else and is never absent.
            (1 | 3, None, _) | (2, _, None) => return Ok(None),
            (1, Some(w), _) => {
                demands.before.push((read.index(), w));
                demands.before.extend(c.map(|c| (c, read.index())));
                demands.free = vec![read.index()];
                return self.find(&demands, |state| self.space.has_run(state, w));
            }
            (2, Some(w), Some(c)) => demands.before.push((w, c)),
            (2, None, Some(_)) => {}
            // An event that may run only after itself never runs.
            (3, Some(w), _) => demands.before.push((w, w)),
            _ => panic!("a triplet is of kind 1, 2 or 3, not {kind}"),
        }
        self.find(&demands, |state| c.is_none_or(|c| self.space.has_run(state, c)) && self.all_next(state, &[read]))
    }

    /// A schedule after which `read` is next and would see exactly `other`; `None` is the initial value.
    pub fn sees(&self, read: EventId, other: Option<EventId>) -> Result<Option<Witness>, TooBig> {
        let events = &self.space.facts.events;
        let variable = events[read.index()].object;
        let mut demands = self.standing.clone();
        let writes = events.iter().enumerate().filter(|(_, e)| e.op == Op::Write && e.object == variable);
        for write in writes.map(|(i, _)| i).filter(|&i| Some(i) != other.map(EventId::index)) {
            match other {
                Some(other) => demands.never_after.push((other.index(), write)),
                None => demands.before.push((write, write)),
            }
        }
        self.find(&demands, |state| {
            other.is_none_or(|c| self.space.has_run(state, c.index())) && self.all_next(state, &[read])
        })
    }

    /// All triplets (write, read, other) that make sense for the trace.
    pub fn triplets(&self) -> Vec<(Option<EventId>, EventId, Option<EventId>)> {
        let facts = &self.space.facts;
        let mut triplets = Vec::new();
        for (r, event) in facts.events.iter().enumerate().filter(|(_, e)| e.op == Op::Read) {
            let writes = facts.events.iter().enumerate();
            let writes = writes.filter(|(_, e)| e.op == Op::Write && e.object == event.object).map(|(i, _)| Some(i));
            for other in writes.chain([None]).filter(|&c| c != facts.saw[r]) {
                triplets.push((facts.saw[r].map(EventId::at), EventId::at(r), other.map(EventId::at)));
            }
        }
        triplets
    }

    /// A correct reordering of *all* events in which each `x` of a pair `(x, y)` runs before its `y`.
    pub fn all_events_with(&self, edges: &[(EventId, EventId)]) -> Result<Option<Witness>, TooBig> {
        let mut demands = self.standing.clone();
        demands.before.extend(edges.iter().map(|(x, y)| (x.index(), y.index())));
        self.find(&demands, |state| {
            self.space.threads.iter().enumerate().all(|(t, nodes)| state.position[t] as usize == nodes.len())
        })
    }

    fn find(&self, demands: &Demands, wanted: impl Fn(&State) -> bool) -> Result<Option<Witness>, TooBig> {
        let (explored, found) = self.search(demands, wanted)?;
        Ok(found.map(|number| explored.witness(number)))
    }
}
