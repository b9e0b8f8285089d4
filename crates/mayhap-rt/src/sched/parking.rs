//! Waiting without the kernel, so that the seed decides all that happens.
//!
//! Under a schedule that varies runs, a thread that cannot go on does not block in the kernel, which would wake it at a moment of its
//! own: it *parks* on the object that it waits for. The thread that changes the object puts it back into the queue, and it tries again
//! once the schedule gives it the token. So the order of a run is a function of program, input and seed, as long as the program makes
//! no call whose end the kernel decides.
//!
//! Real objects are only ever tried, never changed behind the program's back, so a parked thread can go to the kernel at any time. It
//! does when no thread can go on any more: then a wait with a time limit ends, or the recorder sees that the program is stuck. It also
//! does when nothing has run for a while, since something without hooks may have changed the object.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mayhap_wire::ring::{Tag, state};

use super::{DOZE, OWNER, WAITING, enqueue, grant_next, locked, wait_for_grant};
use crate::thread::Thread;
use crate::{fast_path, hook, ring, sys, threads};

/// What a parked thread finds in its `granted` when it is to wait in the kernel.
const TO_KERNEL: u32 = 2;
/// How often a parked thread dozes while nothing runs before it goes to the kernel.
const IDLE_DOZES: u32 = 3;
/// How often it dozes at all, if it waits for as long as it takes and if its wait has a time limit.
const MOST_DOZES: u32 = 500;
const MOST_DOZES_OF_LIMITED: u32 = 10;

/// Not 0: threads park.
static ON: AtomicU32 = AtomicU32::new(0);
/// How many threads are parked, and how many have begun and not ended.
static PARKED: AtomicU32 = AtomicU32::new(0);
static LIVE: AtomicU32 = AtomicU32::new(0);
/// How often threads have parked.
static PARKINGS: AtomicU64 = AtomicU64::new(0);

/// Not 0: no thread could go on, and all have gone to the kernel.
static STUCK: AtomicU32 = AtomicU32::new(0);

/// Whether no thread could go on.
pub(crate) fn is_stuck() -> bool {
    STUCK.load(Ordering::Relaxed) != 0
}

/// Threads park from here on.
pub(super) fn start() {
    ON.store(1, Ordering::Relaxed);
}

/// A forked child has one thread, which is not parked.
pub(super) fn forget() {
    ON.store(0, Ordering::Relaxed);
}

/// Whether threads park instead of blocking.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed) != 0
}

/// Whether all threads but the calling one are parked.
pub(crate) fn all_others_wait() -> bool {
    PARKED.load(Ordering::Relaxed) + 1 == LIVE.load(Ordering::Relaxed)
}

/// A thread is about to begin.
pub(crate) fn begins(thread: &Thread) {
    thread.queue.ended.store(0, Ordering::Relaxed);
    thread.queue.parked_on.store(0, Ordering::Relaxed);
    thread.queue.queued.store(0, Ordering::Relaxed);
    thread.queue.sleeps_until.store(0, Ordering::Relaxed);
    thread.queue.arrived.store(0, Ordering::Relaxed);
    LIVE.fetch_add(1, Ordering::Relaxed);
}

/// A thread has done its last step, or could not begin. Under the token.
pub(crate) fn ends(thread: &Thread) {
    thread.queue.ended.store(1, Ordering::Release);
    LIVE.fetch_sub(1, Ordering::Relaxed);
    if is_on() {
        unpark(end_of(thread), usize::MAX);
    }
}

/// The thread has done its last step.
pub(crate) fn has_ended(thread: &Thread) -> bool {
    thread.queue.ended.load(Ordering::Acquire) != 0
}

/// What a thread parks on that waits for the end of another one.
pub(crate) fn end_of(thread: &Thread) -> u64 {
    core::ptr::from_ref(thread) as u64
}

/// The creator of a thread waits until the new one has come to the queue: when that is must not depend on the kernel.
pub(crate) fn await_arrival(thread: &Thread) {
    let mut naps = 0;
    // A thread that has not come after a second is not waited for.
    while is_on() && thread.queue.arrived.load(Ordering::Acquire) == 0 && naps < 1000 {
        sys::futex_wait(&thread.queue.arrived, 0, Some(1_000_000));
        naps += 1;
    }
}

