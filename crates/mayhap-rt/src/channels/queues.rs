//! Message queues of both kinds, and System V semaphores.

use libc::{c_char, c_int, c_long, c_uint, c_ushort, c_void, mode_t, sembuf, size_t, ssize_t, timespec};
use mayhap_wire::channel::{self, flag, key, mark};
use mayhap_wire::ring::Tag;

use super::descriptors::{self, Descriptor};
use super::{Wait, errno, fails, wait_until_ready};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::replay::{self, Decision};
use crate::tls::{self, exports};

mod libc_real {
    use super::*;
    real! {
        fn mq_open(n: *const c_char, f: c_int, m: mode_t, a: *mut c_void) -> c_int;
        fn mq_send(q: c_int, m: *const c_char, n: size_t, p: c_uint) -> c_int;
        fn mq_timedsend(q: c_int, m: *const c_char, n: size_t, p: c_uint, t: *const timespec) -> c_int;
        fn mq_receive(q: c_int, m: *mut c_char, n: size_t, p: *mut c_uint) -> ssize_t;
        fn mq_timedreceive(q: c_int, m: *mut c_char, n: size_t, p: *mut c_uint, t: *const timespec) -> ssize_t;
        fn msgsnd(q: c_int, m: *const c_void, n: size_t, f: c_int) -> c_int;
        fn msgrcv(q: c_int, m: *mut c_void, n: size_t, t: c_long, f: c_int) -> ssize_t;
        fn semop(s: c_int, o: *mut sembuf, n: size_t) -> c_int;
        fn semtimedop(s: c_int, o: *mut sembuf, n: size_t, t: *const timespec) -> c_int;
        fn semctl(s: c_int, n: c_int, c: c_int, a: usize) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    mq_open => open_queue;
    mq_send => put_message;
    mq_timedsend => put_message_in_time;
    mq_receive => take_message;
    mq_timedreceive => take_message_in_time;
    msgsnd => send_message;
    msgrcv => receive_message;
    semop => operate;
    semtimedop => operate_in_time;
    semctl => control;
}

/// A time limit that is over.
static AT_ONCE: timespec = timespec { tv_sec: 0, tv_nsec: 0 };

unsafe extern "C-unwind" fn open_queue(n: *const c_char, f: c_int, m: mode_t, a: *mut c_void) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments; what is no argument is not looked at.
    let result = unsafe { libc_::mq_open(n, f, m, a) };
    if result >= 0 {
        descriptors::made(result, channel::QUEUE);
        if let Descriptor::Queue(key) = Descriptor::of(result)
            && let Some(hook) = Hook::enter_outermost()
        {
            super::announce(&hook, pc, key, channel::QUEUE);
        }
    }
    result
}

fn queue(q: c_int) -> u64 {
    match Descriptor::of(q) {
        Descriptor::Queue(key) => key,
        _ => key(channel::QUEUE, u64::MAX, q as u64),
    }
}

/// Puts a message of some type into a queue: `attempt` does not block and says `EAGAIN`, then `wait` is asked.
fn puts(
    key: u64,
    kind: u64,
    buffer: (*const c_void, size_t),
    fd: Option<c_int>,
    attempt: impl FnOnce() -> c_int,
    wait: Option<impl FnOnce() -> c_int>,
) -> c_int {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter_outermost() else {
        leave();
        return wait.map_or_else(attempt, |wait| wait());
    };
    if buffer.1 > 0 {
        hook.record(Tag::RangeRead, pc, &[buffer.0 as u64, buffer.1 as u64]);
    }
    replay::hold_back(hook.token(), hook.thread(), Tag::Send as u8, pc, key);
    let mut waited = 0;
    if let Some(fd) = fd {
        match wait_until_ready(&mut hook, fd, libc::POLLOUT, wait.is_some(), None) {
            Wait::Failed(error) => return fails(error) as c_int,
            Wait::Later => waited = flag::WAITED,
            Wait::AtOnce | Wait::Nonblocking => {}
        }
    }
    let message = [key, 1, mark::MESSAGE | kind, waited];
    hook.record(Tag::Send, pc, &message);
    let mut result = hook.exposed(attempt);
    if let Some(wait) = wait.filter(|_| result != 0 && errno() == libc::EAGAIN) {
        result = hook.blocking(wait);
    }
    if result != 0 {
        hook.record(Tag::SendEnd, pc, &[key, 1, 0]);
    }
    hook.sync_point();
    result
}

