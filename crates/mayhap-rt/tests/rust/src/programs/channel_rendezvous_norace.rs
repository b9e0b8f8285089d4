// A channel without room: sender and receiver meet.
use crate::shared::{change, put, thread};
use std::sync::mpsc;

pub fn main() {
    let (send, receive) = mpsc::sync_channel::<Box<usize>>(0);
    let t = std::thread::spawn(thread(move || {
        for i in 0..6 {
            put(i);
            send.send(Box::new(i)).unwrap();
        }
    }));
    while let Ok(i) = receive.recv() {
        change(*i);
    }
    t.join().unwrap();
}
