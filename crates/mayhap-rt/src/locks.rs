//! Locks: mutexes of all types, reader-writer locks, spin locks, C11 mutexes.
//!
//! Taking a lock first tries without blocking, holding the token; only if that fails the token goes while the thread
//! waits. Between the moment the lock is taken and its record no other thread can record anything of the same lock.

use libc::{EBUSY, EOWNERDEAD, ETIMEDOUT, c_int, c_void, clockid_t, timespec};
use mayhap_wire::channel::orphan;
use mayhap_wire::ring::{Tag, choice};

use crate::hook::Hook;
use crate::inputs::Deadline;
use crate::real::real;
use crate::replay::{self, Decision};
use crate::tls::{self, exports};
use crate::waits::{MARKED, destroy, renew};
use crate::{judge, openmp};

type Lock = *mut c_void;

mod libc_real {
    use super::*;
    real! {
        fn pthread_mutex_lock(lock: Lock) -> c_int;
        fn pthread_mutex_trylock(lock: Lock) -> c_int;
        fn pthread_mutex_timedlock(lock: Lock, time: *const timespec) -> c_int;
        fn pthread_mutex_clocklock(lock: Lock, clock: clockid_t, time: *const timespec) -> c_int;
        fn pthread_mutex_unlock(lock: Lock) -> c_int;
        fn pthread_mutex_init(lock: Lock, attributes: *const c_void) -> c_int;
        fn pthread_mutex_destroy(lock: Lock) -> c_int;
        fn pthread_rwlock_rdlock(lock: Lock) -> c_int;
        fn pthread_rwlock_wrlock(lock: Lock) -> c_int;
        fn pthread_rwlock_tryrdlock(lock: Lock) -> c_int;
        fn pthread_rwlock_trywrlock(lock: Lock) -> c_int;
        fn pthread_rwlock_timedrdlock(lock: Lock, time: *const timespec) -> c_int;
        fn pthread_rwlock_timedwrlock(lock: Lock, time: *const timespec) -> c_int;
        fn pthread_rwlock_clockrdlock(lock: Lock, clock: clockid_t, time: *const timespec) -> c_int;
        fn pthread_rwlock_clockwrlock(lock: Lock, clock: clockid_t, time: *const timespec) -> c_int;
        fn pthread_rwlock_unlock(lock: Lock) -> c_int;
        fn pthread_rwlock_init(lock: Lock, attributes: *const c_void) -> c_int;
        fn pthread_rwlock_destroy(lock: Lock) -> c_int;
        fn pthread_spin_lock(lock: Lock) -> c_int;
        fn pthread_spin_trylock(lock: Lock) -> c_int;
        fn pthread_spin_unlock(lock: Lock) -> c_int;
        fn pthread_spin_init(lock: Lock, shared: c_int) -> c_int;
        fn pthread_spin_destroy(lock: Lock) -> c_int;
        fn mtx_init(lock: Lock, kind: c_int) -> c_int;
        fn mtx_destroy(lock: Lock);
    }
}
use libc_real as libc_;

/// A word of a read-write lock that the C library does not use (`__pad3`).
const UNUSED_WORD: usize = 4;

exports! {
    pthread_mutex_lock => mutex_lock;
    pthread_mutex_trylock => mutex_trylock;
    pthread_mutex_timedlock => mutex_timedlock;
    pthread_mutex_clocklock => mutex_clocklock;
    pthread_mutex_unlock => mutex_unlock;
    pthread_mutex_init => mutex_init;
    pthread_mutex_destroy => mutex_destroy;
    pthread_rwlock_rdlock => rdlock;
    pthread_rwlock_wrlock => wrlock;
    pthread_rwlock_tryrdlock => tryrdlock;
    pthread_rwlock_trywrlock => trywrlock;
    pthread_rwlock_timedrdlock => timedrdlock;
    pthread_rwlock_timedwrlock => timedwrlock;
    pthread_rwlock_clockrdlock => clockrdlock;
    pthread_rwlock_clockwrlock => clockwrlock;
    pthread_rwlock_unlock => rwlock_unlock;
    pthread_rwlock_init => rwlock_init;
    pthread_rwlock_destroy => rwlock_destroy;
    pthread_spin_lock => spin_lock;
    pthread_spin_trylock => spin_trylock;
    pthread_spin_unlock => spin_unlock;
    pthread_spin_init => spin_init;
    pthread_spin_destroy => spin_destroy;
    mtx_lock => c11_lock;
    mtx_trylock => c11_trylock;
    mtx_timedlock => c11_timedlock;
    mtx_unlock => c11_unlock;
    mtx_init => c11_init;
    mtx_destroy => c11_destroy;
}

