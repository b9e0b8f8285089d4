// Each thread has its own.
use crate::shared::thread;
use std::cell::{Cell, RefCell};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static TEXT: RefCell<String> = RefCell::new(String::from("a"));
}

pub fn main() {
    let threads = [(); 3].map(|()| {
        std::thread::spawn(thread(|| {
            for _ in 0..20 {
                COUNT.set(COUNT.get() + 1);
                TEXT.with_borrow_mut(|text| text.push('b'));
            }
            assert_eq!(COUNT.get(), 20);
        }))
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
}
