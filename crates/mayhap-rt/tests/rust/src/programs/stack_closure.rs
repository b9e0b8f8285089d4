// Closures, and a panic that is caught, in functions that are not inlined.
// race: SHARED
// stack: main.1 w SHARED.0[0]: ... < ... < programs::programs::stack_closure::inner < programs::programs::stack_closure::outer < a closure in programs::programs::stack_closure::start (inlined)
// at: main fork main.1: programs::programs::stack_closure::start
use crate::shared::{change, thread};
use std::thread::JoinHandle;

#[inline(never)]
fn inner(n: usize) {
    if n > 0 {
        let _ = std::panic::catch_unwind(|| fails(3));
    }
    change(0);
    std::hint::black_box(n);
}

#[inline(never)]
fn fails(n: usize) -> usize {
    assert!(n > 0);
    fails(n - 1) + std::hint::black_box(1)
}

#[inline(never)]
fn outer(n: usize) {
    inner(n);
    std::hint::black_box(n);
}

#[inline(never)]
fn start(n: usize) -> JoinHandle<()> {
    std::thread::spawn(thread(move || outer(n)))
}

pub fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let threads = [start(1), start(0)];
    threads.into_iter().for_each(|t| t.join().unwrap());
}
