// Two threads take turns by a condition variable of parking_lot.
// not: sync
use crate::shared::{change, thread};
use parking_lot::{Condvar, Mutex};

static TURN: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

fn work(me: usize) {
    for _ in 0..6 {
        let mut turn = TURN.lock();
        while *turn != me {
            CHANGED.wait(&mut turn);
        }
        change(0);
        *turn = 1 - me;
        CHANGED.notify_all();
        change(1);
    }
}

pub fn main() {
    let threads = [0, 1].map(|me| std::thread::spawn(thread(move || work(me))));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
