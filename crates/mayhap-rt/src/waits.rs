//! Waiting for one another: condition variables, semaphores, barriers, once, guards of static locals.

use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{EAGAIN, EBUSY, ETIMEDOUT, c_int, c_uint, c_void, clockid_t, timespec};
use mayhap_wire::ring::{AtomicKind, Tag, atomic_word, order};

use crate::hook::Hook;
use crate::real::real;
use crate::replay::{self, Go, conditions};
use crate::tls::{self, exports};

type Object = *mut c_void;
type Once = unsafe extern "C-unwind" fn();

mod libc_real {
    use super::*;
    real! {
        fn pthread_cond_init(c: Object, attributes: *const c_void) -> c_int, c"GLIBC_2.3.2";
        fn pthread_cond_destroy(c: Object) -> c_int, c"GLIBC_2.3.2";
        fn pthread_cond_wait(c: Object, m: Object) -> c_int, c"GLIBC_2.3.2";
        fn pthread_cond_timedwait(c: Object, m: Object, t: *const timespec) -> c_int, c"GLIBC_2.3.2";
        fn pthread_cond_clockwait(c: Object, m: Object, k: clockid_t, t: *const timespec) -> c_int;
        fn pthread_cond_signal(c: Object) -> c_int, c"GLIBC_2.3.2";
        fn pthread_cond_broadcast(c: Object) -> c_int, c"GLIBC_2.3.2";
        fn pthread_mutex_lock(m: Object) -> c_int;
        fn pthread_mutex_trylock(m: Object) -> c_int;
        fn pthread_mutex_unlock(m: Object) -> c_int;
        fn sem_init(s: Object, shared: c_int, value: c_uint) -> c_int;
        fn sem_destroy(s: Object) -> c_int;
        fn sem_wait(s: Object) -> c_int;
        fn sem_trywait(s: Object) -> c_int;
        fn sem_timedwait(s: Object, t: *const timespec) -> c_int;
        fn sem_clockwait(s: Object, k: clockid_t, t: *const timespec) -> c_int;
        fn sem_post(s: Object) -> c_int;
        fn pthread_barrier_init(b: Object, attributes: *const c_void, count: c_uint) -> c_int;
        fn pthread_barrier_destroy(b: Object) -> c_int;
        fn pthread_barrier_wait(b: Object) -> c_int;
        fn pthread_once(control: Object, function: Once) -> c_int;
        fn __cxa_guard_acquire(guard: Object) -> c_int;
        fn __cxa_guard_release(guard: Object);
    }
}
use libc_real as libc_;

exports! {
    pthread_cond_init => cond_init;
    pthread_cond_destroy => cond_destroy;
    pthread_cond_wait => cond_wait;
    pthread_cond_timedwait => cond_timedwait;
    pthread_cond_clockwait => cond_clockwait;
    pthread_cond_signal => cond_signal;
    pthread_cond_broadcast => cond_broadcast;
    cnd_init => c11_cond_init;
    cnd_destroy => c11_cond_destroy;
    cnd_wait => c11_cond_wait;
    cnd_timedwait => c11_cond_timedwait;
    cnd_signal => c11_cond_signal;
    cnd_broadcast => c11_cond_broadcast;
    sem_init => semaphore_init;
    sem_destroy => semaphore_destroy;
    sem_wait => semaphore_wait;
    sem_trywait => semaphore_trywait;
    sem_timedwait => semaphore_timedwait;
    sem_clockwait => semaphore_clockwait;
    sem_post => semaphore_post;
    pthread_barrier_init => barrier_init;
    pthread_barrier_destroy => barrier_destroy;
    pthread_barrier_wait => barrier_wait;
    pthread_once => once;
    call_once => c11_once;
    __cxa_guard_acquire => guard_acquire;
    __cxa_guard_release => guard_release;
}

/// Begins or ends an object's life: from here on its address names another object.
fn renew(object: Object, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter() else { return call() };
    let result = call();
    if result == 0 {
        hook.record(Tag::Renew, pc, &[object as u64]);
    }
    result
}

