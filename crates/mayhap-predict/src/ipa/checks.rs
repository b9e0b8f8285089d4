//! The 17 checks of `do_search` on a pair of locations (iPA, Table III), as one table from a pair to an action.
//!
//! Deviations from the printed table:
//! - HB (rows 3, 4) fails, as LCC1, where the event that must come first is itself disabled by the other thread: printed,
//!   the row would step over a held lock whenever the search starts before the last signal between the threads.
//! - Row 7 is the condition that the proof of Theorem 3 needs.
//! - Rows 13 and 14 ask that the lock is neither taken nor given up in the rest (the prose; the table tests unlock only).
//! - Reader locks: "the same lock" becomes "an acquire that the other one would block". Two readers of one lock are
//!   then as independent as two locks, so rows 10 to 16 no longer ask for different locks: the thread that would be blocked was
//!   caught by rows 5 to 9.
//!
//! Cost of one check: two clock lookups, the locks held, two binary searches; row 7: the same per third thread.

use std::hash::{Hash, Hasher};

use mayhap_trace::{EventId, LockId, LocksetId, Mode, Relations, Trace};

use super::history::{Histories, History, blocks, mode_of};

/// A pair of locations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// Location of the first thread.
    pub a: u32,
    /// Location of the second thread.
    pub b: u32,
}

/// As one word: searches do little else than look pairs up.
impl Hash for Pair {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.a) << 32 | u64::from(self.b));
    }
}

impl Pair {
    /// At or after `other` in both threads.
    pub fn covers(self, other: Pair) -> bool {
        self.a >= other.a && self.b >= other.b
    }

    /// How many lock events lie before it.
    pub(super) fn sum(self) -> u64 {
        u64::from(self.a) + u64::from(self.b)
    }
}

macro_rules! checks {
    ($($name:ident = $text:literal, $key:literal;)*) => {
        /// A check of the table, in the order in which they are tried.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum Check { $($name,)* }

        impl Check {
            /// All checks, row by row.
            pub const ALL: [Check; 17] = [$(Check::$name,)*];

            /// The published name.
            pub const fn name(self) -> &'static str {
                match self { $(Check::$name => $text,)* }
            }

            /// The name of its counter.
            pub(crate) const fn counter(self) -> &'static str {
                match self { $(Check::$name => $key,)* }
            }
        }
    };
}

checks! {
    Vc = "VC", "calls.VC";
    Tc = "TC", "calls.TC";
    Hb1 = "HB1", "calls.HB1";
    Hb2 = "HB2", "calls.HB2";
    Lcc1 = "LCC1", "calls.LCC1";
    Lcc2 = "LCC2", "calls.LCC2";
    StrategyTwo = "S-II", "calls.S-II";
    Lcc3 = "LCC3", "calls.LCC3";
    Lcc4 = "LCC4", "calls.LCC4";
    Rc1 = "RC1", "calls.RC1";
    Rc2 = "RC2", "calls.RC2";
    Rc3 = "RC3", "calls.RC3";
    Rc4 = "RC4", "calls.RC4";
    Rc5 = "RC5", "calls.RC5";
    Rc6 = "RC6", "calls.RC6";
    Rc7 = "RC7", "calls.RC7";
    Default = "DEF", "calls.DEF";
}

/// What a check says to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Succeed,
    Fail,
    /// The first thread moves.
    A,
    /// The second thread moves.
    B,
    /// Both move.
    Both,
    /// Try the second thread, then the first.
    Either,
    /// The thread that is not at its target runs there without meeting a held lock.
    Straight,
}

/// The furthest target, in each thread, for which an outcome holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    a: u32,
    b: u32,
}

impl Bound {
    /// Every other target has to look again.
    pub(super) const NEVER: Bound = Bound { a: 0, b: 0 };

    fn a(a: u32) -> Self {
        Bound { a, b: u32::MAX }
    }

    fn b(b: u32) -> Self {
        Bound { a: u32::MAX, b }
    }

    pub(super) fn covers(self, target: Pair) -> bool {
        target.a <= self.a && target.b <= self.b
    }
}

/// A check that applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(super) check: Check,
    pub(super) action: Action,
    /// The outcome depends on where the histories end: a target beyond this has to look again.
    pub(super) holds: Option<Bound>,
}

