// kind: hang deadlock
// bug: the thread is joined while the lock is held that it may still need
// expect: main.1
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn main() {
    let total = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&total);
    let adder = thread::spawn(move || *shared.lock().unwrap() += 1);
    thread::sleep(Duration::from_millis(20));
    let mut held = total.lock().unwrap();
    *held += 1;
    adder.join().unwrap();
    drop(held);
}