/// Records, then calls: for what releases others, who must find the record before theirs.
fn release(object: Object, tag: Tag, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter() else { return call() };
    hook.record(tag, pc, &[object as u64]);
    let result = call();
    hook.sync_point();
    result
}

/// A wait on a condition. It ends by return or, when the thread is cancelled, by unwinding; either way the thread has
/// the mutex again.
struct Waiting<'a> {
    hook: &'a Hook,
    condition: Object,
    mutex: Object,
    pc: u64,
    woken: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.hook.resume();
        self.hook.record(Tag::WaitEnd, self.pc, &[self.condition as u64, self.woken]);
        self.hook.record(Tag::Acquire, self.pc, &[self.mutex as u64]);
    }
}

fn waiting(condition: Object, mutex: Object, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter() else { return call() };
    hook.record(Tag::Release, pc, &[mutex as u64]);
    hook.record(Tag::WaitBegin, pc, &[condition as u64]);
    if replay::active() {
        return following(&hook, condition, mutex, pc, call);
    }
    let mut wait = Waiting { hook: &hook, condition, mutex, pc, woken: 0 };
    hook.suspend();
    let result = call();
    wait.woken = u64::from(result == 0);
    result
}

/// A wait in a replay: it ends when the schedule says so.
fn following(hook: &Hook, condition: Object, mutex: Object, pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let thread = hook.thread();
    conditions::wait(thread, condition as usize);
    // SAFETY: the program waits with this mutex, which it has.
    unsafe { libc_::pthread_mutex_unlock(mutex) };
    replay::gate(thread, Tag::WaitEnd as u8, pc, condition as u64);
    let outcome = replay::outcome(thread);
    let woken = outcome != Some(0);
    if outcome.is_some() {
        conditions::chosen(thread);
        hook.record(Tag::WaitEnd, pc, &[condition as u64, u64::from(woken)]);
        replay::gate(thread, Tag::Acquire as u8, pc, mutex as u64);
    }
    // SAFETY: as above.
    if unsafe { libc_::pthread_mutex_trylock(mutex) } != 0 {
        replay::would_block(thread, Tag::Acquire, pc, mutex as u64);
        replay::blocked(thread);
        // SAFETY: as above.
        hook.blocking(|| unsafe { libc_::pthread_mutex_lock(mutex) });
        replay::unblocked(thread);
    }
    let mut result = if woken { 0 } else { libc::ETIMEDOUT };
    if outcome.is_none() {
        // The replay is over: from here on the wait is an ordinary one.
        result = if conditions::done(thread) { 0 } else { hook.blocking(call) };
        hook.record(Tag::WaitEnd, pc, &[condition as u64, u64::from(result == 0)]);
    }
    hook.record(Tag::Acquire, pc, &[mutex as u64]);
    result
}

unsafe extern "C-unwind" fn cond_init(c: Object, attributes: *const c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(c, || unsafe { libc_::pthread_cond_init(c, attributes) })
}

unsafe extern "C-unwind" fn cond_destroy(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(c, || unsafe { libc_::pthread_cond_destroy(c) })
}

unsafe extern "C-unwind" fn cond_wait(c: Object, m: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    waiting(c, m, || unsafe { libc_::pthread_cond_wait(c, m) })
}

unsafe extern "C-unwind" fn cond_timedwait(c: Object, m: Object, t: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    waiting(c, m, || unsafe { libc_::pthread_cond_timedwait(c, m, t) })
}

unsafe extern "C-unwind" fn cond_clockwait(c: Object, m: Object, k: clockid_t, t: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    waiting(c, m, || unsafe { libc_::pthread_cond_clockwait(c, m, k, t) })
}

unsafe extern "C-unwind" fn cond_signal(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    release(c, Tag::Notify, || unsafe {
        if conditions::notify(c as usize, false) { 0 } else { libc_::pthread_cond_signal(c) }
    })
}

