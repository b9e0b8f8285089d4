// A reader-writer lock taken by trying.
use crate::shared::{change, get, thread};
use std::sync::RwLock;

static LOCK: RwLock<()> = RwLock::new(());

pub fn main() {
    let threads = [0, 1].map(|i| {
        std::thread::spawn(thread(move || {
            for j in 0..10 {
                if (i + j) % 2 == 0 {
                    if let Ok(_guard) = LOCK.try_write() {
                        change(0);
                        std::thread::yield_now();
                        change(0);
                    }
                } else if let Ok(_guard) = LOCK.try_read() {
                    get(0);
                }
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
