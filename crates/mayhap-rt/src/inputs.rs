//! Nondeterministic inputs: the clock, random numbers, process ids, what is read.
//!
//! That the program asks for such things is recorded ([`state`]), so that a replay that diverged can say what may have
//! caused it. If the recorder wants it, the answers are recorded too, and a replay gives the same answers to the same thread in
//! the same order.
//!
//! Where a replay has answered with recorded times, the program's clock goes on from there: [`Deadline`] is when such a time comes.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use libc::{c_int, c_long, c_uint, c_void, clockid_t, pid_t, size_t, ssize_t, time_t, timespec, timeval};
use mayhap_wire::ring::{Tag, source, state};

use crate::channels::positions::{self, From};
use crate::channels::results::{wrote, wrote_all};
use crate::hook::{self, Hook};
use crate::real::real;
use crate::tls::{self, exports};
use crate::{blocking, replay, ring, sys};

/// Bytes of an answer that one record holds.
const PIECE: usize = 240 * 8;
/// Bytes of answers that are recorded at most.
const MOST: u64 = 64 << 20;

/// How many bytes of answers have been recorded.
static KEPT: AtomicU64 = AtomicU64::new(0);
/// By how many nanoseconds the real time and the steady clock are ahead of what a replay has answered.
static AHEAD: [AtomicI64; 2] = [const { AtomicI64::new(0) }; 2];
/// The process number that a replay has answered with.
static ANSWERED: AtomicU32 = AtomicU32::new(0);

mod libc_real {
    use super::*;
    real! {
        fn clock_gettime(clock: clockid_t, place: *mut timespec) -> c_int;
        fn gettimeofday(place: *mut timeval, zone: *mut c_void) -> c_int;
        fn getrandom(place: *mut c_void, bytes: size_t, flags: c_uint) -> ssize_t;
        fn getentropy(place: *mut c_void, bytes: size_t) -> c_int;
        fn rand() -> c_int;
        fn random() -> c_long;
        fn srand(seed: c_uint) -> ();
        fn srandom(seed: c_uint) -> ();
        fn drand48() -> f64;
        fn lrand48() -> c_long;
        fn mrand48() -> c_long;
        fn srand48(seed: c_long) -> ();
        fn getpid() -> pid_t;
    }
}

exports! {
    time => now;
    clock_gettime => clock;
    timespec_get => clock_of_c;
    gettimeofday => day;
    getrandom => random_bytes;
    getentropy => entropy;
    rand => next_rand;
    random => next_random;
    srand => seed;
    srandom => seed_long;
    drand48 => next_fraction;
    lrand48 => next_positive;
    mrand48 => next_signed;
    srand48 => seed_48;
    getpid => process;
}

fn tell(bit: u32) {
    if hook::is_recording() && ring::header().is_some_and(|header| header.state.0.load(Ordering::Relaxed) & bit == 0) {
        ring::set_state(bit);
    }
}

/// Whether answers are recorded, or given from a recording.
pub(crate) fn are_wanted() -> bool {
    replay::has_schedule() || hook::is_recording() && ring::header().is_some_and(|header| header.inputs != 0)
}

/// Records an answer and the bytes that came with it, if the recorder wants to have it.
pub(crate) fn keep(source: u8, pc: u64, result: i64, place: *const c_void, bytes: usize) {
    if !hook::is_recording() || ring::header().is_none_or(|header| header.inputs == 0) {
        return;
    }
    // Where one answer is not kept, no later one is: a replay gives them in order.
    if KEPT.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64) > MOST {
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

const NANOSECONDS: i64 = 1_000_000_000;

/// How far a clock is ahead of what was answered, if answers may be about it.
fn ahead(clock: clockid_t) -> Option<&'static AtomicI64> {
    match clock {
        libc::CLOCK_REALTIME => Some(&AHEAD[0]),
        libc::CLOCK_MONOTONIC => Some(&AHEAD[1]),
        _ => None,
    }
}

