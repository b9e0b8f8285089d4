// One of two threads does not lock.
// race: SHARED
// proven: SHARED
use crate::shared::{put, thread};
use std::sync::Mutex;

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    let t = std::thread::spawn(thread(|| put(0)));
    let guard = LOCK.lock().unwrap();
    put(0);
    drop(guard);
    t.join().unwrap();
}
