// A channel with room for two: senders wait for room.
use crate::shared::{change, put, thread};
use std::sync::mpsc;

pub fn main() {
    let (send, receive) = mpsc::sync_channel::<Box<usize>>(2);
    let threads = [0, 1].map(|i| {
        let send = send.clone();
        std::thread::spawn(thread(move || {
            for j in 0..6 {
                put(i * 6 + j);
                send.send(Box::new(i * 6 + j)).unwrap();
            }
        }))
    });
    drop(send);
    while let Ok(i) = receive.recv() {
        change(*i);
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
}
