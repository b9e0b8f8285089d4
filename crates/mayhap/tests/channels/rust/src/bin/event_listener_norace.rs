//! An event that a thread listens for.
use event_listener::*;
use std::cell::UnsafeCell;
use std::sync::{atomic::*, Arc};
use std::thread;
struct S {
    f: AtomicBool,
    e: Event,
    d: UnsafeCell<u64>,
}
unsafe impl Sync for S {}
fn main() {
    let s = Arc::new(S { f: AtomicBool::new(false), e: Event::new(), d: UnsafeCell::new(0) });
    let t = {
        let s = s.clone();
        thread::spawn(move || {
            unsafe {
                *s.d.get() = 4;
            }
            s.f.store(true, Ordering::SeqCst);
            s.e.notify(usize::MAX);
        })
    };
    loop {
        if s.f.load(Ordering::SeqCst) {
            break;
        }
        let l = s.e.listen();
        if s.f.load(Ordering::SeqCst) {
            break;
        }
        l.wait();
    }
    unsafe {
        *s.d.get() += 1;
        println!("{}", *s.d.get());
    }
    t.join().unwrap();
}
