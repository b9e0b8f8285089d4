// What is done before a send is seen after its receive.
use crate::shared::{change, put, thread};
use std::sync::mpsc;

pub fn main() {
    let (send, receive) = mpsc::channel::<usize>();
    let threads = [0, 1].map(|i| {
        let send = send.clone();
        std::thread::spawn(thread(move || {
            for j in 0..5 {
                put(i * 5 + j);
                send.send(i * 5 + j).unwrap();
            }
        }))
    });
    drop(send);
    for i in receive {
        change(i);
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
}
