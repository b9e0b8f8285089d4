// kind: race
// bug: the sum is read again after the ticket lock that guards it was released
// expect: SUM
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

static NEXT: AtomicUsize = AtomicUsize::new(0);
static SERVING: AtomicUsize = AtomicUsize::new(0);
static mut SUM: u32 = 0;

fn with_lock<T>(work: impl FnOnce() -> T) -> T {
    let ticket = NEXT.fetch_add(1, Ordering::Relaxed);
    while SERVING.load(Ordering::Acquire) != ticket {
        std::hint::spin_loop();
    }
    let result = work();
    SERVING.store(ticket + 1, Ordering::Release);
    result
}

fn add(amount: u32, fixed: bool) -> u32 {
    // SAFETY: the lock guards it.
    let add = || unsafe {
        SUM += amount;
        SUM
    };
    let sum = with_lock(add);
    // SAFETY: the lock guards it, but it is not held any more.
    if fixed { sum } else { unsafe { SUM } }
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let first = thread::spawn(move || add(1, fixed));
    let second = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        add(2, fixed)
    });
    assert!(first.join().unwrap() + second.join().unwrap() >= 3);
}