/// Takes a lock: `attempt` never blocks and says `EBUSY` if it would have to, then `wait` is asked; `bounded` if not forever.
pub(crate) fn take(
    lock: Lock,
    tag: Tag,
    bounded: bool,
    attempt: impl Fn() -> c_int,
    wait: Option<impl FnOnce() -> c_int>,
) -> c_int {
    let pc = tls::caller();
    let Some((mut hook, decision)) = openmp::own_call(pc, || Hook::enter_for(tag, pc, lock as u64)) else {
        return match wait {
            Some(wait) => wait(),
            None => attempt(),
        };
    };
    let is_timed = bounded && wait.is_some();
    let mut result = attempt();
    if let Decision::Fail(error) = decision {
        if result == EBUSY {
            return error;
        }
        replay::succeeded(hook.thread(), tag, pc, lock as u64);
    }
    if result == EBUSY {
        replay::would_block(hook.thread(), tag, pc, lock as u64);
    }
    if let (EBUSY, Some(wait)) = (result, wait) {
        if bounded && hook.choose(choice::TIMEOUT, 2, false) != 0 {
            result = ETIMEDOUT;
        } else {
            replay::blocked(hook.thread());
            hook.record(Tag::Blocked, pc, &[lock as u64, tag as u64]);
            let parked = hook.parked(lock as u64, bounded, || Some(attempt()).filter(|&result| result != EBUSY));
            result = parked.unwrap_or_else(|| hook.blocking(wait));
            replay::unblocked(hook.thread());
        }
    } else {
        replay::tried(hook.thread(), true);
    }
    match result {
        0 | EOWNERDEAD => {
            if bounded {
                hook.record(Tag::Tried, pc, &[is_timed.into()]);
            }
            hook.record(tag, pc, &[lock as u64]);
            if result == EOWNERDEAD {
                hook.record(Tag::Ready, pc, &[orphan(lock as u64), 0]);
            }
            hook.sync_point();
        }
        EBUSY | ETIMEDOUT => hook.record(Tag::Failed, pc, &[lock as u64, result as u64, tag as u64]),
        _ => {}
    }
    result
}

/// Gives a lock up. Others can take it at once, but not record that before this thread passes the token on.
pub(crate) fn give(lock: Lock, tag: Tag, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some((hook, _)) = openmp::own_call(pc, || Hook::enter_for(tag, pc, lock as u64)) else { return call() };
    let result = call();
    // An unlock that fails changes nothing.
    if result == 0 {
        hook.record(tag, pc, &[lock as u64]);
        hook.sync_point();
    }
    result
}

/// Gives a mutex up for a wait on a condition.
pub(crate) fn unlock_for_wait(hook: &Hook, lock: Lock, pc: u64) -> c_int {
    // SAFETY: the caller's own mutex.
    let result = unsafe { libc_::pthread_mutex_unlock(lock) };
    if result == 0 {
        hook.record(Tag::Release, pc, &[lock as u64]);
    }
    result
}

/// Takes a mutex again after a wait on a condition.
pub(crate) fn retake(hook: &mut Hook, lock: Lock, pc: u64) -> c_int {
    // SAFETY: the caller's own mutex.
    let mut result = unsafe { libc_::pthread_mutex_trylock(lock) };
    if result == EBUSY {
        hook.record(Tag::Blocked, pc, &[lock as u64, Tag::Acquire as u64]);
        // SAFETY: as above.
        let attempt = || Some(unsafe { libc_::pthread_mutex_trylock(lock) }).filter(|&result| result != EBUSY);
        let parked = hook.parked(lock as u64, false, attempt);
        // SAFETY: as above.
        result = parked.unwrap_or_else(|| hook.blocking(|| unsafe { libc_::pthread_mutex_lock(lock) }));
    }
    if result == 0 || result == EOWNERDEAD {
        hook.record(Tag::Acquire, pc, &[lock as u64]);
    }
    if result == EOWNERDEAD {
        hook.record(Tag::Ready, pc, &[orphan(lock as u64), 0]);
    }
    result
}

pub(crate) const NO_WAIT: Option<fn() -> c_int> = None;

/// Functions that take a lock: the attempt, and the wait where the function may wait, `within` a time or forever.
macro_rules! takes {
    ($($name:ident($lock:ident $(, $arg:ident: $type:ty)*) $tag:ident $attempt:expr $(, else $wait:expr)? $(, within $limit:expr)?;)*) => {
        $(
            pub(crate) unsafe extern "C-unwind" fn $name($lock: Lock $(, $arg: $type)*) -> c_int {
                // SAFETY: the caller's own arguments.
                take($lock, Tag::$tag, takes!(@bounded [$($wait)?] $($limit)?), || unsafe { $attempt }, takes!(@wait $($wait)? $($limit)?))
            }
        )*
    };
    (@wait) => { NO_WAIT };
    (@bounded [$wait:expr]) => { false };
    (@bounded [] $($limit:expr)?) => { true };
    // SAFETY: the caller's own arguments.
    (@wait $wait:expr) => { Some(|| unsafe { $wait }) };
}

/// When a time of the clock on the wall comes.
fn real_time(t: *const timespec) -> Deadline {
    Deadline::new(libc::CLOCK_REALTIME, t)
}

