//! A channel hands one value over; another one is changed after the send.
use crossbeam_channel::bounded;
use std::thread;

static mut VALUE: u32 = 0;

fn main() {
    let (to, from) = bounded::<u32>(1);
    let worker = thread::spawn(move || {
        from.recv().unwrap();
        unsafe { VALUE += 1 };
    });
    to.send(1).unwrap();
    unsafe { VALUE += 1 };
    worker.join().unwrap();
}
