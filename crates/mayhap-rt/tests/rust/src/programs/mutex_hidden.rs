// A lock that both threads take afterwards and before hides the race from happens-before; another order shows it.
// proven: SHARED
use crate::shared::{change, put, thread};
use std::sync::Mutex;

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    let t = std::thread::spawn(thread(|| {
        put(0);
        let guard = LOCK.lock().unwrap();
        change(1);
        drop(guard);
    }));
    std::thread::sleep(std::time::Duration::from_millis(30));
    drop(LOCK.lock().unwrap());
    put(0);
    t.join().unwrap();
}
