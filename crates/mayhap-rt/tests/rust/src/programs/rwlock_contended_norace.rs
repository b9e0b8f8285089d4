// Readers and writers that find the lock taken wait in the library's own code.
// counts: racq>=1 acq>=1
use crate::shared::{change, get, thread};
use std::sync::RwLock;

static LOCK: RwLock<()> = RwLock::new(());

pub fn main() {
    let threads = [0, 1, 2].map(|i| {
        std::thread::spawn(thread(move || {
            for j in 0..6 {
                if (i + j) % 3 == 0 {
                    let _guard = LOCK.write().unwrap();
                    change(0);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    change(0);
                } else {
                    let _guard = LOCK.read().unwrap();
                    get(0);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    get(0);
                }
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
