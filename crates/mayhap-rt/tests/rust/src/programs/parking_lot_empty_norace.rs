// Sections with nothing in them, which threads wait for and give up at once; a lock that a thread may take again.
use crate::shared::{change, thread};
use parking_lot::{Mutex, ReentrantMutex, RwLock};

static GATE: RwLock<()> = RwLock::new(());
static TURN: ReentrantMutex<()> = ReentrantMutex::new(());
static COUNT: Mutex<usize> = Mutex::new(0);

fn work() {
    for i in 0..150 {
        if i % 3 == 0 {
            drop(GATE.write());
        } else {
            drop(GATE.read());
        }
        let turn = TURN.lock();
        let again = TURN.lock();
        drop(again);
        drop(turn);
        if i % 50 == 0 {
            let mut count = COUNT.lock();
            change(0);
            *count += 1;
        }
    }
}

pub fn main() {
    let threads = [0; 4].map(|_| std::thread::spawn(thread(work)));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
