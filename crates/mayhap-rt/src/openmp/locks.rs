//! Critical sections, whose locks are the runtime's own, and the locks of the OpenMP library.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use libc::{EBUSY, c_int, c_void};
use mayhap_wire::ring::Tag;

use super::functions;
use crate::locks::{NO_WAIT, give, take};
use crate::sys;
use crate::tls::exports;
use crate::waits::renew;

type Lock = *mut c_void;

/// The lock of critical sections without a name.
#[unsafe(no_mangle)]
static omp_critical: AtomicU32 = AtomicU32::new(0);

/// The lock of atomic updates that the processor cannot do.
#[unsafe(no_mangle)]
static omp_atomic: AtomicU32 = AtomicU32::new(0);

/// States of such a lock.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WANTED: u32 = 2;

exports! {
    GOMP_critical_start => critical_start;
    GOMP_critical_end => critical_end;
    GOMP_critical_name_start => critical_name_start;
    GOMP_critical_name_end => critical_name_end;
    GOMP_atomic_start => atomic_start;
    GOMP_atomic_end => atomic_end;
    __kmpc_critical => llvm_critical;
    __kmpc_critical_with_hint => llvm_critical;
    __kmpc_end_critical => llvm_end_critical;
    omp_init_lock => init;
    omp_init_lock_with_hint => init_with_hint;
    omp_init_nest_lock_with_hint => init_nest_with_hint;
    omp_destroy_lock => destroy;
    omp_set_lock => set;
    omp_unset_lock => unset;
    omp_test_lock => test;
    omp_init_nest_lock => init_nest;
    omp_destroy_nest_lock => destroy_nest;
    omp_set_nest_lock => set_nest;
    omp_unset_nest_lock => unset_nest;
    omp_test_nest_lock => test_nest;
}

mod real {
    use super::*;
    functions! {
        fn omp_init_lock(lock: Lock);
        fn omp_init_lock_with_hint(lock: Lock, hint: c_int);
        fn omp_init_nest_lock_with_hint(lock: Lock, hint: c_int);
        fn omp_destroy_lock(lock: Lock);
        fn omp_set_lock(lock: Lock);
        fn omp_unset_lock(lock: Lock);
        fn omp_test_lock(lock: Lock) -> c_int;
        fn omp_init_nest_lock(lock: Lock);
        fn omp_destroy_nest_lock(lock: Lock);
        fn omp_set_nest_lock(lock: Lock);
        fn omp_unset_nest_lock(lock: Lock);
        fn omp_test_nest_lock(lock: Lock) -> c_int;
    }
}

fn attempt(word: &AtomicU32) -> c_int {
    if word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() { 0 } else { EBUSY }
}

fn enter(word: &AtomicU32) {
    let wait = || {
        while word.swap(WANTED, Ordering::Acquire) != FREE {
            sys::futex_wait(word, WANTED, None);
        }
        0
    };
    take(word.as_ptr().cast(), Tag::Acquire, false, || attempt(word), Some(wait));
}

fn leave(word: &AtomicU32) {
    give(word.as_ptr().cast(), Tag::Release, || {
        if word.swap(FREE, Ordering::Release) == WANTED {
            sys::futex_wake(word);
        }
        0
    });
}

/// The word of a section with a name: the compiler keeps a pointer for each, which is null at first.
unsafe fn named<'a>(place: Lock) -> &'a AtomicU32 {
    // SAFETY: the caller vouches.
    unsafe { AtomicU32::from_ptr(place.cast()) }
}

unsafe extern "C-unwind" fn critical_start() {
    enter(&omp_critical);
}

unsafe extern "C-unwind" fn critical_end() {
    leave(&omp_critical);
}

unsafe extern "C-unwind" fn critical_name_start(place: Lock) {
    // SAFETY: the caller's own argument.
    enter(unsafe { named(place) });
}

unsafe extern "C-unwind" fn critical_name_end(place: Lock) {
    // SAFETY: the caller's own argument.
    leave(unsafe { named(place) });
}

