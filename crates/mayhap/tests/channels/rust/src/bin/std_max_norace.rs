//! A value handed over by `fetch_max` and `fetch_min`, which the compiler leaves without hooks.
use std::cell::UnsafeCell;
use std::sync::atomic::*;
use std::thread;
struct C(UnsafeCell<u64>);
unsafe impl Sync for C {}
static D: C = C(UnsafeCell::new(0));
static F: AtomicU32 = AtomicU32::new(0);
fn main() {
    let t = thread::spawn(|| {
        unsafe {
            *D.0.get() = 5;
        }
        F.fetch_max(1, Ordering::Release);
    });
    while F.fetch_min(9, Ordering::Acquire) == 0 {
        thread::sleep(std::time::Duration::from_millis(1));
    }
    unsafe {
        *D.0.get() += 1;
        println!("{}", *D.0.get());
    }
    t.join().unwrap();
}
