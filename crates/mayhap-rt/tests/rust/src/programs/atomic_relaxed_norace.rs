// Atomic accesses do not race with one another, whatever their orders and widths.
use crate::shared::thread;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

static BOOL: AtomicBool = AtomicBool::new(false);
static BYTE: AtomicU8 = AtomicU8::new(0);
static SHORT: AtomicU16 = AtomicU16::new(0);
static WORD: AtomicU32 = AtomicU32::new(0);
static LONG: AtomicU64 = AtomicU64::new(0);

fn use_all(i: u8) {
    BOOL.store(i > 1, Relaxed);
    BYTE.fetch_or(i, Relaxed);
    SHORT.swap(i.into(), Relaxed);
    let _ = WORD.compare_exchange(0, i.into(), Relaxed, Relaxed);
    LONG.fetch_xor(i.into(), Relaxed);
    let _ = BOOL.load(Relaxed);
}

pub fn main() {
    let threads = [1, 2].map(|i| std::thread::spawn(thread(move || use_all(i))));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
