//! Semaphores, barriers, once, guards of static locals. Condition variables are in [`crate::conditions`].

use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{EAGAIN, EBUSY, ETIMEDOUT, c_int, c_uint, c_void, clockid_t, timespec};
use mayhap_wire::ring::{AtomicKind, Tag, atomic_word, choice, order};

use crate::hook::Hook;
use crate::inputs::Deadline;
use crate::judge;
use crate::openmp;
use crate::real::real;
use crate::replay::{self, Decision};
use crate::sched::{gates, parking};
use crate::tls::{self, exports};

type Object = *mut c_void;
type Once = unsafe extern "C-unwind" fn();

mod libc_real {
    use super::*;
    real! {
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
        fn __cxa_guard_abort(guard: Object);
    }
}
use libc_real as libc_;

exports! {
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
    __cxa_guard_abort => guard_abort;
}

/// Begins or ends an object's life: from here on its address names another object.
pub(crate) fn renew(object: Object, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some(hook) = openmp::own_call(pc, Hook::enter) else { return call() };
    let result = renewed(&hook, object, pc, call);
    if result == 0 && judge::is_active() {
        judge::initialised(object as u64, pc);
    }
    result
}

/// How many bytes of a lock or condition show that it was destroyed: the C library leaves a mark there, which an assignment of an initialiser
/// removes. Other objects begin their lives by calls only.
pub(crate) const MARKED: usize = 40;

/// Ends an object's life; so many of its bytes show that afterwards.
pub(crate) fn destroy(object: Object, marked: usize, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some(hook) = openmp::own_call(pc, Hook::enter) else { return call() };
    let result = renewed(&hook, object, pc, call);
    // What is still in use cannot be destroyed, and must not be.
    if (result == 0 || result == EBUSY) && judge::is_active() {
        judge::destroyed(object as u64, marked, pc);
    }
    result
}

fn renewed(hook: &Hook, object: Object, pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    // Most of these matter to no other thread and are no steps. A thread that has come to its last step waits before the next life begins.
    let thread = hook.thread();
    if replay::is_next(thread, Tag::Renew as u8, pc, object as u64) || replay::is_beyond(thread) {
        replay::hold_back(hook.token(), hook.thread(), Tag::Renew as u8, pc, object as u64);
    }
    let result = call();
    if result == 0 {
        hook.record(Tag::Renew, pc, &[object as u64]);
        judge::revived(object as u64);
    }
    result
}

/// Records, then calls: for calls that release other threads, whose records must come later.
pub(crate) fn release(object: Object, tag: Tag, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter() else { return call() };
    hook.record(tag, pc, &[object as u64]);
    let result = call();
    hook.sync_point();
    result
}

