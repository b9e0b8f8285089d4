// Threads that start threads are named by who started them.
// names: main.1 main.2 main.1.1
use crate::shared::{change, thread};

pub fn main() {
    let first = std::thread::Builder::new().name("first".into()).spawn(thread(|| {
        std::thread::spawn(thread(|| change(0))).join().unwrap();
        change(0);
    }));
    first.unwrap().join().unwrap();
    std::thread::spawn(thread(|| change(0))).join().unwrap();
}
