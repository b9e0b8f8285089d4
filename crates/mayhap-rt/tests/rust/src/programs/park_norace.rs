// What is done before an unpark is seen after the park it ends.
// counts: wait>=1
use crate::shared::{change, put, thread};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static AGAIN: AtomicBool = AtomicBool::new(false);

pub fn main() {
    let sleeper = std::thread::spawn(thread(|| {
        std::thread::park();
        change(0);
        AGAIN.store(true, Relaxed);
        std::thread::park();
        change(1);
    }));
    put(0);
    sleeper.thread().unpark();
    while !AGAIN.load(Relaxed) {
        std::thread::yield_now();
    }
    put(1);
    sleeper.thread().unpark();
    sleeper.join().unwrap();
}
