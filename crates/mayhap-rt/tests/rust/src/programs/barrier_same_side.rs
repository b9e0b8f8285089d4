// Both write on the same side of the barrier.
// race: SHARED
use crate::shared::{put, thread};
use std::sync::Barrier;

static BARRIER: std::sync::LazyLock<Barrier> = std::sync::LazyLock::new(|| Barrier::new(2));

pub fn main() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(thread(|| {
            BARRIER.wait();
            put(0);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
