// kind: atomicity
// bug: whether seats are left is looked up in one critical section, and one is sold in the next
// expect: SEATS
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
    if *SEATS.lock().unwrap() < 1 {
        return;
    }
    *SEATS.lock().unwrap() -= 1;
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
