use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

fn main() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&pair);
    let waiter = thread::spawn(move || {
        let mut guard = other.0.lock().unwrap();
        while *guard == 0 {
            guard = other.1.wait(guard).unwrap();
        }
    });
    thread::sleep(Duration::from_millis(20));
    *pair.0.lock().unwrap() += 1;
    pair.1.notify_one();
    waiter.join().unwrap();
}
