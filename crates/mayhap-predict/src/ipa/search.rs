//! `do_search` with what it keeps for the next target of the same two threads (iPA, sections III-B and III-C).
//!
//! The search walks pairs of locations. Each pair remembers the move that first led to it, so a path can be read back;
//! a pair that was reached stays reachable whatever the target. Pairs whose outcome hung on where the histories end are
//! stored; a later target that lies at or beyond all earlier ones looks at those again and at nothing else.
//!
//! Deviations: a default pair whose first branch succeeded is stored too, since its second branch was never tried
//! (`counterexamples/ipa_incremental_default.std`). A pair that was not visited is not thereby unreachable, so a target
//! that is not beyond the earlier ones needs a search of its own. Recursion is a loop with a stack of second branches.
//!
//! Looking at every stored pair again, as published, costs more than starting afresh once histories are long (most pairs
//! of two acquires are stored). So, unless [`Memory::Published`] is asked for: a stored pair says up to which targets its
//! outcome holds, and only pairs whose bound is passed are looked at; a target is first tried, with few calls, from the
//! nearest reached pair and from where the observed run stood, because what is reachable from there is reachable; where
//! that does not settle it, the search from the start takes turns with one from the target ([`super::backward`]); and
//! once one thread stands at its target, one look at its locks says whether the other gets there.
//!
//! Cost: at most one check a pair and target, O(m·n) pairs for histories of m and n lock events; close to m+n where the
//! default check is rare, and close to the distance from the nearest reached pair where that leads on.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use mayhap_trace::EventId;

use super::backward::{Backward, Found};
use super::checks::{Action, Bound, Check, Pair, Table};
use super::counters::IpaCounters;

/// How much a search keeps for later targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Nothing: every target is searched for from the start.
    None,
    /// Stored pairs, all looked at again for each target, as in the paper.
    Published,
    /// Stored pairs with the targets up to which they hold, and tries from the nearest reached pair.
    Full,
}

/// Reached targets that a try may begin from.
const NEAR: usize = 64;
/// Calls that a try may make beyond the distance it has to go.
const SLACK: u64 = 32;

/// The move that first reached a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    Start,
    A,
    B,
    Both,
    /// The first thread ran on from this location.
    StraightA(u32),
    /// The second thread ran on from this location.
    StraightB(u32),
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    by: Move,
    /// The round that made its check; it needs no second look in that round.
    round: u32,
}

/// A pair to be looked at again for targets beyond a bound.
#[derive(Clone, Copy, Debug)]
struct Stored {
    pair: Pair,
    holds: Bound,
}

/// A search from one start pair, kept between targets.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(super) start: Pair,
    memory: Memory,
    /// The last target that was searched for from the start, and what came out.
    last: Option<(Pair, bool)>,
    visits: HashMap<Pair, Visit, foldhash::fast::FixedState>,
    /// `incpairs` of the round that `last` belongs to.
    stored: Vec<Stored>,
    /// The round that `last` belongs to.
    round: u32,
    rounds: u32,
    /// Pairs that the observed run passed through, with the last event before.
    observed: HashMap<Pair, EventId, foldhash::fast::FixedState>,
    /// Targets that the way back showed to be unreachable.
    unreachable: HashSet<Pair, foldhash::fast::FixedState>,
    /// Targets reached so far, latest last.
    reached: VecDeque<Pair>,
    /// Row 7 cut a search from the start somewhere: a failure proves nothing.
    pub(super) interfered: bool,
}

/// What goes along with one search.
pub(crate) struct Run<'r> {
    pub(super) table: &'r Table<'r>,
    /// Pairs where the observed run stood count as reached.
    pub(super) observed: bool,
    /// Calls left.
    pub(super) left: u64,
    pub(super) counters: &'r mut IpaCounters,
    /// Sees every check made.
    pub(super) observe: &'r mut dyn FnMut(Pair, Check),
}

impl Search {
    pub(super) fn new(start: Pair, memory: Memory) -> Self {
        Search {
            start,
            memory,
            last: None,
            visits: HashMap::with_hasher(foldhash::fast::FixedState::default()),
            stored: Vec::new(),
            round: 0,
            rounds: 0,
            observed: HashMap::default(),
            unreachable: HashSet::default(),
            reached: VecDeque::new(),
            interfered: false,
        }
    }

    /// The pair was reached by some search from this start.
    pub(super) fn has_reached(&self, pair: Pair) -> bool {
        self.visits.contains_key(&pair)
    }

    /// What is known of a target without any call.
    pub(super) fn known(&self, target: Pair) -> Option<bool> {
        if self.has_reached(target) {
            return Some(true);
        }
        if self.unreachable.contains(&target) {
            return Some(false);
        }
        self.last.filter(|&(last, _)| last == target).map(|(_, found)| found)
    }

