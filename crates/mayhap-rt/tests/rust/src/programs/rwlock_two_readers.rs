// Two readers that write.
// race: SHARED
use crate::shared::{put, thread};
use std::sync::RwLock;

static LOCK: RwLock<()> = RwLock::new(());

pub fn main() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(thread(|| {
            let _guard = LOCK.read().unwrap();
            put(0);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
