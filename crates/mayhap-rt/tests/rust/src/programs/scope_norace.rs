// The end of a scope waits for its threads.
// counts: fork=3 wait>=1
use crate::shared::{change, put, thread};

pub fn main() {
    put(0);
    std::thread::scope(|scope| {
        for i in 0..3 {
            scope.spawn(thread(move || change(i)));
        }
    });
    (0..3).for_each(change);
}