/// What a third thread does from a snapshot on, as far as row 7 asks.
#[derive(Clone, Debug)]
pub(crate) struct Bystander {
    /// Its next lock event.
    pub(super) next: Option<EventId>,
    /// What it holds meanwhile.
    pub(super) held: Vec<(LockId, Mode)>,
}

/// One question: two threads, and the events they are to stand before.
pub(crate) struct Table<'a> {
    pub(super) trace: &'a Trace,
    pub(super) relations: &'a Relations,
    pub(super) histories: &'a Histories,
    /// Those of the two threads.
    pub(super) a: &'a History,
    pub(super) b: &'a History,
    /// The target events.
    pub(super) events: (EventId, EventId),
    /// Their locations.
    pub(super) target: Pair,
    /// Third threads, for strategy II.
    pub(super) bystanders: &'a [Bystander],
    /// The table as printed, without the corrections.
    pub(super) literal: bool,
    /// Once a thread is at its target, settle at once whether the other gets to its own.
    pub(super) straight: bool,
}

/// One thread of the pair, at its location.
struct Side<'a> {
    history: &'a History,
    at: u32,
    end: u32,
    /// The next lock event, or the target event at the end.
    next: EventId,
    held: LocksetId,
}

impl Side<'_> {
    fn at_end(&self) -> bool {
        self.at == self.end
    }
}

/// A lock event as the table reads it.
#[derive(Clone, Copy)]
enum Step {
    Take(LockId, Mode),
    Give,
}

