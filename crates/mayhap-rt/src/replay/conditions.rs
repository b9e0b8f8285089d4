//! Waiting on conditions during a replay.
//!
//! The library wakes whichever waiter it likes; the schedule says which. So a wait gives the mutex up and stands still
//! here until its step's turn, and a notify marks waiters instead of waking them. A thread that still waits when
//! the replay ends goes on to a wait of the library, unless it was notified meanwhile.
//!
//! Everything here is for the holder of the token.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::thread::Thread;
use crate::threads;

/// How many threads wait here.
static WAITERS: AtomicU32 = AtomicU32::new(0);

/// The thread waits on `condition`.
pub(crate) fn wait(thread: &Thread, condition: usize) {
    thread.guarded.notified.store(0, Ordering::Relaxed);
    thread.guarded.waits_on.store(condition, Ordering::Relaxed);
    WAITERS.fetch_add(1, Ordering::Relaxed);
}

/// The thread's wait is over; says whether it was notified.
pub(crate) fn done(thread: &Thread) -> bool {
    WAITERS.fetch_sub(1, Ordering::Relaxed);
    thread.guarded.waits_on.store(0, Ordering::Relaxed);
    thread.guarded.notified.swap(0, Ordering::Relaxed) != 0
}

/// The schedule wakes the thread. If the notify had marked another one, that one has not been notified after all.
pub(crate) fn chosen(thread: &Thread) {
    let condition = thread.guarded.waits_on.load(Ordering::Relaxed);
    if !done(thread)
        && let Some(other) = waiters(condition).find(|other| other.guarded.notified.load(Ordering::Relaxed) == 1)
    {
        other.guarded.notified.store(0, Ordering::Relaxed);
    }
}

fn waiters(condition: usize) -> impl Iterator<Item = &'static Thread> {
    threads::all().filter(move |thread| thread.guarded.waits_on.load(Ordering::Relaxed) == condition)
}

/// One waiter, or all, are notified; says whether the library need not be asked any more.
pub(crate) fn notify(condition: usize, all: bool) -> bool {
    if WAITERS.load(Ordering::Relaxed) == 0 {
        return false;
    }
    for waiter in waiters(condition) {
        if waiter.guarded.notified.load(Ordering::Relaxed) == 0 {
            // A waiter that a broadcast marked keeps its mark.
            waiter.guarded.notified.store(if all { 2 } else { 1 }, Ordering::Relaxed);
            if !all {
                return true;
            }
        }
    }
    false
}
