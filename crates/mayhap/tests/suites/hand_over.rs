//! A place for one value, and a thread that sleeps until another one wakes it: as they should be, and with one bug each.

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use std::sync::{Condvar, Mutex};

pub struct Place {
    state: AtomicU32,
    value: UnsafeCell<u64>,
    publishes: Ordering,
}

unsafe impl Sync for Place {}

impl Place {
    pub fn new(publishes: Ordering) -> Place {
        Place { state: AtomicU32::new(0), value: UnsafeCell::new(0), publishes }
    }

    pub fn put(&self, value: u64) {
        unsafe { *self.value.get() = value };
        self.state.store(1, self.publishes);
    }

    pub fn take(&self) -> Option<u64> {
        self.state.compare_exchange(1, 2, Acquire, Relaxed).ok().map(|_| unsafe { *self.value.get() })
    }
}

#[derive(Default)]
pub struct Sleeper {
    awake: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Sleeper {
    pub fn sleep(&self, looks_again: bool) {
        if self.awake.load(SeqCst) == 1 {
            return;
        }
        let mut held = self.lock.lock().unwrap();
        while !looks_again || self.awake.load(SeqCst) == 0 {
            held = self.changed.wait(held).unwrap();
            if self.awake.load(SeqCst) == 1 {
                return;
            }
        }
    }

    pub fn wake(&self) {
        self.awake.store(1, SeqCst);
        drop(self.lock.lock().unwrap());
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    fn hands_over(publishes: Ordering) {
        let place = Arc::new(Place::new(publishes));
        let theirs = Arc::clone(&place);
        let other = thread::spawn(move || theirs.put(7));
        let taken = place.take();
        other.join().unwrap();
        assert_eq!(taken.or_else(|| place.take()), Some(7));
    }

    fn wakes(looks_again: bool) {
        let sleeper = Arc::new(Sleeper::default());
        let theirs = Arc::clone(&sleeper);
        let other = thread::spawn(move || theirs.wake());
        sleeper.sleep(looks_again);
        other.join().unwrap();
    }

    #[test]
    fn place_is_published() {
        hands_over(Release);
    }

    #[test]
    fn place_is_not_published() {
        hands_over(Relaxed);
    }

    #[test]
    fn sleeper_looks_again() {
        wakes(true);
    }

    #[test]
    fn sleeper_does_not_look_again() {
        wakes(false);
    }
}