takes! {
    mutex_lock(m) Acquire libc_::pthread_mutex_trylock(m), else libc_::pthread_mutex_lock(m);
    mutex_trylock(m) Acquire libc_::pthread_mutex_trylock(m);
    mutex_timedlock(m, t: *const timespec) Acquire libc_::pthread_mutex_trylock(m), within libc_::pthread_mutex_timedlock(m, real_time(t).get());
    mutex_clocklock(m, c: clockid_t, t: *const timespec) Acquire
        libc_::pthread_mutex_trylock(m), within libc_::pthread_mutex_clocklock(m, c, Deadline::new(c, t).get());
    rdlock(l) SharedAcquire libc_::pthread_rwlock_tryrdlock(l), else libc_::pthread_rwlock_rdlock(l);
    wrlock(l) Acquire libc_::pthread_rwlock_trywrlock(l), else libc_::pthread_rwlock_wrlock(l);
    tryrdlock(l) SharedAcquire libc_::pthread_rwlock_tryrdlock(l);
    trywrlock(l) Acquire libc_::pthread_rwlock_trywrlock(l);
    timedrdlock(l, t: *const timespec) SharedAcquire
        libc_::pthread_rwlock_tryrdlock(l), within libc_::pthread_rwlock_timedrdlock(l, real_time(t).get());
    timedwrlock(l, t: *const timespec) Acquire
        libc_::pthread_rwlock_trywrlock(l), within libc_::pthread_rwlock_timedwrlock(l, real_time(t).get());
    clockrdlock(l, c: clockid_t, t: *const timespec) SharedAcquire
        libc_::pthread_rwlock_tryrdlock(l), within libc_::pthread_rwlock_clockrdlock(l, c, Deadline::new(c, t).get());
    clockwrlock(l, c: clockid_t, t: *const timespec) Acquire
        libc_::pthread_rwlock_trywrlock(l), within libc_::pthread_rwlock_clockwrlock(l, c, Deadline::new(c, t).get());
    spin_lock(l) Acquire libc_::pthread_spin_trylock(l), else libc_::pthread_spin_lock(l);
    spin_trylock(l) Acquire libc_::pthread_spin_trylock(l);
}

pub(crate) unsafe extern "C-unwind" fn mutex_unlock(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    give(lock, Tag::Release, || unsafe { libc_::pthread_mutex_unlock(lock) })
}

pub(crate) unsafe extern "C-unwind" fn rwlock_unlock(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    give(lock, Tag::AnyRelease, || unsafe { libc_::pthread_rwlock_unlock(lock) })
}

unsafe extern "C-unwind" fn spin_unlock(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    give(lock, Tag::Release, || unsafe { libc_::pthread_spin_unlock(lock) })
}

unsafe extern "C-unwind" fn mutex_init(lock: Lock, attributes: *const c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(lock, || unsafe { libc_::pthread_mutex_init(lock, attributes) })
}

unsafe extern "C-unwind" fn mutex_destroy(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    destroy(lock, MARKED, || unsafe { libc_::pthread_mutex_destroy(lock) })
}

unsafe extern "C-unwind" fn rwlock_init(lock: Lock, attributes: *const c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(lock, || unsafe { libc_::pthread_rwlock_init(lock, attributes) })
}

unsafe extern "C-unwind" fn rwlock_destroy(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    destroy(lock, MARKED, || unsafe {
        let result = libc_::pthread_rwlock_destroy(lock);
        // The C library leaves no mark. These bytes of it have no use.
        if result == 0 && judge::is_active() {
            lock.cast::<u32>().add(UNUSED_WORD).write_unaligned(u32::MAX);
        }
        result
    })
}

unsafe extern "C-unwind" fn spin_init(lock: Lock, shared: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(lock, || unsafe { libc_::pthread_spin_init(lock, shared) })
}

unsafe extern "C-unwind" fn spin_destroy(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    destroy(lock, 0, || unsafe { libc_::pthread_spin_destroy(lock) })
}

/// glibc's C11 mutexes are its POSIX mutexes with other results.
fn c11_result(result: c_int) -> c_int {
    match result {
        0 => 0,
        EBUSY => 1,
        libc::ENOMEM => 3,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

unsafe extern "C-unwind" fn c11_lock(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    c11_result(unsafe { mutex_lock(lock) })
}

unsafe extern "C-unwind" fn c11_trylock(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    c11_result(unsafe { mutex_trylock(lock) })
}

unsafe extern "C-unwind" fn c11_timedlock(lock: Lock, time: *const timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    c11_result(unsafe { mutex_timedlock(lock, time) })
}

unsafe extern "C-unwind" fn c11_unlock(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    c11_result(unsafe { mutex_unlock(lock) })
}

unsafe extern "C-unwind" fn c11_init(lock: Lock, kind: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    renew(lock, || unsafe { libc_::mtx_init(lock, kind) })
}

unsafe extern "C-unwind" fn c11_destroy(lock: Lock) {
    destroy(lock, MARKED, || {
        // SAFETY: the caller's own argument.
        unsafe { libc_::mtx_destroy(lock) };
        0
    });
}
