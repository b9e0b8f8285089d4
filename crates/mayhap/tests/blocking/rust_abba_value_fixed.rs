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
        let mut to = left.lock().unwrap();
        *to += 1;
        *right.lock().unwrap() -= 1;
    }
    mover.join().unwrap();
}
