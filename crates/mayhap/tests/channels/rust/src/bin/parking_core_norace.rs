//! A lock made of `parking_lot_core`'s queues.
use parking_lot_core::*;
use std::cell::UnsafeCell;
use std::sync::atomic::*;
use std::thread;
static L: AtomicU8 = AtomicU8::new(0);
struct C(UnsafeCell<u64>);
unsafe impl Sync for C {}
static D: C = C(UnsafeCell::new(0));
fn lock() {
    loop {
        if L.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            || L.compare_exchange(2, 3, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            return;
        }
        let s = L.load(Ordering::Relaxed);
        if s & 1 == 0 {
            continue;
        }
        if s & 2 == 0 && L.compare_exchange(s, s | 2, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            continue;
        }
        unsafe {
            park(L.as_ptr() as usize, || L.load(Ordering::Relaxed) == 3, || {}, |_, _| {}, DEFAULT_PARK_TOKEN, None);
        }
    }
}
fn unlock() {
    if L.compare_exchange(1, 0, Ordering::Release, Ordering::Relaxed).is_ok() {
        return;
    }
    unsafe {
        unpark_one(L.as_ptr() as usize, |r| {
            L.store(if r.have_more_threads { 2 } else { 0 }, Ordering::Release);
            DEFAULT_UNPARK_TOKEN
        });
    }
}
fn main() {
    let f = || {
        for _ in 0..4 {
            lock();
            unsafe {
                *D.0.get() += 1;
            }
            unlock();
        }
    };
    let a = thread::spawn(f);
    let b = thread::spawn(f);
    a.join().unwrap();
    b.join().unwrap();
    unsafe {
        println!("{}", *D.0.get());
    }
}
