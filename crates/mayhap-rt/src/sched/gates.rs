//! Barriers and once-initialisations that the runtime keeps itself where the seed decides all ([`super::parking`]): the C library has no way to
//! try them. Everything here is for the holder of the token, except where it says otherwise.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::sys;

/// How many barriers, and how many initialisations under way, are kept.
const MOST: usize = 128;

/// A barrier.
pub(crate) struct Gate {
    /// Its address; 0 if the entry is free.
    object: AtomicU64,
    /// How many threads it takes.
    count: AtomicU32,
    arrived: AtomicU32,
    /// How often it has opened: a futex word for threads that wait in the kernel.
    opened: AtomicU32,
}

static GATES: [Gate; MOST] = [const {
    Gate { object: AtomicU64::new(0), count: AtomicU32::new(0), arrived: AtomicU32::new(0), opened: AtomicU32::new(0) }
}; MOST];

static UNDER_WAY: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

fn find(object: u64) -> Option<&'static Gate> {
    GATES.iter().find(|gate| gate.object.load(Ordering::Relaxed) == object)
}

/// A barrier begins its life.
pub(crate) fn begin(object: u64, count: u32) {
    if let Some(gate) = find(object).or_else(|| find(0)) {
        gate.count.store(count, Ordering::Relaxed);
        gate.arrived.store(0, Ordering::Relaxed);
        gate.object.store(object, Ordering::Relaxed);
    }
}

/// A barrier ends its life.
pub(crate) fn end(object: u64) {
    if let Some(gate) = find(object).filter(|_| object != 0) {
        gate.object.store(0, Ordering::Relaxed);
    }
}

/// The barrier at this address, if it is kept here.
pub(crate) fn at(object: u64) -> Option<&'static Gate> {
    find(object).filter(|_| object != 0)
}

impl Gate {
    /// A thread arrives: how often the barrier had opened before, and whether it opens now.
    pub(crate) fn arrive(&self) -> (u32, bool) {
        let before = self.opened.load(Ordering::Relaxed);
        let arrived = self.arrived.load(Ordering::Relaxed) + 1;
        let opens = arrived >= self.count.load(Ordering::Relaxed);
        self.arrived.store(if opens { 0 } else { arrived }, Ordering::Relaxed);
        if opens {
            self.opened.store(before.wrapping_add(1), Ordering::Release);
            sys::futex_wake_all(&self.opened);
        }
        (before, opens)
    }

    /// The barrier has opened since.
    pub(crate) fn has_opened(&self, before: u32) -> bool {
        self.opened.load(Ordering::Acquire) != before
    }

    /// Waits in the kernel, without the token.
    pub(crate) fn wait(&self, before: u32) {
        while !self.has_opened(before) {
            sys::futex_wait(&self.opened, before, None);
        }
    }
}

/// A thread runs an initialisation.
pub(crate) fn runs(control: u64) {
    if let Some(entry) = UNDER_WAY.iter().find(|entry| entry.load(Ordering::Relaxed) == 0) {
        entry.store(control, Ordering::Relaxed);
    }
}

/// The initialisation is done, or was given up.
pub(crate) fn has_run(control: u64) {
    for entry in UNDER_WAY.iter().filter(|entry| entry.load(Ordering::Relaxed) == control) {
        entry.store(0, Ordering::Relaxed);
    }
}

/// A thread runs this initialisation now.
pub(crate) fn is_running(control: u64) -> bool {
    UNDER_WAY.iter().any(|entry| entry.load(Ordering::Relaxed) == control)
}
