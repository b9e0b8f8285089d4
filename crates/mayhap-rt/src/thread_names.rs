//! What the program calls its threads: `pthread_setname_np`, which Rust's thread builder and C++ libraries use too, and `prctl`.
//!
//! A name is for people alone. Replays do not look at it, so nothing is held back there.

use core::ffi::CStr;
use core::sync::atomic::Ordering;

use libc::{c_char, c_int, c_ulong, pthread_t};
use mayhap_wire::ring::Tag;

use crate::hook::{self, Hook};
use crate::real::real;
use crate::thread::Thread;
use crate::tls::exports;
use crate::{replay, ring, threads};

/// Words of a name: the kernel keeps 16 bytes, of which the last one is 0.
const WORDS: usize = 2;

mod libc_real {
    use super::*;
    real! {
        fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
        fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
    }
}

exports! {
    pthread_setname_np => set_name;
    prctl => control;
}

unsafe extern "C" fn set_name(handle: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the caller's own arguments.
    let result = unsafe { libc_real::pthread_setname_np(handle, name) };
    if result == 0 {
        // SAFETY: the library has just read the name.
        note(unsafe { CStr::from_ptr(name) }, |_| threads::by_handle(handle));
    }
    result
}

unsafe extern "C" fn control(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    // SAFETY: the caller's own arguments; those that it did not pass are ignored for its option.
    let result = unsafe { libc_real::prctl(option, a, b, c, d) };
    if result == 0 && option == libc::PR_SET_NAME {
        // SAFETY: the kernel has just read the name.
        note(unsafe { CStr::from_ptr(a as *const c_char) }, |hook| Some(hook.thread()));
    }
    result
}

/// Records the name of a thread, as far as the kernel keeps it.
fn note(name: &CStr, of: impl FnOnce(&Hook) -> Option<&'static Thread>) {
    if !hook::is_recording() || replay::active() {
        return;
    }
    let Some(hook) = Hook::enter_outermost() else { return };
    let Some(thread) = of(&hook) else { return };
    let bytes = name.to_bytes();
    let mut kept = [0; WORDS * 8];
    let length = bytes.len().min(kept.len() - 1);
    kept[..length].copy_from_slice(&bytes[..length]);
    let words: [u64; WORDS] = core::array::from_fn(|i| {
        let mut word = [0; 8];
        word.copy_from_slice(&kept[8 * i..8 * i + 8]);
        u64::from_le_bytes(word)
    });
    let number = thread.identity.owner.load(Ordering::Relaxed) - 1;
    ring::record(hook.token(), Tag::ThreadName, number, &words);
}
