// A flag stored with release and loaded with acquire orders.
use crate::shared::{change, put, thread};
use std::sync::atomic::{AtomicBool, Ordering};

static READY: AtomicBool = AtomicBool::new(false);

pub fn main() {
    let t = std::thread::spawn(thread(|| {
        put(0);
        READY.store(true, Ordering::Release);
    }));
    while !READY.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    change(0);
    t.join().unwrap();
}
