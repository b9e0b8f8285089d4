// A park that ends by time orders nothing.
// race: SHARED
use crate::shared::{put, thread};

pub fn main() {
    let sleeper = std::thread::spawn(thread(|| {
        std::thread::park_timeout(std::time::Duration::from_millis(5));
        put(0);
    }));
    put(0);
    sleeper.join().unwrap();
}
