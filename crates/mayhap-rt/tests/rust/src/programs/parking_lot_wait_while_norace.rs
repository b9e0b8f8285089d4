// The condition of a wait is a closure that the lock's own code calls: what it does, it does under the lock.
// not: sync
use crate::shared::{change, thread};
use parking_lot::{Condvar, Mutex};

static READY: Mutex<(usize, usize)> = Mutex::new((0, 0));
static OTHER: Mutex<usize> = Mutex::new(0);
static TURN: Condvar = Condvar::new();

fn raise() {
    for _ in 0..6 {
        let mut state = READY.lock();
        change(0);
        state.0 += 1;
        drop(state);
        TURN.notify_one();
        let mut other = OTHER.lock();
        change(1);
        *other += 1;
    }
}

fn wait() {
    let mut state = READY.lock();
    TURN.wait_while(&mut state, |state| {
        change(0);
        state.1 += 1;
        let mut other = OTHER.lock();
        change(1);
        *other += 1;
        drop(other);
        state.0 < 6
    });
    change(0);
}

pub fn main() {
    let threads = [raise as fn(), wait].map(|work| std::thread::spawn(thread(work)));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
