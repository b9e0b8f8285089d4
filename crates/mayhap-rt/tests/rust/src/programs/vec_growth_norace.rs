// A vector in a mutex grows; every thread finds it where it is.
use crate::shared::{change, thread};
use std::sync::Mutex;

static NUMBERS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

pub fn main() {
    let threads = [1, 2].map(|i| {
        std::thread::spawn(thread(move || {
            for j in 0..20 {
                let mut numbers = NUMBERS.lock().unwrap();
                numbers.push(i * 100 + j);
                change(0);
                assert!(numbers[0] > 0);
            }
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(NUMBERS.lock().unwrap().len(), 40);
}
