//! Condition variables. While a run is recorded the runtime itself decides which waiter a signal wakes: the C library
//! would not say. So every wait is recorded with exactly the notify that ended it.
//!
//! Waiters are in one list, oldest first, each on its own stack with its own semaphore; a signal takes the oldest
//! waiter of its condition out and raises that semaphore. Waiting on a semaphore is a cancellation point with
//! the clocks that conditions have, so waits end by time and by cancellation unchanged. The program's condition object is only
//! read: for its clock, and for whether other processes share it, who do not know the list; then the C library's own
//! functions do the work, and the latest notify counts as the one that woke (as it is where [`prepare`] does not find
//! the object's layout to be the known one).
//!
//! The list has a separate lock, not the token: if the recording ends early, waiting threads are still woken.

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use libc::{EINTR, EINVAL, ETIMEDOUT, c_int, c_uint, c_void, clockid_t, pthread_condattr_t, sem_t, timespec};
use mayhap_wire::ring::{Tag, choice};

use crate::blocking;
use crate::hook::{Hook, Suspended};
use crate::inputs::Deadline;
use crate::lock::Lock;
use crate::locks;
use crate::openmp;
use crate::real::real;
use crate::replay::{self, conditions as scheduled};
use crate::sched::{self, parking};
use crate::tls::{self, exports};
use crate::waits::{self, release, renew};

type Object = *mut c_void;

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
        fn sem_init(s: *mut sem_t, shared: c_int, value: c_uint) -> c_int;
        fn sem_wait(s: *mut sem_t) -> c_int;
        fn sem_clockwait(s: *mut sem_t, k: clockid_t, t: *const timespec) -> c_int;
        fn sem_post(s: *mut sem_t) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    pthread_cond_init => init;
    pthread_cond_destroy => destroy;
    pthread_cond_wait => wait;
    pthread_cond_timedwait => timedwait;
    pthread_cond_clockwait => clockwait;
    pthread_cond_signal => signal;
    pthread_cond_broadcast => broadcast;
    cnd_init => c11_init;
    cnd_destroy => c11_destroy;
    cnd_wait => c11_wait;
    cnd_timedwait => c11_timedwait;
    cnd_signal => c11_signal;
    cnd_broadcast => c11_broadcast;
}

/// Where glibc keeps a condition's properties, and their bits.
const FLAGS_OFFSET: usize = 36;
const SHARED: u32 = 1;
const MONOTONIC: u32 = 2;

/// Whether the layout is the known one.
static KNOWN: AtomicBool = AtomicBool::new(false);

/// Finds out whether conditions are laid out as this file believes.
pub(crate) fn prepare() {
    // SAFETY: attributes and conditions are plain data, made and unmade here by the library's own functions.
    let flags = unsafe {
        let mut attributes: pthread_condattr_t = core::mem::zeroed();
        libc::pthread_condattr_init(&mut attributes);
        let mut flags = |shared, clock| {
            libc::pthread_condattr_setpshared(&mut attributes, shared);
            libc::pthread_condattr_setclock(&mut attributes, clock);
            let mut condition: libc::pthread_cond_t = core::mem::zeroed();
            libc_::pthread_cond_init((&raw mut condition).cast(), (&raw const attributes).cast());
            let flags = properties((&raw mut condition).cast());
            libc_::pthread_cond_destroy((&raw mut condition).cast());
            flags
        };
        [
            flags(libc::PTHREAD_PROCESS_PRIVATE, libc::CLOCK_REALTIME),
            flags(libc::PTHREAD_PROCESS_SHARED, libc::CLOCK_REALTIME),
            flags(libc::PTHREAD_PROCESS_PRIVATE, libc::CLOCK_MONOTONIC),
        ]
    };
    KNOWN.store(flags == [0, SHARED, MONOTONIC], Ordering::Relaxed);
}

/// [`SHARED`] and [`MONOTONIC`] of a condition.
fn properties(condition: Object) -> u32 {
    // SAFETY: the word lies within a condition; the C library never changes these two bits of it.
    let word = unsafe { AtomicU32::from_ptr(condition.byte_add(FLAGS_OFFSET).cast()) };
    word.load(Ordering::Relaxed) & (SHARED | MONOTONIC)
}

