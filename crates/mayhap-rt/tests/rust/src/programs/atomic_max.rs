// fetch_max compiles to code without hooks: no event, and no order from it.
// counts: fork=2
use crate::shared::{put, thread};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

static HIGHEST: AtomicU64 = AtomicU64::new(0);

pub fn main() {
    let threads = [1, 2].map(|i| {
        std::thread::spawn(thread(move || {
            HIGHEST.fetch_max(i, SeqCst);
            put(i as usize);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(HIGHEST.load(SeqCst), 2);
}