/// Returns the calling thread's error number.
fn errno() -> c_int {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

/// Lowers a semaphore, waiting if it may; `limited`: not for as long as it takes.
fn lower(s: Object, limited: bool, attempt: impl Fn() -> c_int, wait: Option<impl FnOnce() -> c_int>) -> c_int {
    let pc = tls::caller();
    let Some((mut hook, decision)) = Hook::enter_for(Tag::SemWait, pc, s as u64) else {
        return match wait {
            Some(wait) => wait(),
            None => attempt(),
        };
    };
    let is_timed = wait.is_some();
    let mut result = attempt();
    if let Decision::Fail(error) = decision {
        if result != 0 && errno() == EAGAIN {
            // SAFETY: the calling thread's own errno.
            unsafe { *libc::__errno_location() = error };
            return -1;
        }
        replay::succeeded(hook.thread(), Tag::SemWait, pc, s as u64);
    }
    if result != 0 && errno() == EAGAIN {
        replay::would_block(hook.thread(), Tag::SemWait, pc, s as u64);
    }
    if let Some(wait) = wait
        && result != 0
        && matches!(errno(), EAGAIN | EBUSY)
    {
        if limited && hook.choose(choice::TIMEOUT, 2, false) != 0 {
            // SAFETY: the calling thread's own errno.
            unsafe { *libc::__errno_location() = ETIMEDOUT };
        } else {
            hook.record(Tag::Blocked, pc, &[s as u64, Tag::SemWait as u64]);
            let parked = hook.parked(s as u64, limited, || Some(attempt()).filter(|&result| result == 0));
            result = parked.unwrap_or_else(|| hook.blocking(wait));
        }
    }
    if result == 0 {
        if limited {
            hook.record(Tag::Tried, pc, &[is_timed.into()]);
        }
        hook.record(Tag::SemWait, pc, &[s as u64]);
        hook.sync_point();
    } else if matches!(errno(), EAGAIN | ETIMEDOUT) {
        hook.record(Tag::Failed, pc, &[s as u64, errno() as u64, Tag::SemWait as u64]);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn semaphore_init(s: Object, shared: c_int, value: c_uint) -> c_int {
    // SAFETY: the caller's own arguments.
    let result = renew(s, || unsafe { libc_::sem_init(s, shared, value) });
    if let (0, Some(hook)) = (result, Hook::enter_outermost()) {
        hook.record(Tag::SemInit, tls::caller(), &[s as u64, value.into()]);
    }
    result
}

unsafe extern "C-unwind" fn semaphore_destroy(s: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    destroy(s, 0, || unsafe { libc_::sem_destroy(s) })
}

pub(crate) unsafe extern "C-unwind" fn semaphore_wait(s: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    lower(s, false, || unsafe { libc_::sem_trywait(s) }, Some(|| unsafe { libc_::sem_wait(s) }))
}

pub(crate) unsafe extern "C-unwind" fn semaphore_trywait(s: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    lower(s, true, || unsafe { libc_::sem_trywait(s) }, None::<fn() -> c_int>)
}

unsafe extern "C-unwind" fn semaphore_timedwait(s: Object, t: *const timespec) -> c_int {
    let t = Deadline::new(libc::CLOCK_REALTIME, t);
    // SAFETY: the caller's own arguments.
    lower(s, true, || unsafe { libc_::sem_trywait(s) }, Some(|| unsafe { libc_::sem_timedwait(s, t.get()) }))
}

unsafe extern "C-unwind" fn semaphore_clockwait(s: Object, k: clockid_t, t: *const timespec) -> c_int {
    let t = Deadline::new(k, t);
    // SAFETY: the caller's own arguments.
    lower(s, true, || unsafe { libc_::sem_trywait(s) }, Some(|| unsafe { libc_::sem_clockwait(s, k, t.get()) }))
}

pub(crate) unsafe extern "C-unwind" fn semaphore_post(s: Object) -> c_int {
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
        gates::begin(b as u64, count);
    }
    result
}

unsafe extern "C-unwind" fn barrier_destroy(b: Object) -> c_int {
    destroy(b, 0, || {
        gates::end(b as u64);
        // SAFETY: the caller's own arguments.
        unsafe { libc_::pthread_barrier_destroy(b) }
    })
}

unsafe extern "C-unwind" fn barrier_wait(b: Object) -> c_int {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter() else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::pthread_barrier_wait(b) };
    };
    hook.record(Tag::BarrierArrive, pc, &[b as u64]);
    let kept = gates::at(b as u64).filter(|_| parking::is_on());
    let result = match kept {
        Some(gate) => pass_gate(&mut hook, b, gate),
        // SAFETY: the caller's own arguments.
        None => hook.blocking(|| unsafe { libc_::pthread_barrier_wait(b) }),
    };
    if result == 0 || result == libc::PTHREAD_BARRIER_SERIAL_THREAD {
        hook.record(Tag::BarrierLeave, pc, &[b as u64]);
    }
    result
}

/// Waits at a barrier that the runtime keeps; returns what the C library would.
fn pass_gate(hook: &mut Hook, b: Object, gate: &'static gates::Gate) -> c_int {
    let (before, opens) = gate.arrive();
    if opens {
        parking::unpark(b as u64, usize::MAX);
        return libc::PTHREAD_BARRIER_SERIAL_THREAD;
    }
    let opened = || gate.has_opened(before).then_some(());
    if hook.parked(b as u64, false, opened).is_none() {
        hook.blocking(|| gate.wait(before));
    }
    0
}

