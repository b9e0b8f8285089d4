// A reader-writer lock protects.
// counts: racq>=20 acq>=20
use crate::shared::{change, get, thread};
use std::sync::RwLock;

static LOCK: RwLock<u64> = RwLock::new(0);

pub fn main() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..10 {
                let mut guard = LOCK.write().unwrap();
                *guard += 1;
                change(0);
                drop(guard);
                let guard = LOCK.read().unwrap();
                assert!(*guard > 0);
                get(0);
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
