// Threads count with an atomic; no access races.
// counts: fork=2 join=2
use crate::shared::thread;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static COUNT: AtomicU64 = AtomicU64::new(0);

pub fn main() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..50 {
                COUNT.fetch_add(1, Relaxed);
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(COUNT.load(Relaxed), 100);
}
