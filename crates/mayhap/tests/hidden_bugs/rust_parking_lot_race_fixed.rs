// twin: rust_parking_lot_race.rs
use parking_lot::Mutex;
use std::thread;
use std::time::Duration;

static LOG: Mutex<[u32; 2]> = Mutex::new([0, 0]);
static mut CLOSED: bool = false;

fn close() {
    let mut log = LOG.lock();
    // SAFETY: under the lock.
    unsafe { CLOSED = true };
    log[0] = 1;
}

fn take() -> bool {
    thread::sleep(Duration::from_millis(30));
    let mut log = LOG.lock();
    log[1] = 1;
    // SAFETY: under the lock.
    unsafe { CLOSED }
}

fn main() {
    // SAFETY: no other thread yet.
    unsafe { CLOSED = false };
    let closer = thread::spawn(close);
    let taker = thread::spawn(take);
    closer.join().unwrap();
    let closed = taker.join().unwrap();
    println!("closed {closed}");
}
