use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

fn main() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (send, receive) = mpsc::channel();
    let shared = Arc::clone(&log);
    let sender = thread::spawn(move || {
        shared.lock().unwrap().push(1);
        send.send(1).unwrap();
    });
    thread::sleep(Duration::from_millis(20));
    {
        let message = receive.recv().unwrap();
        log.lock().unwrap().push(message);
    }
    sender.join().unwrap();
}
