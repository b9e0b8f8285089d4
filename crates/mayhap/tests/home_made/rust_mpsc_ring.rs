// kind: race
// bug: the consumer sees by a relaxed load that a slot was committed, which does not show it what is in the slot
// expect: SLOTS
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const SIZE: usize = 4;
static RESERVED: AtomicUsize = AtomicUsize::new(0);
static COMMITTED: AtomicUsize = AtomicUsize::new(0);
static mut SLOTS: [u32; SIZE] = [0; SIZE];

fn push(item: u32) {
    let at = RESERVED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the slot was reserved for this producer.
    unsafe { SLOTS[at % SIZE] = item };
    while COMMITTED.load(Ordering::Acquire) != at {
        std::hint::spin_loop();
    }
    COMMITTED.store(at + 1, Ordering::Release);
}

fn take_all(items: usize, order: Ordering) -> u32 {
    let mut sum = 0;
    for at in 0..items {
        while COMMITTED.load(order) <= at {
            std::hint::spin_loop();
        }
        // SAFETY: the slot was committed.
        sum += unsafe { SLOTS[at % SIZE] };
    }
    sum
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let order = if fixed { Ordering::Acquire } else { Ordering::Relaxed };
    let first = thread::spawn(|| push(1));
    let second = thread::spawn(|| push(2));
    thread::sleep(Duration::from_millis(30));
    println!("sum {}", take_all(2, order));
    first.join().unwrap();
    second.join().unwrap();
}