/// What the clock says in truth, with the time that was skipped, in nanoseconds.
fn truth(clock: clockid_t) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the time.
    unsafe { libc_real::clock_gettime(clock, &mut time) };
    time.tv_sec * NANOSECONDS + time.tv_nsec + blocking::skipped() as i64
}

/// A time of the clock for the program: a recorded one that `fed` gives, or the true one, less what the program's clock is behind.
fn tell_time(clock: clockid_t, fed: impl FnOnce() -> Option<i64>) -> i64 {
    let Some(ahead) = ahead(clock) else { return fed().unwrap_or_else(|| truth(clock)) };
    let Some(answer) = fed() else { return truth(clock) - ahead.load(Ordering::Relaxed) };
    ahead.store(truth(clock) - answer, Ordering::Relaxed);
    answer
}

/// A time of the program's clock as one of the true clock.
pub(crate) struct Deadline {
    given: *const timespec,
    moved: Option<timespec>,
}

impl Deadline {
    /// The moment that the program calls `given`, which may be null.
    pub(crate) fn new(clock: clockid_t, given: *const timespec) -> Deadline {
        let ahead = ahead(clock).map_or(0, |ahead| ahead.load(Ordering::Relaxed));
        // SAFETY: the caller's own time.
        let moved = unsafe { given.as_ref() }.filter(|time| ahead != 0 && (0..NANOSECONDS).contains(&time.tv_nsec));
        let moved = moved.map(|time| {
            let all = time.tv_sec.saturating_mul(NANOSECONDS).saturating_add(time.tv_nsec + ahead).max(0);
            timespec { tv_sec: all / NANOSECONDS, tv_nsec: all % NANOSECONDS }
        });
        Deadline { given, moved }
    }

    pub(crate) fn get(&self) -> *const timespec {
        self.moved.as_ref().map_or(self.given, |time| time)
    }
}

unsafe extern "C" fn now(place: *mut time_t) -> time_t {
    let pc = tls::caller();
    tell(state::READS_CLOCK);
    let mut answered = None;
    // SAFETY: nothing is written there.
    let fed = || unsafe { replay::fed(source::TIME, core::ptr::null_mut(), 0) };
    let nanoseconds = tell_time(libc::CLOCK_REALTIME, || {
        answered = fed();
        answered.map(|seconds| seconds.saturating_mul(NANOSECONDS))
    });
    let seconds = nanoseconds / NANOSECONDS;
    // SAFETY: the caller's own place, if it has one.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = seconds;
    }
    wrote_all(pc, place);
    if answered.is_none() {
        keep(source::TIME, pc, seconds, core::ptr::null(), 0);
    }
    seconds
}

unsafe extern "C" fn clock(which: clockid_t, place: *mut timespec) -> c_int {
    let pc = tls::caller();
    tell(state::READS_CLOCK);
    if ahead(which).is_none() || place.is_null() {
        // SAFETY: the caller's own arguments.
        let result = ask(
            source::CLOCK,
            state::READS_CLOCK,
            place.cast(),
            size_of::<timespec>(),
            |r| r as c_int,
            || unsafe { libc_real::clock_gettime(which, place) },
        );
        wrote_all(pc, place);
        return result;
    }
    let mut answer = timespec { tv_sec: 0, tv_nsec: 0 };
    let mut answered = None;
    let nanoseconds = tell_time(which, || {
        // SAFETY: there is room for a time.
        answered = unsafe { replay::fed(source::CLOCK, (&raw mut answer).cast(), size_of::<timespec>()) };
        answered.map(|_| answer.tv_sec.saturating_mul(NANOSECONDS).saturating_add(answer.tv_nsec))
    });
    let time = timespec { tv_sec: nanoseconds / NANOSECONDS, tv_nsec: nanoseconds % NANOSECONDS };
    // SAFETY: the caller's own place.
    unsafe { *place = time };
    wrote_all(pc, place);
    if answered.is_none() {
        keep(source::CLOCK, pc, 0, (&raw const time).cast(), size_of::<timespec>());
    }
    0
}

