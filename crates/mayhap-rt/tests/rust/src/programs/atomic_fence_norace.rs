// Relaxed accesses with fences around them order as release and acquire do.
use crate::shared::{change, put, thread};
use std::sync::atomic::{AtomicBool, Ordering, fence};

static READY: AtomicBool = AtomicBool::new(false);

pub fn main() {
    let t = std::thread::spawn(thread(|| {
        put(0);
        fence(Ordering::Release);
        READY.store(true, Ordering::Relaxed);
    }));
    while !READY.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    fence(Ordering::Acquire);
    change(0);
    t.join().unwrap();
}
