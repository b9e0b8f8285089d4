// kind: race
// bug: a static is written without the lock that its reader believes to be held
// expect: LAST
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static LOG: Mutex<[u32; 2]> = Mutex::new([0, 0]);
static mut LAST: u32 = 0;

fn writer() {
    // SAFETY: not sound: the lock is taken too late.
    unsafe { LAST = 7 };
    LOG.lock().unwrap()[0] = 1;
}

fn reader() -> u32 {
    thread::sleep(Duration::from_millis(30));
    let mut log = LOG.lock().unwrap();
    log[1] = 1;
    drop(log);
    // SAFETY: not sound: the lock is gone.
    unsafe { LAST }
}

fn main() {
    // SAFETY: no other thread yet.
    unsafe { LAST = 1 };
    let write = thread::spawn(writer);
    let read = thread::spawn(reader);
    write.join().unwrap();
    let last = read.join().unwrap();
    println!("last {last}");
    assert!(last == 7 || last == 1);
}
