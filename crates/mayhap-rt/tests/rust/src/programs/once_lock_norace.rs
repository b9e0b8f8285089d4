// A cell that is set once, by whoever is first.
use crate::shared::{get, put, thread};
use std::sync::OnceLock;

static CELL: OnceLock<Vec<u64>> = OnceLock::new();

pub fn main() {
    let threads = [0, 1, 2].map(|i| {
        std::thread::spawn(thread(move || {
            if i == 2 {
                while CELL.get().is_none() {
                    std::thread::yield_now();
                }
            }
            let value = CELL.get_or_init(|| {
                put(0);
                vec![1, 2, 3]
            });
            assert_eq!(value[2], 3);
            get(0);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
