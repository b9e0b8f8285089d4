// A thread that panics is joined like any other, and its drops are seen.
// counts: fork=1 join=1
use crate::shared::{change, put, thread};

struct Drops;

impl Drop for Drops {
    fn drop(&mut self) {
        change(0);
    }
}

pub fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    put(0);
    let t = std::thread::spawn(thread(|| {
        let _drops = Drops;
        panic!("unwinds");
    }));
    assert!(t.join().is_err());
    change(0);
}
