//! The same search, run from the target back to the start.
//!
//! A consistent sequence read backwards is a consistent sequence of the reversed histories, with acquire and release
//! changing places: undoing a release takes the lock again. So the checks of Table III apply to it word for word. What
//! makes a target unreachable mostly lies close to it; then the way back ends after few pairs, where the way there has to
//! exhaust all orders of everything before. The paper searches forwards only.
//!
//! What it proves: the same as a search from the start. Used for strategy I, whose rows ask nothing of other threads.
//!
//! Cost: as for [`super::search`], from the other end; nothing is kept for later targets but the path it finds.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use mayhap_trace::{EventId, LockId, LocksetId, Mode};

use super::checks::{Action, Check, Pair, Table};
use super::counters::IpaCounters;
use super::history::{History, blocks, mode_of};

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Reached,
    Unreached,
    OutOfBudget,
}

/// One thread of the pair, with the lock event that would be undone next.
struct Side<'a> {
    history: &'a History,
    at: u32,
    start: u32,
    last: Option<EventId>,
    held: LocksetId,
    /// What undoing it takes; `None` if it gives.
    takes: Option<(LockId, Mode)>,
}

/// A search back from a table's target.
pub(super) struct Backward<'t> {
    table: &'t Table<'t>,
    start: Pair,
    /// Each visited pair with the pair it was reached from: its successor on the way from the start.
    visits: HashMap<Pair, Pair, foldhash::fast::FixedState>,
    /// Where the way back ended: the start, or a pair where the observed run stood after an event.
    end: Option<(Pair, Option<EventId>)>,
    /// Pairs where the observed run stood count as reached.
    observed: bool,
}

impl<'t> Backward<'t> {
    pub(super) fn new(table: &'t Table<'t>, start: Pair, observed: bool) -> Self {
        Backward { table, start, visits: HashMap::default(), end: None, observed }
    }

    /// Searches with at most `budget` calls.
    pub(super) fn run(&mut self, budget: u64, counters: &mut IpaCounters) -> Found {
        let mut branches: Vec<Pair> = Vec::new();
        let mut at = self.table.target;
        self.visits.insert(at, at);
        for _ in 0..budget {
            if let Some(last) = self.stood_after(at) {
                counters.count(Check::Tc);
                self.end = Some((at, Some(last)));
                return Found::Reached;
            }
            let (check, action) = self.row(at);
            counters.count(check);
            let mut from = at;
            let next = match action {
                Action::Succeed | Action::Straight => {
                    if at != self.start {
                        self.visits.insert(self.start, at);
                    }
                    self.end = Some((self.start, None));
                    return Found::Reached;
                }
                Action::A => Pair { a: at.a - 1, ..at },
                Action::B => Pair { b: at.b - 1, ..at },
                Action::Both => Pair { a: at.a - 1, b: at.b - 1 },
                Action::Either => {
                    branches.push(at);
                    Pair { b: at.b - 1, ..at }
                }
                Action::Fail => match branches.pop() {
                    None => return Found::Unreached,
                    Some(origin) => {
                        from = origin;
                        Pair { a: origin.a - 1, ..origin }
                    }
                },
            };
            match self.step(from, next, &mut branches, counters) {
                Some(pair) => at = pair,
                None => return Found::Unreached,
            }
        }
        Found::OutOfBudget
    }

    /// Moves on, or along the next untried branch where the pair was visited before; `None` if there is none.
    fn step(&mut self, from: Pair, next: Pair, branches: &mut Vec<Pair>, counters: &mut IpaCounters) -> Option<Pair> {
        let (mut from, mut next) = (from, next);
        loop {
            counters.moves += 1;
            match self.visits.entry(next) {
                Entry::Vacant(entry) => {
                    entry.insert(from);
                    counters.visited += 1;
                    return Some(next);
                }
                Entry::Occupied(_) => {
                    counters.count(Check::Vc);
                    from = branches.pop()?;
                    next = Pair { a: from.a - 1, ..from };
                }
            }
        }
    }

    /// The event after which the observed run stood at a pair, if it ever did and that counts.
    fn stood_after(&self, pair: Pair) -> Option<EventId> {
        let entered = |history: &History, at: u32| at.checked_sub(1).map(|i| history.events()[i as usize]);
        let left = |history: &History, at: u32| history.events().get(at as usize).copied();
        let (a, b) = (self.table.a, self.table.b);
        let after = entered(a, pair.a).max(entered(b, pair.b)).filter(|_| self.observed)?;
        let leaves = [left(a, pair.a), left(b, pair.b)];
        leaves.into_iter().flatten().all(|event| after < event).then_some(after)
    }

    /// The pairs from where the way back ended to the target, and the event before, if that is not the start.
    pub(super) fn path(&self) -> (Vec<Pair>, Option<EventId>) {
        let (mut at, last) = self.end.expect("the way back was found");
        let mut path = vec![at];
        while at != self.table.target {
            at = self.visits[&at];
            path.push(at);
        }
        (path, last)
    }

