// A mutex of parking_lot protects; so does one taken by trying.
// counts: acq>=20
use crate::shared::{change, thread};
use parking_lot::Mutex;

static LOCK: Mutex<u64> = Mutex::new(0);

pub fn main() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..10 {
                *LOCK.lock() += 1;
                if let Some(mut guard) = LOCK.try_lock() {
                    *guard += 1;
                    change(0);
                }
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