/// C's own clock, of which there is one that everything has: the real time.
unsafe extern "C" fn clock_of_c(place: *mut timespec, base: c_int) -> c_int {
    const TIME_UTC: c_int = 1;
    // SAFETY: the caller's own argument.
    let is_known = base == TIME_UTC && unsafe { clock(libc::CLOCK_REALTIME, place) } == 0;
    if is_known { base } else { 0 }
}

unsafe extern "C" fn day(place: *mut timeval, zone: *mut c_void) -> c_int {
    let pc = tls::caller();
    tell(state::READS_CLOCK);
    // SAFETY: the caller's own arguments.
    let Some(time) = (unsafe { place.as_mut() }) else { return unsafe { libc_real::gettimeofday(place, zone) } };
    if !zone.is_null() {
        // SAFETY: the caller's own arguments.
        unsafe { libc_real::gettimeofday(place, zone) };
    }
    let mut answer = timeval { tv_sec: 0, tv_usec: 0 };
    let mut answered = None;
    let nanoseconds = tell_time(libc::CLOCK_REALTIME, || {
        // SAFETY: there is room for a time.
        answered = unsafe { replay::fed(source::DAY, (&raw mut answer).cast(), size_of::<timeval>()) };
        answered.map(|_| answer.tv_sec.saturating_mul(NANOSECONDS).saturating_add(answer.tv_usec * 1000))
    });
    wrote_all(pc, place);
    *time = timeval { tv_sec: nanoseconds / NANOSECONDS, tv_usec: nanoseconds % NANOSECONDS / 1000 };
    if answered.is_none() {
        keep(source::DAY, pc, 0, core::ptr::from_ref(time).cast(), size_of::<timeval>());
    }
    0
}

unsafe extern "C" fn random_bytes(place: *mut c_void, bytes: size_t, flags: c_uint) -> ssize_t {
    let call = || {
        // SAFETY: the caller's own arguments.
        unsafe { libc_real::getrandom(place, bytes, flags) as i64 }
    };
    let pc = tls::caller();
    let result = ask(source::RANDOM, state::USES_RANDOM, place, bytes, |r| r, call) as ssize_t;
    wrote(pc, place, result.max(0) as usize);
    result
}

unsafe extern "C" fn entropy(place: *mut c_void, bytes: size_t) -> c_int {
    let call = || {
        // SAFETY: the caller's own arguments.
        unsafe { libc_real::getentropy(place, bytes) }
    };
    let pc = tls::caller();
    let result = ask(source::ENTROPY, state::USES_RANDOM, place, bytes, |r| r as c_int, call);
    wrote(pc, place, bytes);
    result
}

unsafe extern "C" fn next_rand() -> c_int {
    positions::takes(From::Rand, tls::caller());
    let call = || {
        // SAFETY: no precondition.
        unsafe { libc_real::rand() }
    };
    ask(source::RAND, state::USES_RAND, core::ptr::null_mut(), 0, |r| r as c_int, call)
}

unsafe extern "C" fn next_random() -> c_long {
    positions::takes(From::Rand, tls::caller());
    let call = || {
        // SAFETY: no precondition.
        unsafe { libc_real::random() }
    };
    ask(source::RANDOM_LONG, state::USES_RAND, core::ptr::null_mut(), 0, |r| r, call)
}

unsafe extern "C" fn seed(seed: c_uint) {
    positions::sets(From::Rand, tls::caller());
    // SAFETY: no precondition.
    unsafe { libc_real::srand(seed) }
}

unsafe extern "C" fn seed_long(seed: c_uint) {
    positions::sets(From::Rand, tls::caller());
    // SAFETY: no precondition.
    unsafe { libc_real::srandom(seed) }
}

