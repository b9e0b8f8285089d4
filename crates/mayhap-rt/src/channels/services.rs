//! What the C library does in threads of its own: timers that call functions, asynchronous input and output, notifications of message
//! queues, look-ups of names. Nobody is seen to start those threads; each comes after what the program asked for last.
//!
//! Also the loader: a thread that gets a library that another thread has loaded comes after the library's constructors.

use core::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_void, clockid_t, sigevent, timer_t};
use mayhap_wire::channel::{self, doubt, flag, key};
use mayhap_wire::ring::Tag;

use super::pairs::Table;
use crate::hook::Hook;
use crate::real::real;
use crate::sys;
use crate::tls::{self, exports};

mod libc_real {
    use super::*;
    real! {
        fn timer_create(k: clockid_t, e: *mut sigevent, t: *mut timer_t) -> c_int;
        fn aio_read(b: *mut c_void) -> c_int;
        fn aio_write(b: *mut c_void) -> c_int;
        fn aio_fsync(o: c_int, b: *mut c_void) -> c_int;
        fn lio_listio(m: c_int, l: *const *mut c_void, n: c_int, e: *mut sigevent) -> c_int;
        fn mq_notify(q: c_int, e: *const sigevent) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    timer_create => make_timer;
    aio_read => read_later;
    aio_read64 => read_later;
    aio_write => write_later;
    aio_write64 => write_later;
    aio_fsync => sync_later;
    aio_fsync64 => sync_later;
    lio_listio => many_later;
    lio_listio64 => many_later;
    mq_notify => notify_later;
}

/// What all threads of the C library wait for.
const KEY: u64 = key(channel::SERVICE, 0, 0);
static ASKED: AtomicBool = AtomicBool::new(false);
/// The library may start threads when messages come.
static NOTIFIES: AtomicBool = AtomicBool::new(false);

/// Signals of timers, by the timer.
static TIMERS: Table<2> = Table::new();

/// The program asks for something that a thread of the library may do.
pub(crate) fn asks(pc: u64) {
    if let Some(hook) = Hook::enter_outermost() {
        ASKED.store(true, Ordering::Relaxed);
        hook.record(Tag::Send, pc, &[KEY, 1, 0, flag::SET]);
    }
}

/// A thread that no thread was seen to start begins. It holds the token.
pub(crate) fn begins(hook: &Hook) {
    if ASKED.load(Ordering::Relaxed) {
        hook.record(Tag::Ready, 0, &[KEY, 0]);
        if NOTIFIES.load(Ordering::Relaxed) {
            // Whose message it is about is not known.
            hook.record(Tag::Doubt, 0, &[u64::from(doubt::DESCRIPTOR)]);
        }
    } else if is_foreign(hook) {
        hook.record(Tag::Doubt, 0, &[u64::from(doubt::THREAD)]);
    }
}

/// Whether the thread is one that a library has started: neither the process's first one nor the first that is recorded.
fn is_foreign(hook: &Hook) -> bool {
    let identity = &hook.thread().identity;
    identity.owner.load(Ordering::Relaxed) != 1 && identity.tid.load(Ordering::Relaxed) != sys::process_id()
}

fn asking(call: impl FnOnce() -> c_int) -> c_int {
    asks(tls::caller());
    call()
}

/// Returns the signal that a timer sends; 0 for none.
pub(crate) fn timer_signal(timer: timer_t) -> c_int {
    TIMERS.get(timer as u64 + 1).map_or(0, |row| row[1].load(Ordering::Relaxed) as c_int)
}

unsafe extern "C-unwind" fn make_timer(k: clockid_t, e: *mut sigevent, t: *mut timer_t) -> c_int {
    asks(tls::caller());
    // SAFETY: the caller's own arguments.
    let result = unsafe { libc_::timer_create(k, e, t) };
    if result == 0 {
        // SAFETY: as above, and the call has succeeded; without an event a timer sends `SIGALRM`.
        let signal = match unsafe { e.as_ref() } {
            None => libc::SIGALRM,
            Some(event) if matches!(event.sigev_notify, libc::SIGEV_SIGNAL | libc::SIGEV_THREAD_ID) => {
                event.sigev_signo
            }
            Some(_) => 0,
        };
        // SAFETY: as above.
        let timer = unsafe { *t } as u64 + 1;
        TIMERS.entry(timer)[1].store(signal as u64, Ordering::Relaxed);
    }
    result
}

unsafe extern "C-unwind" fn read_later(b: *mut c_void) -> c_int {
    // SAFETY: the caller's own argument.
    asking(|| unsafe { libc_::aio_read(b) })
}

unsafe extern "C-unwind" fn write_later(b: *mut c_void) -> c_int {
    // SAFETY: the caller's own argument.
    asking(|| unsafe { libc_::aio_write(b) })
}

unsafe extern "C-unwind" fn sync_later(o: c_int, b: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    asking(|| unsafe { libc_::aio_fsync(o, b) })
}

unsafe extern "C-unwind" fn many_later(m: c_int, l: *const *mut c_void, n: c_int, e: *mut sigevent) -> c_int {
    // SAFETY: the caller's own arguments.
    asking(|| unsafe { libc_::lio_listio(m, l, n, e) })
}

unsafe extern "C-unwind" fn notify_later(q: c_int, e: *const sigevent) -> c_int {
    NOTIFIES.store(true, Ordering::Relaxed);
    // SAFETY: the caller's own arguments.
    asking(|| unsafe { libc_::mq_notify(q, e) })
}

/// Names that are looked up later. A program linked statically would get all of the look-up with it.
#[cfg(not(feature = "archive"))]
mod names {
    use super::*;

    mod libc_real {
        use super::*;
        real! {
            fn getaddrinfo_a(m: c_int, l: *const *mut c_void, n: c_int, e: *mut sigevent) -> c_int;
        }
    }

    exports! {
        getaddrinfo_a => names_later;
    }

    unsafe extern "C-unwind" fn names_later(m: c_int, l: *const *mut c_void, n: c_int, e: *mut sigevent) -> c_int {
        // SAFETY: the caller's own arguments.
        asking(|| unsafe { libc_real::getaddrinfo_a(m, l, n, e) })
    }
}

/// Threads that sleep on a word are about to be woken.
pub(crate) fn wakes(hook: &Hook, pc: u64, word: u64) {
    hook.record(Tag::Send, pc, &[key(channel::FUTEX, word, 0), 0, 0, flag::WAKES]);
}

/// The thread slept on a word and was woken.
pub(crate) fn woken(hook: &Hook, pc: u64, word: u64) {
    hook.record(Tag::Ready, pc, &[key(channel::FUTEX, word, 0), flag::WAKES]);
}

/// A library was loaded, or found loaded, and its constructors have run.
pub(crate) fn loaded(hook: &Hook, pc: u64, library: *const c_void) {
    if library.is_null() {
        return;
    }
    let key = key(channel::LIBRARY, library as u64, 0);
    hook.record(Tag::Ready, pc, &[key, 0]);
    hook.record(Tag::Send, pc, &[key, 1, 0, flag::SET]);
}
