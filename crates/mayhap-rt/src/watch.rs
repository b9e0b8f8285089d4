//! The watchdog: it takes the token from a holder that sleeps, blocks or computes in code without hooks. [`protocol::revoke`] says how
//! this is safe. What remains to be found out here is whether the holder has gone on since its last hook:
//! - it is asleep in the kernel (a plain access does not sleep; waiting for a page counts as uninterruptible, not asleep), or,
//!   without `/proc`, it has used no CPU time at all for [`LONG`], or
//! - it has used at least [`ENOUGH`] of CPU time since it was first seen with the same progress and its fast hooks stopped, or
//! - it no longer exists.
//!
//! Everything here runs under the scheduler's lock, in the first thread of the queue.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::protocol::{self, Progress, Stopped};
use crate::sched::parking;
use crate::thread::Thread;
use crate::{fast_path, replay, ring, sys};

/// Not 0: the program runs in a machine that may stop a thread between a hook and the access after it, and how many examinations a thread
/// must be seen asleep before it counts as having gone on.
pub(crate) static PATIENCE: AtomicU32 = AtomicU32::new(0);
/// Not 0: that machine has stopped all threads now.
pub(crate) static PAUSED: AtomicU32 = AtomicU32::new(0);
use mayhap_wire::ring::state;

/// Nanoseconds of CPU time after which the one instruction after a hook has run, including page faults.
const ENOUGH: u64 = 10_000_000;

/// How many examinations, half a millisecond apart, a thread must be seen without progress to count as asleep.
const LONG: u32 = 2_000;

static IDLE: AtomicU32 = AtomicU32::new(0);
static SEEN_TIME: AtomicU64 = AtomicU64::new(0);
static SEEN: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Takes the token from `holder` if it is surely not about to access anything.
pub(crate) fn revoke(holder: &Thread) -> bool {
    let Some(words) = fast_path::words() else { return false };
    let tid = holder.identity.tid.load(Ordering::Relaxed);
    // Where the seed decides all, a thread in code without hooks keeps the token until it sleeps or takes long.
    let outside = holder.own.outside.load(Ordering::Acquire) != 0;
    if parking::is_on() && outside && !has_gone_on(tid, protocol::progress(words, holder.observed()), Stopped::Before) {
        return false;
    }
    let taken = protocol::revoke(words, holder.observed(), |progress, stopped| has_gone_on(tid, progress, stopped));
    if taken {
        if parking::is_on() {
            ring::set_state(state::KERNEL_DECIDED);
        }
        replay::settle(holder);
    }
    taken
}

/// Whether the holder has been seen asleep for so long, with the same progress, that no stop of the machine explains it.
fn sleeps_long(progress: Progress, stopped: Stopped) -> bool {
    let seen = SEEN.each_ref().map(|seen| seen.load(Ordering::Relaxed));
    let same = stopped == Stopped::Before && seen == progress && PAUSED.load(Ordering::Relaxed) == 0;
    for (seen, now) in SEEN.iter().zip(progress) {
        seen.store(now, Ordering::Relaxed);
    }
    SEEN_TIME.store(u64::MAX, Ordering::Relaxed);
    let idle = if same { IDLE.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
    if !same {
        IDLE.store(0, Ordering::Relaxed);
    }
    idle >= PATIENCE.load(Ordering::Relaxed)
}

/// Whether the holder, whose fast hooks were stopped, has passed everything that it announced.
fn has_gone_on(tid: u32, progress: Progress, stopped: Stopped) -> bool {
    let state = sys::thread_state(tid);
    if state == b'S' && PATIENCE.load(Ordering::Relaxed) != 0 {
        return sleeps_long(progress, stopped);
    }
    match state {
        b'S' | b'X' | b'Z' => true,
        state @ (b'R' | b'?') => {
            let now = sys::cpu_time(tid);
            let seen = SEEN.each_ref().map(|seen| seen.load(Ordering::Relaxed));
            let same = stopped == Stopped::Before && seen == progress;
            let used = now.saturating_sub(SEEN_TIME.load(Ordering::Relaxed));
            if same && now != 0 {
                let idle = if state == b'?' && used == 0 { IDLE.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
                return used >= ENOUGH || idle >= LONG;
            }
            IDLE.store(0, Ordering::Relaxed);
            for (seen, now) in SEEN.iter().zip(progress) {
                seen.store(now, Ordering::Relaxed);
            }
            SEEN_TIME.store(now, Ordering::Relaxed);
            false
        }
        _ => false,
    }
}
