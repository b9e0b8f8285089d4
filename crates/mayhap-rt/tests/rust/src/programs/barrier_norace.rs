// What was written before a barrier may be read behind it, in every round.
// counts: fork=3
use crate::shared::{get, put, thread};
use std::sync::Barrier;

static BARRIER: std::sync::LazyLock<Barrier> = std::sync::LazyLock::new(|| Barrier::new(3));

pub fn main() {
    let threads = [0, 1, 2].map(|me| {
        std::thread::spawn(thread(move || {
            for round in 0..4 {
                put(me);
                BARRIER.wait();
                get((me + round) % 3);
                BARRIER.wait();
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
