//! Calls that may block give the token up first. The next hook of the thread gets it again.
//!
//! What is not in this list (calls of uninstrumented libraries, raw system calls) is noticed by [`crate::watch`], only
//! later. Buffers that the kernel reads or fills are recorded before and after the call.

use core::sync::atomic::Ordering;

use libc::{c_int, c_uint, c_void, clockid_t, fd_set, off_t, pid_t, pollfd, size_t, sockaddr, socklen_t};
use libc::{epoll_event, iovec, msghdr, rusage, siginfo_t, sigset_t, ssize_t, timespec, timeval};
use mayhap_wire::ring::{Tag, source};

use crate::hook::{self, Hook};
use crate::real::real;
use crate::tls::{self, exports};
use crate::{inputs, replay, sched};

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
    poll => blocking_poll(p: *mut pollfd, n: libc::nfds_t, t: c_int) -> c_int;
    ppoll => blocking_ppoll(p: *mut pollfd, n: libc::nfds_t, t: *const timespec, s: *const sigset_t) -> c_int;
    select => blocking_select(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, t: *mut timeval) -> c_int;
    pselect => blocking_pselect(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, t: *const timespec,
        s: *const sigset_t) -> c_int;
    epoll_wait => blocking_epoll_wait(e: c_int, v: *mut epoll_event, n: c_int, t: c_int) -> c_int;
    epoll_pwait => blocking_epoll_pwait(e: c_int, v: *mut epoll_event, n: c_int, t: c_int, s: *const sigset_t) -> c_int;
    accept => blocking_accept(s: c_int, a: *mut sockaddr, n: *mut socklen_t) -> c_int;
    accept4 => blocking_accept4(s: c_int, a: *mut sockaddr, n: *mut socklen_t, f: c_int) -> c_int;
    connect => blocking_connect(s: c_int, a: *const sockaddr, n: socklen_t) -> c_int;
    recvmmsg => blocking_recvmmsg(s: c_int, m: *mut libc::mmsghdr, n: c_uint, f: c_int, t: *mut timespec) -> c_int;
    sendmmsg => blocking_sendmmsg(s: c_int, m: *mut libc::mmsghdr, n: c_uint, f: c_int) -> c_int;
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
    pclose => blocking_pclose(f: *mut libc::FILE) -> c_int;
    waitid => blocking_waitid(k: libc::idtype_t, i: libc::id_t, s: *mut siginfo_t, o: c_int) -> c_int;
    lockf => blocking_lockf(f: c_int, c: c_int, n: off_t) -> c_int;
    semop => blocking_semop(s: c_int, o: *mut libc::sembuf, n: size_t) -> c_int;
    semtimedop => blocking_semtimedop(s: c_int, o: *mut libc::sembuf, n: size_t, t: *const timespec) -> c_int;
    msgsnd => blocking_msgsnd(q: c_int, m: *const c_void, n: size_t, f: c_int) -> c_int;
    msgrcv => blocking_msgrcv(q: c_int, m: *mut c_void, n: size_t, t: libc::c_long, f: c_int) -> ssize_t;
    mq_send => blocking_mq_send(q: c_int, m: *const libc::c_char, n: size_t, p: c_uint) -> c_int;
    mq_timedsend => blocking_mq_timedsend(q: c_int, m: *const libc::c_char, n: size_t, p: c_uint,
        t: *const timespec) -> c_int;
    mq_receive => blocking_mq_receive(q: c_int, m: *mut libc::c_char, n: size_t, p: *mut c_uint) -> ssize_t;
    mq_timedreceive => blocking_mq_timedreceive(q: c_int, m: *mut libc::c_char, n: size_t, p: *mut c_uint,
        t: *const timespec) -> ssize_t;
    sendfile => blocking_sendfile(o: c_int, i: c_int, p: *mut off_t, n: size_t) -> ssize_t;
    sendfile64 => blocking_sendfile64(o: c_int, i: c_int, p: *mut off_t, n: size_t) -> ssize_t;
    splice => blocking_splice(i: c_int, p: *mut libc::loff_t, o: c_int, q: *mut libc::loff_t, n: size_t,
        f: c_uint) -> ssize_t;
    tcdrain => blocking_tcdrain(f: c_int) -> c_int;
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
        fn recvfrom(f: c_int, p: *mut c_void, n: size_t, o: c_int, a: *mut sockaddr, l: *mut socklen_t) -> ssize_t;
        fn sendto(f: c_int, p: *const c_void, n: size_t, o: c_int, a: *const sockaddr, l: socklen_t) -> ssize_t;
        fn readv(f: c_int, v: *const iovec, n: c_int) -> ssize_t;
        fn writev(f: c_int, v: *const iovec, n: c_int) -> ssize_t;
        fn preadv(f: c_int, v: *const iovec, n: c_int, o: off_t) -> ssize_t;
        fn pwritev(f: c_int, v: *const iovec, n: c_int, o: off_t) -> ssize_t;
        fn recvmsg(s: c_int, m: *mut msghdr, f: c_int) -> ssize_t;
        fn sendmsg(s: c_int, m: *const msghdr, f: c_int) -> ssize_t;
        fn fread(p: *mut c_void, s: size_t, n: size_t, f: *mut libc::FILE) -> size_t;
        fn fgets(p: *mut libc::c_char, n: c_int, f: *mut libc::FILE) -> *mut libc::c_char;
        fn fwrite(p: *const c_void, s: size_t, n: size_t, f: *mut libc::FILE) -> size_t;
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
    recvfrom => fill_recvfrom;
    sendto => send_sendto;
    readv => fill_readv;
    writev => send_writev;
    preadv => fill_preadv;
    preadv64 => fill_preadv;
    pwritev => send_pwritev;
    pwritev64 => send_pwritev;
    recvmsg => fill_recvmsg;
    sendmsg => send_sendmsg;
    fread => fill_fread;
    fgets => fill_fgets;
    fwrite => send_fwrite;
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