    /// The pairs stored for later targets, oldest first.
    pub(super) fn stored(&self) -> Vec<Pair> {
        self.stored.iter().map(|s| s.pair).collect()
    }

    /// Searches for the table's target.
    pub(super) fn run(&mut self, run: &mut Run<'_>) -> Found {
        let both_ways = self.memory == Memory::Full && run.table.straight;
        let found = match () {
            _ if both_ways && self.try_from_near(run) => Found::Reached,
            _ if both_ways => self.run_both_ways(run),
            _ => self.run_from_start(run),
        };
        if found == Found::Reached {
            self.note_reached(run.table.target);
        }
        found
    }

    /// Keeps a target that was reached for tries from there.
    pub(super) fn note_reached(&mut self, target: Pair) {
        if self.reached.len() == NEAR {
            self.reached.pop_front();
        }
        self.reached.push_back(target);
    }

    /// Returns the reached target nearest before this one.
    fn nearest(&self, target: Pair) -> Option<Pair> {
        self.reached.iter().copied().filter(|p| target.covers(*p)).max_by_key(|p| p.sum())
    }

    /// A few calls from the reached target nearest before this one.
    fn try_from_near(&mut self, run: &mut Run<'_>) -> bool {
        self.nearest(run.table.target).is_some_and(|near| self.try_from(near, run))
    }

    /// One look from a reached pair, or one where the observed run stood after an event: straight legs to the target.
    pub(super) fn try_legs(&mut self, pair: Pair, last: Option<EventId>, run: &mut Run<'_>) -> bool {
        let legs = run.table.legs(pair);
        let check = if legs.is_some() { Check::Lcc3 } else { Check::Lcc2 };
        run.counters.roots += 1;
        run.counters.count(check);
        (run.observe)(pair, check);
        run.left = run.left.saturating_sub(1);
        let Some(legs) = legs else { return false };
        self.enter(pair, last);
        let mut from = pair;
        for to in legs {
            if to != from {
                self.go_straight(from, to, run.counters);
            }
            from = to;
        }
        true
    }

    /// One look from the reached target nearest before this one.
    pub(super) fn try_legs_from_near(&mut self, run: &mut Run<'_>) -> bool {
        self.nearest(run.table.target).is_some_and(|near| self.try_legs(near, None, run))
    }

    fn try_from(&mut self, near: Pair, run: &mut Run<'_>) -> bool {
        let target = run.table.target;
        let round = self.next_round();
        let (kept, interfered, left) = (self.stored.len(), self.interfered, run.left);
        run.left = left.min(target.sum() - near.sum() + SLACK);
        let granted = run.left;
        let found = self.from(near, round, run);
        run.left = left - (granted - run.left);
        self.stored.truncate(kept);
        self.interfered = interfered;
        found == Found::Reached
    }

    /// From the target and from the start in turn, with growing budgets, until one of the two is done.
    fn run_both_ways(&mut self, run: &mut Run<'_>) -> Found {
        let target = run.table.target;
        let total = run.left;
        let mut slice = 2 * (target.sum() - self.start.sum()) + SLACK;
        while run.left > 0 {
            let granted = run.left.min(slice);
            let mut backward = Backward::new(run.table, self.start, run.observed);
            match backward.run(granted, run.counters) {
                Found::Reached => {
                    let (path, last) = backward.path();
                    self.adopt(&path, last);
                    return Found::Reached;
                }
                Found::Unreached => {
                    self.unreachable.insert(target);
                    return Found::Unreached;
                }
                Found::OutOfBudget => {}
            }
            let left = std::mem::replace(&mut run.left, granted);
            let found = self.run_from_start(run);
            run.left = left - (granted - run.left);
            if found != Found::OutOfBudget {
                return found;
            }
            slice = slice.saturating_mul(4).min(total);
        }
        Found::OutOfBudget
    }

    /// Takes over a path, which begins at the start or where the observed run stood after an event.
    fn adopt(&mut self, path: &[Pair], last: Option<EventId>) {
        self.enter(path[0], last);
        for step in path.windows(2) {
            let by = match (step[1].a > step[0].a, step[1].b > step[0].b) {
                (true, true) => Move::Both,
                (true, false) => Move::StraightA(step[0].a),
                _ => Move::StraightB(step[0].b),
            };
            self.visits.entry(step[1]).or_insert(Visit { by, round: 0 });
        }
    }

    /// A pair from which paths begin.
    fn enter(&mut self, pair: Pair, last: Option<EventId>) {
        if !self.visits.contains_key(&pair) {
            self.visits.insert(pair, Visit { by: Move::Start, round: 0 });
            if let Some(last) = last {
                self.observed.insert(pair, last);
            }
        }
    }

    fn next_round(&mut self) -> u32 {
        self.rounds += 1;
        self.rounds
    }

