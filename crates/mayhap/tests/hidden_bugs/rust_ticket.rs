// kind: atomicity
// bug: the next ticket is loaded and stored by two atomic operations
// expect: NEXT
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

static NEXT: AtomicU32 = AtomicU32::new(1);

fn take() -> u32 {
    let ticket = NEXT.load(Ordering::Relaxed);
    NEXT.store(ticket.wrapping_add(1), Ordering::Relaxed);
    ticket
}

fn main() {
    let early = thread::spawn(take);
    let late = thread::spawn(|| {
        thread::sleep(Duration::from_millis(30));
        take()
    });
    let (early, late) = (early.join().unwrap(), late.join().unwrap());
    println!("tickets {early} and {late}");
    assert_ne!(early, late);
}
