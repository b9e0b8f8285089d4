// An executor of one task: the waker unparks the thread that polls.
// not: sync
use crate::shared::{change, put, thread};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[derive(Default)]
struct Signal {
    done: bool,
    waker: Option<Waker>,
}

struct Wait(Arc<Mutex<Signal>>);

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut signal = self.0.lock().unwrap();
        if signal.done {
            return Poll::Ready(());
        }
        signal.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

pub fn main() {
    let signal = Arc::new(Mutex::new(Signal::default()));
    let theirs = Arc::clone(&signal);
    let t = std::thread::spawn(thread(move || {
        put(0);
        let mut signal = theirs.lock().unwrap();
        signal.done = true;
        if let Some(waker) = signal.waker.take() {
            waker.wake();
        }
    }));
    let waker = Waker::from(Arc::new(Unparks(std::thread::current())));
    let mut wait = std::pin::pin!(Wait(signal));
    while wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        std::thread::park();
    }
    change(0);
    t.join().unwrap();
}