    fn row(&self, pair: Pair) -> (Check, Action) {
        if pair == self.start {
            return (Check::Tc, Action::Succeed);
        }
        let (target, events) = (self.table.target, self.table.events);
        let a = self.side(self.table.a, pair.a, self.start.a, target.a, events.0);
        let b = self.side(self.table.b, pair.b, self.start.b, target.b, events.1);
        let (blocked_a, blocked_b) = (self.blocked(&a, &b), self.blocked(&b, &a));
        if let (Some(x), Some(y)) = (a.last, b.last) {
            if self.table.before(x, y) {
                return if blocked_b { (Check::Lcc1, Action::Fail) } else { (Check::Hb1, Action::B) };
            }
            if self.table.before(y, x) {
                return if blocked_a { (Check::Lcc1, Action::Fail) } else { (Check::Hb2, Action::A) };
            }
        }
        let (end_a, end_b) = (a.last.is_none(), b.last.is_none());
        if (end_a && a.held == LocksetId::EMPTY) || (end_b && b.held == LocksetId::EMPTY) {
            return (if end_a { Check::Lcc3 } else { Check::Lcc4 }, Action::Straight);
        }
        match () {
            _ if blocked_a && blocked_b => (Check::Lcc1, Action::Fail),
            _ if (end_a && blocked_b) || (end_b && blocked_a) => (Check::Lcc2, Action::Fail),
            _ if end_a || blocked_a => (Check::Lcc3, Action::B),
            _ if end_b || blocked_b => (Check::Lcc4, Action::A),
            _ => self.redundant(&a, &b),
        }
    }

    fn redundant(&self, a: &Side<'_>, b: &Side<'_>) -> (Check, Action) {
        match (a.takes, b.takes) {
            (Some(_), None) => (Check::Rc1, Action::B),
            (None, Some(_)) => (Check::Rc2, Action::A),
            (None, None) => (Check::Rc3, Action::Both),
            (Some((l, ml)), Some((m, mm))) => match () {
                _ if !b.history.gives_up(self.table.trace, l, ml, b.start, b.at) => (Check::Rc4, Action::A),
                _ if !a.history.gives_up(self.table.trace, m, mm, a.start, a.at) => (Check::Rc5, Action::B),
                _ if self.keeps(a) => (Check::Rc6, Action::B),
                _ if self.keeps(b) => (Check::Rc7, Action::A),
                _ => (Check::Default, Action::Either),
            },
        }
    }

    fn side<'h>(&self, history: &'h History, at: u32, start: u32, end: u32, target: EventId) -> Side<'h> {
        let relations = self.table.relations;
        let here = if at == end { target } else { history.events()[at as usize] };
        let last = (at > start).then(|| history.events()[at as usize - 1]);
        let takes = last.and_then(|id| {
            let event = self.table.trace.event(id);
            event.lock().filter(|_| event.op.is_release()).map(|lock| (lock, mode_of(event.op.is_shared())))
        });
        Side { history, at, start, last, held: relations.held(here), takes }
    }

    /// Undoing the last event of `me` takes a lock that `other` holds.
    fn blocked(&self, me: &Side<'_>, other: &Side<'_>) -> bool {
        let held = self.table.relations.locksets().get(other.held);
        me.takes.is_some_and(|(lock, mode)| blocks(held, lock, mode))
    }

    /// The section that undoing opens is still open at the start.
    fn keeps(&self, me: &Side<'_>) -> bool {
        let acquire = me.last.and_then(|release| self.table.relations.acquire_of(release));
        acquire.is_some_and(|acquire| self.table.histories.location(acquire) < me.start)
    }
}

#[cfg(test)]
mod tests {
    use mayhap_testkit::{Generator, Oracle, Profile, cases};
    use mayhap_trace::Execution;
    use mayhap_witness::Model;

    use super::*;
    use crate::ipa::history::Histories;
    use crate::ipa::start::Starts;

    /// For two threads the way back exists iff the oracle reaches both events.
    #[test]
    fn the_way_back_exists_iff_the_pair_is_reachable() {
        let mut reached = [0, 0];
        for (name, profile) in Profile::all() {
            let profile = Profile { threads: 2, events: profile.events + 4, ..profile };
            for (seed, trace) in Generator::new(profile, 9000).take(cases(2000).div_ceil(10)) {
                let execution = Execution::derive(&trace).unwrap();
                let relations = execution.relations();
                let Ok(oracle) = Oracle::new(&trace, Model::Sync) else { continue };
                let histories = Histories::new(&execution);
                let events: Vec<EventId> =
                    trace.events().map(|(id, _)| id).filter(|&id| relations.is_relevant(id)).collect();
                for (&x, &y) in events.iter().flat_map(|x| events.iter().map(move |y| (x, y))) {
                    let (t, u) = (trace.event(x).thread, trace.event(y).thread);
                    let ordered = relations.ordered(&trace, x, y) || relations.ordered(&trace, y, x);
                    let common = relations.locksets().common(relations.held(x), relations.held(y));
                    if t == u || ordered || common.is_some() {
                        continue;
                    }
                    let (a, b) = (histories.of(t), histories.of(u));
                    let table = Table {
                        trace: &trace,
                        relations,
                        histories: &histories,
                        a,
                        b,
                        events: (x, y),
                        target: Pair { a: histories.location(x), b: histories.location(y) },
                        bystanders: &[],
                        literal: false,
                        straight: true,
                    };
                    let start = Starts::sound(&execution, &histories, x, y).pair;
                    let found = Backward::new(&table, start, seed % 2 == 0).run(u64::MAX, &mut IpaCounters::default());
                    let truth = oracle.both_next(x, y).is_some();
                    let expected = if truth { Found::Reached } else { Found::Unreached };
                    assert_eq!(found, expected, "{name}, seed {seed}, events {x},{y}");
                    reached[usize::from(truth)] += 1;
                }
            }
        }
        assert!(reached[0] > 100 && reached[1] > 1000, "{reached:?}");
    }
}
