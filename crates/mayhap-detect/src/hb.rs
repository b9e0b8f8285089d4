//! Happens-before (HB) and schedulable happens-before (SHB) by vector clocks.
//!
//! HB: program order; release to later acquire of the same lock where the two sections exclude each other (a reader's
//! section and another reader's do not); fork, join and notify edges; what atomic accesses and fences order
//! ([`crate::atomics`]); closed transitively. SHB (Mathur, Kini, Viswanathan, OOPSLA'18) adds an edge from each write to the reads that see it; a read is compared with the writes before it learns of
//! the one it sees.
//!
//! Deviations: none in the orders. A thread's time increases after an event that passes its clock on (release, fork, notify,
//! atomic release; in SHB each write), not after every event: only such an event can be the source of an edge, so events between two of them are
//! ordered alike with respect to other threads.
//!
//! Invariants: a thread that knows time `n` of thread `t` knows all that `t` knew when it left time `n`, because `t` passes its
//! clock on only at the end of a time. Hence a join is skipped if the epoch is already known.
//!
//! Cost: constant per access in order and per release; per acquire (SHB: read of another thread's write) constant if
//! nothing is new, else the nodes in which two clocks differ. Memory: threads, locks and shared variables, each constant
//! plus the clock nodes that differ.
//!
//! What it proves: nothing but an unordered pair. The first HB race is a real one, later HB races need not be; every SHB
//! race is schedulable (reaches its two events by a reordering that keeps each read's write).

use mayhap_trace::{Op, Tables};

use crate::atomics::{Atomics, Channel};
use crate::clock::{Clock, Clocks};
use crate::rules::Rules;
use crate::signals::Signals;
use crate::stream::{Access, Sync};

/// A thread's own time, and what it knows of others.
struct Thread {
    clock: Clock,
    now: u32,
}

/// A thread's clock at the moment it was passed on. Time 0 means never.
pub(crate) struct Stamp {
    clock: Clock,
    thread: u32,
    now: u32,
}

impl Stamp {
    const NEVER: Stamp = Stamp { clock: Clock::ZERO, thread: 0, now: 0 };
}

/// What the next holder of a lock learns.
struct Lock {
    /// The last exclusive release.
    writer: Stamp,
    /// All shared releases since.
    readers: Clock,
}

/// Happens-before; with `SCHEDULABLE`, schedulable happens-before.
#[derive(Default)]
pub(crate) struct HappensBefore<const SCHEDULABLE: bool> {
    clocks: Clocks,
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    /// The last write of each variable, in SHB.
    last_writes: Vec<Stamp>,
    signals: Signals<Stamp>,
    atomics: Atomics<Clock>,
}

impl<const SCHEDULABLE: bool> HappensBefore<SCHEDULABLE> {
    /// Passes on the current clock of `thread` and ends its current time.
    #[inline]
    fn hand_on(&mut self, thread: usize) -> Stamp {
        let state = &mut self.threads[thread];
        let now = state.now;
        state.now += 1;
        Stamp { clock: self.clocks.share(&state.clock), thread: thread as u32, now }
    }

    #[inline]
    fn absorb(clocks: &mut Clocks, state: &mut Thread, thread: usize, stamp: &Stamp) {
        let from = stamp.thread as usize;
        if from != thread && clocks.get(&state.clock, from) < stamp.now {
            clocks.join(&mut state.clock, &stamp.clock);
            clocks.raise(&mut state.clock, from, stamp.now);
        }
    }

    #[inline]
    fn acquire(&mut self, thread: usize, lock: usize, shared: bool) {
        let (state, lock) = (&mut self.threads[thread], &self.locks[lock]);
        Self::absorb(&mut self.clocks, state, thread, &lock.writer);
        if !shared {
            self.clocks.join(&mut state.clock, &lock.readers);
        }
    }

    #[inline]
    fn release(&mut self, thread: usize, lock: usize) {
        let stamp = self.hand_on(thread);
        let lock = &mut self.locks[lock];
        self.clocks.release(std::mem::replace(&mut lock.writer, stamp).clock);
        self.clocks.release(std::mem::replace(&mut lock.readers, Clock::ZERO));
    }

    fn shared_release(&mut self, thread: usize, lock: usize) {
        let stamp = self.hand_on(thread);
        let readers = &mut self.locks[lock].readers;
        self.clocks.join(readers, &stamp.clock);
        self.clocks.raise(readers, thread, stamp.now);
        self.clocks.release(stamp.clock);
    }

    /// Lets the atomic variables, which are part of this order, change it.
    #[inline(never)]
    fn by_atomics(&mut self, change: impl FnOnce(&mut Atomics<Clock>, &mut Self)) {
        let mut atomics = std::mem::take(&mut self.atomics);
        change(&mut atomics, self);
        self.atomics = atomics;
    }

