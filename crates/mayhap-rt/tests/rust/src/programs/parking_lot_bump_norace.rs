// A lock that is handed to who waits for it and taken again.
use crate::shared::{change, thread};
use parking_lot::{Mutex, MutexGuard, ReentrantMutex, ReentrantMutexGuard};

static COUNT: Mutex<usize> = Mutex::new(0);
static TURN: ReentrantMutex<()> = ReentrantMutex::new(());

fn work() {
    for _ in 0..40 {
        let mut count = COUNT.lock();
        change(0);
        *count += 1;
        MutexGuard::bump(&mut count);
        change(0);
        *count += 1;
        drop(count);
        let mut turn = TURN.lock();
        change(1);
        ReentrantMutexGuard::bump(&mut turn);
        change(1);
    }
}

pub fn main() {
    let threads = [0; 3].map(|_| std::thread::spawn(thread(work)));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
