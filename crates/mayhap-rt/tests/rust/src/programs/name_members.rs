// Parts of statics have the names that the program gives them.
// race: SHARED.0[2]
// names: programs::programs::name_members::TABLE.rows[1].0 programs::programs::name_members::TABLE.total
// names: programs::programs::name_members::FLAG programs::programs::name_members::LOCK
use crate::shared::{change, thread};
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

struct Table {
    rows: [(UnsafeCell<u64>, u32); 3],
    total: UnsafeCell<u64>,
}

// SAFETY: races on these are what the program is about.
unsafe impl Sync for Table {}

static TABLE: Table = Table { rows: [const { (UnsafeCell::new(0), 1) }; 3], total: UnsafeCell::new(0) };
static FLAG: AtomicU32 = AtomicU32::new(0);
static LOCK: Mutex<u64> = Mutex::new(0);

pub fn main() {
    let threads = [0, 1].map(|_| {
        std::thread::spawn(thread(move || {
            change(2);
            // SAFETY: see `Table`.
            unsafe {
                *TABLE.rows[1].0.get() += 1;
                *TABLE.total.get() += 1;
            }
            FLAG.fetch_add(1, Ordering::Relaxed);
            *LOCK.lock().unwrap() += 1;
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