/// Takes a message from a queue; its type is known afterwards.
fn takes(
    key: u64,
    fd: Option<c_int>,
    attempt: impl FnOnce() -> ssize_t,
    wait: Option<impl FnOnce() -> ssize_t>,
    message: impl FnOnce(usize) -> (u64, *const c_void, size_t),
) -> ssize_t {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter_outermost() else {
        leave();
        return wait.map_or_else(attempt, |wait| wait());
    };
    if let Decision::Fail(error) = replay::hold_back(hook.token(), hook.thread(), Tag::Receive as u8, pc, key) {
        return fails(error);
    }
    if let Some(fd) = fd
        && let Wait::Failed(error) = wait_until_ready(&mut hook, fd, libc::POLLIN, wait.is_some(), None)
    {
        return fails(error);
    }
    let is_busy = || matches!(errno(), libc::EAGAIN | libc::ENOMSG | libc::ETIMEDOUT);
    let mut result = hook.exposed(attempt);
    if let Some(wait) = wait.filter(|_| result < 0 && is_busy()) {
        result = hook.blocking(wait);
    }
    if result >= 0 {
        let (kind, buffer, bytes) = message(result as usize);
        hook.record(Tag::Receive, pc, &[key, 1, mark::MESSAGE | kind, 0]);
        hook.record(Tag::RangeWrite, pc, &[buffer as u64, bytes as u64]);
        hook.sync_point();
    } else if is_busy() {
        hook.record(Tag::Failed, pc, &[key, errno() as u64, Tag::Receive as u64]);
    } else if errno() != libc::EINTR {
        hook.record(Tag::Receive, pc, &[key, 0, mark::MESSAGE, flag::ENDED]);
    }
    result
}

unsafe extern "C-unwind" fn put_message(q: c_int, m: *const c_char, n: size_t, p: c_uint) -> c_int {
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_::mq_send(q, m, n, p) };
    puts(queue(q), p.into(), (m.cast(), n), Some(q), call, Some(call))
}

pub(crate) unsafe extern "C-unwind" fn put_message_in_time(
    q: c_int,
    m: *const c_char,
    n: size_t,
    p: c_uint,
    t: *const timespec,
) -> c_int {
    // SAFETY: the caller's own arguments.
    let attempt = || match unsafe { libc_::mq_timedsend(q, m, n, p, &raw const AT_ONCE) } {
        -1 if errno() == libc::ETIMEDOUT => fails(libc::EAGAIN) as c_int,
        result => result,
    };
    // SAFETY: as above.
    puts(queue(q), p.into(), (m.cast(), n), None, attempt, Some(|| unsafe { libc_::mq_timedsend(q, m, n, p, t) }))
}

/// Takes a message with its priority, which the program may not want to know.
fn takes_prioritised(
    q: c_int,
    m: *mut c_char,
    p: *mut c_uint,
    timed: bool,
    attempt: impl FnOnce(*mut c_uint) -> ssize_t,
    wait: impl FnOnce(*mut c_uint) -> ssize_t,
) -> ssize_t {
    let mut priority: c_uint = 0;
    let place = &raw mut priority;
    let fd = (!timed).then_some(q);
    let message = |bytes| {
        // SAFETY: the thread's own.
        (u64::from(unsafe { place.read() }), m.cast_const().cast(), bytes)
    };
    let result = takes(queue(q), fd, || attempt(place), Some(|| wait(place)), message);
    if result >= 0 && !p.is_null() {
        // SAFETY: the caller's own place for it.
        unsafe { *p = priority };
    }
    result
}

