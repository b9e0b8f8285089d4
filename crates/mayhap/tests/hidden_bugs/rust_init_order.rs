// kind: order
// bug: the consumer is started before the configuration it reads is set, and does not wait for it
// unproven: whether its thread panics, which is asked when the guard is dropped, passes for a test of the value read
// expect: LIMIT
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static LIMIT: Mutex<u32> = Mutex::new(0);

fn consume() -> u32 {
    thread::sleep(Duration::from_millis(30));
    *LIMIT.lock().unwrap()
}

fn main() {
    let consumer = thread::spawn(consume);
    *LIMIT.lock().unwrap() = 64;
    let limit = consumer.join().unwrap();
    println!("limit {limit}");
    assert_eq!(limit, 64);
}
