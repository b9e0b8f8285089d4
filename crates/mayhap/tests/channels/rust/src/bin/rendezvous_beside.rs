//! Threads meet at a channel without room; what comes after the last meeting is not ordered by it.
use std::sync::mpsc;
use std::thread;

static mut OTHER: u64 = 0;

#[inline(never)]
fn touch() {
    let place = std::ptr::addr_of_mut!(OTHER);
    unsafe { *place += 1 };
}

fn main() {
    let (sender, receiver) = mpsc::sync_channel::<u64>(0);
    let (done, all) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        sender.send(1).unwrap();
        touch();
        all.recv().unwrap();
        drop(sender);
    });
    assert_eq!(receiver.recv(), Ok(1));
    touch();
    done.send(()).unwrap();
    worker.join().unwrap();
}
