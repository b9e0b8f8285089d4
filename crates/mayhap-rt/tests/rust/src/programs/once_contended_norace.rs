// Threads that come while it is being done wait in the library's own code.
use crate::shared::{get, put, thread};
use std::sync::Once;

static ONCE: Once = Once::new();

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            ONCE.call_once(|| {
                put(0);
                std::thread::sleep(std::time::Duration::from_millis(5));
                put(0);
                std::thread::sleep(std::time::Duration::from_millis(1));
            });
            get(0);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
