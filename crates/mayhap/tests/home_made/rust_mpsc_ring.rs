// kind: race
// bug: a producer that has filled its slot commits also the slots that other producers have only reserved
// expect: SLOTS
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const SIZE: usize = 4;
static RESERVED: AtomicUsize = AtomicUsize::new(0);
static COMMITTED: AtomicUsize = AtomicUsize::new(0);
static mut SLOTS: [u32; SIZE] = [0; SIZE];

fn push(item: u32, fixed: bool) {
    let at = RESERVED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the slot was reserved for this producer.
    unsafe { SLOTS[at % SIZE] = item };
    if fixed {
        while COMMITTED.load(Ordering::Acquire) != at {
            std::hint::spin_loop();
        }
        COMMITTED.store(at + 1, Ordering::Release);
    } else {
        COMMITTED.fetch_add(1, Ordering::AcqRel);
    }
}

fn take_all(items: usize) -> u32 {
    let mut sum = 0;
    for at in 0..items {
        while COMMITTED.load(Ordering::Acquire) <= at {
            std::hint::spin_loop();
        }
        // SAFETY: the slot was committed.
        sum += unsafe { SLOTS[at % SIZE] };
    }
    sum
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let first = thread::spawn(move || push(1, fixed));
    let second = thread::spawn(move || push(2, fixed));
    thread::sleep(Duration::from_millis(30));
    println!("sum {}", take_all(2));
    first.join().unwrap();
    second.join().unwrap();
}
