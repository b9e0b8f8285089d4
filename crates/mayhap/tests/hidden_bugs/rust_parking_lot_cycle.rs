// kind: deadlock
// bug: an upload locks index and store, a clean-up store and index
// expect: INDEX
use parking_lot::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

static INDEX: RwLock<u32> = RwLock::new(0);
static STORE: Mutex<u32> = Mutex::new(0);

fn upload() {
    let mut index = INDEX.write();
    let mut store = STORE.lock();
    *store += 1;
    *index += 1;
}

fn clean_up() {
    thread::sleep(Duration::from_millis(30));
    let mut store = STORE.lock();
    let index = INDEX.read();
    *store -= *index;
}

fn main() {
    let uploads = thread::spawn(upload);
    let cleaning = thread::spawn(clean_up);
    uploads.join().unwrap();
    cleaning.join().unwrap();
    println!("{} {}", INDEX.read(), STORE.lock());
}
