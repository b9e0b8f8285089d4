//! Nondeterministic inputs: the clock, random numbers, process ids, what is read.
//!
//! That the program asks for such things is recorded ([`state`]), so that a replay that diverged can say what may have
//! caused it. If the recorder wants it, the answers are recorded too, and a replay gives the same answers to the same thread in
//! the same order.

use libc::{c_int, c_long, c_uint, c_void, clockid_t, pid_t, size_t, ssize_t, time_t, timespec, timeval};
use mayhap_wire::ring::{Tag, source, state};

use crate::hook::{self, Hook};
use crate::real::real;
use crate::tls::{self, exports};
use crate::{replay, ring};

/// Bytes of an answer that one record holds.
const PIECE: usize = 240 * 8;

mod libc_real {
    use super::*;
    real! {
        fn time(place: *mut time_t) -> time_t;
        fn clock_gettime(clock: clockid_t, place: *mut timespec) -> c_int;
        fn gettimeofday(place: *mut timeval, zone: *mut c_void) -> c_int;
        fn getrandom(place: *mut c_void, bytes: size_t, flags: c_uint) -> ssize_t;
        fn getentropy(place: *mut c_void, bytes: size_t) -> c_int;
        fn rand() -> c_int;
        fn random() -> c_long;
        fn getpid() -> pid_t;
    }
}

exports! {
    time => now;
    clock_gettime => clock;
    gettimeofday => day;
    getrandom => random_bytes;
    getentropy => entropy;
    rand => next_rand;
    random => next_random;
    getpid => process;
}

fn tell(bit: u32) {
    if hook::is_recording()
        && ring::header().is_some_and(|header| header.state.0.load(core::sync::atomic::Ordering::Relaxed) & bit == 0)
    {
        ring::set_state(bit);
    }
}

/// Records an answer and the bytes that came with it, if the recorder wants to have it.
pub(crate) fn keep(source: u8, pc: u64, result: i64, place: *const c_void, bytes: usize) {
    if !hook::is_recording() || ring::header().is_none_or(|header| header.inputs == 0) {
        return;
    }
    let Some(hook) = Hook::enter_outermost() else { return };
    let mut done = 0;
    loop {
        let part = (bytes - done).min(PIECE);
        let more = done + part < bytes;
        let mut words = [0u64; 2 + PIECE / 8];
        words[0] = u64::from(source) | (part as u64) << 8 | u64::from(more) << 63;
        words[1] = result as u64;
        // SAFETY: the answer is there, and the words have room for a piece of it.
        unsafe {
            core::ptr::copy_nonoverlapping(place.cast::<u8>().add(done), words.as_mut_ptr().add(2).cast(), part);
        }
        hook.record(Tag::Input, pc, &words[..2 + part.div_ceil(8)]);
        done += part;
        if !more {
            return;
        }
    }
}

/// Asks for something that differs from run to run: the recorded answer if there is one, the real one otherwise.
fn ask<T: Copy + Into<i64>>(
    kind: u8,
    bit: u32,
    place: *mut c_void,
    bytes: usize,
    back: impl Fn(i64) -> T,
    call: impl FnOnce() -> T,
) -> T {
    let pc = tls::caller();
    tell(bit);
    // SAFETY: the caller has room for its answer.
    if let Some(result) = unsafe { replay::fed(kind, place, bytes) } {
        return back(result);
    }
    let result = call();
    let length = if place.is_null() || result.into() < 0 { 0 } else { bytes };
    keep(kind, pc, result.into(), place, length);
    result
}

unsafe extern "C" fn now(place: *mut time_t) -> time_t {
    let bytes = if place.is_null() { 0 } else { size_of::<time_t>() };
    // SAFETY: the caller's own arguments.
    ask(source::TIME, state::READS_CLOCK, place.cast(), bytes, |r| r, || unsafe { libc_real::time(place) })
}

unsafe extern "C" fn clock(which: clockid_t, place: *mut timespec) -> c_int {
    let call = || {
        // SAFETY: the caller's own arguments.
        unsafe { libc_real::clock_gettime(which, place) }
    };
    ask(source::CLOCK, state::READS_CLOCK, place.cast(), size_of::<timespec>(), |r| r as c_int, call)
}

unsafe extern "C" fn day(place: *mut timeval, zone: *mut c_void) -> c_int {
    let bytes = if place.is_null() { 0 } else { size_of::<timeval>() };
    let call = || {
        // SAFETY: the caller's own arguments.
        unsafe { libc_real::gettimeofday(place, zone) }
    };
    ask(source::DAY, state::READS_CLOCK, place.cast(), bytes, |r| r as c_int, call)
}

unsafe extern "C" fn random_bytes(place: *mut c_void, bytes: size_t, flags: c_uint) -> ssize_t {
    let call = || {
        // SAFETY: the caller's own arguments.
        unsafe { libc_real::getrandom(place, bytes, flags) as i64 }
    };
    ask(source::RANDOM, state::USES_RANDOM, place, bytes, |r| r, call) as ssize_t
}

unsafe extern "C" fn entropy(place: *mut c_void, bytes: size_t) -> c_int {
    let call = || {
        // SAFETY: the caller's own arguments.
        unsafe { libc_real::getentropy(place, bytes) }
    };
    ask(source::ENTROPY, state::USES_RANDOM, place, bytes, |r| r as c_int, call)
}

unsafe extern "C" fn next_rand() -> c_int {
    let call = || {
        // SAFETY: no precondition.
        unsafe { libc_real::rand() }
    };
    ask(source::RAND, state::USES_RAND, core::ptr::null_mut(), 0, |r| r as c_int, call)
}

unsafe extern "C" fn next_random() -> c_long {
    let call = || {
        // SAFETY: no precondition.
        unsafe { libc_real::random() }
    };
    ask(source::RANDOM_LONG, state::USES_RAND, core::ptr::null_mut(), 0, |r| r, call)
}

unsafe extern "C" fn process() -> pid_t {
    let call = || {
        // SAFETY: no precondition.
        unsafe { libc_real::getpid() }
    };
    ask(source::PROCESS, state::USES_PROCESS_ID, core::ptr::null_mut(), 0, |r| r as pid_t, call)
}
