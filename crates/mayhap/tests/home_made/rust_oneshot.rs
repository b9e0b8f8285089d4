// kind: race
// bug: the sender of a channel for one value says "sent" before it has written the value
// expect: MESSAGE
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

const EMPTY: u8 = 0;
const WRITING: u8 = 1;
const READY: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(EMPTY);
static mut MESSAGE: u64 = 0;

fn send(message: u64, fixed: bool) {
    if STATE.compare_exchange(EMPTY, WRITING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    if !fixed {
        STATE.store(READY, Ordering::Release);
    }
    // SAFETY: only the sender that saw the channel empty writes.
    unsafe { MESSAGE = message };
    if fixed {
        STATE.store(READY, Ordering::Release);
    }
}

fn receive() -> u64 {
    while STATE.load(Ordering::Acquire) != READY {
        std::hint::spin_loop();
    }
    // SAFETY: the message was sent.
    unsafe { MESSAGE }
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let sender = thread::spawn(move || send(12, fixed));
    let receiver = thread::spawn(|| {
        thread::sleep(Duration::from_millis(30));
        receive()
    });
    sender.join().unwrap();
    println!("received {}", receiver.join().unwrap());
}
