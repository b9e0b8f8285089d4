// A thread of a scope, joined by hand.
// counts: fork=1 join=1
use crate::shared::{change, put, thread};

pub fn main() {
    put(0);
    std::thread::scope(|scope| {
        let t = scope.spawn(thread(|| change(0)));
        t.join().unwrap();
        change(0);
    });
}
