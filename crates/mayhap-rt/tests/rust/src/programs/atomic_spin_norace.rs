// A spin lock made of an atomic protects.
use crate::shared::{change, thread};
use std::sync::atomic::{AtomicBool, Ordering};

static LOCK: AtomicBool = AtomicBool::new(false);

fn locked() {
    while LOCK.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::thread::yield_now();
    }
    change(0);
    LOCK.store(false, Ordering::Release);
}

pub fn main() {
    let threads = [(); 3].map(|()| std::thread::spawn(thread(|| (0..20).for_each(|_| locked()))));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