/// Whether the runtime may decide which thread is woken.
fn is_ours(condition: Object) -> bool {
    KNOWN.load(Ordering::Relaxed) && properties(condition) & SHARED == 0
}

/// A thread that waits, on its own stack. Under the list's lock, but for the semaphore.
struct Waiter {
    condition: Object,
    semaphore: UnsafeCell<sem_t>,
    /// The thread's number in the recording.
    thread: u64,
    /// Where it waits.
    pc: u64,
    woken: AtomicBool,
    next: AtomicPtr<Waiter>,
}

static LOCK: Lock = Lock::new();
static FIRST: AtomicPtr<Waiter> = AtomicPtr::new(core::ptr::null_mut());

/// Runs `f` under the list's lock.
fn locked<R>(f: impl FnOnce() -> R) -> R {
    LOCK.with(f)
}

/// A forked child has one thread, which does not wait.
pub(crate) fn forget() {
    LOCK.forget();
    FIRST.store(core::ptr::null_mut(), Ordering::Relaxed);
}

/// Under the lock: takes the first waiter that `wanted` accepts out of the list.
fn remove(wanted: impl Fn(&Waiter) -> bool) -> Option<&'static Waiter> {
    let mut link = &FIRST;
    loop {
        // SAFETY: who is in the list waits, or is about to take itself out under the lock.
        let waiter = unsafe { link.load(Ordering::Relaxed).as_ref() }?;
        if wanted(waiter) {
            link.store(waiter.next.load(Ordering::Relaxed), Ordering::Relaxed);
            return Some(waiter);
        }
        link = &waiter.next;
    }
}

/// Under the lock: puts a waiter after all others.
fn append(waiter: &Waiter) {
    let mut link = &FIRST;
    // SAFETY: as in `remove`.
    while let Some(other) = unsafe { link.load(Ordering::Relaxed).as_ref() } {
        link = &other.next;
    }
    link.store(core::ptr::from_ref(waiter).cast_mut(), Ordering::Relaxed);
}

/// How many threads wait on a condition.
fn waiters(condition: Object) -> u32 {
    locked(|| {
        let (mut count, mut link) = (0, &FIRST);
        // SAFETY: as in `remove`.
        while let Some(waiter) = unsafe { link.load(Ordering::Relaxed).as_ref() } {
            count += u32::from(waiter.condition == condition);
            link = &waiter.next;
        }
        count
    })
}

/// Wakes the oldest waiter of a condition, or one that came so many places later: its thread's number, and where it waited.
fn wake(condition: Object, later: u32) -> Option<(u64, u64)> {
    locked(|| {
        let before = Cell::new(later);
        let waiter = remove(|waiter| {
            let is_it = waiter.condition == condition && before.get() == 0;
            before.set(before.get().saturating_sub(u32::from(waiter.condition == condition)));
            is_it
        })?;
        waiter.woken.store(true, Ordering::Relaxed);
        let found = (waiter.thread, waiter.pc);
        // SAFETY: its thread takes the lock before it gives the semaphore's memory up.
        unsafe { libc_::sem_post(waiter.semaphore.get()) };
        parking::unpark(core::ptr::from_ref(waiter) as u64, 1);
        Some(found)
    })
}

/// A wait under way. It ends by return or, when the thread is cancelled, by unwinding; either way the thread has the mutex
/// again.
struct Waiting<'a> {
    suspended: Option<Suspended>,
    waiter: &'a Waiter,
    mutex: Object,
}

