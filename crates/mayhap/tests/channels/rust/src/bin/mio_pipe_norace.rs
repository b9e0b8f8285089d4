//! A pipe that mio polls.
use mio::{Events, Interest, Poll, Token};
use std::io::{Read, Write};
use std::thread;

static mut VALUE: u32 = 0;

fn main() {
    let (mut sender, mut receiver) = mio::unix::pipe::new().unwrap();
    let worker = thread::spawn(move || {
        let mut poll = Poll::new().unwrap();
        poll.registry().register(&mut receiver, Token(1), Interest::READABLE).unwrap();
        let mut events = Events::with_capacity(8);
        let mut byte = [0];
        loop {
            poll.poll(&mut events, None).unwrap();
            if events.iter().next().is_some() && receiver.read(&mut byte).is_ok() {
                break;
            }
        }
        unsafe { VALUE += 1 };
    });
    unsafe { VALUE = 1 };
    sender.write_all(b"x").unwrap();
    worker.join().unwrap();
    assert_eq!(unsafe { VALUE }, 2);
}