/// Gives the token up until another thread changes `object`. Says whether the thread has the token again and may try; otherwise
/// it has not, and must wait in the kernel. `limited`: the wait has a time limit.
pub(crate) fn park(thread: &'static Thread, object: u64, limited: bool) -> bool {
    fast_path::close();
    let next = locked(|| {
        thread.queue.granted.store(0, Ordering::Relaxed);
        thread.queue.parked_on.store(object, Ordering::Relaxed);
        thread.queue.parked_at.store(PARKINGS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        PARKED.fetch_add(1, Ordering::Relaxed);
        grant_next()
    });
    if let Some(next) = next {
        sys::futex_wake(&next.queue.granted);
    }
    let most = if limited { MOST_DOZES_OF_LIMITED } else { MOST_DOZES };
    let (mut idle, mut dozes) = (0, 0);
    while thread.queue.parked_on.load(Ordering::Acquire) != 0 {
        if thread.queue.granted.load(Ordering::Acquire) == 0 {
            sys::futex_wait(&thread.queue.granted, 0, Some(DOZE));
        }
        let nothing_runs = OWNER.load(Ordering::Relaxed) == 0 && WAITING.load(Ordering::Relaxed) == 0;
        idle = if nothing_runs { idle + 1 } else { 0 };
        dozes += 1;
        if idle >= IDLE_DOZES || dozes >= most || !hook::is_recording() {
            ring::set_state(state::KERNEL_DECIDED);
            locked(|| dismiss(thread));
        }
    }
    if thread.queue.granted.load(Ordering::Acquire) == TO_KERNEL {
        return false;
    }
    wait_for_grant(thread);
    true
}

/// Under the lock: a parked thread is parked no more, and goes to the kernel.
fn dismiss(thread: &Thread) {
    if thread.queue.parked_on.load(Ordering::Relaxed) != 0 {
        PARKED.fetch_sub(1, Ordering::Relaxed);
        thread.queue.granted.store(TO_KERNEL, Ordering::Relaxed);
        thread.queue.parked_on.store(0, Ordering::Release);
    }
}

/// Under the lock, when no thread waits for the token and it is free: if all threads are parked, none of them can go on, and all wait in
/// the kernel from here on.
pub(super) fn look_if_stuck() {
    if !is_on() || PARKED.load(Ordering::Relaxed) == 0 || PARKED.load(Ordering::Relaxed) != LIVE.load(Ordering::Relaxed)
    {
        return;
    }
    STUCK.store(1, Ordering::Relaxed);
    ring::set_state(state::STUCK);
    for thread in threads::all().filter(|thread| thread.queue.parked_on.load(Ordering::Relaxed) != 0) {
        dismiss(thread);
        sys::futex_wake(&thread.queue.granted);
    }
}

/// How many threads are parked on `object`.
pub(crate) fn parked_on(object: u64) -> usize {
    locked(|| threads::all().filter(|thread| thread.queue.parked_on.load(Ordering::Relaxed) == object).count())
}

/// The calling thread has changed `object`: up to `most` threads that are parked on it may try again, those that have waited longest
/// first. Says how many there were.
pub(crate) fn unpark(object: u64, most: usize) -> usize {
    unpark_after(object, 0, most)
}

/// Does what [`unpark`] does, but for so many threads that have waited longest.
pub(crate) fn unpark_after(object: u64, before: u32, most: usize) -> usize {
    if PARKED.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    locked(|| {
        let parked = |thread: &&Thread| thread.queue.parked_on.load(Ordering::Relaxed) == object;
        let waited = |thread: &&Thread| thread.queue.parked_at.load(Ordering::Relaxed);
        let mut after = None;
        for _ in 0..before {
            let later = |thread: &&Thread| after.is_none_or(|after| waited(thread) > after);
            let next = threads::all().filter(parked).filter(later).min_by_key(waited);
            after = next.as_ref().map(waited).or(after);
        }
        let mut woken = 0;
        while woken < most {
            let later = |thread: &&Thread| after.is_none_or(|after| waited(thread) > after);
            let first = threads::all().filter(parked).filter(later).min_by_key(waited);
            let Some(thread) = first else { break };
            PARKED.fetch_sub(1, Ordering::Relaxed);
            enqueue(thread);
            thread.queue.parked_on.store(0, Ordering::Release);
            if super::in_turns() {
                let number = thread.identity.owner.load(Ordering::Relaxed) - 1;
                ring::record(super::Grant::new().token(), Tag::Unparked, number, &[]);
            }
            woken += 1;
        }
        woken
    })
}
