// All waiters are woken and find what was written before.
// not: sync
// counts: notifyall>=1
use crate::shared::{get, put, thread};
use std::sync::{Condvar, Mutex};

static READY: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            let guard = CHANGED.wait_while(READY.lock().unwrap(), |ready| !*ready).unwrap();
            drop(guard);
            get(0);
        }))
    });
    std::thread::sleep(std::time::Duration::from_millis(5));
    put(0);
    *READY.lock().unwrap() = true;
    CHANGED.notify_all();
    threads.into_iter().for_each(|t| t.join().unwrap());
}
