//! The gate: whose quickest hooks may write to the ring without asking.
//!
//! It is open to at most one thread, which holds the token, is in no other hook, and whose functions the ring knows. That thread alone opens it, at
//! the end of a hook. Closing it is always safe: hooks that find it closed ask, and open it again.
//!
//! In loops, hooks that come behind others with no call between do not look at it again : they go on where
//! those left the ring's head. To stop a thread anywhere in its code it takes a head that is not that, see [`ring::invalidate_head`].

use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, compiler_fence};

use mayhap_wire::fast_path::{FastPath, TOGETHER};
use mayhap_wire::ring::{DATA_OFFSET, Header, UNITS};

use crate::ring;

#[unsafe(no_mangle)]
static mayhap_fast_path_3: FastPath = FastPath {
    owner: AtomicU64::new(0),
    room: AtomicU64::new(0),
    ring: AtomicPtr::new(core::ptr::null_mut()),
    base: AtomicU64::new(0),
    no_head: [const { AtomicU64::new(0) }; 5],
};
use mayhap_fast_path_3 as FAST_PATH;

/// The ring that is written to.
pub(crate) fn lead_to(header: *mut Header) {
    FAST_PATH.ring.store(header, Ordering::Release);
}

/// The calling thread's pointer, which no other thread has.
#[inline(always)]
fn own() -> u64 {
    let value: u64;
    // SAFETY: the first word that the thread pointer points to is the thread pointer.
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) value, options(nostack, readonly, preserves_flags)) };
    value
}

/// It stays closed from here on.
static LOCKED: AtomicBool = AtomicBool::new(false);

/// Closes it for good.
pub(crate) fn lock() {
    LOCKED.store(true, Ordering::Relaxed);
    close_to_all();
}

/// The calling thread may come up to here, and [`TOGETHER`] units more. The units up to there lie together.
#[inline(always)]
pub(crate) fn open(room: u64) {
    if LOCKED.load(Ordering::Relaxed) {
        return;
    }
    let begin = ring::head() & !(UNITS - 1);
    let end = begin + UNITS - TOGETHER;
    let data = FAST_PATH.ring.load(Ordering::Relaxed) as u64 + DATA_OFFSET as u64;
    FAST_PATH.base.store(data.wrapping_sub(4 * begin), Ordering::Relaxed);
    FAST_PATH.room.store(room.min(end), Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    FAST_PATH.owner.store(own(), Ordering::Relaxed);
}

/// The calling thread's hooks ask from here on.
#[inline(always)]
pub(crate) fn close() {
    if FAST_PATH.owner.load(Ordering::Relaxed) == own() {
        FAST_PATH.owner.store(0, Ordering::Relaxed);
    }
}

/// Closes it for whomever it is open to; whether that was anybody.
pub(crate) fn close_to_all() -> bool {
    FAST_PATH.owner.swap(0, Ordering::SeqCst) != 0
}

pub(crate) fn is_closed() -> bool {
    FAST_PATH.owner.load(Ordering::SeqCst) == 0
}
