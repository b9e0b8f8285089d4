// The last owner of an Arc sees what the other owners did before they dropped theirs.
// counts: fork=2
use crate::shared::{change, put, thread};
use std::sync::Arc;

struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        change(0);
        change(1);
    }
}

pub fn main() {
    let last = Arc::new(Last);
    let threads = [0, 1].map(|i| {
        let mine = Arc::clone(&last);
        std::thread::spawn(thread(move || {
            put(i);
            drop(mine);
        }))
    });
    drop(last);
    threads.into_iter().for_each(|t| t.join().unwrap());
}
