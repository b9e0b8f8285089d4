//! Calls that may block give the token up first. The next hook of the thread gets it again.
//!
//! What is not in this list (calls of uninstrumented libraries, raw system calls) is noticed by [`crate::watch`], only
//! later. Buffers that the kernel reads or fills are recorded before and after the call.

use core::sync::atomic::Ordering;

use libc::{c_int, c_uint, c_void, clockid_t, fd_set, off_t, pid_t, pollfd, size_t, sockaddr, socklen_t};
use libc::{epoll_event, msghdr, rusage, siginfo_t, sigset_t, ssize_t, timespec, timeval};
use mayhap_wire::ring::{Tag, source};

use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};
use crate::{inputs, replay, sched};

/// Gives the token up if the calling thread has it and is not inside the runtime.
fn leave() {
    if let Some(thread) = tls::active()
        && thread.busy.load(Ordering::Relaxed) == 0
    {
        sched::leave(thread);
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
    poll => blocking_poll(p: *mut pollfd, n: libc::nfds_t, t: c_int) -> c_int;
    ppoll => blocking_ppoll(p: *mut pollfd, n: libc::nfds_t, t: *const timespec, s: *const sigset_t) -> c_int;
    select => blocking_select(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, t: *mut timeval) -> c_int;
    epoll_wait => blocking_epoll_wait(e: c_int, v: *mut epoll_event, n: c_int, t: c_int) -> c_int;
    epoll_pwait => blocking_epoll_pwait(e: c_int, v: *mut epoll_event, n: c_int, t: c_int, s: *const sigset_t) -> c_int;
    accept => blocking_accept(s: c_int, a: *mut sockaddr, n: *mut socklen_t) -> c_int;
    accept4 => blocking_accept4(s: c_int, a: *mut sockaddr, n: *mut socklen_t, f: c_int) -> c_int;
    connect => blocking_connect(s: c_int, a: *const sockaddr, n: socklen_t) -> c_int;
    recvmsg => blocking_recvmsg(s: c_int, m: *mut msghdr, f: c_int) -> ssize_t;
    sendmsg => blocking_sendmsg(s: c_int, m: *const msghdr, f: c_int) -> ssize_t;
    wait => blocking_wait(s: *mut c_int) -> pid_t;
    waitpid => blocking_waitpid(p: pid_t, s: *mut c_int, o: c_int) -> pid_t;
    wait4 => blocking_wait4(p: pid_t, s: *mut c_int, o: c_int, u: *mut rusage) -> pid_t;
    sigwait => blocking_sigwait(s: *const sigset_t, n: *mut c_int) -> c_int;
    sigwaitinfo => blocking_sigwaitinfo(s: *const sigset_t, i: *mut siginfo_t) -> c_int;
    sigtimedwait => blocking_sigtimedwait(s: *const sigset_t, i: *mut siginfo_t, t: *const timespec) -> c_int;
    sigsuspend => blocking_sigsuspend(s: *const sigset_t) -> c_int;
    flock => blocking_flock(f: c_int, o: c_int) -> c_int;
    fsync => blocking_fsync(f: c_int) -> c_int;
    fdatasync => blocking_fdatasync(f: c_int) -> c_int;
    system => blocking_system(c: *const libc::c_char) -> c_int;
}

mod buffer_real {
    use super::*;
    real! {
        fn read(f: c_int, p: *mut c_void, n: size_t) -> ssize_t;
        fn pread(f: c_int, p: *mut c_void, n: size_t, o: off_t) -> ssize_t;
        fn recv(f: c_int, p: *mut c_void, n: size_t, o: c_int) -> ssize_t;
        fn write(f: c_int, p: *const c_void, n: size_t) -> ssize_t;
        fn pwrite(f: c_int, p: *const c_void, n: size_t, o: off_t) -> ssize_t;
        fn send(f: c_int, p: *const c_void, n: size_t, o: c_int) -> ssize_t;
        fn sched_yield() -> c_int;
    }
}

exports! {
    read => fill_read;
    pread => fill_pread;
    pread64 => fill_pread;
    recv => fill_recv;
    write => send_write;
    pwrite => send_pwrite;
    pwrite64 => send_pwrite;
    send => send_send;
    sched_yield => yield_now;
    thrd_yield => yield_silently;
}

/// A call that fills a buffer with as many bytes as it returns.
fn fills(buffer: *mut c_void, room: size_t, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let pc = tls::caller();
    // SAFETY: the caller has room for its answer.
    let result = match unsafe { replay::fed(source::READ, buffer, room) } {
        Some(result) => result as ssize_t,
        None => {
            leave();
            let result = call();
            inputs::keep(source::READ, pc, result as i64, buffer, result.max(0) as usize);
            result
        }
    };
    if result > 0
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::RangeWrite, pc, &[buffer as u64, result as u64]);
    }
    result
}

/// A call that reads a buffer.
fn sends(buffer: *const c_void, bytes: size_t, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let pc = tls::caller();
    if bytes > 0
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::RangeRead, pc, &[buffer as u64, bytes as u64]);
    }
    leave();
    call()
}

unsafe extern "C-unwind" fn fill_read(f: c_int, p: *mut c_void, n: size_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(p, n, || unsafe { buffer_real::read(f, p, n) })
}

unsafe extern "C-unwind" fn fill_pread(f: c_int, p: *mut c_void, n: size_t, o: off_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(p, n, || unsafe { buffer_real::pread(f, p, n, o) })
}

unsafe extern "C-unwind" fn fill_recv(f: c_int, p: *mut c_void, n: size_t, o: c_int) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(p, n, || unsafe { buffer_real::recv(f, p, n, o) })
}

unsafe extern "C-unwind" fn send_write(f: c_int, p: *const c_void, n: size_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    sends(p, n, || unsafe { buffer_real::write(f, p, n) })
}

unsafe extern "C-unwind" fn send_pwrite(f: c_int, p: *const c_void, n: size_t, o: off_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    sends(p, n, || unsafe { buffer_real::pwrite(f, p, n, o) })
}

unsafe extern "C-unwind" fn send_send(f: c_int, p: *const c_void, n: size_t, o: c_int) -> ssize_t {
    // SAFETY: the caller's own arguments.
    sends(p, n, || unsafe { buffer_real::send(f, p, n, o) })
}

/// A thread that yields waits for others: all of them come first.
unsafe extern "C-unwind" fn yield_now() -> c_int {
    if let Some(hook) = Hook::enter_outermost() {
        sched::yield_now(hook.thread());
    }
    // SAFETY: no precondition.
    unsafe { buffer_real::sched_yield() }
}

unsafe extern "C-unwind" fn yield_silently() {
    // SAFETY: no precondition.
    unsafe { yield_now() };
}