unsafe extern "C" fn next_fraction() -> f64 {
    positions::takes(From::Rand48, tls::caller());
    // SAFETY: no precondition.
    unsafe { libc_real::drand48() }
}

unsafe extern "C" fn next_positive() -> c_long {
    positions::takes(From::Rand48, tls::caller());
    // SAFETY: no precondition.
    unsafe { libc_real::lrand48() }
}

unsafe extern "C" fn next_signed() -> c_long {
    positions::takes(From::Rand48, tls::caller());
    // SAFETY: no precondition.
    unsafe { libc_real::mrand48() }
}

unsafe extern "C" fn seed_48(seed: c_long) {
    positions::sets(From::Rand48, tls::caller());
    // SAFETY: no precondition.
    unsafe { libc_real::srand48(seed) }
}

unsafe extern "C" fn process() -> pid_t {
    let call = || {
        // SAFETY: no precondition.
        unsafe { libc_real::getpid() }
    };
    let answer = ask(source::PROCESS, state::USES_PROCESS_ID, core::ptr::null_mut(), 0, |r| r as pid_t, call);
    if replay::has_schedule() {
        ANSWERED.store(answer as u32, Ordering::Relaxed);
    }
    answer
}

/// The process that the program means: the number that it knows its own process by may be that of the recorded one.
pub(crate) fn meant_process(process: pid_t) -> pid_t {
    let answered = ANSWERED.load(Ordering::Relaxed);
    if process > 0 && process as u32 == answered { sys::process_id() as pid_t } else { process }
}

/// Random numbers of newer C libraries.
#[cfg(not(feature = "archive"))]
mod arc4 {
    use super::*;

    mod libc_real {
        use super::*;
        real! {
            fn arc4random() -> u32;
            fn arc4random_uniform(bound: u32) -> u32;
            fn arc4random_buf(place: *mut c_void, bytes: size_t) -> ();
        }
    }

    exports! {
        arc4random => next_arc4;
        arc4random_uniform => next_arc4_below;
        arc4random_buf => fill_arc4;
    }

    unsafe extern "C" fn next_arc4() -> u32 {
        let call = || {
            // SAFETY: no precondition.
            unsafe { libc_real::arc4random() }
        };
        ask(source::ARC4, state::USES_RANDOM, core::ptr::null_mut(), 0, |r| r as u32, call)
    }

    unsafe extern "C" fn next_arc4_below(bound: u32) -> u32 {
        let call = || {
            // SAFETY: no precondition.
            unsafe { libc_real::arc4random_uniform(bound) }
        };
        ask(source::ARC4, state::USES_RANDOM, core::ptr::null_mut(), 0, |r| r as u32, call)
    }

    unsafe extern "C" fn fill_arc4(place: *mut c_void, bytes: size_t) {
        let call = || {
            // SAFETY: the caller's own arguments.
            unsafe { libc_real::arc4random_buf(place, bytes) };
            0i64
        };
        ask(source::ARC4, state::USES_RANDOM, place, bytes, |r| r, call);
    }
}

/// `std::random_device`, which asks the processor where it can: no call shows that.
#[cfg(not(feature = "archive"))]
mod device {
    use super::*;

    #[expect(non_snake_case, reason = "the name that C++ gives it")]
    mod libc_real {
        use super::*;
        real! {
            fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> u32;
        }
    }

    exports! {
        _ZNSt13random_device9_M_getvalEv => draw;
    }

    unsafe extern "C-unwind" fn draw(device: *mut c_void) -> u32 {
        let call = || {
            // SAFETY: the caller's own argument.
            unsafe { libc_real::_ZNSt13random_device9_M_getvalEv(device) }
        };
        ask(source::DEVICE, state::USES_RANDOM, core::ptr::null_mut(), 0, |r| r as u32, call)
    }
}
