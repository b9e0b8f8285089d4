// kind: race
// bug: the consumer frees a slot before it has read it
// expect: SLOTS
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const SIZE: usize = 2;
static HEAD: AtomicUsize = AtomicUsize::new(0);
static TAIL: AtomicUsize = AtomicUsize::new(0);
static mut SLOTS: [u32; SIZE] = [0; SIZE];

fn push(item: u32) {
    let head = HEAD.load(Ordering::Relaxed);
    while head - TAIL.load(Ordering::Acquire) == SIZE {
        std::hint::spin_loop();
    }
    // SAFETY: the slot is free, and there is one producer.
    unsafe { SLOTS[head % SIZE] = item };
    HEAD.store(head + 1, Ordering::Release);
}

fn pop(fixed: bool) -> u32 {
    let tail = TAIL.load(Ordering::Relaxed);
    while HEAD.load(Ordering::Acquire) == tail {
        std::hint::spin_loop();
    }
    if !fixed {
        TAIL.store(tail + 1, Ordering::Release);
    }
    // SAFETY: the slot is full, and there is one consumer.
    let item = unsafe { SLOTS[tail % SIZE] };
    if fixed {
        TAIL.store(tail + 1, Ordering::Release);
    }
    item
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let producer = thread::spawn(|| (1..=4).for_each(push));
    thread::sleep(Duration::from_millis(30));
    let sum: u32 = (0..4).map(|_| pop(fixed)).sum();
    producer.join().unwrap();
    println!("sum {sum}");
}
