// A pointer to what a mutex protects, used after the mutex was given up.
// proven: SHARED
use crate::shared::{change, put, thread};
use std::sync::Mutex;

static LOCK: Mutex<usize> = Mutex::new(3);

fn leaked() -> usize {
    *LOCK.lock().unwrap()
}

pub fn main() {
    let t = std::thread::spawn(thread(|| put(leaked())));
    let guard = LOCK.lock().unwrap();
    change(*guard);
    drop(guard);
    t.join().unwrap();
}