    fn run_from_start(&mut self, run: &mut Run<'_>) -> Found {
        let target = run.table.target;
        let roots = if self.last.is_some_and(|(last, _)| target.covers(last)) {
            self.take_stored(target)
        } else {
            self.round = self.next_round();
            self.stored.clear();
            self.interfered = false;
            self.visits.entry(self.start).or_insert_with(|| {
                run.counters.visited += 1;
                Visit { by: Move::Start, round: 0 }
            });
            vec![self.start]
        };
        let mut found = Found::Unreached;
        for root in roots {
            if self.visits[&root].round == self.round {
                continue;
            }
            match self.from(root, self.round, run) {
                Found::Unreached => {}
                Found::Reached => found = Found::Reached,
                Found::OutOfBudget => {
                    self.last = None;
                    return Found::OutOfBudget;
                }
            }
        }
        self.last = Some((target, found == Found::Reached));
        found
    }

    /// The stored pairs to look at again for a target, un-visited.
    fn take_stored(&mut self, target: Pair) -> Vec<Pair> {
        let all = self.memory == Memory::Published;
        let mut roots = Vec::new();
        self.stored.retain(|stored| {
            let again = all || !stored.holds.covers(target);
            if again {
                roots.push(stored.pair);
            }
            !again
        });
        for root in &roots {
            self.visits.get_mut(root).expect("stored pairs were visited").round = 0;
        }
        roots
    }

    fn from(&mut self, root: Pair, round: u32, run: &mut Run<'_>) -> Found {
        let mut branches: Vec<Pair> = Vec::new();
        let mut at = root;
        run.counters.roots += 1;
        loop {
            if run.left == 0 {
                return Found::OutOfBudget;
            }
            run.left -= 1;
            let (check, action) = self.look(at, round, run.table);
            run.counters.count(check);
            (run.observe)(at, check);
            let by = match action {
                Action::Succeed | Action::Straight => {
                    if action == Action::Straight {
                        self.go_straight(at, run.table.target, run.counters);
                    }
                    if !run.table.literal {
                        self.stored.extend(branches.into_iter().map(|pair| Stored { pair, holds: Bound::NEVER }));
                    }
                    return Found::Reached;
                }
                Action::Fail => match branches.pop() {
                    None => return Found::Unreached,
                    Some(origin) => {
                        run.counters.both_branches += 1;
                        at = origin;
                        Move::A
                    }
                },
                Action::A => Move::A,
                Action::B => Move::B,
                Action::Both => Move::Both,
                Action::Either => {
                    branches.push(at);
                    Move::B
                }
            };
            at = self.go(at, by, run.counters);
        }
    }

    /// The row that applies, VC included, with its effect on what is kept.
    fn look(&mut self, at: Pair, round: u32, table: &Table<'_>) -> (Check, Action) {
        let visit = self.visits.get_mut(&at).expect("the search stands on visited pairs");
        if std::mem::replace(&mut visit.round, round) == round {
            return (Check::Vc, Action::Fail);
        }
        let row = table.row(at);
        if let Some(holds) = row.holds {
            self.stored.push(Stored { pair: at, holds });
        }
        self.interfered |= row.check == Check::StrategyTwo;
        (row.check, row.action)
    }

    /// One thread runs on to the target in one move.
    fn go_straight(&mut self, from: Pair, to: Pair, counters: &mut IpaCounters) {
        counters.moves += 1;
        let by = if from.a == to.a { Move::StraightB(from.b) } else { Move::StraightA(from.a) };
        self.visits.entry(to).or_insert(Visit { by, round: 0 });
    }

    fn go(&mut self, from: Pair, by: Move, counters: &mut IpaCounters) -> Pair {
        counters.moves += 1;
        let to = match by {
            Move::A => Pair { a: from.a + 1, b: from.b },
            Move::B => Pair { a: from.a, b: from.b + 1 },
            Move::Both => Pair { a: from.a + 1, b: from.b + 1 },
            Move::Start | Move::StraightA(_) | Move::StraightB(_) => from,
        };
        self.visits.entry(to).or_insert_with(|| {
            counters.visited += 1;
            Visit { by, round: 0 }
        });
        to
    }

    /// The pairs from the start to a reached pair, and the last event of the observed prefix that the start stands for.
    pub(super) fn path(&self, to: Pair) -> (Vec<Pair>, Option<EventId>) {
        let mut path = vec![to];
        let mut at = to;
        loop {
            at = match self.visits[&at].by {
                Move::Start => break,
                Move::A => Pair { a: at.a - 1, b: at.b },
                Move::B => Pair { a: at.a, b: at.b - 1 },
                Move::Both => Pair { a: at.a - 1, b: at.b - 1 },
                Move::StraightA(a) => Pair { a, b: at.b },
                Move::StraightB(b) => Pair { a: at.a, b },
            };
            path.push(at);
        }
        path.reverse();
        (path, self.observed.get(&at).copied())
    }
}
