//! Calls that may block give the token up first. The next hook of the thread gets it again.
//!
//! What is not in this list (calls of uninstrumented libraries, raw system calls) is noticed by [`crate::watch`], only
//! later. Calls that also hand something over to other threads are [`crate::channels`]'.

use core::sync::atomic::{AtomicU64, Ordering};

use mayhap_wire::ring::state;

use libc::{c_int, c_uint, clockid_t, pid_t, rusage, siginfo_t, sigset_t, timespec};

use mayhap_wire::channel::doubt;
use mayhap_wire::ring::Tag;

use crate::channels::results::wrote_all;
use crate::channels::{doubts, errno};
use crate::hook::{self, Hook};
use crate::real::real;
use crate::ring;
use crate::sched::{self, parking};
use crate::sys;
use crate::thread::Thread;
use crate::threads;
use crate::tls::{self, exports};

/// Gives the token up if the calling thread has it and is not inside the runtime.
pub(crate) fn leave() {
    if let Some(thread) = tls::active()
        && thread.own.busy.load(Ordering::Relaxed) == 0
    {
        if parking::is_on() {
            ring::set_state(state::KERNEL_DECIDED);
        }
        hook::while_busy(thread, || sched::leave(thread));
    }
}

/// A process that may have received something from other threads has ended.
fn waited(pc: u64) {
    if let Some(hook) = Hook::enter_outermost() {
        hook.record(Tag::Doubt, pc, &[u64::from(doubt::PROCESS)]);
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
    pause => blocking_pause() -> c_int;
    sigsuspend => blocking_sigsuspend(s: *const sigset_t) -> c_int;
}

/// The same for functions that also wait for another process.
macro_rules! waiting {
    ($($name:ident => $inner:ident($($arg:ident: $type:ty),*) -> $ret:ty $({ $place:ident })?;)*) => {
        mod libc_wait {
            use super::*;
            real! { $(fn $name($($arg: $type),*) -> $ret;)* }
        }
        exports! { $($name => $inner;)* }
        $(
            unsafe extern "C-unwind" fn $inner($($arg: $type),*) -> $ret {
                let pc = tls::caller();
                leave();
                // SAFETY: the caller's own arguments.
                let result = unsafe { libc_wait::$name($($arg),*) };
                if result != -1 {
                    waited(pc);
                    $(wrote_all(pc, $place);)?
                } else if errno() == libc::ECHILD {
                    // Another thread has waited for it.
                    doubts(pc);
                }
                result
            }
        )*
    };
}

waiting! {
    wait => wait_for_any(s: *mut c_int) -> pid_t { s };
    waitpid => wait_for_one(p: pid_t, s: *mut c_int, o: c_int) -> pid_t { s };
    wait4 => wait_with_usage(p: pid_t, s: *mut c_int, o: c_int, u: *mut rusage) -> pid_t { s };
    waitid => wait_for_event(k: libc::idtype_t, i: libc::id_t, s: *mut siginfo_t, o: c_int) -> c_int { s };
    system => run_command(c: *const libc::c_char) -> c_int;
    pclose => close_command(f: *mut libc::FILE) -> c_int;
}

mod libc_other {
    use super::*;
    real! {
        fn sched_yield() -> c_int;
        fn sleep(s: c_uint) -> c_uint;
        fn usleep(us: c_uint) -> c_int;
        fn nanosleep(t: *const timespec, r: *mut timespec) -> c_int;
        fn clock_nanosleep(k: clockid_t, f: c_int, t: *const timespec, r: *mut timespec) -> c_int;
        fn thrd_sleep(t: *const timespec, r: *mut timespec) -> c_int;
    }
}

exports! {
    sleep => sleep_seconds;
    usleep => sleep_microseconds;
    nanosleep => sleep_precisely;
    clock_nanosleep => sleep_by_clock;
    thrd_sleep => sleep_c11;
    sched_yield => yield_now;
    thrd_yield => yield_silently;
}

/// How many nanoseconds of sleep were skipped, which the program's clocks are ahead by.
static SKIPPED: AtomicU64 = AtomicU64::new(0);

/// How far ahead the program's clocks are, in nanoseconds.
pub(crate) fn skipped() -> u64 {
    SKIPPED.load(Ordering::Relaxed)
}

/// The moment of the kernel's clocks that the program takes for this one.
pub(crate) fn real_moment(time: timespec) -> timespec {
    let at = (time.tv_sec.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64);
    let at = at.saturating_sub(skipped());
    timespec { tv_sec: (at / 1_000_000_000) as libc::time_t, tv_nsec: (at % 1_000_000_000) as libc::c_long }
}

/// How many nanoseconds are left until a moment of a clock, as the program takes it.
pub(crate) fn left_until(clock: libc::clockid_t, time: timespec) -> i128 {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the time is this function's own.
    unsafe { sys::call(libc::SYS_clock_gettime, [clock as usize, &raw mut now as usize, 0, 0, 0, 0]) };
    let nanoseconds = |time: timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    nanoseconds(real_moment(time)) - nanoseconds(now)
}

/// Sleeps of at least this many nanoseconds are not skipped: that a thread is held up for so long is not worth showing.
const LONG_SLEEP: u64 = 2_000_000_000;

/// A thread is about to sleep for so long. Where the seed decides all and other threads can run, they run instead and time passes at once: a
/// sleep orders nothing, and no schedule may depend on how fast the machine is. Only threads that sleep wake up in the order of their times.
fn skips_sleep(seconds: i64, nanoseconds: i64) -> bool {
    let length =
        u64::try_from(seconds).ok().and_then(|s| s.checked_mul(1_000_000_000)?.checked_add(nanoseconds as u64));
    let short = |length: &u64| (0..1_000_000_000).contains(&nanoseconds) && *length < LONG_SLEEP;
    let Some(length) = length.filter(|length| short(length) && parking::is_on() && sched::others_wait()) else {
        // Where all others wait for this thread, they need no token.
        if !parking::is_on() || !parking::all_others_wait() {
            leave();
        }
        return false;
    };
    let end = skipped() + length;
    let mut sleeper = None;
    loop {
        let Some(hook) = Hook::enter_outermost() else { return false };
        let thread = sleeper.get_or_insert(hook.thread());
        thread.queue.sleeps_until.store(end.max(1), Ordering::Relaxed);
        hook.give_way();
        let is_earlier = |other: &Thread| (1..end).contains(&other.queue.sleeps_until.load(Ordering::Relaxed));
        if sched::in_turns() || !threads::all().any(is_earlier) {
            thread.queue.sleeps_until.store(0, Ordering::Relaxed);
            SKIPPED.fetch_max(end, Ordering::Relaxed);
            return true;
        }
    }
}

unsafe extern "C-unwind" fn sleep_seconds(s: c_uint) -> c_uint {
    // SAFETY: the caller's own argument.
    if skips_sleep(s.into(), 0) { 0 } else { unsafe { libc_other::sleep(s) } }
}

unsafe extern "C-unwind" fn sleep_microseconds(us: c_uint) -> c_int {
    let (seconds, rest) = (us / 1_000_000, us % 1_000_000);
    // SAFETY: the caller's own argument.
    if skips_sleep(seconds.into(), i64::from(rest) * 1000) { 0 } else { unsafe { libc_other::usleep(us) } }
}

unsafe extern "C-unwind" fn sleep_precisely(t: *const timespec, r: *mut timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { if skips_sleep((*t).tv_sec, (*t).tv_nsec) { 0 } else { libc_other::nanosleep(t, r) } }
}

unsafe extern "C-unwind" fn sleep_by_clock(k: clockid_t, f: c_int, t: *const timespec, r: *mut timespec) -> c_int {
    let is_relative = f & libc::TIMER_ABSTIME == 0;
    // SAFETY: the caller's own arguments.
    unsafe {
        if is_relative {
            return if skips_sleep((*t).tv_sec, (*t).tv_nsec) { 0 } else { libc_other::clock_nanosleep(k, f, t, r) };
        }
        leave();
        let moment = real_moment(*t);
        libc_other::clock_nanosleep(k, f, if skipped() == 0 { t } else { &moment }, r)
    }
}

unsafe extern "C-unwind" fn sleep_c11(t: *const timespec, r: *mut timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { if skips_sleep((*t).tv_sec, (*t).tv_nsec) { 0 } else { libc_other::thrd_sleep(t, r) } }
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
