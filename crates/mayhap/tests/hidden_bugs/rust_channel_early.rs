// kind: order
// bug: the worker says that it is done before it has stored its result
// expect: RESULT
use crossbeam::channel::{Sender, bounded};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

static RESULT: AtomicU32 = AtomicU32::new(0);

fn work(done: Sender<()>) {
    done.send(()).unwrap();
    RESULT.store(42, Ordering::Relaxed);
}

fn main() {
    let (done, is_done) = bounded(1);
    let worker = thread::spawn({
        let done = done.clone();
        move || work(done)
    });
    is_done.recv().unwrap();
    thread::sleep(Duration::from_millis(30));
    let result = RESULT.load(Ordering::Relaxed);
    println!("result {result}");
    assert_eq!(result, 42);
    worker.join().unwrap();
    drop(done);
}
