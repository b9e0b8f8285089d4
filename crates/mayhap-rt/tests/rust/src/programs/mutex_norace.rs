// A mutex protects.
// counts: acq>=40 fork=2 join=2
use crate::shared::{change, thread};
use std::sync::Mutex;

static LOCK: Mutex<u64> = Mutex::new(0);

pub fn main() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..20 {
                let mut guard = LOCK.lock().unwrap();
                *guard += 1;
                change(0);
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*LOCK.lock().unwrap(), 40);
}