impl Waiting<'_> {
    /// Ends the wait: returns the hook, whether another thread woke it, and the result of taking the mutex again.
    fn end(&self, suspended: Suspended) -> (Hook, bool, c_int) {
        let woken = locked(|| {
            remove(|waiter| core::ptr::eq(waiter, self.waiter));
            self.waiter.woken.load(Ordering::Relaxed)
        });
        let mut hook = suspended.resume();
        if !woken {
            hook.record(Tag::WaitEnd, self.waiter.pc, &[self.waiter.condition as u64, 0]);
        }
        let result = locks::retake(&mut hook, self.mutex, self.waiter.pc);
        (hook, woken, result)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(suspended) = self.suspended.take()
            && let (hook, true, _) = self.end(suspended)
        {
            // The thread was cancelled after a notify had chosen it. Another thread gets its wake-up, as if this one had notified.
            hook.record(Tag::Notify, self.waiter.pc, &[self.waiter.condition as u64]);
            wake_and_record(&hook, self.waiter.condition, 0);
        }
    }
}

/// Wakes the oldest waiter of a condition, or one that came so many places later, if there is one.
fn wake_and_record(hook: &Hook, condition: Object, later: u32) -> bool {
    let Some((thread, pc)) = wake(condition, later) else { return false };
    hook.record(Tag::Woken, pc, &[condition as u64, thread]);
    true
}

/// Waits, at most until `deadline` on its clock; or has the C library wait where others share the condition.
fn waiting(
    condition: Object,
    mutex: Object,
    deadline: Option<(clockid_t, *const timespec)>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let pc = tls::caller();
    let Some(mut hook) = openmp::own_call(pc, Hook::enter) else { return call() };
    if replay::active() {
        return following(&mut hook, condition, mutex, pc, call);
    }
    if !is_ours(condition) {
        return waiting_elsewhere(hook, condition, mutex, pc, call);
    }
    // SAFETY: the caller's own time.
    if deadline.is_some_and(|(_, time)| unsafe { !(0..1_000_000_000).contains(&(*time).tv_nsec) }) {
        return EINVAL;
    }
    if deadline.is_some() {
        hook.record(Tag::Tried, pc, &[1]);
    }
    let thread = u64::from(hook.thread().identity.owner.load(Ordering::Relaxed) - 1);
    // SAFETY: a semaphore is plain data.
    let semaphore = UnsafeCell::new(unsafe { core::mem::zeroed() });
    // SAFETY: the semaphore is this function's own.
    unsafe { libc_::sem_init(semaphore.get(), 0, 0) };
    let woken = AtomicBool::new(false);
    let waiter = Waiter { condition, semaphore, thread, pc, woken, next: AtomicPtr::new(core::ptr::null_mut()) };
    // In the list before the mutex is free: the thread that takes the mutex next finds this one waiting.
    locked(|| append(&waiter));
    match locks::unlock_for_wait(&hook, mutex, pc) {
        0 => {}
        error => {
            locked(|| remove(|other| core::ptr::eq(other, &waiter)));
            return error;
        }
    }
    if let Some(result) = ending_early(&hook, deadline) {
        locked(|| remove(|other| core::ptr::eq(other, &waiter)));
        // Others may come before it has the mutex again.
        hook.next_step();
        hook.record(Tag::WaitEnd, pc, &[condition as u64, u64::from(result == 0)]);
        let retaken = locks::retake(&mut hook, mutex, pc);
        return if retaken == 0 { result } else { retaken };
    }
    hook.record(Tag::Blocked, pc, &[condition as u64, Tag::WaitEnd as u64]);
    let is_woken = || waiter.woken.load(Ordering::Relaxed).then_some(());
    if hook.parked(core::ptr::from_ref(&waiter) as u64, deadline.is_some(), is_woken).is_some() {
        // The thread that notified took this one out of the list; it has left the list's lock when this one takes it.
        locked(|| ());
        return locks::retake(&mut hook, mutex, pc);
    }
    let mut wait = Waiting { suspended: Some(hook.suspend()), waiter: &waiter, mutex };
    let in_time = until_posted(&waiter, deadline);
    let Some(suspended) = wait.suspended.take() else { return EINVAL };
    match wait.end(suspended) {
        (_, _, error) if error != 0 => error,
        (_, woken, _) if woken || in_time => 0,
        _ => ETIMEDOUT,
    }
}

/// The longest time limit, in nanoseconds, that is taken to run out while other threads can go on, if no option asks for that.
const SHORT_WAIT: i128 = 150_000_000;

