//! A loop over mio's poll is woken by another thread.
use mio::{Events, Poll, Token, Waker};
use std::sync::Arc;
use std::thread;

static mut VALUE: u32 = 0;

fn main() {
    let mut poll = Poll::new().unwrap();
    let waker = Arc::new(Waker::new(poll.registry(), Token(7)).unwrap());
    let worker = thread::spawn(move || {
        let mut events = Events::with_capacity(8);
        let mut seen = 0;
        while seen == 0 {
            poll.poll(&mut events, None).unwrap();
            seen += events.iter().filter(|event| event.token() == Token(7)).count();
        }
        unsafe { VALUE += 1 };
    });
    unsafe { VALUE = 1 };
    waker.wake().unwrap();
    worker.join().unwrap();
    assert_eq!(unsafe { VALUE }, 2);
}
