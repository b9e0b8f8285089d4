//! The 17 checks of `do_search` on a pair of locations (iPA, Table III), as one table from a pair to an action.
//!
//! Deviations from the printed table:
//! - HB (rows 3, 4) fails, as LCC1, where the event that must come first is itself disabled by the other thread: printed,
//!   the row would step over a held lock whenever the search starts before the last signal between the threads.
//! - Row 7 is the condition that the proof of Theorem 3 needs.
//! - Rows 13 and 14 ask that the lock is neither taken nor given up in the rest (the prose; the table tests unlock only).
//! - Reader locks: "the same lock" becomes "an acquire that the other one would block". Two readers of one lock are
//!   then as independent as two locks, so rows 10 to 16 no longer ask for different locks: whoever would be blocked was
//!   caught by rows 5 to 9.
//!
//! Cost of one check: two clock lookups, the locks held, two binary searches; row 7: the same per third thread.

use mayhap_trace::{EventId, LockId, LocksetId, Mode, Relations, Trace};

use super::history::{History, blocks, mode_of};

/// A pair of locations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    /// Location of the first thread.
    pub a: u32,
    /// Location of the second thread.
    pub b: u32,
}

impl Pair {
    /// At or after `other` in both threads.
    pub fn covers(self, other: Pair) -> bool {
        self.a >= other.a && self.b >= other.b
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
}

/// A check that applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(super) check: Check,
    pub(super) action: Action,
    /// The outcome depends on where the histories end: a later target has to look again.
    pub(super) open_end: bool,
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
}

/// One thread of the pair, at its location.
struct Side<'a> {
    history: &'a History,
    at: u32,
    end: u32,
    /// The next lock event, or the target event at the end.
    next: EventId,
    target: EventId,
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
        let fixed = |check, action| Row { check, action, open_end: false };
        let open = |check, action| Row { check, action, open_end: true };
        if pair == self.target {
            return open(Check::Tc, Action::Succeed);
        }
        let (a, b) = self.sides(pair);
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
        if (a.at_end() && blocked_b) || (b.at_end() && blocked_a) {
            return open(Check::Lcc2, Action::Fail);
        }
        if self.interfered(&a, &b) {
            return fixed(Check::StrategyTwo, Action::Fail);
        }
        if a.at_end() || blocked_a {
            return Row { check: Check::Lcc3, action: Action::B, open_end: a.at_end() };
        }
        if b.at_end() || blocked_b {
            return Row { check: Check::Lcc4, action: Action::A, open_end: b.at_end() };
        }
        match (self.step(a.next), self.step(b.next)) {
            (Step::Take(..), Step::Give) => fixed(Check::Rc1, Action::B),
            (Step::Give, Step::Take(..)) => fixed(Check::Rc2, Action::A),
            (Step::Give, Step::Give) => fixed(Check::Rc3, Action::Both),
            (Step::Take(l, ml), Step::Take(m, mm)) => {
                if !b.history.wants(l, ml, b.at, b.end) {
                    open(Check::Rc4, Action::A)
                } else if !a.history.wants(m, mm, a.at, a.end) {
                    open(Check::Rc5, Action::B)
                } else if self.keeps(&a) {
                    open(Check::Rc6, Action::B)
                } else if self.keeps(&b) {
                    open(Check::Rc7, Action::A)
                } else {
                    fixed(Check::Default, Action::Either)
                }
            }
        }
    }

    /// Row 7 on the target itself: the terminal test of the printed table comes before it and would never ask.
    pub(super) fn target_interfered(&self) -> bool {
        let (a, b) = self.sides(self.target);
        !self.literal && self.interfered(&a, &b)
    }

    fn sides(&self, pair: Pair) -> (Side<'_>, Side<'_>) {
        (
            self.side(self.a, pair.a, self.target.a, self.events.0),
            self.side(self.b, pair.b, self.target.b, self.events.1),
        )
    }

    fn side<'a>(&self, history: &'a History, at: u32, end: u32, target: EventId) -> Side<'a> {
        let next = if at == end { target } else { history.events()[at as usize] };
        Side { history, at, end, next, target, held: self.relations.held(next) }
    }

    fn before(&self, x: EventId, y: EventId) -> bool {
        self.relations.ordered(self.trace, x, y)
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

    /// The next lock event opens a section that is still open at the target.
    fn keeps(&self, me: &Side<'_>) -> bool {
        self.relations.partner(me.next).is_none_or(|release| release >= me.target)
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
