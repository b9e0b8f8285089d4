// Threads that find the mutex taken wait in the library's own code.
// counts: acq>=24
// names: programs::programs::
use crate::shared::{change, thread};
use std::sync::Mutex;

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..8 {
                let guard = LOCK.lock().unwrap();
                change(0);
                std::thread::sleep(std::time::Duration::from_micros(300));
                change(0);
                drop(guard);
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
