// twin: rust_withdraw.rs
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static BALANCE: Mutex<i64> = Mutex::new(100);

fn withdraw(amount: i64) {
    let mut balance = BALANCE.lock().unwrap();
    if *balance >= amount {
        *balance -= amount;
    }
}

fn main() {
    let machine = thread::spawn(|| withdraw(80));
    let closing = thread::spawn(|| {
        thread::sleep(Duration::from_millis(30));
        *BALANCE.lock().unwrap() = 0;
    });
    machine.join().unwrap();
    closing.join().unwrap();
    let left = *BALANCE.lock().unwrap();
    println!("balance {left}");
    assert_eq!(left, 0);
}
