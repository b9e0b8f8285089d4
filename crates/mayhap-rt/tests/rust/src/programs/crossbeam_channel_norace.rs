// Bounded and unbounded channels of crossbeam order what they carry.
use crate::shared::{change, put, thread};
use crossbeam::channel;

pub fn main() {
    let (send, receive) = channel::bounded::<usize>(1);
    let (reply, replies) = channel::unbounded::<usize>();
    let t = std::thread::spawn(thread(move || {
        for i in receive {
            change(i);
            reply.send(i).unwrap();
        }
    }));
    for i in 0..6 {
        put(i);
        send.send(i).unwrap();
    }
    drop(send);
    for i in replies {
        change(i);
    }
    t.join().unwrap();
}
