// kind: deadlock
// bug: users, rooms and messages are locked in a ring by three threads
// expect: USERS
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static USERS: Mutex<u32> = Mutex::new(0);
static ROOMS: Mutex<u32> = Mutex::new(0);
static MESSAGES: Mutex<u32> = Mutex::new(0);

fn enter() {
    let _users = USERS.lock().unwrap();
    let _rooms = ROOMS.lock().unwrap();
}

fn archive() {
    let _rooms = ROOMS.lock().unwrap();
    let _messages = MESSAGES.lock().unwrap();
}

fn attribute() {
    let _messages = MESSAGES.lock().unwrap();
    let _users = USERS.lock().unwrap();
}

fn main() {
    let tasks: [fn(); 3] = [enter, archive, attribute];
    let threads: Vec<_> = tasks
        .into_iter()
        .enumerate()
        .map(|(nth, task)| {
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(25 * nth as u64));
                task();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    println!("done");
}