/// The result of a wait that ends though no thread has woken it, where that is explored. It is enough that it ends at once: it has the mutex again only when its
/// turn comes, and a notify that comes before is one that came too late.
fn ending_early(hook: &Hook, deadline: Option<(clockid_t, *const timespec)>) -> Option<c_int> {
    if !sched::in_turns() {
        return None;
    }
    if let Some((clock, time)) = deadline {
        // SAFETY: the caller's own time.
        let is_short = blocking::left_until(clock, unsafe { *time }) <= SHORT_WAIT;
        if hook.choose(choice::TIMEOUT, 2, is_short) != 0 {
            return Some(ETIMEDOUT);
        }
    } else if hook.choose(choice::WAKEUP, 2, false) != 0 {
        return Some(0);
    }
    None
}

/// Sleeps until the waiter's semaphore is raised; `false` if time ran out first. Signal handlers do not end the wait.
fn until_posted(waiter: &Waiter, deadline: Option<(clockid_t, *const timespec)>) -> bool {
    let semaphore = waiter.semaphore.get();
    // SAFETY: the caller's own time.
    let deadline = deadline.map(|(clock, time)| (clock, blocking::real_moment(unsafe { *time })));
    loop {
        // SAFETY: the semaphore lives until the wait has ended; the time is the caller's own.
        let result = unsafe {
            match deadline {
                Some((clock, time)) => libc_::sem_clockwait(semaphore, clock, &time),
                None => libc_::sem_wait(semaphore),
            }
        };
        // SAFETY: the calling thread's own errno.
        if result == 0 || unsafe { *libc::__errno_location() } != EINTR {
            return result == 0;
        }
    }
}

/// A wait in a replay: it ends when the schedule says so.
fn following(hook: &mut Hook, condition: Object, mutex: Object, pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let thread = hook.thread();
    hook.record(Tag::Release, pc, &[mutex as u64]);
    hook.record(Tag::WaitBegin, pc, &[condition as u64]);
    scheduled::wait(thread, condition as usize);
    // SAFETY: the program waits with this mutex, which it has.
    unsafe { libc_::pthread_mutex_unlock(mutex) };
    replay::hold_back(hook.token(), thread, Tag::WaitEnd as u8, pc, condition as u64);
    let outcome = replay::outcome(thread);
    let woken = outcome != Some(0);
    if outcome.is_some() {
        scheduled::chosen(thread);
        hook.record(Tag::WaitEnd, pc, &[condition as u64, u64::from(woken)]);
        replay::hold_back(hook.token(), thread, Tag::Acquire as u8, pc, mutex as u64);
    }
    // SAFETY: as above.
    if unsafe { libc_::pthread_mutex_trylock(mutex) } != 0 {
        replay::would_block(thread, Tag::Acquire, pc, mutex as u64);
        replay::blocked(thread);
        // SAFETY: as above.
        hook.blocking(|| unsafe { libc_::pthread_mutex_lock(mutex) });
        replay::unblocked(thread);
    }
    let mut result = if woken { 0 } else { ETIMEDOUT };
    if outcome.is_none() {
        // The replay is over: from here on the wait is an ordinary one.
        result = if scheduled::done(thread) { 0 } else { hook.blocking(call) };
        hook.record(Tag::WaitEnd, pc, &[condition as u64, u64::from(result == 0)]);
    }
    hook.record(Tag::Acquire, pc, &[mutex as u64]);
    result
}

/// A wait that the C library does. It ends by return or by unwinding.
struct Elsewhere {
    suspended: Option<Suspended>,
    condition: Object,
    mutex: Object,
    pc: u64,
    woken: u64,
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        if let Some(hook) = self.suspended.take().map(Suspended::resume) {
            hook.record(Tag::WaitEnd, self.pc, &[self.condition as u64, self.woken]);
            hook.record(Tag::Acquire, self.pc, &[self.mutex as u64]);
        }
    }
}

