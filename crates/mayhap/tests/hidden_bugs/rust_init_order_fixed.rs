// twin: rust_init_order.rs
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

static LIMIT: Mutex<u32> = Mutex::new(0);
static ROOM: AtomicU32 = AtomicU32::new(0);

fn consume() {
    thread::sleep(Duration::from_millis(30));
    let limit = LIMIT.lock().unwrap();
    ROOM.store(*limit, Ordering::Relaxed);
}

fn main() {
    *LIMIT.lock().unwrap() = 64;
    let consumer = thread::spawn(consume);
    consumer.join().unwrap();
    let room = ROOM.load(Ordering::Relaxed);
    println!("room for {room}");
    assert_eq!(room, 64);
}
