//! The fast path: the thread whose fastest hooks may write to the ring without asking the scheduler.
//!
//! It is open for at most one thread, which holds the token, is in no other hook, and whose functions the ring knows. Only that
//! thread opens it, at the end of a hook. Closing it is always safe: hooks that find it closed ask, and open it again.
//!
//! In loops, inline hooks that follow others without a call in between do not read it again: they continue where the hook before
//! them left the ring's head. To stop a thread anywhere in its code, its head must be invalidated too ([`ring::invalidate_head`]).
//! [`crate::protocol`] says how all of this fits together.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use mayhap_wire::fast_path::{FastPath, TOGETHER};
use mayhap_wire::ring::{DATA_OFFSET, Header, UNITS};

use crate::protocol::{self, Words};
use crate::{ring, sched};

#[unsafe(no_mangle)]
static mayhap_fast_path_3: FastPath = FastPath {
    owner: AtomicU64::new(0),
    room: AtomicU64::new(0),
    ring: AtomicPtr::new(core::ptr::null_mut()),
    base: AtomicU64::new(0),
    no_head: [const { AtomicU64::new(0) }; 5],
};
use mayhap_fast_path_3 as FAST_PATH;

/// Sets the ring that the fast hooks write to.
pub(crate) fn lead_to(header: *mut Header) {
    FAST_PATH.ring.store(header, Ordering::Release);
}

/// Returns the words of the protocol; `None` while no ring is in use.
pub(crate) fn words() -> Option<Words<'static>> {
    Some(Words { fast_path: &FAST_PATH.owner, head: &ring::header()?.head.0, token: &sched::OWNER })
}

/// The word that says for which thread the fast path is open.
#[inline(always)]
pub(crate) fn owner() -> &'static AtomicU64 {
    &FAST_PATH.owner
}

/// The calling thread's pointer, which no other thread has.
#[inline(always)]
pub(crate) fn own_pointer() -> u64 {
    let value: u64;
    // SAFETY: the first word that the thread pointer points to is the thread pointer.
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) value, options(nostack, readonly, preserves_flags)) };
    value
}

/// Whether the fast path stays closed from here on.
static LOCKED: AtomicBool = AtomicBool::new(false);

/// Closes the fast path forever.
pub(crate) fn lock() {
    LOCKED.store(true, Ordering::Relaxed);
    protocol::close_to_all(&FAST_PATH.owner);
}

/// Opens the fast path for the calling thread: the head may come up to `room`, and [`TOGETHER`] units further. The units up to there
/// are contiguous in memory.
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
    protocol::open(&FAST_PATH.owner, own_pointer());
}

/// Closes the fast path for the calling thread: its hooks ask from here on.
#[inline(always)]
pub(crate) fn close() {
    protocol::close(&FAST_PATH.owner, own_pointer());
}
