// kind: race use-after-free
// bug: a home-made reference count does not synchronise the last owner with the others
// expect: value Inner heap box
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Inner {
    owners: AtomicUsize,
    value: u64,
}

struct Shared(*mut Inner);
// SAFETY: the count is atomic, and the value is written before the owner drops its share.
unsafe impl Send for Shared {}

impl Shared {
    fn release(self, order: Ordering) {
        // SAFETY: this owner has not dropped its share yet; the last one frees the allocation.
        unsafe {
            if (*self.0).owners.fetch_sub(1, order) == 1 {
                drop(Box::from_raw(self.0));
            }
        }
    }
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let order = if fixed { Ordering::AcqRel } else { Ordering::Relaxed };
    let inner = Box::into_raw(Box::new(Inner { owners: AtomicUsize::new(2), value: 0 }));
    let other = Shared(inner);
    let writer = thread::spawn(move || {
        let shared = other;
        // SAFETY: only this owner uses the value.
        unsafe { (*shared.0).value = 7 };
        shared.release(order);
    });
    Shared(inner).release(order);
    writer.join().unwrap();
}
