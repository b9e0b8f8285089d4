// A function lends a variable to a thread and returns without waiting for it. The variable gets its first value before the debug
// information says that it exists.
// names: lend::total[1]
use crate::shared::thread;
use std::thread::JoinHandle;
use std::time::Duration;

#[inline(never)]
fn lend() -> (JoinHandle<()>, u64) {
    let mut total = [0u64; 4];
    let address = total.as_mut_ptr() as usize;
    let handle = std::thread::spawn(thread(move || {
        // SAFETY: not sound, which is the point; in this run the function waits long enough.
        unsafe { std::ptr::write((address as *mut u64).add(1), 3) };
    }));
    std::thread::sleep(Duration::from_millis(20));
    (handle, std::hint::black_box(total[0]))
}

pub fn main() {
    let (handle, _) = lend();
    handle.join().unwrap();
}
