//! The runtime's own lock, which is held for moments only. A thread that finds it taken spins for as long as that should take, then
//! sleeps until it is free: the holder may have lost the processor.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::{process, sys};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// The lock is taken, and another thread may sleep until it is free.
const WANTED: u32 = 2;
const SPINS: u32 = 100;

pub(crate) struct Lock(AtomicU32);

impl Lock {
    pub(crate) const fn new() -> Lock {
        Lock(AtomicU32::new(FREE))
    }

    /// Runs `f` under the lock.
    pub(crate) fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        // A signal handler that jumps away would leave the lock taken.
        let mask = process::may_jump().then(|| sys::block_signals(u64::MAX));
        self.take();
        let result = f();
        if self.0.swap(FREE, Ordering::Release) == WANTED {
            sys::futex_wake(&self.0);
        }
        if let Some(mask) = mask {
            sys::block_signals(mask);
        }
        result
    }

    fn take(&self) {
        for _ in 0..SPINS {
            if self.0.compare_exchange_weak(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
            core::hint::spin_loop();
        }
        while self.0.swap(WANTED, Ordering::Acquire) != FREE {
            sys::futex_wait(&self.0, WANTED, None);
        }
    }

    /// A forked child has one thread, and the lock's holder may not be in it: start afresh.
    pub(crate) fn forget(&self) {
        self.0.store(FREE, Ordering::Relaxed);
    }
}
