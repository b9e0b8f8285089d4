// kind: hang
// bug: the wait has no predicate, so a notify that comes first is lost
// expect: main.1
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

fn main() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&pair);
    let waiter = thread::spawn(move || {
        let guard = other.0.lock().unwrap();
        drop(other.1.wait(guard).unwrap());
    });
    thread::sleep(Duration::from_millis(20));
    *pair.0.lock().unwrap() += 1;
    pair.1.notify_one();
    waiter.join().unwrap();
}