unsafe extern "C-unwind" fn cond_broadcast(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    release(c, Tag::NotifyAll, || unsafe {
        conditions::notify(c as usize, true);
        libc_::pthread_cond_broadcast(c)
    })
}

/// glibc's C11 conditions are its POSIX conditions with other results.
fn c11_result(result: c_int) -> c_int {
    match result {
        0 => 0,
        libc::ENOMEM => 3,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

unsafe extern "C-unwind" fn c11_cond_init(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { cond_init(c, core::ptr::null()) })
}

unsafe extern "C-unwind" fn c11_cond_destroy(c: Object) {
    // SAFETY: the caller's own arguments.
    unsafe { cond_destroy(c) };
}

unsafe extern "C-unwind" fn c11_cond_wait(c: Object, m: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { cond_wait(c, m) })
}

unsafe extern "C-unwind" fn c11_cond_timedwait(c: Object, m: Object, t: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { cond_timedwait(c, m, t) })
}

unsafe extern "C-unwind" fn c11_cond_signal(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { cond_signal(c) })
}

unsafe extern "C-unwind" fn c11_cond_broadcast(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { cond_broadcast(c) })
}

/// The calling thread's error number.
fn errno() -> c_int {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

fn lower(s: Object, attempt: impl FnOnce() -> c_int, wait: Option<impl FnOnce() -> c_int>) -> c_int {
    let pc = tls::caller();
    let Some((hook, go)) = Hook::enter_for(Tag::SemWait, pc, s as u64) else {
        return match wait {
            Some(wait) => wait(),
            None => attempt(),
        };
    };
    if let Go::Fail(error) = go {
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = error };
        return -1;
    }
    let mut result = attempt();
    if result != 0 && errno() == EAGAIN {
        replay::would_block(hook.thread(), Tag::SemWait, pc, s as u64);
    }
    if let Some(wait) = wait
        && result != 0
        && matches!(errno(), EAGAIN | EBUSY)
    {
        result = hook.blocking(wait);
    }
    if result == 0 {
        hook.record(Tag::SemWait, pc, &[s as u64]);
        hook.sync_point();
    } else if matches!(errno(), EAGAIN | ETIMEDOUT) {
        hook.record(Tag::Failed, pc, &[s as u64, errno() as u64, Tag::SemWait as u64]);
    }
    result
}

unsafe extern "C-unwind" fn semaphore_init(s: Object, shared: c_int, value: c_uint) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(s, || unsafe { libc_::sem_init(s, shared, value) })
}

unsafe extern "C-unwind" fn semaphore_destroy(s: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(s, || unsafe { libc_::sem_destroy(s) })
}

unsafe extern "C-unwind" fn semaphore_wait(s: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    lower(s, || unsafe { libc_::sem_trywait(s) }, Some(|| unsafe { libc_::sem_wait(s) }))
}

unsafe extern "C-unwind" fn semaphore_trywait(s: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    lower(s, || unsafe { libc_::sem_trywait(s) }, None::<fn() -> c_int>)
}

unsafe extern "C-unwind" fn semaphore_timedwait(s: Object, t: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    lower(s, || unsafe { libc_::sem_trywait(s) }, Some(|| unsafe { libc_::sem_timedwait(s, t) }))
}

unsafe extern "C-unwind" fn semaphore_clockwait(s: Object, k: clockid_t, t: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    lower(s, || unsafe { libc_::sem_trywait(s) }, Some(|| unsafe { libc_::sem_clockwait(s, k, t) }))
}

unsafe extern "C-unwind" fn semaphore_post(s: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    release(s, Tag::SemPost, || unsafe { libc_::sem_post(s) })
}

unsafe extern "C-unwind" fn barrier_init(b: Object, attributes: *const c_void, count: c_uint) -> c_int {
    let pc = tls::caller();
    let hook = Hook::enter();
    // SAFETY: the caller's own arguments.
    let result = unsafe { libc_::pthread_barrier_init(b, attributes, count) };
    if let (0, Some(hook)) = (result, hook) {
        hook.record(Tag::BarrierInit, pc, &[b as u64, u64::from(count)]);
    }
    result
}

