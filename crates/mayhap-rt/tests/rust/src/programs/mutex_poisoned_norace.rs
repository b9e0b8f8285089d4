// A thread panics with the mutex held; others take it all the same.
use crate::shared::{change, thread};
use std::sync::{Mutex, PoisonError};

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let first = std::thread::spawn(thread(|| {
        let _guard = LOCK.lock().unwrap();
        change(0);
        panic!("poisons");
    }));
    let second = std::thread::spawn(thread(|| {
        let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        change(0);
    }));
    assert!(first.join().is_err());
    second.join().unwrap();
    assert!(LOCK.is_poisoned());
}
