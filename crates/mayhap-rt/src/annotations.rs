//! What programs that know ThreadSanitizer tell it themselves: order and locks of their own making. Those that ask for
//! nothing that a recording has (names, expected races, fibers) are there so that programs that call them link and run.

use libc::{c_char, c_int, c_uint, c_void};
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
    AnnotateBenignRace AnnotateBenignRaceSized AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreWritesBegin
    AnnotateIgnoreWritesEnd AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateThreadName AnnotateNewMemory
    AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateRWLockAcquired AnnotateRWLockReleased
    AnnotateFlushState AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange AnnotateEnableRaceDetection
    AnnotateMutexIsUsedAsCondVar AnnotateMutexIsNotPHB AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateExpectRace AnnotateTraceMemory AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized
}