unsafe extern "C-unwind" fn barrier_destroy(b: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(b, || unsafe { libc_::pthread_barrier_destroy(b) })
}

unsafe extern "C-unwind" fn barrier_wait(b: Object) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter() else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::pthread_barrier_wait(b) };
    };
    hook.record(Tag::BarrierArrive, pc, &[b as u64]);
    // SAFETY: the caller's own arguments.
    let result = hook.blocking(|| unsafe { libc_::pthread_barrier_wait(b) });
    if result == 0 || result == libc::PTHREAD_BARRIER_SERIAL_THREAD {
        hook.record(Tag::BarrierLeave, pc, &[b as u64]);
    }
    result
}

/// A `pthread_once` under way in a thread: what to run, and whether this thread ran it.
struct OnceCall {
    control: Object,
    function: Once,
    pc: u64,
    ran: bool,
    outer: *mut OnceCall,
}

unsafe extern "C-unwind" fn once(control: Object, function: Once) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter() else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::pthread_once(control, function) };
    };
    let current: &AtomicPtr<c_void> = &hook.thread().once;
    let mut call = OnceCall { control, function, pc, ran: false, outer: current.load(Ordering::Relaxed).cast() };
    current.store((&raw mut call).cast(), Ordering::Relaxed);
    wait_if_seen(&hook, pc, control);
    // SAFETY: the caller's own control; `run_once` finds the function in this thread's record.
    let result = hook.blocking(|| unsafe { libc_::pthread_once(control, run_once) });
    current.store(call.outer.cast(), Ordering::Relaxed);
    if result == 0 && !call.ran {
        hook.record(Tag::OnceSeen, pc, &[control as u64]);
    }
    result
}

/// In a replay, who found it done comes when it is done.
fn wait_if_seen(hook: &Hook, pc: u64, control: Object) {
    if replay::is_next(hook.thread(), Tag::OnceSeen as u8, pc, control as u64) {
        replay::gate(hook.thread(), Tag::OnceSeen as u8, pc, control as u64);
    }
}

/// What `pthread_once` runs: the program's function, then the record, before any other thread can find it done.
unsafe extern "C-unwind" fn run_once() {
    let Some(thread) = tls::active() else { return };
    let call = thread.once.load(Ordering::Relaxed).cast::<OnceCall>();
    // SAFETY: `once` of this thread set it and waits for this function.
    let (function, control, pc) = unsafe { ((*call).function, (*call).control, (*call).pc) };
    // SAFETY: the program's own function.
    unsafe { function() };
    // SAFETY: as above.
    unsafe { (*call).ran = true };
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::OnceDone, pc, &[control as u64]);
    }
}

unsafe extern "C-unwind" fn c11_once(control: Object, function: Once) {
    // SAFETY: the caller's own arguments.
    unsafe { once(control, function) };
}

unsafe extern "C-unwind" fn guard_acquire(guard: Object) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter() else {
        // SAFETY: the caller's own argument.
        return unsafe { libc_::__cxa_guard_acquire(guard) };
    };
    wait_if_seen(&hook, pc, guard);
    // SAFETY: the caller's own argument.
    let result = hook.blocking(|| unsafe { libc_::__cxa_guard_acquire(guard) });
    if result == 0 {
        hook.record(Tag::OnceSeen, pc, &[guard as u64]);
    }
    result
}

unsafe extern "C-unwind" fn guard_release(guard: Object) {
    let pc = tls::caller();
    let hook = Hook::enter();
    if let Some(hook) = &hook {
        hook.record(Tag::OnceDone, pc, &[guard as u64]);
        // Compiled code looks at the guard's first byte before it calls anybody.
        hook.record(Tag::Atomic, pc, &[guard as u64, atomic_word(AtomicKind::Store, order::RELEASE, 1)]);
    }
    // SAFETY: the caller's own argument.
    unsafe { libc_::__cxa_guard_release(guard) };
}
