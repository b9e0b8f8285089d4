// twin: rust_condvar_seats.rs
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

static OPEN: Mutex<bool> = Mutex::new(false);
static OPENED: Condvar = Condvar::new();
static SEATS: Mutex<i32> = Mutex::new(5);

fn buy() {
    let mut open = OPEN.lock().unwrap();
    while !*open {
        open = OPENED.wait(open).unwrap();
    }
    drop(open);
    let mut seats = SEATS.lock().unwrap();
    if *seats > 0 {
        *seats -= 1;
    }
}

fn cancel() {
    thread::sleep(Duration::from_millis(60));
    *SEATS.lock().unwrap() = 0;
}

fn main() {
    let buyer = thread::spawn(buy);
    let canceller = thread::spawn(cancel);
    thread::sleep(Duration::from_millis(10));
    *OPEN.lock().unwrap() = true;
    OPENED.notify_all();
    buyer.join().unwrap();
    canceller.join().unwrap();
    let seats = *SEATS.lock().unwrap();
    println!("{seats} left");
    assert_eq!(seats, 0);
}
