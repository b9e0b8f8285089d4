// kind: race
// bug: the flag is raised before the lock is taken and read after it has been given up; the lock only happens to order the two
// expect: CLOSED
use parking_lot::Mutex;
use std::thread;
use std::time::Duration;

static LOG: Mutex<[u32; 2]> = Mutex::new([0, 0]);
static mut CLOSED: bool = false;

fn close() {
    // SAFETY: not sound: others read it at the same time.
    unsafe { CLOSED = true };
    LOG.lock()[0] = 1;
}

fn take() -> bool {
    thread::sleep(Duration::from_millis(30));
    LOG.lock()[1] = 1;
    // SAFETY: not sound: the lock is gone.
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
