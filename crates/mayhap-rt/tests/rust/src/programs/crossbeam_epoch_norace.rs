// Memory that is freed when nobody is left who might read it.
use crate::shared::thread;
use crossbeam::epoch::{self, Atomic, Owned};
use std::sync::atomic::Ordering;
use std::sync::Arc;

pub fn main() {
    let slot = Arc::new(Atomic::new(0u64));
    let threads = [1u64, 2].map(|i| {
        let slot = Arc::clone(&slot);
        std::thread::spawn(thread(move || {
            for j in 0..20 {
                let guard = epoch::pin();
                let old = slot.swap(Owned::new(i * 100 + j), Ordering::AcqRel, &guard);
                // SAFETY: pinned, and removed from the slot by this thread.
                unsafe {
                    assert!(*old.deref() < 300);
                    guard.defer_destroy(old);
                }
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
