// Done once, seen by all.
use crate::shared::{get, put, thread};
use std::sync::Once;

static ONCE: Once = Once::new();

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            ONCE.call_once(|| put(0));
            get(0);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