    fn edge(&mut self, from: usize, to: usize) {
        let stamp = self.hand_on(from);
        Self::absorb(&mut self.clocks, &mut self.threads[to], to, &stamp);
        self.clocks.release(stamp.clock);
    }
}

impl<const SCHEDULABLE: bool> Channel for HappensBefore<SCHEDULABLE> {
    type Message = Clock;

    fn send(&mut self, thread: usize) -> Clock {
        let Stamp { mut clock, now, .. } = self.hand_on(thread);
        self.clocks.raise(&mut clock, thread, now);
        clock
    }

    fn receive(&mut self, thread: usize, message: &Clock) {
        self.clocks.join(&mut self.threads[thread].clock, message);
    }

    fn merge(&mut self, to: &mut Clock, from: &Clock) {
        self.clocks.join(to, from);
    }

    fn share(&mut self, message: &Clock) -> Clock {
        self.clocks.share(message)
    }

    fn discard(&mut self, message: Clock) {
        self.clocks.release(message);
    }
}

impl<const SCHEDULABLE: bool> Rules for HappensBefore<SCHEDULABLE> {
    fn grow(&mut self, tables: &Tables) {
        let more = |have: usize, want: usize| have.max(want);
        self.threads
            .resize_with(more(self.threads.len(), tables.threads.len()), || Thread { clock: Clock::ZERO, now: 1 });
        let lock = || Lock { writer: Stamp::NEVER, readers: Clock::ZERO };
        self.locks.resize_with(more(self.locks.len(), tables.locks.len()), lock);
        if SCHEDULABLE {
            self.last_writes.resize_with(more(self.last_writes.len(), tables.variables.len()), || Stamp::NEVER);
        }
        self.signals.grow(tables);
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        let event = sync.event;
        let (thread, object) = (event.thread.index(), event.object as usize);
        match event.op {
            Op::Acquire => self.acquire(thread, object, false),
            Op::SharedAcquire => self.acquire(thread, object, true),
            Op::Release => self.release(thread, object),
            Op::SharedRelease => self.shared_release(thread, object),
            Op::Fork => self.edge(thread, object),
            Op::Join => self.edge(object, thread),
            Op::Notify | Op::NotifyAll => {
                let stamp = self.hand_on(thread);
                if let Some(old) = self.signals.notify(sync, stamp) {
                    self.clocks.release(old.clock);
                }
            }
            Op::Wait => {
                if let Some(stamp) = self.signals.seen_by(sync) {
                    Self::absorb(&mut self.clocks, &mut self.threads[thread], thread, stamp);
                }
                if let Some(stamp) = self.signals.used_by(sync) {
                    self.clocks.release(stamp.clock);
                }
            }
            Op::Read
            | Op::Write
            | Op::Branch
            | Op::Begin
            | Op::End
            | Op::Try
            | Op::FailedAcquire
            | Op::FailedSharedAcquire
            | Op::FailedWait => {}
            Op::Fence => {
                self.by_atomics(|atomics, order| atomics.fence(order, sync));
            }
        }
    }

    #[inline(always)]
    fn before_check(&mut self, access: &Access) {
        if access.flags.is_atomic() && !access.write && !self.atomics.are_unused() {
            self.by_atomics(|atomics, order| atomics.read(order, access));
        }
    }

    #[inline(always)]
    fn after_check(&mut self, access: &Access) {
        if access.write && (access.flags.is_atomic() || !self.atomics.are_unused()) {
            self.by_atomics(|atomics, order| atomics.write(order, access));
        }
        if !SCHEDULABLE {
            return;
        }
        let Access { thread, variable, write, .. } = *access;
        if write {
            let stamp = self.hand_on(thread);
            let old = std::mem::replace(&mut self.last_writes[variable], stamp);
            self.clocks.release(old.clock);
        } else {
            Self::absorb(&mut self.clocks, &mut self.threads[thread], thread, &self.last_writes[variable]);
        }
    }

    #[inline]
    fn now(&self, thread: usize) -> u32 {
        self.threads[thread].now
    }

    #[inline]
    fn knows(&self, thread: usize, other: usize) -> u32 {
        self.clocks.get(&self.threads[thread].clock, other)
    }

    #[inline]
    fn exceeds(&self, clock: &Clock, thread: usize) -> bool {
        self.clocks.exceeds(clock, &self.threads[thread].clock, thread)
    }

    #[inline]
    fn clocks(&mut self) -> &mut Clocks {
        &mut self.clocks
    }

    fn memory(&self) -> usize {
        self.clocks.memory()
            + self.threads.capacity() * size_of::<Thread>()
            + self.locks.capacity() * size_of::<Lock>()
            + self.last_writes.capacity() * size_of::<Stamp>()
    }
}
