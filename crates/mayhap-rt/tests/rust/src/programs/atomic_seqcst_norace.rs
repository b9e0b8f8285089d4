// Whoever finds the other's flag unset goes in: sequentially consistent flags exclude.
// not: sync
use crate::shared::{change, thread};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

static WANTS: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

fn work(me: usize) {
    WANTS[me].store(true, SeqCst);
    if !WANTS[1 - me].load(SeqCst) {
        change(0);
    }
    WANTS[me].store(false, SeqCst);
}

pub fn main() {
    let threads = [0, 1].map(|me| std::thread::spawn(thread(move || work(me))));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
