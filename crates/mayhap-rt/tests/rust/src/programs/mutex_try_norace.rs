// Whoever gets the mutex by trying works; who does not leaves it.
use crate::shared::{change, thread};
use std::sync::Mutex;

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..10 {
                if let Ok(_guard) = LOCK.try_lock() {
                    change(0);
                    std::thread::sleep(std::time::Duration::from_micros(100));
                }
                std::thread::yield_now();
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
