//! The interface of a partial order by vector clocks, and the search for unordered accesses that all orders share.
//!
//! A racy event is one that is unordered with some earlier conflicting access. By definition (algorithms of HB, SHB and
//! WCP alike) that is: an event's clock is not above the join of the clocks of all earlier conflicting accesses, a join that
//! is never reset. [`Variable`] decides just this with FastTrack's epochs (Flanagan, Freund, PLDI'09) where possible.
//!
//! Why epochs change nothing here. The order is transitive, so where a write `w` is above all earlier accesses `a`, an event
//! that is unordered with `a` is unordered with `w` as well; forgetting `a` does not change whether some conflicting access
//! is unordered with a later event. Only accesses below a write that is above *all* are dropped: after an unordered pair the
//! variable keeps one component per thread in a full clock, until a write is above that again. An access is never skipped because
//! its thread did the same in the same epoch before: it may be racy a second time and then counts a second time.
//!
//! Cost: constant for accesses in order, levels of the clock tree after a race or for concurrent readers, and a comparison
//! of clocks for a write after these.

use mayhap_trace::Tables;

use crate::clock::{Clock, Clocks};
use crate::stream::{Access, Sync};

/// A partial order that is computed by clocks during a pass over the trace.
///
/// The clock of an event of thread `t` is `now(t)` for `t` itself and `knows(t, u)` for others. An earlier event of `u`
/// with time `n` is before the current event of `t` iff `n <= knows(t, u)`.
pub(crate) trait Rules {
    /// Makes room for the ids of the tables.
    fn grow(&mut self, tables: &Tables);

    /// Takes a relevant event that is neither access nor branch.
    fn sync(&mut self, sync: &Sync<'_>);

    /// What an access learns before it is compared with earlier ones.
    fn before_check(&mut self, access: &Access);

    /// What an access learns, and passes on, after it was compared.
    fn after_check(&mut self, access: &Access);

    /// Returns the current time of a thread, from 1.
    fn now(&self, thread: usize) -> u32;

    /// What `thread` knows of another one.
    fn knows(&self, thread: usize, other: usize) -> u32;

    /// Whether some other thread is further in `clock` than `thread` knows.
    fn exceeds(&self, clock: &Clock, thread: usize) -> bool;

    /// Its clocks, which also store the clocks of variables.
    fn clocks(&mut self) -> &mut Clocks;

    /// Bytes of memory.
    fn memory(&self) -> usize;
}

/// The accesses of one kind to one variable: none, one epoch, or a clock.
enum Last {
    None,
    Epoch { thread: usize, now: u32 },
    Clock(u32),
}

/// [`Last`] in eight bytes: 0 for none, thread + 1 and time for an epoch, all bits of the upper half for a clock.
#[derive(Clone, Copy, Default)]
struct Packed(u64);

impl Packed {
    const CLOCK: u64 = (u32::MAX as u64) << 32;

    #[inline]
    fn epoch(thread: usize, now: u32) -> Packed {
        Packed((thread as u64 + 1) << 32 | u64::from(now))
    }

    #[inline]
    fn unpack(self) -> Last {
        if self.0 == 0 {
            Last::None
        } else if self.0 >= Self::CLOCK {
            Last::Clock(self.0 as u32)
        } else {
            Last::Epoch { thread: (self.0 >> 32) as usize - 1, now: self.0 as u32 }
        }
    }
}

/// What must be known about a variable's past to decide whether an access is racy.
#[derive(Clone, Copy, Default)]
pub(crate) struct Variable {
    writes: Packed,
    reads: Packed,
}

impl Variable {
    /// Whether an access would be unordered with some earlier conflicting one.
    pub(crate) fn is_unordered<R: Rules>(&self, rules: &R, thread: usize, write: bool) -> bool {
        self.writes.beyond(rules, thread) || (write && self.reads.beyond(rules, thread))
    }

    /// Takes an access. `true` if it is unordered with some earlier conflicting one.
    #[inline(always)]
    pub(crate) fn access<R: Rules>(&mut self, rules: &mut R, thread: usize, write: bool) -> bool {
        let after_writes = !self.writes.beyond(rules, thread);
        if !write {
            self.reads.add(rules, thread);
            return !after_writes;
        }
        let after_reads = !self.reads.beyond(rules, thread);
        if after_writes {
            self.writes.replace(rules, Packed::epoch(thread, rules.now(thread)));
        } else {
            self.writes.add(rules, thread);
        }
        if after_reads {
            self.reads.replace(rules, Packed::default());
        }
        !(after_writes && after_reads)
    }
}

impl Packed {
    /// Whether some access of another thread is not known to `thread`.
    #[inline(always)]
    fn beyond<R: Rules>(self, rules: &R, thread: usize) -> bool {
        match self.unpack() {
            Last::None => false,
            Last::Epoch { thread: other, now } => other != thread && now > rules.knows(thread, other),
            Last::Clock(clock) => rules.exceeds(&Clock::from_bits(clock), thread),
        }
    }

    /// Adds the current access of `thread`, and forgets what is before it if that is a single epoch.
    #[inline]
    fn add<R: Rules>(&mut self, rules: &mut R, thread: usize) {
        let now = rules.now(thread);
        match self.unpack() {
            Last::Epoch { thread: other, now: then } if other != thread && then > rules.knows(thread, other) => {
                let mut clock = Clock::ZERO;
                rules.clocks().raise(&mut clock, other, then);
                rules.clocks().raise(&mut clock, thread, now);
                *self = Packed(Self::CLOCK | u64::from(clock.into_bits()));
            }
            Last::Clock(clock) => {
                let mut clock = Clock::from_bits(clock);
                rules.clocks().raise(&mut clock, thread, now);
                *self = Packed(Self::CLOCK | u64::from(clock.into_bits()));
            }
            _ => *self = Packed::epoch(thread, now),
        }
    }

    #[inline]
    fn replace<R: Rules>(&mut self, rules: &mut R, by: Packed) {
        if let Last::Clock(clock) = self.unpack() {
            rules.clocks().release(Clock::from_bits(clock));
        }
        *self = by;
    }
}
