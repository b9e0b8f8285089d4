// A mutex of parking_lot that threads try for some time only.
use crate::shared::{change, thread};
use parking_lot::Mutex;
use std::time::Duration;

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..6 {
                if let Some(_guard) = LOCK.try_lock_for(Duration::from_micros(400)) {
                    change(0);
                    std::thread::sleep(Duration::from_micros(500));
                    change(0);
                }
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
