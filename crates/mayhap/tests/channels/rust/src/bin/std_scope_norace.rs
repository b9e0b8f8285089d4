//! Scoped threads, whose handles the library frees in its own code.
use std::thread;
fn main() {
    let mut v = vec![1u64; 8];
    for _ in 0..2 {
        thread::scope(|s| {
            let (a, b) = v.split_at_mut(4);
            s.spawn(move || {
                for x in a {
                    *x += 1;
                }
            });
            s.spawn(move || {
                for x in b {
                    *x += 2;
                }
            });
        });
    }
    println!("{:?}", v.iter().sum::<u64>());
}
