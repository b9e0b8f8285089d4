//! Signals that threads of this process send each other, and timers that they set: who gets one comes after who sent it.
//!
//! A signal from outside orders nothing. So nothing is recorded of a signal's arrival before one was sent from here.

use core::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_uint, c_void, iovec, itimerspec, pid_t, pthread_t, siginfo_t, sigset_t, timer_t, timespec};
use mayhap_wire::channel::{PROCESS, doubt};
use mayhap_wire::ring::Tag;

use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::thread::Thread;
use crate::tls::{self, exports};
use crate::{inputs, sys, threads};

/// Signals are numbered below.
const SIGNALS: usize = 65;

type Value = *mut c_void;
type Timer = *const c_void;

mod libc_real {
    use super::*;
    real! {
        fn pthread_kill(t: pthread_t, s: c_int) -> c_int;
        fn pthread_sigqueue(t: pthread_t, s: c_int, v: Value) -> c_int;
        fn kill(p: pid_t, s: c_int) -> c_int;
        fn killpg(p: pid_t, s: c_int) -> c_int;
        fn raise(s: c_int) -> c_int;
        fn sigqueue(p: pid_t, s: c_int, v: Value) -> c_int;
        fn alarm(s: c_uint) -> c_uint;
        fn ualarm(s: c_uint, i: c_uint) -> c_uint;
        fn setitimer(w: c_int, n: Timer, o: *mut c_void) -> c_int;
        fn timer_settime(t: timer_t, f: c_int, n: *const itimerspec, o: *mut itimerspec) -> c_int;
        fn sigwait(s: *const sigset_t, n: *mut c_int) -> c_int;
        fn sigwaitinfo(s: *const sigset_t, i: *mut siginfo_t) -> c_int;
        fn sigtimedwait(s: *const sigset_t, i: *mut siginfo_t, t: *const timespec) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    pthread_kill => send_to_thread;
    pthread_sigqueue => queue_to_thread;
    kill => send_to_process;
    killpg => send_to_group;
    raise => send_to_self;
    gsignal => send_to_self;
    sigqueue => queue_to_process;
    alarm => set_alarm;
    ualarm => set_alarm_precisely;
    setitimer => set_interval;
    timer_settime => set_timer;
    sigwait => wait_for;
    sigwaitinfo => wait_for_info;
    sigtimedwait => wait_for_time;
}

/// Signals that this process has sent itself.
static SENT: [AtomicBool; SIGNALS] = [const { AtomicBool::new(false) }; SIGNALS];
static ANY_SENT: AtomicBool = AtomicBool::new(false);

/// A signal is about to be sent by `call`, or may be as a consequence of it.
fn sends<R>(signal: c_int, target: u64, call: impl FnOnce() -> R) -> R {
    let pc = tls::caller();
    let Some(sent) = usize::try_from(signal).ok().filter(|signal| *signal > 0).and_then(|signal| SENT.get(signal))
    else {
        return call();
    };
    let Some(mut hook) = Hook::enter_outermost() else { return call() };
    sent.store(true, Ordering::Relaxed);
    ANY_SENT.store(true, Ordering::Relaxed);
    hook.record(Tag::SignalSent, pc, &[signal as u64, target]);
    hook.exposed(call)
}

/// The thread's number in the recording, if it has one.
fn number(thread: Option<&Thread>) -> u64 {
    thread.map_or(PROCESS, |thread| u64::from(thread.identity.owner.load(Ordering::Relaxed)).wrapping_sub(1))
}

/// The current thread has got a signal, or any where that is not known.
pub(crate) fn taken(hook: &Hook, pc: u64, signal: c_int) {
    let was_sent = match usize::try_from(signal) {
        Ok(0) | Err(_) => ANY_SENT.load(Ordering::Relaxed),
        Ok(signal) => SENT.get(signal).is_some_and(|sent| sent.load(Ordering::Relaxed)),
    };
    if was_sent {
        hook.record(Tag::SignalTaken, pc, &[signal as u64]);
    }
}

/// A handler of the program's is about to run in the current thread.
pub(crate) fn arrived(signal: c_int, handler: usize) {
    if SENT.get(signal as usize).is_some_and(|sent| sent.load(Ordering::Relaxed))
        && let Some(hook) = Hook::enter()
    {
        // As if the handler's first instruction had called.
        taken(&hook, handler as u64 + 1, signal);
    }
}

/// Signals were read from a descriptor for them.
pub(crate) fn taken_from_descriptor(pc: u64, buffers: &[iovec], bytes: usize) {
    let Some(hook) = Hook::enter_outermost() else { return };
    let size = size_of::<libc::signalfd_siginfo>();
    match buffers {
        [one] => {
            for nth in 0..bytes.min(one.iov_len) / size {
                // SAFETY: the kernel has filled so many, each beginning with the signal's number.
                let signal = unsafe { one.iov_base.byte_add(nth * size).cast::<u32>().read_unaligned() };
                taken(&hook, pc, signal as c_int);
            }
        }
        _ => taken(&hook, pc, 0),
    }
}

unsafe extern "C-unwind" fn send_to_thread(t: pthread_t, s: c_int) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let result = sends(s, number(threads::by_handle(t)), || unsafe { libc_::pthread_kill(t, s) });
    if result != 0 {
        // The thread has ended: the caller comes after all that it did.
        super::doubts(pc);
    }
    result
}

