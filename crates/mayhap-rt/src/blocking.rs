//! Calls that may block give the token up first. The next hook of the thread gets it again.
//!
//! What is not in this list (calls of uninstrumented libraries, raw system calls) is noticed by [`crate::watch`], only
//! later. Calls that also hand something over to other threads are [`crate::channels`]'.

use core::sync::atomic::Ordering;

use libc::{c_int, c_uint, clockid_t, pid_t, rusage, siginfo_t, sigset_t, timespec};

use crate::hook::{self, Hook};
use crate::real::real;
use crate::sched;
use crate::tls::{self, exports};

/// Gives the token up if the calling thread has it and is not inside the runtime.
pub(crate) fn leave() {
    if let Some(thread) = tls::active()
        && thread.own.busy.load(Ordering::Relaxed) == 0
    {
        hook::while_busy(thread, || sched::leave(thread));
    }
}

/// Functions that give the token up and do nothing else for the recording.
macro_rules! blocking {
    ($($name:ident => $inner:ident($($arg:ident: $type:ty),*) -> $ret:ty;)*) => {
        mod libc_real {
            use super::*;
            real! { $(fn $name($($arg: $type),*) -> $ret;)* }
        }
        exports! { $($name => $inner;)* }
        $(
            unsafe extern "C-unwind" fn $inner($($arg: $type),*) -> $ret {
                leave();
                // SAFETY: the caller's own arguments.
                unsafe { libc_real::$name($($arg),*) }
            }
        )*
    };
}

blocking! {
    sleep => blocking_sleep(s: c_uint) -> c_uint;
    usleep => blocking_usleep(us: c_uint) -> c_int;
    nanosleep => blocking_nanosleep(t: *const timespec, r: *mut timespec) -> c_int;
    clock_nanosleep => blocking_clock_nanosleep(k: clockid_t, f: c_int, t: *const timespec, r: *mut timespec) -> c_int;
    thrd_sleep => blocking_thrd_sleep(t: *const timespec, r: *mut timespec) -> c_int;
    pause => blocking_pause() -> c_int;
    wait => blocking_wait(s: *mut c_int) -> pid_t;
    waitpid => blocking_waitpid(p: pid_t, s: *mut c_int, o: c_int) -> pid_t;
    wait4 => blocking_wait4(p: pid_t, s: *mut c_int, o: c_int, u: *mut rusage) -> pid_t;
    sigsuspend => blocking_sigsuspend(s: *const sigset_t) -> c_int;
    fsync => blocking_fsync(f: c_int) -> c_int;
    fdatasync => blocking_fdatasync(f: c_int) -> c_int;
    system => blocking_system(c: *const libc::c_char) -> c_int;
    pclose => blocking_pclose(f: *mut libc::FILE) -> c_int;
    waitid => blocking_waitid(k: libc::idtype_t, i: libc::id_t, s: *mut siginfo_t, o: c_int) -> c_int;
    tcdrain => blocking_tcdrain(f: c_int) -> c_int;
}

mod libc_other {
    use super::*;
    real! {
        fn sched_yield() -> c_int;
    }
}

exports! {
    sched_yield => yield_now;
    thrd_yield => yield_silently;
}

/// A thread that yields waits for others: all of them come first.
unsafe extern "C-unwind" fn yield_now() -> c_int {
    if let Some(hook) = Hook::enter_outermost() {
        hook.give_way();
    }
    // SAFETY: no precondition.
    unsafe { libc_other::sched_yield() }
}

unsafe extern "C-unwind" fn yield_silently() {
    // SAFETY: no precondition.
    unsafe { yield_now() };
}
