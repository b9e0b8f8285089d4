// Two threads, nothing between them.
// race: SHARED
// proven: SHARED
// counts: fork=2 join=2
use crate::shared::{change, thread};

pub fn main() {
    let threads = [(); 2].map(|()| std::thread::spawn(thread(|| (0..5).for_each(|_| change(0)))));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
