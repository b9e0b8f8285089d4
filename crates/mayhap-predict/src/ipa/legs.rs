//! Ways to a target in two or three straight legs: one thread runs, then the other, then the first again.
//!
//! Most targets need no more: from where the observed run stood, one thread runs to its target and the other follows; or
//! it stops before it takes a lock that the other still needs. Each leg is settled by one lookup for each lock held.
//!
//! What it proves: the legs are a consistent sequence, so the target is reachable. That there are none proves nothing.

use mayhap_trace::EventId;

use super::checks::{Pair, Table};
use super::history::History;

impl Table<'_> {
    /// The pairs after `from` at which the legs turn, the target last (where one turn is enough, it stands twice).
    pub(super) fn legs(&self, from: Pair) -> Option<[Pair; 3]> {
        let to = self.target;
        let simple = [Pair { a: from.a, b: to.b }, Pair { a: to.a, b: from.b }];
        if let Some(&turn) = simple.iter().find(|&&turn| self.runs(from, turn) && self.runs(turn, to)) {
            return Some([turn, turn, to]);
        }
        let b_waits = self.stops(self.b, self.events.1, to.b).filter(|&b| b > from.b);
        let b_waits = b_waits.map(|b| [Pair { a: from.a, b }, Pair { a: to.a, b }]);
        let a_waits = self.stops(self.a, self.events.0, to.a).filter(|&a| a > from.a);
        let a_waits = a_waits.map(|a| [Pair { a, b: from.b }, Pair { a, b: to.b }]);
        let mut ways = b_waits.chain(a_waits);
        let [first, second] = ways.find(|&[x, y]| self.runs(from, x) && self.runs(x, y) && self.runs(y, to))?;
        Some([first, second, to])
    }

    /// Where a thread took the locks that it holds at its target.
    fn stops<'h>(&'h self, history: &'h History, target: EventId, location: u32) -> impl Iterator<Item = u32> + 'h {
        let held = self.relations.locksets().get(self.relations.held(target));
        held.iter().filter_map(move |&hold| history.acquire_before(hold, location))
    }

    /// One thread gets from one location to another while the other stands still.
    fn runs(&self, from: Pair, to: Pair) -> bool {
        if from.a == to.a {
            let still = self.next_of(self.a, from.a, self.target.a, self.events.0);
            self.clear(still, self.b, from.b, to.b, if to.b == self.target.b { Some(self.events.1) } else { None })
        } else {
            let still = self.next_of(self.b, from.b, self.target.b, self.events.1);
            self.clear(still, self.a, from.a, to.a, if to.a == self.target.a { Some(self.events.0) } else { None })
        }
    }

    fn next_of(&self, history: &History, at: u32, end: u32, target: EventId) -> EventId {
        if at == end { target } else { history.events()[at as usize] }
    }

    /// Nothing between two locations takes a lock held before `still`, or has to wait for it. `end` is what the moving
    /// thread stands before, if that is its target.
    fn clear(&self, still: EventId, moving: &History, from: u32, to: u32, end: Option<EventId>) -> bool {
        let held = self.relations.locksets().get(self.relations.held(still));
        let last = end.or_else(|| to.checked_sub(1).map(|i| moving.events()[i as usize]));
        held.iter().all(|&(lock, mode)| moving.wants(lock, mode, from) >= to)
            && last.is_none_or(|last| from == to || !self.before(still, last))
    }
}