impl Table<'_> {
    /// The first row, from TC on, that applies. VC is the search's own.
    pub(super) fn row(&self, pair: Pair) -> Row {
        let fixed = |check, action| Row { check, action, holds: None };
        let open = |check, action, holds| Row { check, action, holds: Some(holds) };
        if pair == self.target {
            return open(Check::Tc, Action::Succeed, Bound { a: pair.a, b: pair.b });
        }
        let (a, b) = self.sides(pair);
        if self.straight && (a.at_end() || b.at_end()) {
            let holds = Some(Bound { a: self.target.a, b: self.target.b });
            return match (a.at_end(), self.runs_through(&a, &b)) {
                (_, false) => Row { check: Check::Lcc2, action: Action::Fail, holds },
                (true, true) => Row { check: Check::Lcc3, action: Action::Straight, holds },
                (false, true) => Row { check: Check::Lcc4, action: Action::Straight, holds },
            };
        }
        let (blocked_a, blocked_b) = (self.disabled(&a, &b), self.disabled(&b, &a));
        if self.before(a.next, b.next) {
            return if blocked_a && !self.literal {
                fixed(Check::Lcc1, Action::Fail)
            } else {
                fixed(Check::Hb1, Action::A)
            };
        }
        if self.before(b.next, a.next) {
            return if blocked_b && !self.literal {
                fixed(Check::Lcc1, Action::Fail)
            } else {
                fixed(Check::Hb2, Action::B)
            };
        }
        if blocked_a && blocked_b {
            return fixed(Check::Lcc1, Action::Fail);
        }
        if a.at_end() && blocked_b {
            return open(Check::Lcc2, Action::Fail, Bound::a(pair.a));
        }
        if b.at_end() && blocked_a {
            return open(Check::Lcc2, Action::Fail, Bound::b(pair.b));
        }
        if self.interfered(&a, &b) {
            return fixed(Check::StrategyTwo, Action::Fail);
        }
        if a.at_end() || blocked_a {
            let holds = a.at_end().then(|| Bound::a(pair.a));
            return Row { check: Check::Lcc3, action: Action::B, holds };
        }
        if b.at_end() || blocked_b {
            let holds = b.at_end().then(|| Bound::b(pair.b));
            return Row { check: Check::Lcc4, action: Action::A, holds };
        }
        match (self.step(a.next), self.step(b.next)) {
            (Step::Take(..), Step::Give) => fixed(Check::Rc1, Action::B),
            (Step::Give, Step::Take(..)) => fixed(Check::Rc2, Action::A),
            (Step::Give, Step::Give) => fixed(Check::Rc3, Action::Both),
            (Step::Take(l, ml), Step::Take(m, mm)) => {
                let (wanted_b, wanted_a) = (b.history.wants(l, ml, b.at), a.history.wants(m, mm, a.at));
                let (kept_a, kept_b) = (self.kept_until(&a), self.kept_until(&b));
                if wanted_b >= b.end {
                    open(Check::Rc4, Action::A, Bound::b(wanted_b))
                } else if wanted_a >= a.end {
                    open(Check::Rc5, Action::B, Bound::a(wanted_a))
                } else if kept_a >= a.end {
                    open(Check::Rc6, Action::B, Bound::a(kept_a))
                } else if kept_b >= b.end {
                    open(Check::Rc7, Action::A, Bound::b(kept_b))
                } else {
                    fixed(Check::Default, Action::Either)
                }
            }
        }
    }

    /// Row 7 as far as it is settled before a search from `start`.
    pub(super) fn interfered_from(&self, start: Pair) -> bool {
        match self.straight {
            _ if self.bystanders.is_empty() => false,
            true => self.way_interfered(start),
            false => self.target_interfered(),
        }
    }

    /// Row 7 on the target itself: the terminal test of the printed table comes before it and would never ask.
    fn target_interfered(&self) -> bool {
        let (a, b) = self.sides(self.target);
        !self.literal && self.interfered(&a, &b)
    }

    /// Row 7 anywhere on the way from a start to the target. Every path passes all locations of both threads in between,
    /// so no path avoids a lock that a third thread holds; and what must wait for a third thread's next lock event has the
    /// target after it. So row 7 is settled before the search, once.
    fn way_interfered(&self, start: Pair) -> bool {
        let (a, b) = self.sides(start);
        let met = |side: &Side<'_>, held: &(LockId, Mode)| side.history.wants(held.0, held.1, side.at) < side.end;
        let on_the_way = |t: &Bystander| t.held.iter().any(|held| met(&a, held) || met(&b, held));
        self.target_interfered() || self.interfered(&a, &b) || self.bystanders.iter().any(on_the_way)
    }

    fn sides(&self, pair: Pair) -> (Side<'_>, Side<'_>) {
        (
            self.side(self.a, pair.a, self.target.a, self.events.0),
            self.side(self.b, pair.b, self.target.b, self.events.1),
        )
    }

    fn side<'a>(&self, history: &'a History, at: u32, end: u32, target: EventId) -> Side<'a> {
        let next = if at == end { target } else { history.events()[at as usize] };
        Side { history, at, end, next, held: self.relations.held(next) }
    }

    pub(super) fn before(&self, x: EventId, y: EventId) -> bool {
        // What must come first came first, which is quickly seen.
        x < y && self.relations.ordered(self.trace, x, y)
    }

    fn step(&self, id: EventId) -> Step {
        let event = self.trace.event(id);
        match event.lock() {
            Some(lock) if event.op.is_acquire() => Step::Take(lock, mode_of(event.op.is_shared())),
            _ => Step::Give,
        }
    }

    /// The next lock event of `me` takes a lock that `other` holds.
    fn disabled(&self, me: &Side<'_>, other: &Side<'_>) -> bool {
        if me.at_end() {
            return false;
        }
        match self.step(me.next) {
            Step::Take(lock, mode) => blocks(self.relations.locksets().get(other.held), lock, mode),
            Step::Give => false,
        }
    }

    /// One thread is at its target; the other takes none of its locks on the way to its own.
    fn runs_through(&self, a: &Side<'_>, b: &Side<'_>) -> bool {
        let (still, moving) = if a.at_end() { (a, b) } else { (b, a) };
        self.passes(still, moving)
    }

    /// One thread gets to its target while the other stands still with its locks.
    fn passes(&self, still: &Side<'_>, moving: &Side<'_>) -> bool {
        let held = self.relations.locksets().get(still.held);
        held.iter().all(|&(lock, mode)| moving.history.wants(lock, mode, moving.at) >= moving.end)
    }

    /// The location from which on the section that the next lock event opens may be closed.
    fn kept_until(&self, me: &Side<'_>) -> u32 {
        self.relations.matching_release(me.next).map_or(u32::MAX, |release| self.histories.location(release))
    }

    /// A third thread would have to move, or holds a lock that the two hold.
    fn interfered(&self, a: &Side<'_>, b: &Side<'_>) -> bool {
        let locksets = self.relations.locksets();
        let clash =
            |held: &[(LockId, Mode)], set| locksets.get(set).iter().any(|&(lock, mode)| blocks(held, lock, mode));
        self.bystanders.iter().any(|t| {
            t.next.is_some_and(|le| self.before(le, a.next) || self.before(le, b.next))
                || (!t.held.is_empty() && (clash(&t.held, a.held) || clash(&t.held, b.held)))
        })
    }
}
