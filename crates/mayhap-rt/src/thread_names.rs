//! What the program calls its threads: `pthread_setname_np`, which Rust's thread builder and C++ libraries use too, and `prctl`.
//!
//! A name is for people alone. Replays do not look at it, so nothing is held back there.

use core::ffi::CStr;
use core::sync::atomic::Ordering;

use libc::{c_char, c_int, c_ulong, pthread_t};
use mayhap_wire::ring::Tag;

use crate::channels::settings::{Setting, sets, settles};
use crate::hook::{self, Hook};
use crate::real::real;
use crate::thread::Thread;
use crate::tls::{self, exports};
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
    prctl => control_process;
}

unsafe extern "C" fn set_name(handle: pthread_t, name: *const c_char) -> c_int {
    sets(Setting::Threads, tls::caller());
    // SAFETY: the caller's own arguments.
    let result = unsafe { libc_real::pthread_setname_np(handle, name) };
    if result == 0 {
        // SAFETY: the library has just read the name.
        note(unsafe { CStr::from_ptr(name) }, |_| threads::by_handle(handle));
    }
    result
}

/// Options of `prctl` that only ask.
const GETTERS: [c_int; 14] = [
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_DUMPABLE,
    libc::PR_GET_KEEPCAPS,
    libc::PR_GET_TIMING,
    libc::PR_GET_NAME,
    libc::PR_GET_SECCOMP,
    libc::PR_CAPBSET_READ,
    libc::PR_GET_TSC,
    libc::PR_GET_SECUREBITS,
    libc::PR_GET_TIMERSLACK,
    libc::PR_GET_CHILD_SUBREAPER,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_TID_ADDRESS,
    libc::PR_GET_THP_DISABLE,
];

pub(crate) unsafe extern "C" fn control_process(
    option: c_int,
    a: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
) -> c_int {
    let what =
        if matches!(option, libc::PR_SET_NAME | libc::PR_GET_NAME) { Setting::Threads } else { Setting::Process };
    let only_asks = GETTERS.contains(&option);
    // SAFETY: the caller's own arguments; those that it did not pass are ignored for its option.
    let call = || unsafe { libc_real::prctl(option, a, b, c, d) };
    let result = settles(what, (!only_asks, option != libc::PR_SET_NAME), tls::caller(), call);
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