unsafe extern "C-unwind" fn take_message(q: c_int, m: *mut c_char, n: size_t, p: *mut c_uint) -> ssize_t {
    // SAFETY: the caller's own arguments.
    let call = |p: *mut c_uint| unsafe { libc_::mq_receive(q, m, n, p) };
    takes_prioritised(q, m, p, false, call, call)
}

pub(crate) unsafe extern "C-unwind" fn take_message_in_time(
    q: c_int,
    m: *mut c_char,
    n: size_t,
    p: *mut c_uint,
    t: *const timespec,
) -> ssize_t {
    // SAFETY: the caller's own arguments.
    let attempt = |p: *mut c_uint| unsafe { libc_::mq_timedreceive(q, m, n, p, &raw const AT_ONCE) };
    // SAFETY: as above.
    takes_prioritised(q, m, p, true, attempt, |p| unsafe { libc_::mq_timedreceive(q, m, n, p, t) })
}

pub(crate) unsafe extern "C-unwind" fn send_message(q: c_int, m: *const c_void, n: size_t, f: c_int) -> c_int {
    let key = key(channel::SYSV_QUEUE, q as u64, 0);
    // SAFETY: a message begins with its type.
    let kind = unsafe { m.cast::<c_long>().as_ref() }.map_or(0, |kind| *kind as u64);
    // SAFETY: the caller's own arguments.
    let attempt = || unsafe { libc_::msgsnd(q, m, n, f | libc::IPC_NOWAIT) };
    // SAFETY: as above.
    let wait = (f & libc::IPC_NOWAIT == 0).then_some(|| unsafe { libc_::msgsnd(q, m, n, f) });
    puts(key, kind & !mark::MESSAGE, (m, n + size_of::<c_long>()), None, attempt, wait)
}

pub(crate) unsafe extern "C-unwind" fn receive_message(
    q: c_int,
    m: *mut c_void,
    n: size_t,
    t: c_long,
    f: c_int,
) -> ssize_t {
    let key = key(channel::SYSV_QUEUE, q as u64, 0);
    // SAFETY: the caller's own arguments.
    let attempt = || unsafe { libc_::msgrcv(q, m, n, t, f | libc::IPC_NOWAIT) };
    // SAFETY: as above.
    let wait = (f & libc::IPC_NOWAIT == 0).then_some(|| unsafe { libc_::msgrcv(q, m, n, t, f) });
    takes(key, None, attempt, wait, |bytes| {
        // SAFETY: the call has filled the type and so many bytes.
        let kind = unsafe { m.cast::<c_long>().read() } as u64;
        (kind & !mark::MESSAGE, m.cast_const(), bytes + size_of::<c_long>())
    })
}

fn semaphore(set: c_int, number: u64) -> u64 {
    key(channel::SYSV_SEMAPHORE, set as u64, number)
}

/// The operations of a call. What is no list the kernel will refuse.
unsafe fn operations<'a>(list: *const sembuf, count: size_t) -> &'a [sembuf] {
    if list.is_null() || count > 500 {
        return &[];
    }
    // SAFETY: the caller vouches for the list.
    unsafe { core::slice::from_raw_parts(list, count) }
}