/// LLVM keeps 32 bytes for each section.
unsafe extern "C-unwind" fn llvm_critical(_source: Lock, _id: c_int, place: Lock) {
    // SAFETY: the caller's own argument.
    enter(unsafe { named(place) });
}

unsafe extern "C-unwind" fn llvm_end_critical(_source: Lock, _id: c_int, place: Lock) {
    // SAFETY: the caller's own argument.
    leave(unsafe { named(place) });
}

unsafe extern "C-unwind" fn atomic_start() {
    enter(&omp_atomic);
}

unsafe extern "C-unwind" fn atomic_end() {
    leave(&omp_atomic);
}

/// Calls a function that returns nothing and does not fail.
fn done(call: impl FnOnce()) -> c_int {
    call();
    0
}

unsafe extern "C-unwind" fn init(lock: Lock) {
    // SAFETY: the caller's own argument.
    renew(lock, || done(|| unsafe { real::omp_init_lock(lock) }));
}

unsafe extern "C-unwind" fn init_with_hint(lock: Lock, hint: c_int) {
    // SAFETY: the caller's own arguments.
    renew(lock, || done(|| unsafe { real::omp_init_lock_with_hint(lock, hint) }));
}

unsafe extern "C-unwind" fn init_nest_with_hint(lock: Lock, hint: c_int) {
    // SAFETY: the caller's own arguments.
    renew(lock, || done(|| unsafe { real::omp_init_nest_lock_with_hint(lock, hint) }));
}

unsafe extern "C-unwind" fn destroy(lock: Lock) {
    // SAFETY: the caller's own argument.
    renew(lock, || done(|| unsafe { real::omp_destroy_lock(lock) }));
}

unsafe extern "C-unwind" fn init_nest(lock: Lock) {
    // SAFETY: the caller's own argument.
    renew(lock, || done(|| unsafe { real::omp_init_nest_lock(lock) }));
}

unsafe extern "C-unwind" fn destroy_nest(lock: Lock) {
    // SAFETY: the caller's own argument.
    renew(lock, || done(|| unsafe { real::omp_destroy_nest_lock(lock) }));
}

unsafe extern "C-unwind" fn set(lock: Lock) {
    // SAFETY: the caller's own argument.
    let attempt = || if unsafe { real::omp_test_lock(lock) } != 0 { 0 } else { EBUSY };
    // SAFETY: as above.
    take(lock, Tag::Acquire, false, attempt, Some(|| done(|| unsafe { real::omp_set_lock(lock) })));
}

unsafe extern "C-unwind" fn test(lock: Lock) -> c_int {
    // SAFETY: the caller's own argument.
    let attempt = || if unsafe { real::omp_test_lock(lock) } != 0 { 0 } else { EBUSY };
    c_int::from(take(lock, Tag::Acquire, true, attempt, NO_WAIT) == 0)
}

unsafe extern "C-unwind" fn unset(lock: Lock) {
    // SAFETY: the caller's own argument.
    give(lock, Tag::Release, || done(|| unsafe { real::omp_unset_lock(lock) }));
}

unsafe extern "C-unwind" fn set_nest(lock: Lock) {
    // SAFETY: the caller's own argument.
    let attempt = || if unsafe { real::omp_test_nest_lock(lock) } != 0 { 0 } else { EBUSY };
    // SAFETY: as above.
    take(lock, Tag::Acquire, false, attempt, Some(|| done(|| unsafe { real::omp_set_nest_lock(lock) })));
}

/// Says how often the thread has the lock then.
unsafe extern "C-unwind" fn test_nest(lock: Lock) -> c_int {
    let depth = Cell::new(0);
    let attempt = || {
        // SAFETY: the caller's own argument.
        depth.set(unsafe { real::omp_test_nest_lock(lock) });
        if depth.get() != 0 { 0 } else { EBUSY }
    };
    take(lock, Tag::Acquire, true, attempt, NO_WAIT);
    depth.get()
}

unsafe extern "C-unwind" fn unset_nest(lock: Lock) {
    // SAFETY: the caller's own argument.
    give(lock, Tag::Release, || done(|| unsafe { real::omp_unset_nest_lock(lock) }));
}
