// A wait that ends by time has the mutex again.
use crate::shared::{change, thread};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

static DATA: Mutex<()> = Mutex::new(());
static NEVER: Condvar = Condvar::new();

pub fn main() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(thread(|| {
            let guard = DATA.lock().unwrap();
            change(0);
            let (guard, result) = NEVER.wait_timeout(guard, Duration::from_millis(5)).unwrap();
            assert!(result.timed_out());
            change(0);
            drop(guard);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
