//! Takes the token from a holder that sleeps, blocks or computes in code without hooks.
//!
//! The danger is to take it from a thread that has passed a hook but not yet done the access the hook announced, merely
//! because the kernel has not let it run: the access would come late and the recorded order would be wrong. So a holder
//! loses the token only on evidence that it has gone on since its last hook:
//! - it is asleep in the kernel (a plain access does not sleep; waiting for a page counts as uninterruptible, not asleep), or,
//!   where there is no `/proc` to tell, has used no CPU time at all for [`LONG`], or
//! - it has used at least [`ENOUGH`] of CPU time since it was first seen with the same number of hooks left, or
//! - it no longer exists, or
//! - a hook has said that it leaves the code that has hooks ([`Thread::outside`]), when all that was announced is done.
//!
//! The holder may start a hook at this very moment. The quickest hooks only look at the [`gate`], or whether the ring's head is where the hook
//! before left it: so the gate is closed and the head sealed first, then every thread is made to pass a memory barrier, and only what
//! is seen of the holder after that is evidence; whatever hook had looked before is over by then, and if it has moved the head the seal is gone. All other hooks first mark the thread busy and count its slice down, then look at the
//! owner; this side first writes the owner, then makes every thread pass a memory barrier, then looks at mark and count.
//! Whichever way these interleave, one of the two sees the other.
//!
//! Everything here runs under the scheduler's lock.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::sched::{EXAMINED, OWNER};
use crate::thread::Thread;
use crate::{fast_path, ring, sys};

/// Nanoseconds of CPU time after which the one instruction behind a hook has run, page faults and all.
const ENOUGH: u64 = 10_000_000;

/// How many examinations, half a millisecond apart, a thread must be seen without progress to be believed asleep.
const LONG: u32 = 2_000;

static IDLE: AtomicU32 = AtomicU32::new(0);
static SEEN_TIME: AtomicU64 = AtomicU64::new(0);
static SEEN: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// What changes whenever the holder does something: who it is, hooks left, slices begun, what it told.
fn progress(holder: &Thread) -> [u64; 4] {
    [
        holder.identity.owner.load(Ordering::Relaxed).into(),
        holder.own.left.load(Ordering::Relaxed) as u64,
        holder.own.slices.load(Ordering::Relaxed).into(),
        ring::head(),
    ]
}

/// Takes the token from `holder` if it is surely not about to access anything.
pub(crate) fn revoke(holder: &Thread) -> bool {
    let owner = holder.identity.owner.load(Ordering::Relaxed);
    if holder.own.busy.load(Ordering::Relaxed) != 0 {
        return false;
    }
    let is_outside = holder.own.outside.load(Ordering::Relaxed) != 0;
    // It is closed to who is outside.
    if !is_outside {
        let (closed, sealed) = (fast_path::close_to_all(), ring::invalidate_head());
        if (closed || sealed) && !sys::barrier() {
            return false;
        }
    }
    let before = progress(holder);
    if !is_outside && !has_gone_on(holder, before) {
        return false;
    }
    OWNER.store(EXAMINED, Ordering::SeqCst);
    let seen = sys::barrier();
    let unmoved = holder.own.busy.load(Ordering::SeqCst) == 0
        && fast_path::is_closed()
        && (is_outside || ring::is_head_invalid())
        && progress(holder) == before
        && (holder.own.outside.load(Ordering::SeqCst) != 0) == is_outside;
    if seen && unmoved {
        crate::replay::settle(holder);
        return true;
    }
    OWNER.store(owner, Ordering::SeqCst);
    false
}

/// The holder, to whom the gate is closed, has passed whatever it announced.
fn has_gone_on(holder: &Thread, progress: [u64; 4]) -> bool {
    let tid = holder.identity.tid.load(Ordering::Relaxed);
    match sys::thread_state(tid) {
        b'S' | b'X' | b'Z' => true,
        state @ (b'R' | b'?') => {
            let now = sys::cpu_time(tid);
            let same = SEEN.each_ref().map(|seen| seen.load(Ordering::Relaxed)) == progress;
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
