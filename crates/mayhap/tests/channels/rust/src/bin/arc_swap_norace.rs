//! A pointer that is exchanged while others read.
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::thread;
fn main() {
    let a = Arc::new(ArcSwap::from_pointee(vec![1u64]));
    let b = a.clone();
    let t = thread::spawn(move || {
        for i in 0..3 {
            b.store(Arc::new(vec![i; 3]));
        }
    });
    let mut s = 0;
    for _ in 0..4 {
        s += a.load().iter().sum::<u64>();
    }
    t.join().unwrap();
    println!("{}", s > 0);
}
