// fetch_update is a loop of compare-exchanges.
use crate::shared::{change, thread};
use std::sync::atomic::{AtomicU64, Ordering};

static TURN: AtomicU64 = AtomicU64::new(0);

fn take(turn: u64) {
    let next = |now: u64| (now == turn).then_some(now + 1);
    while TURN.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_err() {
        std::thread::yield_now();
    }
}

pub fn main() {
    let threads = [0, 2].map(|turn| {
        std::thread::spawn(thread(move || {
            take(turn);
            change(0);
            TURN.fetch_add(1, Ordering::Release);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
