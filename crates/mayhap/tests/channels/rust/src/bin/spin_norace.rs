//! Locks that spin.
use std::sync::Arc;
use std::thread;
fn main() {
    let m = Arc::new(spin::Mutex::new(0u64));
    let r = Arc::new(spin::RwLock::new(0u64));
    let o = Arc::new(spin::Once::<u64>::new());
    let tk = Arc::new(spin::mutex::TicketMutex::<u64>::new(0));
    let f = |m: Arc<spin::Mutex<u64>>,
             r: Arc<spin::RwLock<u64>>,
             o: Arc<spin::Once<u64>>,
             tk: Arc<spin::mutex::TicketMutex<u64>>| {
        move || {
            for _ in 0..3 {
                *m.lock() += 1;
                *r.write() += 1;
                let _ = *r.read();
                *tk.lock() += *o.call_once(|| 1);
            }
        }
    };
    let a = thread::spawn(f(m.clone(), r.clone(), o.clone(), tk.clone()));
    let b = thread::spawn(f(m.clone(), r.clone(), o.clone(), tk.clone()));
    a.join().unwrap();
    b.join().unwrap();
    println!("{} {} {}", *m.lock(), *r.read(), *tk.lock());
}
