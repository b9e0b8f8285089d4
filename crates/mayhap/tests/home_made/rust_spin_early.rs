// kind: race
// bug: the spin lock is released before the last access to what it guards
// expect: LAST
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

static HELD: AtomicBool = AtomicBool::new(false);
static mut LAST: u32 = 0;

fn set_last(id: u32, fixed: bool) {
    while HELD.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    if !fixed {
        HELD.store(false, Ordering::Release);
    }
    // SAFETY: the lock guards it, if it is still held.
    unsafe { LAST = id };
    if fixed {
        HELD.store(false, Ordering::Release);
    }
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let first = thread::spawn(move || set_last(1, fixed));
    let second = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        set_last(2, fixed);
    });
    first.join().unwrap();
    second.join().unwrap();
    // SAFETY: the threads have ended.
    assert_ne!(unsafe { LAST }, 0);
}
