// kind: race
// bug: the receiver of a channel for one value takes "not empty" for "sent"
// expect: MESSAGE
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

const EMPTY: u8 = 0;
const WRITING: u8 = 1;
const READY: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(EMPTY);
static mut MESSAGE: u64 = 0;

fn send(message: u64) {
    if STATE.compare_exchange(EMPTY, WRITING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    // SAFETY: only the sender that saw the channel empty writes.
    unsafe { MESSAGE = message };
    STATE.store(READY, Ordering::Release);
}

fn receive(fixed: bool) -> u64 {
    loop {
        let state = STATE.load(Ordering::Acquire);
        if state == READY || (!fixed && state != EMPTY) {
            // SAFETY: the message was sent.
            return unsafe { MESSAGE };
        }
        std::hint::spin_loop();
    }
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    let sender = thread::spawn(|| send(12));
    let receiver = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        receive(fixed)
    });
    sender.join().unwrap();
    println!("received {}", receiver.join().unwrap());
}