/// A wait that a library does, between giving a lock up and having it again.
pub(crate) fn waiting_elsewhere(
    hook: Hook,
    condition: Object,
    mutex: Object,
    pc: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    hook.record(Tag::Release, pc, &[mutex as u64]);
    hook.record(Tag::WaitBegin, pc, &[condition as u64]);
    let mut wait = Elsewhere { suspended: Some(hook.suspend()), condition, mutex, pc, woken: 0 };
    let result = call();
    wait.woken = u64::from(result == 0);
    result
}

unsafe extern "C-unwind" fn init(c: Object, attributes: *const c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(c, || unsafe { libc_::pthread_cond_init(c, attributes) })
}

unsafe extern "C-unwind" fn destroy(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    waits::destroy(c, waits::MARKED, || unsafe { libc_::pthread_cond_destroy(c) })
}

pub(crate) unsafe extern "C-unwind" fn wait(c: Object, m: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    waiting(c, m, None, || unsafe { libc_::pthread_cond_wait(c, m) })
}

unsafe extern "C-unwind" fn timedwait(c: Object, m: Object, t: *const timespec) -> c_int {
    let clock = if properties(c) & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
    let deadline = Deadline::new(clock, t);
    let t = deadline.get();
    // SAFETY: the caller's own arguments.
    waiting(c, m, Some((clock, t)), || unsafe { libc_::pthread_cond_timedwait(c, m, t) })
}

pub(crate) unsafe extern "C-unwind" fn clockwait(c: Object, m: Object, k: clockid_t, t: *const timespec) -> c_int {
    if k != libc::CLOCK_REALTIME && k != libc::CLOCK_MONOTONIC {
        return EINVAL;
    }
    let deadline = Deadline::new(k, t);
    let t = deadline.get();
    // SAFETY: the caller's own arguments.
    waiting(c, m, Some((k, t)), || unsafe { libc_::pthread_cond_clockwait(c, m, k, t) })
}

/// Wakes one waiter or all.
fn notify(condition: Object, tag: Tag, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let most = if tag == Tag::Notify { 1 } else { usize::MAX };
    if openmp::is_library(pc) {
        return call();
    }
    let Some(hook) = Hook::enter() else {
        // Threads that began to wait while the run was recorded.
        (0..most).map_while(|_| wake(condition, 0)).for_each(drop);
        return call();
    };
    if !is_ours(condition) && !replay::active() {
        drop(hook);
        return release(condition, tag, call);
    }
    hook.record(tag, pc, &[condition as u64]);
    // A thread that a schedule holds back is marked, not woken.
    if scheduled::notify(condition as usize, tag == Tag::NotifyAll) {
        hook.sync_point();
        return 0;
    }
    let later = if most == 1 { hook.choose(choice::WAITER, waiters(condition), true) } else { 0 };
    let woken = (0..most).take_while(|_| wake_and_record(&hook, condition, later)).count();
    // Threads that the recording does not see (any more) wait with the C library.
    let result = if woken < most { call() } else { 0 };
    hook.sync_point();
    result
}

pub(crate) unsafe extern "C-unwind" fn signal(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    notify(c, Tag::Notify, || unsafe { libc_::pthread_cond_signal(c) })
}

pub(crate) unsafe extern "C-unwind" fn broadcast(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    notify(c, Tag::NotifyAll, || unsafe { libc_::pthread_cond_broadcast(c) })
}

/// glibc's C11 conditions are its POSIX conditions with other results.
fn c11_result(result: c_int) -> c_int {
    match result {
        0 => 0,
        libc::ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

unsafe extern "C-unwind" fn c11_init(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { init(c, core::ptr::null()) })
}

unsafe extern "C-unwind" fn c11_destroy(c: Object) {
    // SAFETY: the caller's own arguments.
    unsafe { destroy(c) };
}

unsafe extern "C-unwind" fn c11_wait(c: Object, m: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { wait(c, m) })
}

unsafe extern "C-unwind" fn c11_timedwait(c: Object, m: Object, t: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { timedwait(c, m, t) })
}

unsafe extern "C-unwind" fn c11_signal(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { signal(c) })
}

unsafe extern "C-unwind" fn c11_broadcast(c: Object) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { broadcast(c) })
}
