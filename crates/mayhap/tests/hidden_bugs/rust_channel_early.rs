// kind: order
// bug: the worker says that it is done before it has stored its result
// unproven: whether its thread panics, which is asked when the guard is dropped, passes for a test of the value read
// expect: RESULT
use crossbeam::channel::{Sender, bounded};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static RESULT: Mutex<u32> = Mutex::new(0);

fn work(done: Sender<()>) {
    done.send(()).unwrap();
    *RESULT.lock().unwrap() = 42;
}

fn main() {
    let (done, is_done) = bounded(1);
    let worker = thread::spawn({
        let done = done.clone();
        move || work(done)
    });
    is_done.recv().unwrap();
    thread::sleep(Duration::from_millis(30));
    let result = *RESULT.lock().unwrap();
    println!("result {result}");
    assert_eq!(result, 42);
    worker.join().unwrap();
    drop(done);
}
