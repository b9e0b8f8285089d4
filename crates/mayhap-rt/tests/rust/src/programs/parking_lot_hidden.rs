// A mutex of parking_lot that both threads take hides the race from happens-before; another order shows it.
// proven: SHARED
use crate::shared::{change, put, thread};
use parking_lot::Mutex;

static LOCK: Mutex<()> = Mutex::new(());

pub fn main() {
    let t = std::thread::spawn(thread(|| {
        put(0);
        let guard = LOCK.lock();
        change(1);
        drop(guard);
    }));
    std::thread::sleep(std::time::Duration::from_millis(30));
    drop(LOCK.lock());
    put(0);
    t.join().unwrap();
}
