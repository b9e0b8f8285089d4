//! A waker wakes before what it announces is written.
use mio::{Events, Poll, Token, Waker};
use std::thread;

static mut VALUE: u32 = 0;

fn main() {
    let mut poll = Poll::new().unwrap();
    let waker = Waker::new(poll.registry(), Token(7)).unwrap();
    let worker = thread::spawn(move || {
        let mut events = Events::with_capacity(8);
        poll.poll(&mut events, None).unwrap();
        unsafe { VALUE += 1 };
    });
    waker.wake().unwrap();
    unsafe { VALUE = 1 };
    worker.join().unwrap();
}
