// A vector grows, and its old memory is freed, while another thread reads it.
// race: main/heap
use crate::shared::thread;

static mut NUMBERS: Vec<u64> = Vec::new();

pub fn main() {
    // SAFETY: no other thread yet.
    unsafe { NUMBERS.push(1) };
    let t = std::thread::spawn(thread(|| {
        // SAFETY: not sound, which is the point; in this run the sleep keeps the growth away.
        unsafe { NUMBERS.first().copied() }
    }));
    std::thread::sleep(std::time::Duration::from_millis(20));
    for i in 0..100 {
        // SAFETY: as above.
        unsafe { NUMBERS.push(i) };
    }
    assert_eq!(t.join().unwrap(), Some(1));
}
