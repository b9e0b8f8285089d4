// Two threads take turns.
// not: sync
// counts: notify>=4
use crate::shared::{change, thread};
use std::sync::{Condvar, Mutex};

static TURN: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

fn work(me: usize) {
    for _ in 0..4 {
        let mut turn = TURN.lock().unwrap();
        while *turn != me {
            turn = CHANGED.wait(turn).unwrap();
        }
        drop(turn);
        change(0);
        *TURN.lock().unwrap() = 1 - me;
        CHANGED.notify_one();
    }
}

pub fn main() {
    let threads = [0, 1].map(|me| std::thread::spawn(thread(move || work(me))));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
