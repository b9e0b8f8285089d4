//! Threads that may be cancelled anywhere (`PTHREAD_CANCEL_ASYNCHRONOUS`). The C library sends such a thread a signal and unwinds its stack from
//! wherever it is. A function that has something to drop can be unwound only from its calls, so the signal waits until the hook has ended.
//!
//! Threads that are cancelled at certain calls only pay a test, where a hook has left its fast path.

use core::hint::black_box;
use core::sync::atomic::Ordering;

use crate::{sys, tls};

/// The C library's signal for it, number 32, as it stands in a mask.
const SIGNAL: u64 = 1 << 31;
const ASYNCHRONOUS: usize = 1;

/// The calling thread says how it may be cancelled.
pub(crate) fn chosen(kind: *const u64) {
    if let Some(thread) = tls::active() {
        thread.own.cancellable.store(u32::from(kind as usize == ASYNCHRONOUS), Ordering::Relaxed);
    }
}

/// Whether the calling thread may be cancelled anywhere.
#[inline(always)]
pub(crate) fn is_possible() -> bool {
    tls::active().is_some_and(|thread| thread.own.cancellable.load(Ordering::Relaxed) != 0)
}

/// Makes a call in which the thread is not cancelled; if it was meant to be, it is when the call has ended.
#[cold]
#[inline(never)]
pub(crate) fn deferred<R>(call: impl FnOnce() -> R) -> R {
    let before = sys::change_blocked(libc::SIG_BLOCK, SIGNAL);
    let result = call();
    if before & SIGNAL == 0 {
        // The compiler must not know that this is a system call: it lets functions be unwound only from what it takes for a call that may do so.
        black_box(end as extern "C-unwind" fn())();
    }
    result
}

extern "C-unwind" fn end() {
    sys::change_blocked(libc::SIG_UNBLOCK, SIGNAL);
}