unsafe extern "C-unwind" fn queue_to_thread(t: pthread_t, s: c_int, v: Value) -> c_int {
    // SAFETY: the caller's own arguments.
    sends(s, number(threads::by_handle(t)), || unsafe { libc_::pthread_sigqueue(t, s, v) })
}

/// The process numbers that mean this one, or a group that it is in.
fn is_here(process: pid_t) -> bool {
    process <= 0 || process as u32 == sys::process_id()
}

pub(crate) unsafe extern "C-unwind" fn send_to_process(p: pid_t, s: c_int) -> c_int {
    let p = inputs::meant_process(p);
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_::kill(p, s) };
    if is_here(p) {
        return sends(s, PROCESS, call);
    }
    let pc = tls::caller();
    if s != 0 {
        reaches_process(pc);
    }
    let result = call();
    if result != 0 {
        // There is no such process any more: a thread may have waited for it.
        super::doubts(pc);
    }
    result
}

/// A signal to a thread by the kernel's number for it.
pub(crate) unsafe extern "C-unwind" fn send_to_number(p: pid_t, t: pid_t, s: c_int) -> c_int {
    let p = inputs::meant_process(p);
    let target = threads::all().find(|thread| thread.identity.tid.load(Ordering::Relaxed) == t as u32);
    // SAFETY: the caller's own arguments.
    let call = || unsafe { sys::call(libc::SYS_tgkill, [p as usize, t as usize, s as usize, 0, 0, 0]) };
    let result = if is_here(p) { sends(s, number(target), call) } else { call() };
    if result == -(libc::ESRCH as isize) {
        // The thread has ended: the caller comes after all that it did.
        super::doubts(tls::caller());
    }
    sys::returned(result) as c_int
}

unsafe extern "C-unwind" fn send_to_group(p: pid_t, s: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    sends(s, PROCESS, || unsafe { libc_::killpg(p, s) })
}

unsafe extern "C-unwind" fn send_to_self(s: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    sends(s, number(tls::active()), || unsafe { libc_::raise(s) })
}

unsafe extern "C-unwind" fn queue_to_process(p: pid_t, s: c_int, v: Value) -> c_int {
    let p = inputs::meant_process(p);
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_::sigqueue(p, s, v) };
    if is_here(p) {
        return sends(s, PROCESS, call);
    }
    reaches_process(tls::caller());
    call()
}

/// What the calling thread has done may reach other threads through another process.
fn reaches_process(pc: u64) {
    if let Some(hook) = Hook::enter_outermost() {
        hook.record(Tag::Doubt, pc, &[u64::from(doubt::PROCESS), doubt::RELEASES]);
    }
}

unsafe extern "C-unwind" fn set_alarm(s: c_uint) -> c_uint {
    // SAFETY: the caller's own argument.
    sends(libc::SIGALRM, PROCESS, || unsafe { libc_::alarm(s) })
}

unsafe extern "C-unwind" fn set_alarm_precisely(s: c_uint, i: c_uint) -> c_uint {
    // SAFETY: the caller's own arguments.
    sends(libc::SIGALRM, PROCESS, || unsafe { libc_::ualarm(s, i) })
}

unsafe extern "C-unwind" fn set_interval(w: c_int, n: Timer, o: *mut c_void) -> c_int {
    let signal = match w {
        0 => libc::SIGALRM,
        1 => libc::SIGVTALRM,
        _ => libc::SIGPROF,
    };
    // SAFETY: the caller's own arguments.
    sends(signal, PROCESS, || unsafe { libc_::setitimer(w, n, o) })
}

/// Which signal the timer sends, or that it starts threads, its creator said; all that may follow from setting it is recorded.
unsafe extern "C-unwind" fn set_timer(t: timer_t, f: c_int, n: *const itimerspec, o: *mut itimerspec) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_::timer_settime(t, f, n, o) };
    super::services::asks(pc);
    sends(super::services::timer_signal(t), PROCESS, call)
}

/// Waits for a signal, which `call` returns.
fn waits(call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    leave();
    let signal = call();
    if signal > 0
        && let Some(hook) = Hook::enter_outermost()
    {
        taken(&hook, pc, signal);
    }
    signal
}

unsafe extern "C-unwind" fn wait_for(s: *const sigset_t, n: *mut c_int) -> c_int {
    let mut error = 0;
    waits(|| {
        // SAFETY: the caller's own arguments.
        unsafe {
            error = libc_::sigwait(s, n);
            if error == 0 { *n } else { 0 }
        }
    });
    error
}

unsafe extern "C-unwind" fn wait_for_info(s: *const sigset_t, i: *mut siginfo_t) -> c_int {
    // SAFETY: the caller's own arguments.
    waits(|| unsafe { libc_::sigwaitinfo(s, i) })
}

unsafe extern "C-unwind" fn wait_for_time(s: *const sigset_t, i: *mut siginfo_t, t: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    waits(|| unsafe { libc_::sigtimedwait(s, i, t) })
}