/// Operations on a set of semaphores, all at once: `attempt` does not block and says `EAGAIN`, then `wait` is asked.
unsafe fn operates(
    set: c_int,
    list: *const sembuf,
    count: size_t,
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter_outermost() else {
        leave();
        return wait();
    };
    // SAFETY: the caller vouches for the list.
    let all = unsafe { operations(list, count) };
    let may_wait = all.iter().all(|one| c_int::from(one.sem_flg) & libc::IPC_NOWAIT == 0);
    let lowers = all.iter().find(|one| one.sem_op <= 0);
    let (tag, first) = match lowers {
        Some(one) => (Tag::Receive, semaphore(set, one.sem_num.into())),
        None => (Tag::Send, all.first().map_or(0, |one| semaphore(set, one.sem_num.into()))),
    };
    if let Decision::Fail(error) = replay::hold_back(hook.token(), hook.thread(), tag as u8, pc, first) {
        return fails(error) as c_int;
    }
    // What only raises does not block, and others may go on before the call returns.
    if lowers.is_none() {
        record_operations(&hook, pc, set, all);
    }
    let mut result = hook.exposed(attempt);
    if result != 0 && errno() == libc::EAGAIN && may_wait {
        result = hook.blocking(wait);
    }
    if result == 0 && lowers.is_some() {
        record_operations(&hook, pc, set, all);
    } else if result != 0 && errno() == libc::EAGAIN && lowers.is_some() {
        hook.record(Tag::Failed, pc, &[first, libc::EAGAIN as u64, Tag::Receive as u64]);
    }
    hook.sync_point();
    result
}

fn record_operations(hook: &Hook, pc: u64, set: c_int, all: &[sembuf]) {
    for one in all {
        let key = semaphore(set, one.sem_num.into());
        let amount = u64::from(one.sem_op.unsigned_abs());
        match one.sem_op {
            // Waiting for zero: after the thread that lowered it.
            0 => hook.record(Tag::Ready, pc, &[key, flag::ROOM]),
            1.. => hook.record(Tag::Send, pc, &[key, amount, 0, 0]),
            _ => hook.record(Tag::Receive, pc, &[key, amount, 0, 0]),
        }
    }
}

pub(crate) unsafe extern "C-unwind" fn operate(s: c_int, o: *mut sembuf, n: size_t) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { operates(s, o, n, || libc_::semtimedop(s, o, n, &raw const AT_ONCE), || libc_::semop(s, o, n)) }
}

pub(crate) unsafe extern "C-unwind" fn operate_in_time(
    s: c_int,
    o: *mut sembuf,
    n: size_t,
    t: *const timespec,
) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { operates(s, o, n, || libc_::semtimedop(s, o, n, &raw const AT_ONCE), || libc_::semtimedop(s, o, n, t)) }
}

/// Setting a semaphore puts its value into it.
unsafe extern "C-unwind" fn control(s: c_int, n: c_int, c: c_int, a: usize) -> c_int {
    const SETVAL: c_int = 16;
    const SETALL: c_int = 17;
    let pc = tls::caller();
    // SAFETY: the caller's own arguments; what is no argument is not looked at.
    let call = || unsafe { libc_::semctl(s, n, c, a) };
    if !matches!(c, SETVAL | SETALL) {
        let result = call();
        if c != libc::IPC_RMID && c != libc::IPC_SET {
            super::doubts(pc);
        }
        return result;
    }
    let Some(mut hook) = Hook::enter_outermost() else { return call() };
    let set = |number: u64, value: u64| hook.record(Tag::Send, pc, &[semaphore(s, number), value, 0, flag::SET]);
    if c == SETVAL {
        set(n as u64, a as c_int as u64);
    } else {
        for number in 0..count(s).min(1 << 12) {
            // SAFETY: the caller's own list, with a value for each.
            set(number, u64::from(unsafe { *(a as *const c_ushort).add(number as usize) }));
        }
    }
    hook.exposed(call)
}

/// How many semaphores a set has.
fn count(set: c_int) -> u64 {
    const IPC_STAT: c_int = 2;
    // SAFETY: plain data, which the call fills.
    unsafe {
        let mut status: libc::semid_ds = core::mem::zeroed();
        if libc_::semctl(set, 0, IPC_STAT, (&raw mut status) as usize) == 0 { status.sem_nsems } else { 0 }
    }
}