/// The buffers of a call that takes many.
unsafe fn buffers<'a>(list: *const iovec, count: usize) -> &'a [iovec] {
    // What is no list the kernel will refuse.
    if list.is_null() || count > libc::UIO_MAXIOV as usize {
        return &[];
    }
    // SAFETY: the caller vouches for the list.
    unsafe { core::slice::from_raw_parts(list, count) }
}

/// [`fills`], one buffer after the other.
unsafe fn fills_all(list: *const iovec, count: usize, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let pc = tls::caller();
    leave();
    let result = call();
    if result > 0
        && let Some(hook) = Hook::enter_outermost()
    {
        let mut left = result as usize;
        // SAFETY: the caller vouches for the list, and the kernel has used it.
        for buffer in unsafe { buffers(list, count) } {
            let bytes = buffer.iov_len.min(left);
            if bytes > 0 {
                hook.record(Tag::RangeWrite, pc, &[buffer.iov_base as u64, bytes as u64]);
            }
            left -= bytes;
        }
    }
    result
}

/// [`sends`], one buffer after the other.
unsafe fn sends_all(list: *const iovec, count: usize, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let pc = tls::caller();
    if let Some(hook) = Hook::enter_outermost() {
        // SAFETY: the caller vouches for the list.
        for buffer in unsafe { buffers(list, count) } {
            if buffer.iov_len > 0 {
                hook.record(Tag::RangeRead, pc, &[buffer.iov_base as u64, buffer.iov_len as u64]);
            }
        }
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

unsafe extern "C-unwind" fn fill_recvfrom(
    f: c_int,
    p: *mut c_void,
    n: size_t,
    o: c_int,
    a: *mut sockaddr,
    l: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(p, n, || unsafe { buffer_real::recvfrom(f, p, n, o, a, l) })
}

unsafe extern "C-unwind" fn send_sendto(
    f: c_int,
    p: *const c_void,
    n: size_t,
    o: c_int,
    a: *const sockaddr,
    l: socklen_t,
) -> ssize_t {
    // SAFETY: the caller's own arguments.
    sends(p, n, || unsafe { buffer_real::sendto(f, p, n, o, a, l) })
}

/// Calls with a list of buffers.
macro_rules! listed {
    ($($name:ident $how:ident $real:ident($($arg:ident: $type:ty),*) $list:expr, $count:expr;)*) => {
        $(
            unsafe extern "C-unwind" fn $name($($arg: $type),*) -> ssize_t {
                // SAFETY: the caller's own arguments.
                unsafe { $how($list, $count, || buffer_real::$real($($arg),*)) }
            }
        )*
    };
}

listed! {
    fill_readv fills_all readv(f: c_int, v: *const iovec, n: c_int) v, n.max(0) as usize;
    fill_preadv fills_all preadv(f: c_int, v: *const iovec, n: c_int, o: off_t) v, n.max(0) as usize;
    send_writev sends_all writev(f: c_int, v: *const iovec, n: c_int) v, n.max(0) as usize;
    send_pwritev sends_all pwritev(f: c_int, v: *const iovec, n: c_int, o: off_t) v, n.max(0) as usize;
    fill_recvmsg fills_all recvmsg(s: c_int, m: *mut msghdr, f: c_int) (*m).msg_iov, (*m).msg_iovlen;
    send_sendmsg sends_all sendmsg(s: c_int, m: *const msghdr, f: c_int) (*m).msg_iov, (*m).msg_iovlen;
}

/// Buffered streams seldom block, so the token stays; if one does, [`crate::watch`] notices.
fn fills_from_stream(buffer: *mut c_void, bytes: size_t, pc: u64) {
    if bytes > 0
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::RangeWrite, pc, &[buffer as u64, bytes as u64]);
    }
}

unsafe extern "C-unwind" fn fill_fread(p: *mut c_void, s: size_t, n: size_t, f: *mut libc::FILE) -> size_t {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let items = unsafe { buffer_real::fread(p, s, n, f) };
    fills_from_stream(p, items.wrapping_mul(s), pc);
    items
}

unsafe extern "C-unwind" fn fill_fgets(p: *mut libc::c_char, n: c_int, f: *mut libc::FILE) -> *mut libc::c_char {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let line = unsafe { buffer_real::fgets(p, n, f) };
    if !line.is_null() {
        // SAFETY: what was read ends in zero.
        let length = (0..).find(|&i| unsafe { *line.add(i) } == 0).unwrap_or(0);
        fills_from_stream(p.cast(), length + 1, pc);
    }
    line
}

unsafe extern "C-unwind" fn send_fwrite(p: *const c_void, s: size_t, n: size_t, f: *mut libc::FILE) -> size_t {
    let (pc, bytes) = (tls::caller(), s.wrapping_mul(n));
    if bytes > 0
        && let Some(mut hook) = Hook::enter_outermost()
    {
        hook.announces();
        hook.record(Tag::RangeRead, pc, &[p as u64, bytes as u64]);
    }
    // SAFETY: the caller's own arguments.
    unsafe { buffer_real::fwrite(p, s, n, f) }
}

/// A thread that yields waits for others: all of them come first.
unsafe extern "C-unwind" fn yield_now() -> c_int {
    if let Some(hook) = Hook::enter_outermost() {
        hook.give_way();
    }
    // SAFETY: no precondition.
    unsafe { buffer_real::sched_yield() }
}

unsafe extern "C-unwind" fn yield_silently() {
    // SAFETY: no precondition.
    unsafe { yield_now() };
}
