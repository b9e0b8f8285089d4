// twin: rust_init_order.rs
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static LIMIT: Mutex<u32> = Mutex::new(0);

fn consume() -> u32 {
    thread::sleep(Duration::from_millis(30));
    *LIMIT.lock().unwrap()
}

fn main() {
    *LIMIT.lock().unwrap() = 64;
    let consumer = thread::spawn(consume);
    let limit = consumer.join().unwrap();
    println!("limit {limit}");
    assert_eq!(limit, 64);
}
