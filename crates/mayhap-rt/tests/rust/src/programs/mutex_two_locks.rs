// Each thread has a mutex of its own.
// race: SHARED
use crate::shared::{change, thread};
use std::sync::Mutex;

static LOCKS: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];

pub fn main() {
    let threads = [0, 1].map(|i: usize| {
        std::thread::spawn(thread(move || {
            let _guard = LOCKS[i].lock().unwrap();
            change(0);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
