// One thread frees what another reads.
// race: main/heap
use crate::shared::thread;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static READ: AtomicBool = AtomicBool::new(false);

pub fn main() {
    let pointer = Box::into_raw(Box::new(7u64)) as usize;
    let t = std::thread::spawn(thread(move || {
        // SAFETY: not sound, which is the point; in this run the flag keeps the free away.
        let value = unsafe { std::ptr::read(pointer as *const u64) };
        READ.store(value == 7, Relaxed);
    }));
    std::thread::sleep(std::time::Duration::from_millis(20));
    // SAFETY: from `into_raw` above.
    drop(unsafe { Box::from_raw(pointer as *mut u64) });
    t.join().unwrap();
}
