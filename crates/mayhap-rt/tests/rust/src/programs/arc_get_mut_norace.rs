// Arc::get_mut succeeds only after the other owner is gone, and then sees what it did.
use crate::shared::{change, put, thread};
use std::sync::Arc;

pub fn main() {
    let mut mine = Arc::new(0);
    let other = Arc::clone(&mine);
    let t = std::thread::spawn(thread(move || {
        put(0);
        drop(other);
    }));
    while Arc::get_mut(&mut mine).is_none() {
        std::thread::yield_now();
    }
    change(0);
    t.join().unwrap();
}
