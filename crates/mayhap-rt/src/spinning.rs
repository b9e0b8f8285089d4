//! Threads that wait for others by looking again and again.
//!
//! **Atomic operations that repeat.** An atomic operation that changes nothing and equals two that its thread did before it (same place,
//! same address, same value) is not recorded if no thread has recorded anything in between but branches and other such
//! operations; neither is the branch after it. A thread that spins on an atomic flag thus leaves two loads and two branches
//! a turn, as one that spins on plain memory does ([`crate::access`]). Nothing is lost. Let r1, r2 and r3 be the three:
//! - No other thread ran between them and their own thread changed no memory, so that the three saw the same write, and with it the same
//!   order. A correct reordering of the recorded trace becomes one of the full trace by putting r3 where the recording has it among its thread's
//!   events, directly after the last of them that was recorded. The other way, r3 is dropped: it is a read, and no other event depends on it.
//! - A target that has r3 next has r2 next if what the thread did since then is dropped from the schedule's end of this thread. Nothing in that
//!   is a write, a release or an acquire of a lock, so that no event of another thread depends on it.
//! - An exchange that finds what it writes is a write, which others may read and be ordered by. It is dropped only directly after the one
//!   that it equals: who reads from r3 reads the same value from r2, and r2 releases what r3 releases.
//!
//! **Giving way.** A thread that repeats itself cannot go on before another thread has run: it gives the token up at once if one waits for it,
//! and expects it back soon. So does a thread whose exchange or compare-exchange fails again and again while something else is recorded in between.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mayhap_wire::ring::{AtomicKind, Schedule};

use crate::thread::Thread;
use crate::{ring, sched};

/// How many different operations a loop may have that waits.
const LOOP: usize = 4;
/// How many additional hooks a repeated operation counts as if no thread waits.
const COST: i64 = 63;

/// How often a thread that spun looks for the token before it sleeps, and how many times it sleeps at once after that was in vain.
const LOOKS: u32 = 400;
const AFTER_LOOKING: u32 = 16;

/// One operation of a loop.
#[repr(C)]
struct Operation {
    /// Where it is, and above 56 bits its kind.
    place: AtomicU64,
    address: AtomicU64,
    /// What it found.
    value: AtomicU64,
    /// How often it was recorded.
    times: AtomicU32,
    /// How often it came in the present slice.
    seen: AtomicU32,
}

/// The atomic operations that a thread has done in a row without changing anything. **Written by the thread itself.** Memory of zeros is ready.
#[repr(C)]
pub(crate) struct Loop {
    /// The ring's head right after the last of them.
    at: AtomicU64,
    /// The last of them plus 1.
    last: AtomicU32,
    /// Where the next new one goes.
    next: AtomicU32,
    /// The slice in which the operations were counted.
    slice: AtomicU32,
    operations: [Operation; LOOP],
}

/// How often the same attempt may fail in a slice before the thread is taken to wait.
const ATTEMPTS: u32 = 4;

/// What an operation that leaves memory as it was is among those before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The thread goes on.
    New,
    /// An attempt that failed in the same way several times in this slice, in which no other thread could change that. Something else was
    /// recorded in between, so that it is recorded, too.
    InVain,
    /// It need not be recorded.
    Repeated,
}

/// An atomic operation that left memory as it was.
pub(crate) struct Unchanging {
    /// It was to change it.
    pub(crate) is_attempt: bool,
    pub(crate) kind: AtomicKind,
    pub(crate) pc: u64,
    pub(crate) address: u64,
    pub(crate) value: u64,
}

impl Loop {
    /// A new thread begins.
    pub(crate) fn reset(&self) {
        self.at.store(0, Ordering::Relaxed);
        self.slice.store(u32::MAX, Ordering::Relaxed);
    }

    /// Looks at an operation that is about to be recorded, in the thread's n-th slice.
    pub(crate) fn look(&self, done: &Unchanging, slice: u32) -> Found {
        let goes_on = self.at.load(Ordering::Relaxed) == ring::head();
        let same_slice = self.slice.swap(slice, Ordering::Relaxed) == slice;
        for operation in &self.operations {
            if !goes_on {
                operation.times.store(0, Ordering::Relaxed);
            }
            if !same_slice {
                operation.seen.store(0, Ordering::Relaxed);
            }
        }
        let place = done.pc | (done.kind as u64) << 56;
        let same = |operation: &Operation| {
            operation.place.load(Ordering::Relaxed) == place
                && operation.address.load(Ordering::Relaxed) == done.address
                && operation.value.load(Ordering::Relaxed) == done.value
        };
        let index = self.operations.iter().position(same).unwrap_or_else(|| self.replace(place, done));
        let operation = &self.operations[index];
        let number = index as u32 + 1;
        let directly = self.last.swap(number, Ordering::Relaxed) == number;
        let times = operation.times.load(Ordering::Relaxed);
        if times > 1 && (directly || done.kind == AtomicKind::Load) {
            return Found::Repeated;
        }
        operation.times.store(times + 1, Ordering::Relaxed);
        let seen = operation.seen.load(Ordering::Relaxed).saturating_add(1);
        operation.seen.store(seen, Ordering::Relaxed);
        if done.is_attempt && seen > ATTEMPTS { Found::InVain } else { Found::New }
    }

    /// Puts a new operation in the place of an old one; which one.
    fn replace(&self, place: u64, done: &Unchanging) -> usize {
        let index = self.next.load(Ordering::Relaxed) as usize % LOOP;
        let operation = &self.operations[index];
        operation.place.store(place, Ordering::Relaxed);
        operation.address.store(done.address, Ordering::Relaxed);
        operation.value.store(done.value, Ordering::Relaxed);
        operation.times.store(0, Ordering::Relaxed);
        operation.seen.store(0, Ordering::Relaxed);
        self.next.store(index as u32 + 1, Ordering::Relaxed);
        index
    }

    /// The operation that [`Self::look`] looked at was recorded.
    pub(crate) fn recorded(&self) {
        self.at.store(ring::head(), Ordering::Relaxed);
    }
}

/// The thread does again what it did before: it waits for another thread.
pub(crate) fn gives_way(thread: &Thread) {
    let left = thread.own.left.load(Ordering::Relaxed);
    // The next hook finds the slice at its end and passes the token on.
    let at_once = sched::schedule() == Schedule::Free && sched::others_wait();
    thread.own.spins.store(u32::from(at_once), Ordering::Relaxed);
    thread.own.left.store(if at_once { left.min(1) } else { left - COST }, Ordering::Relaxed);
}

/// Waits for the token without sleeping if it is likely to come back soon: two threads that hand over to each other by spinning do so many thousand times
/// a second, and waking one takes longer than what it does then.
pub(crate) fn look_out(thread: &Thread) {
    if thread.own.spins.swap(0, Ordering::Relaxed) == 0 {
        return;
    }
    let sleeps = thread.own.sleeps.load(Ordering::Relaxed);
    if sleeps > 0 {
        thread.own.sleeps.store(sleeps - 1, Ordering::Relaxed);
        return;
    }
    for _ in 0..LOOKS {
        if thread.queue.granted.load(Ordering::Acquire) != 0 {
            return;
        }
        core::hint::spin_loop();
    }
    thread.own.sleeps.store(AFTER_LOOKING, Ordering::Relaxed);
}
