//! Takes the token from a holder that sleeps, blocks or computes in code without hooks.
//!
//! The danger is to take it from a thread that has passed a hook but not yet done the access the hook announced, merely
//! because the kernel has not let it run: the access would come late and the recorded order would be wrong. So a holder
//! loses the token only on evidence that it has gone on since its last hook:
//! - it is asleep in the kernel (a plain access does not sleep; waiting for a page counts as uninterruptible, not asleep), or,
//!   where there is no `/proc` to tell, has used no CPU time at all for [`LONG`], or
//! - it has used at least [`ENOUGH`] of CPU time since it was first seen with the same number of hooks left, or
//! - it no longer exists.
//!
//! The holder may start a hook at this very moment. It first marks itself busy and counts its slice down, then looks at the
//! owner; this side first writes the owner, then makes every thread pass a memory barrier, then looks at mark and count.
//! Whichever way these interleave, one of the two sees the other.
//!
//! Everything here runs under the scheduler's lock.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use crate::sched::{EXAMINED, OWNER};
use crate::sys;
use crate::tls::Thread;

/// Nanoseconds of CPU time after which the one instruction behind a hook has run, page faults and all.
const ENOUGH: u64 = 10_000_000;

/// How many examinations, half a millisecond apart, a thread must be seen without progress to be believed asleep.
const LONG: u32 = 2_000;

static IDLE: AtomicU32 = AtomicU32::new(0);
static SEEN_OWNER: AtomicU32 = AtomicU32::new(0);
static SEEN_LEFT: AtomicI64 = AtomicI64::new(0);
static SEEN_SLICES: AtomicU32 = AtomicU32::new(0);
static SEEN_TIME: AtomicU64 = AtomicU64::new(0);

/// Takes the token from `holder` if it is surely not about to access anything.
pub(crate) fn revoke(holder: &Thread) -> bool {
    let owner = holder.owner.load(Ordering::Relaxed);
    let left = holder.left.load(Ordering::Relaxed);
    if holder.busy.load(Ordering::Relaxed) != 0 || !has_gone_on(holder, owner, left) {
        return false;
    }
    OWNER.store(EXAMINED, Ordering::SeqCst);
    let seen = sys::barrier();
    let unmoved = holder.busy.load(Ordering::SeqCst) == 0 && holder.left.load(Ordering::SeqCst) == left;
    if seen && unmoved {
        crate::replay::settle(holder);
        return true;
    }
    OWNER.store(owner, Ordering::SeqCst);
    false
}

fn has_gone_on(holder: &Thread, owner: u32, left: i64) -> bool {
    let tid = holder.tid.load(Ordering::Relaxed);
    match sys::thread_state(tid) {
        b'S' | b'X' | b'Z' => true,
        state @ (b'R' | b'?') => {
            let now = sys::cpu_time(tid);
            let slices = holder.slices.load(Ordering::Relaxed);
            let same = SEEN_OWNER.load(Ordering::Relaxed) == owner
                && SEEN_LEFT.load(Ordering::Relaxed) == left
                && SEEN_SLICES.load(Ordering::Relaxed) == slices;
            let used = now.saturating_sub(SEEN_TIME.load(Ordering::Relaxed));
            if same && now != 0 {
                let idle = if state == b'?' && used == 0 { IDLE.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
                return used >= ENOUGH || idle >= LONG;
            }
            IDLE.store(0, Ordering::Relaxed);
            SEEN_OWNER.store(owner, Ordering::Relaxed);
            SEEN_LEFT.store(left, Ordering::Relaxed);
            SEEN_SLICES.store(slices, Ordering::Relaxed);
            SEEN_TIME.store(now, Ordering::Relaxed);
            false
        }
        _ => false,
    }
}
