// kind: race
// bug: the thread that initialises the value announces it by a relaxed store
// expect: VALUE
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

static STATE: AtomicU8 = AtomicU8::new(0);
static mut VALUE: u32 = 0;

fn get(fixed: bool) -> u32 {
    if STATE.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        // SAFETY: one thread initialises it.
        unsafe { VALUE = 9 };
        STATE.store(2, if fixed { Ordering::Release } else { Ordering::Relaxed });
    }
    while STATE.load(Ordering::Acquire) != 2 {
        std::hint::spin_loop();
    }
    // SAFETY: it is initialised and not written any more.
    unsafe { VALUE }
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let first = thread::spawn(move || get(fixed));
    let second = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        get(fixed)
    });
    println!("{} {}", first.join().unwrap(), second.join().unwrap());
}
