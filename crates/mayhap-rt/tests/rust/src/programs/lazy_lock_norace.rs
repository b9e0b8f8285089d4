// A static that the first thread to need it makes.
use crate::shared::{get, put, thread};
use std::sync::LazyLock;

static MADE: LazyLock<u64> = LazyLock::new(|| {
    put(0);
    7
});

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            assert_eq!(*MADE, 7);
            get(0);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
