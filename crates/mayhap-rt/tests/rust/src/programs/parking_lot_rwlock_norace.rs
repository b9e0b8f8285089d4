// A reader-writer lock of parking_lot, contended by both kinds.
// counts: racq>=1 acq>=1
use crate::shared::{change, get, thread};
use parking_lot::RwLock;

static LOCK: RwLock<u64> = RwLock::new(0);

pub fn main() {
    let threads = [0, 1, 2].map(|i| {
        std::thread::spawn(thread(move || {
            for j in 0..6 {
                if (i + j) % 3 == 0 {
                    let mut guard = LOCK.write();
                    *guard += 1;
                    change(0);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    change(0);
                } else {
                    let _guard = LOCK.read();
                    get(0);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    get(0);
                }
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
