//! Channels that work with and without `async`.
use std::thread;
fn main() {
    let (a, b) = flume::bounded::<Box<u64>>(1);
    let (c, d) = async_channel::bounded::<Box<u64>>(1);
    let t = thread::spawn(move || {
        for i in 0..4 {
            a.send(Box::new(i)).unwrap();
            c.send_blocking(Box::new(i)).unwrap();
        }
    });
    let mut s = 0;
    for _ in 0..4 {
        s += *b.recv().unwrap();
        s += *d.recv_blocking().unwrap();
    }
    t.join().unwrap();
    println!("{s}");
}
