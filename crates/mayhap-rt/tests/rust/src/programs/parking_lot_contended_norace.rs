// Threads that find a mutex of parking_lot taken wait, and sometimes get it handed over.
// counts: acq>=24
use crate::shared::{change, thread};
use parking_lot::{Mutex, MutexGuard};

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    let threads = [0, 1, 2].map(|i| {
        std::thread::spawn(thread(move || {
            for j in 0..8 {
                let guard = LOCK.lock();
                change(0);
                std::thread::sleep(std::time::Duration::from_micros(300));
                change(0);
                if (i + j) % 2 == 0 {
                    MutexGuard::unlock_fair(guard);
                }
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
