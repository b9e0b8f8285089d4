//! Values of plain accesses.
//!
//! What an access read or wrote lies in memory when its thread comes to its next hook: no other thread has run instrumented code
//! in between, and the thread's own next write is still to come. The memory was just accessed, so it can be read. A hook thus
//! notes what it announces ([`announce`]), and the thread's next hook records what lies there ([`record`]). If the token was
//! taken away in between, or a signal came, nothing is recorded: the value is then not known.
//!
//! Values are recorded of the first accesses after each synchronisation and at the beginning of each slice. There, threads meet:
//! what comes later in a long stretch of one thread's own work has no values. Of a long slice only a part of the accesses may have
//! them, so that programs that do nothing but synchronise are not slowed down. So the fast path stays as it is, and is only opened
//! later.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use mayhap_wire::ring::Tag;

use crate::sched::Token;
use crate::thread::Thread;
use crate::{calls, ring, tls};

/// How many accesses have values at the beginning of a slice.
const AT_FIRST: u32 = 64;
/// How many accesses of a slice may have values: so many, or one for so many hooks of its length.
const AT_LEAST: i64 = 256;
const ONE_IN: i64 = 64;
/// How many accesses have values after synchronisation.
pub(crate) const AFTER_SYNC: u32 = 16;
/// How many accesses may be announced before they are done.
const MOST: usize = 8;
/// Units of the record of a value.
const UNITS: u64 = 5;
/// In [`Values::state`]: one access that was announced.
const ANNOUNCED: u32 = 1 << 16;

static ENABLED: AtomicBool = AtomicBool::new(false);

/// From here on values are recorded.
pub(crate) fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// What is to be recorded of a thread's accesses. **Written by the thread itself.** Memory of zeros is ready.
#[repr(C)]
pub(crate) struct Values {
    /// How many more accesses have values; above 16 bits, how many are announced.
    state: AtomicU32,
    /// How many more accesses of the slice may have values.
    left: AtomicU32,
    /// The addresses of those that are announced, and their sizes above 56 bits.
    announced: [AtomicU64; MOST],
}

impl Values {
    /// Whether the thread's next access must take the slow path.
    #[inline(always)]
    pub(crate) fn are_wanted(&self) -> bool {
        self.state.load(Ordering::Relaxed) != 0
    }

    /// A slice of so many hooks begins.
    pub(crate) fn begin_slice(&self, hooks: i64) {
        self.left.store(AT_LEAST.max(hooks / ONE_IN) as u32, Ordering::Relaxed);
        self.want(AT_FIRST);
    }

    /// From here on at least so many accesses have values.
    #[inline(always)]
    pub(crate) fn want(&self, accesses: u32) {
        if ENABLED.load(Ordering::Relaxed) {
            let accesses = accesses.min(self.left.load(Ordering::Relaxed));
            let state = self.state.load(Ordering::Relaxed);
            if (state & (ANNOUNCED - 1)) < accesses {
                self.state.store(state & !(ANNOUNCED - 1) | accesses, Ordering::Relaxed);
            }
        }
    }

    /// A new thread begins.
    pub(crate) fn reset(&self) {
        self.state.store(0, Ordering::Relaxed);
    }

    /// Nothing is known of what was announced.
    pub(crate) fn forget(&self) {
        self.state.fetch_and(ANNOUNCED - 1, Ordering::Relaxed);
    }

    /// An access is about to be done.
    #[inline(always)]
    pub(crate) fn announce(&self, address: u64, size: u8, writes: bool) {
        let state = self.state.load(Ordering::Relaxed);
        if state != 0 {
            self.announce_now(state, address, size, writes);
        }
    }

    #[inline(never)]
    fn announce_now(&self, state: u32, address: u64, size: u8, writes: bool) {
        let announced = (state / ANNOUNCED) as usize;
        if writes {
            // What others announced there will not be there any more.
            for word in self.announced.iter().take(announced) {
                let (other, bytes) = split(word.load(Ordering::Relaxed));
                if other < address + u64::from(size) && address < other + bytes {
                    word.store(0, Ordering::Relaxed);
                }
            }
        }
        let is_one = size.is_power_of_two() && size <= 8 && address.is_multiple_of(size.into()) && address >> 56 == 0;
        let left = state & (ANNOUNCED - 1);
        if left > 0 {
            self.state.store(state - 1, Ordering::Relaxed);
            let of_slice = self.left.load(Ordering::Relaxed);
            self.left.store(of_slice.saturating_sub(1), Ordering::Relaxed);
        }
        if let Some(place) = self.announced.get(announced).filter(|_| is_one && left > 0) {
            place.store(address | u64::from(size) << 56, Ordering::Relaxed);
            self.state.store(state - 1 + ANNOUNCED, Ordering::Relaxed);
        }
    }
}

/// The calling thread's memory is about to change in a way that it may no longer be readable.
pub(crate) fn forget() {
    if let Some(thread) = tls::active() {
        thread.values.forget();
    }
}

fn split(word: u64) -> (u64, u64) {
    (word & ((1 << 56) - 1), word >> 56)
}

/// Everything that the thread announced is done: records what lies there.
#[inline(always)]
pub(crate) fn record(token: Token<'_>, thread: &Thread) {
    if thread.values.state.load(Ordering::Relaxed) >= ANNOUNCED {
        record_now(token, thread);
    }
}

#[inline(never)]
fn record_now(token: Token<'_>, thread: &Thread) {
    let count = thread.values.state.load(Ordering::Relaxed) / ANNOUNCED;
    // A read that is done again and again is still known as such.
    let repeats = thread.own.repeat_at.load(Ordering::Relaxed) == ring::head();
    for word in thread.values.announced.iter().take(count as usize) {
        let (address, size) = split(word.load(Ordering::Relaxed));
        // What lay on the stack of a function that has returned may be something else by now.
        if calls::has_left(thread, address) {
            continue;
        }
        // SAFETY: the thread has accessed this memory since its last hook, and it is aligned for the size.
        let value = unsafe {
            match size {
                1 => AtomicU8::from_ptr(address as *mut u8).load(Ordering::Relaxed).into(),
                2 => AtomicU16::from_ptr(address as *mut u16).load(Ordering::Relaxed).into(),
                4 => AtomicU32::from_ptr(address as *mut u32).load(Ordering::Relaxed).into(),
                8 => AtomicU64::from_ptr(address as *mut u64).load(Ordering::Relaxed),
                _ => continue,
            }
        };
        ring::record(token, Tag::Value, address as u32, &[value]);
        // Slices are as long as they are without values.
        let end = thread.own.slice_end.load(Ordering::Relaxed);
        thread.own.slice_end.store(end.saturating_add(UNITS), Ordering::Relaxed);
    }
    thread.values.forget();
    if repeats {
        thread.own.repeat_at.store(ring::head(), Ordering::Relaxed);
    }
}
