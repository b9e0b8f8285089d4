//! Values go through bounded, unbounded and zero-capacity channels, and through a select.
use crossbeam_channel::{bounded, select, unbounded};
use std::thread;

static mut VALUE: u32 = 0;

fn main() {
    let (to, from) = bounded::<u32>(1);
    let (back, answer) = unbounded::<u32>();
    let (meet, met) = bounded::<()>(0);
    let worker = thread::spawn(move || {
        for _ in 0..3 {
            select! {
                recv(from) -> value => {
                    unsafe { VALUE += value.unwrap() };
                    back.send(unsafe { VALUE }).unwrap();
                }
            }
        }
        met.recv().unwrap();
        unsafe { VALUE += 1 };
    });
    let mut sum = 0;
    for i in 0..3 {
        unsafe { VALUE += 1 };
        to.send(i).unwrap();
        sum += answer.recv().unwrap();
    }
    unsafe { VALUE += 1 };
    meet.send(()).unwrap();
    worker.join().unwrap();
    assert!(sum > 0 && unsafe { VALUE } == 8);
}
