//! GLib's locks, conditions and initialisations. GLib keeps lock words of its own and sleeps on them by system calls that nothing
//! stands in front of; its public functions are recorded as the locks that they are. What GLib locks for itself is not seen.

use libc::{EBUSY, ETIMEDOUT, c_int, c_void};
use mayhap_wire::ring::Tag;

use crate::conditions::waiting_elsewhere;
use crate::hook::Hook;
use crate::locks::{NO_WAIT, give, take};
use crate::real::real;
use crate::tls::{self, exports};
use crate::waits::{release, renew};

type Object = *mut c_void;

mod glib_real {
    use super::*;
    real! {
        fn g_mutex_init(m: Object);
        fn g_mutex_clear(m: Object);
        fn g_mutex_lock(m: Object);
        fn g_mutex_trylock(m: Object) -> c_int;
        fn g_mutex_unlock(m: Object);
        fn g_rec_mutex_init(m: Object);
        fn g_rec_mutex_clear(m: Object);
        fn g_rec_mutex_lock(m: Object);
        fn g_rec_mutex_trylock(m: Object) -> c_int;
        fn g_rec_mutex_unlock(m: Object);
        fn g_rw_lock_init(l: Object);
        fn g_rw_lock_clear(l: Object);
        fn g_rw_lock_writer_lock(l: Object);
        fn g_rw_lock_writer_trylock(l: Object) -> c_int;
        fn g_rw_lock_writer_unlock(l: Object);
        fn g_rw_lock_reader_lock(l: Object);
        fn g_rw_lock_reader_trylock(l: Object) -> c_int;
        fn g_rw_lock_reader_unlock(l: Object);
        fn g_cond_init(c: Object);
        fn g_cond_clear(c: Object);
        fn g_cond_wait(c: Object, m: Object);
        fn g_cond_wait_until(c: Object, m: Object, end: i64) -> c_int;
        fn g_cond_signal(c: Object);
        fn g_cond_broadcast(c: Object);
        fn g_once_init_enter(place: Object) -> c_int;
        fn g_once_init_leave(place: Object, value: usize);
    }
}
use glib_real as glib;

exports! {
    g_mutex_init => mutex_init;
    g_mutex_clear => mutex_clear;
    g_mutex_lock => mutex_lock;
    g_mutex_trylock => mutex_trylock;
    g_mutex_unlock => mutex_unlock;
    g_rec_mutex_init => rec_mutex_init;
    g_rec_mutex_clear => rec_mutex_clear;
    g_rec_mutex_lock => rec_mutex_lock;
    g_rec_mutex_trylock => rec_mutex_trylock;
    g_rec_mutex_unlock => rec_mutex_unlock;
    g_rw_lock_init => rw_lock_init;
    g_rw_lock_clear => rw_lock_clear;
    g_rw_lock_writer_lock => writer_lock;
    g_rw_lock_writer_trylock => writer_trylock;
    g_rw_lock_writer_unlock => writer_unlock;
    g_rw_lock_reader_lock => reader_lock;
    g_rw_lock_reader_trylock => reader_trylock;
    g_rw_lock_reader_unlock => reader_unlock;
    g_cond_init => cond_init;
    g_cond_clear => cond_clear;
    g_cond_wait => cond_wait;
    g_cond_wait_until => cond_wait_until;
    g_cond_signal => cond_signal;
    g_cond_broadcast => cond_broadcast;
    g_once_init_enter => once_enter;
    g_once_init_leave => once_leave;
}

/// Functions that take a lock, with the attempt that shows whether they would have to wait.
macro_rules! takes {
    ($($inner:ident $try_inner:ident $tag:ident $lock:ident $try_lock:ident;)*) => {
        $(
            unsafe extern "C-unwind" fn $inner(lock: Object) {
                // SAFETY: the caller's own argument.
                let attempt = || unsafe { if glib::$try_lock(lock) != 0 { 0 } else { EBUSY } };
                let wait = || {
                    // SAFETY: as above.
                    unsafe { glib::$lock(lock) };
                    0
                };
                take(lock, Tag::$tag, false, attempt, Some(wait));
            }

            unsafe extern "C-unwind" fn $try_inner(lock: Object) -> c_int {
                // SAFETY: the caller's own argument.
                let attempt = || unsafe { if glib::$try_lock(lock) != 0 { 0 } else { EBUSY } };
                c_int::from(take(lock, Tag::$tag, true, attempt, NO_WAIT) == 0)
            }
        )*
    };
}

