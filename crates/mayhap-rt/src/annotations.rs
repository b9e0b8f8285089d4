//! The annotations of programs that know ThreadSanitizer: order and locks that they implement themselves. Those that ask for
//! nothing that a recording has (names, expected races, fibers) are there so that programs that call them link and run.

use libc::{c_char, c_int, c_long, c_uint, c_void};
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::tls::{self, exports};

type Object = *mut c_void;

/// Flags of the functions about mutexes.
const READ_LOCK: c_uint = 1 << 3;
const TRY_LOCK_FAILED: c_uint = 1 << 5;

exports! {
    __tsan_acquire => acquire;
    __tsan_release => release;
    AnnotateHappensBefore => happens_before;
    AnnotateHappensAfter => happens_after;
    __tsan_mutex_post_lock => locked;
    __tsan_mutex_pre_unlock => unlocks;
    AnnotateRWLockCreate => lock_renewed;
    AnnotateRWLockCreateStatic => lock_renewed;
    AnnotateRWLockDestroy => lock_renewed;
    AnnotateRWLockAcquired => lock_acquired;
    AnnotateRWLockReleased => lock_released;
    WTFAnnotateHappensBefore => happens_before;
    WTFAnnotateHappensAfter => happens_after;
    AnnotateBenignRace => benign;
    AnnotateBenignRaceSized => benign_sized;
    WTFAnnotateBenignRaceSized => benign_sized;
    AnnotateIgnoreReadsBegin => ignore_reads;
    AnnotateIgnoreReadsEnd => heed_reads;
    AnnotateIgnoreWritesBegin => ignore_writes;
    AnnotateIgnoreWritesEnd => heed_writes;
}

fn tell(tag: Tag, object: Object) {
    let pc = tls::caller();
    if let Some(hook) = Hook::enter() {
        hook.record(tag, pc, &[object as u64]);
    }
}

unsafe extern "C" fn release(object: Object) {
    tell(Tag::OnceDone, object);
}

unsafe extern "C" fn acquire(object: Object) {
    tell(Tag::OnceSeen, object);
}

unsafe extern "C" fn happens_before(_file: *const c_char, _line: c_int, object: Object) {
    tell(Tag::OnceDone, object);
}

unsafe extern "C" fn happens_after(_file: *const c_char, _line: c_int, object: Object) {
    tell(Tag::OnceSeen, object);
}

unsafe extern "C" fn locked(mutex: Object, flags: c_uint, _recursion: c_int) {
    if flags & TRY_LOCK_FAILED == 0 {
        tell(if flags & READ_LOCK != 0 { Tag::SharedAcquire } else { Tag::Acquire }, mutex);
    }
}

unsafe extern "C" fn unlocks(mutex: Object, _flags: c_uint) -> c_int {
    tell(Tag::AnyRelease, mutex);
    1
}

unsafe extern "C" fn lock_renewed(_file: *const c_char, _line: c_int, lock: Object) {
    tell(Tag::Renew, lock);
}

unsafe extern "C" fn lock_acquired(_file: *const c_char, _line: c_int, lock: Object, alone: c_long) {
    tell(if alone == 0 { Tag::SharedAcquire } else { Tag::Acquire }, lock);
}

unsafe extern "C" fn lock_released(_file: *const c_char, _line: c_int, lock: Object, _alone: c_long) {
    tell(Tag::AnyRelease, lock);
}

/// Races on some memory are meant: accesses there are recorded as atomic ones.
fn meant(place: Object, bytes: u64) {
    let pc = tls::caller();
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::Benign, pc, &[place as u64, bytes]);
    }
}

unsafe extern "C" fn benign(_file: *const c_char, _line: c_int, place: Object, _why: *const c_char) {
    meant(place, 8);
}

unsafe extern "C" fn benign_sized(
    _file: *const c_char,
    _line: c_int,
    place: Object,
    bytes: c_long,
    _why: *const c_char,
) {
    meant(place, bytes.max(0) as u64);
}

/// From here on the thread's reads, or writes, are not looked at, or again.
fn heed(writes: bool, heeds: bool) {
    let pc = tls::caller();
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::Heeded, pc, &[u64::from(writes), u64::from(heeds)]);
    }
}

unsafe extern "C" fn ignore_reads(_file: *const c_char, _line: c_int) {
    heed(false, false);
}

unsafe extern "C" fn heed_reads(_file: *const c_char, _line: c_int) {
    heed(false, true);
}

unsafe extern "C" fn ignore_writes(_file: *const c_char, _line: c_int) {
    heed(true, false);
}

unsafe extern "C" fn heed_writes(_file: *const c_char, _line: c_int) {
    heed(true, true);
}

/// Functions that do nothing and return nothing, or null.
macro_rules! silent {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> *const c_void {
                core::ptr::null()
            }
        )*
    };
}

silent! {
    __tsan_mutex_create __tsan_mutex_destroy __tsan_mutex_pre_lock __tsan_mutex_post_unlock __tsan_mutex_pre_signal
    __tsan_mutex_post_signal __tsan_mutex_pre_divert __tsan_mutex_post_divert __tsan_get_current_fiber __tsan_create_fiber
    __tsan_destroy_fiber __tsan_switch_to_fiber __tsan_set_fiber_name __tsan_flush_memory

    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateThreadName AnnotateNewMemory

    AnnotateFlushState AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange AnnotateEnableRaceDetection
    AnnotateMutexIsUsedAsCondVar AnnotateMutexIsNotPHB AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateExpectRace AnnotateTraceMemory AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized
}
