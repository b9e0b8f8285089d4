// kind: deadlock hang
// bug: the two locks are taken in opposite orders; between them a value is read that the other thread writes
// expect: main.1
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn main() {
    let (left, right) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(1)));
    let (l, r) = (Arc::clone(&left), Arc::clone(&right));
    let mover = thread::spawn(move || {
        let from = l.lock().unwrap();
        if *from > 0 {
            *r.lock().unwrap() += *from;
        }
    });
    thread::sleep(Duration::from_millis(20));
    {
        let mut from = right.lock().unwrap();
        *from -= 1;
        *left.lock().unwrap() += 1;
    }
    mover.join().unwrap();
}