/// Where the seed decides all, waits while another thread runs the initialisation. Says whether the C library can then be asked without
/// blocking.
fn await_initialisation(hook: &mut Hook, control: Object) -> bool {
    let idle = || (!gates::is_running(control as u64)).then_some(());
    parking::is_on() && (idle().is_some() || hook.parked(control as u64, false, idle).is_some())
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
    let Some(mut hook) = Hook::enter() else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::pthread_once(control, function) };
    };
    let current: &AtomicPtr<c_void> = &hook.thread().own.once;
    let mut call = OnceCall { control, function, pc, ran: false, outer: current.load(Ordering::Relaxed).cast() };
    current.store((&raw mut call).cast(), Ordering::Relaxed);
    wait_if_seen(&hook, pc, control);
    // SAFETY: the caller's own control; `run_once` finds the function in this thread's record.
    let real = || unsafe { libc_::pthread_once(control, run_once) };
    let is_idle = await_initialisation(&mut hook, control);
    tls::forget_stack();
    let result = if is_idle { hook.exposed(real) } else { hook.blocking(real) };
    current.store(call.outer.cast(), Ordering::Relaxed);
    if result == 0 && !call.ran {
        hook.record(Tag::OnceSeen, pc, &[control as u64]);
    }
    result
}

/// In a replay, a thread that finds it done, or takes over after another thread threw, waits for its turn.
fn wait_if_seen(hook: &Hook, pc: u64, control: Object) {
    if replay::is_next(hook.thread(), Tag::OnceSeen as u8, pc, control as u64) {
        replay::hold_back(hook.token(), hook.thread(), Tag::OnceSeen as u8, pc, control as u64);
    }
}

/// Ends what is to be done once, by return or by unwinding: the record comes before any other thread can find it done, or
/// begin it again.
struct OnceEnd {
    control: Object,
    pc: u64,
}

impl Drop for OnceEnd {
    fn drop(&mut self) {
        if let Some(hook) = Hook::enter() {
            gates::has_run(self.control as u64);
            hook.record(Tag::OnceDone, self.pc, &[self.control as u64]);
        }
    }
}

/// What `pthread_once` runs: the program's function.
unsafe extern "C-unwind" fn run_once() {
    let Some(thread) = tls::active() else { return };
    let call = thread.own.once.load(Ordering::Relaxed).cast::<OnceCall>();
    // SAFETY: `once` of this thread set it and waits for this function.
    let (function, control, pc) = unsafe { ((*call).function, (*call).control, (*call).pc) };
    // Another thread may have tried before and thrown.
    if let Some(hook) = Hook::enter() {
        gates::runs(control as u64);
        hook.record(Tag::OnceSeen, pc, &[control as u64]);
    }
    let end = OnceEnd { control, pc };
    // SAFETY: the program's own function.
    unsafe { function() };
    // SAFETY: as above.
    unsafe { (*call).ran = true };
    drop(end);
}

unsafe extern "C-unwind" fn c11_once(control: Object, function: Once) {
    // SAFETY: the caller's own arguments.
    unsafe { once(control, function) };
}

unsafe extern "C-unwind" fn guard_acquire(guard: Object) -> c_int {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter() else {
        // SAFETY: the caller's own argument.
        return unsafe { libc_::__cxa_guard_acquire(guard) };
    };
    wait_if_seen(&hook, pc, guard);
    // SAFETY: the caller's own argument.
    let real = || unsafe { libc_::__cxa_guard_acquire(guard) };
    let result = if await_initialisation(&mut hook, guard) { real() } else { hook.blocking(real) };
    if result != 0 {
        gates::runs(guard as u64);
    }
    // Done by another thread, or to be done after another thread threw.
    hook.record(Tag::OnceSeen, pc, &[guard as u64]);
    result
}

unsafe extern "C-unwind" fn guard_release(guard: Object) {
    let pc = tls::caller();
    let hook = Hook::enter();
    if let Some(hook) = &hook {
        gates::has_run(guard as u64);
        hook.record(Tag::OnceDone, pc, &[guard as u64]);
        // Compiled code looks at the guard's first byte before it calls any function.
        hook.record(Tag::Atomic, pc, &[guard as u64, atomic_word(AtomicKind::Store, order::RELEASE, 1)]);
    }
    // SAFETY: the caller's own argument.
    unsafe { libc_::__cxa_guard_release(guard) };
}

unsafe extern "C-unwind" fn guard_abort(guard: Object) {
    let pc = tls::caller();
    let hook = Hook::enter();
    if let Some(hook) = &hook {
        gates::has_run(guard as u64);
        hook.record(Tag::OnceDone, pc, &[guard as u64]);
    }
    // SAFETY: the caller's own argument.
    unsafe { libc_::__cxa_guard_abort(guard) };
}
