// A relaxed flag orders nothing: the race is proven although the flag was seen set. Detectors by happens-before take the
// atomic's section for order, so the proof is what counts.
// proven: SHARED
use crate::shared::{put, thread};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static READY: AtomicBool = AtomicBool::new(false);

pub fn main() {
    let t = std::thread::spawn(thread(|| {
        put(0);
        READY.store(true, Relaxed);
    }));
    put(0);
    let _ = READY.load(Relaxed);
    t.join().unwrap();
}
