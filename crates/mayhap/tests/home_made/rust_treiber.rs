// kind: race use-after-free
// bug: a thread that pops from the stack looks into a node that another may have popped and freed
// expect: heap Node next box
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;
use std::time::Duration;

struct Node {
    next: *mut Node,
    value: u32,
}

static TOP: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());
static POPPING: AtomicBool = AtomicBool::new(false);

fn push(value: u32) {
    let node = Box::into_raw(Box::new(Node { next: ptr::null_mut(), value }));
    loop {
        let top = TOP.load(Ordering::Relaxed);
        // SAFETY: the node is not on the stack yet.
        unsafe { (*node).next = top };
        if TOP.compare_exchange(top, node, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

fn pop() -> Option<u32> {
    loop {
        let top = TOP.load(Ordering::Acquire);
        if top.is_null() {
            return None;
        }
        // SAFETY: only if no other thread pops at the same time.
        let next = unsafe { (*top).next };
        if TOP.compare_exchange(top, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // SAFETY: the node belongs to this thread now.
            return Some(unsafe { Box::from_raw(top) }.value);
        }
    }
}

fn pop_alone(fixed: bool) -> Option<u32> {
    if !fixed {
        return pop();
    }
    while POPPING.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    let value = pop();
    POPPING.store(false, Ordering::Release);
    value
}

fn main() {
    let fixed = std::env::args().any(|argument| argument == "fixed");
    push(1);
    push(2);
    let first = thread::spawn(move || pop_alone(fixed));
    let second = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        pop_alone(fixed)
    });
    assert_eq!(first.join().unwrap().unwrap() + second.join().unwrap().unwrap(), 3);
}