takes! {
    mutex_lock mutex_trylock Acquire g_mutex_lock g_mutex_trylock;
    rec_mutex_lock rec_mutex_trylock Acquire g_rec_mutex_lock g_rec_mutex_trylock;
    writer_lock writer_trylock Acquire g_rw_lock_writer_lock g_rw_lock_writer_trylock;
    reader_lock reader_trylock SharedAcquire g_rw_lock_reader_lock g_rw_lock_reader_trylock;
}

/// Functions of one object that return nothing: `with` says how they are recorded.
macro_rules! simple {
    ($($inner:ident $with:expr, $function:ident;)*) => {
        $(
            unsafe extern "C-unwind" fn $inner(object: Object) {
                $with(object, || {
                    // SAFETY: the caller's own argument.
                    unsafe { glib::$function(object) };
                    0
                });
            }
        )*
    };
}

fn given(object: Object, call: impl FnOnce() -> c_int) -> c_int {
    give(object, Tag::Release, call)
}

fn given_shared(object: Object, call: impl FnOnce() -> c_int) -> c_int {
    give(object, Tag::AnyRelease, call)
}

fn notified(object: Object, call: impl FnOnce() -> c_int) -> c_int {
    release(object, Tag::Notify, call)
}

fn all_notified(object: Object, call: impl FnOnce() -> c_int) -> c_int {
    release(object, Tag::NotifyAll, call)
}

simple! {
    mutex_init renew, g_mutex_init;
    mutex_clear renew, g_mutex_clear;
    mutex_unlock given, g_mutex_unlock;
    rec_mutex_init renew, g_rec_mutex_init;
    rec_mutex_clear renew, g_rec_mutex_clear;
    rec_mutex_unlock given, g_rec_mutex_unlock;
    rw_lock_init renew, g_rw_lock_init;
    rw_lock_clear renew, g_rw_lock_clear;
    writer_unlock given, g_rw_lock_writer_unlock;
    reader_unlock given_shared, g_rw_lock_reader_unlock;
    cond_init renew, g_cond_init;
    cond_clear renew, g_cond_clear;
    cond_signal notified, g_cond_signal;
    cond_broadcast all_notified, g_cond_broadcast;
}

/// GLib wakes whom it likes: the latest notify counts as the one that did.
fn waits(condition: Object, mutex: Object, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    match Hook::enter() {
        Some(hook) => waiting_elsewhere(hook, condition, mutex, pc, call),
        None => call(),
    }
}

unsafe extern "C-unwind" fn cond_wait(c: Object, m: Object) {
    waits(c, m, || {
        // SAFETY: the caller's own arguments.
        unsafe { glib::g_cond_wait(c, m) };
        0
    });
}

unsafe extern "C-unwind" fn cond_wait_until(c: Object, m: Object, end: i64) -> c_int {
    // SAFETY: the caller's own arguments.
    let call = || unsafe { if glib::g_cond_wait_until(c, m, end) != 0 { 0 } else { ETIMEDOUT } };
    c_int::from(waits(c, m, call) == 0)
}

/// The thread that is to initialise something gets true; others come after it.
unsafe extern "C-unwind" fn once_enter(place: Object) -> c_int {
    let pc = tls::caller();
    crate::blocking::leave();
    // SAFETY: the caller's own argument.
    let is_first = unsafe { glib::g_once_init_enter(place) };
    if is_first == 0
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::OnceSeen, pc, &[place as u64]);
    }
    is_first
}

unsafe extern "C-unwind" fn once_leave(place: Object, value: usize) {
    release(place, Tag::OnceDone, || {
        // SAFETY: the caller's own arguments.
        unsafe { glib::g_once_init_leave(place, value) };
        0
    });
}
