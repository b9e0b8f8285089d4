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
    drop(held);
    adder.join().unwrap();
}
