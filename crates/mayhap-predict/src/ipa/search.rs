//! `do_search` with what it keeps for the next target of the same two threads (iPA, sections III-B and III-C).
//!
//! The search walks pairs of locations. Each pair remembers the move that first led to it, so a path can be read back;
//! a pair that was reached stays reachable whatever the target. Pairs whose outcome hung on where the histories end are
//! stored; a later target that lies at or beyond all earlier ones looks at each of those again and at nothing else.
//!
//! Deviations: a default pair whose first branch succeeded is stored too, since its second branch was never tried
//! (`counterexamples/ipa_incremental_default.std`). A pair that was not visited is not thereby unreachable, so a target
//! that is not beyond the earlier ones needs a search of its own. Recursion is a loop with a stack of second branches.
//!
//! Cost: at most one check a pair and target, O(m·n) pairs for histories of m and n lock events; close to m+n where the
//! default check is rare.

use hashbrown::HashMap;

use super::checks::{Action, Check, Pair, Table};
use super::counters::IpaCounters;

/// The move that first reached a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    Start,
    A,
    B,
    Both,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    by: Move,
    /// Its check was made and needs no second look.
    explored: bool,
}

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Reached,
    Unreached,
    OutOfBudget,
}

/// A search from one start pair, kept between targets.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(super) start: Pair,
    /// The last target searched for, if any, and what came out.
    last: Option<(Pair, bool)>,
    visits: HashMap<Pair, Visit, foldhash::fast::FixedState>,
    /// `incpairs`: to be looked at again for a later target.
    stored: Vec<Pair>,
    /// Row 7 cut the search somewhere: a failure proves nothing.
    pub(super) interfered: bool,
}

impl Search {
    pub(super) fn new(start: Pair) -> Self {
        let visits = HashMap::with_hasher(foldhash::fast::FixedState::default());
        Search { start, last: None, visits, stored: Vec::new(), interfered: false }
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
        self.last.filter(|&(last, _)| last == target).map(|(_, found)| found)
    }

    /// The search can go on to this target: it lies at or beyond all earlier ones.
    pub(super) fn extends_to(&self, target: Pair) -> bool {
        self.last.is_none_or(|(last, _)| target.covers(last))
    }

    /// How far the earlier targets lay.
    pub(super) fn extent(&self) -> u64 {
        self.last.map_or(0, |(last, _)| u64::from(last.a) + u64::from(last.b))
    }

    /// The pairs stored for later targets, oldest first.
    pub(super) fn stored(&self) -> &[Pair] {
        &self.stored
    }

    /// Searches for the table's target, at most `budget` calls. `observe` sees every check made.
    pub(super) fn run(
        &mut self,
        table: &Table<'_>,
        budget: u64,
        counters: &mut IpaCounters,
        observe: &mut dyn FnMut(Pair, Check),
    ) -> Found {
        let roots = if self.last.is_none() {
            self.visits.insert(self.start, Visit { by: Move::Start, explored: false });
            counters.visited += 1;
            vec![self.start]
        } else {
            std::mem::take(&mut self.stored)
        };
        for root in &roots {
            self.visits.get_mut(root).expect("stored pairs were visited").explored = false;
        }
        let mut left = budget;
        let mut found = Found::Unreached;
        for root in roots {
            if self.visits[&root].explored {
                continue;
            }
            match self.from(root, table, &mut left, counters, observe) {
                Found::Unreached => {}
                Found::Reached => found = Found::Reached,
                Found::OutOfBudget => return Found::OutOfBudget,
            }
        }
        self.last = Some((table.target, found == Found::Reached));
        found
    }

    fn from(
        &mut self,
        root: Pair,
        table: &Table<'_>,
        left: &mut u64,
        counters: &mut IpaCounters,
        observe: &mut dyn FnMut(Pair, Check),
    ) -> Found {
        let mut branches: Vec<Pair> = Vec::new();
        let mut at = root;
        counters.roots += 1;
        loop {
            if *left == 0 {
                return Found::OutOfBudget;
            }
            *left -= 1;
            let (check, action) = self.look(at, table);
            counters.count(check);
            observe(at, check);
            let by = match action {
                Action::Succeed => {
                    if !table.literal {
                        self.stored.extend(branches);
                    }
                    return Found::Reached;
                }
                Action::Fail => match branches.pop() {
                    None => return Found::Unreached,
                    Some(origin) => {
                        counters.both_branches += 1;
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
            at = self.go(at, by, counters);
        }
    }

    /// The row that applies, VC included, with its effect on what is kept.
    fn look(&mut self, at: Pair, table: &Table<'_>) -> (Check, Action) {
        let visit = self.visits.get_mut(&at).expect("the search stands on visited pairs");
        if std::mem::replace(&mut visit.explored, true) {
            return (Check::Vc, Action::Fail);
        }
        let row = table.row(at);
        if row.open_end {
            self.stored.push(at);
        }
        self.interfered |= row.check == Check::StrategyTwo;
        (row.check, row.action)
    }

    fn go(&mut self, from: Pair, by: Move, counters: &mut IpaCounters) -> Pair {
        counters.moves += 1;
        let to = match by {
            Move::A => Pair { a: from.a + 1, b: from.b },
            Move::B => Pair { a: from.a, b: from.b + 1 },
            Move::Both => Pair { a: from.a + 1, b: from.b + 1 },
            Move::Start => from,
        };
        self.visits.entry(to).or_insert_with(|| {
            counters.visited += 1;
            Visit { by, explored: false }
        });
        to
    }

    /// The pairs from the start to a reached pair.
    pub(super) fn path(&self, to: Pair) -> Vec<Pair> {
        let mut path = vec![to];
        let mut at = to;
        loop {
            at = match self.visits[&at].by {
                Move::Start => break,
                Move::A => Pair { a: at.a - 1, b: at.b },
                Move::B => Pair { a: at.a, b: at.b - 1 },
                Move::Both => Pair { a: at.a - 1, b: at.b - 1 },
            };
            path.push(at);
        }
        path.reverse();
        path
    }
}
