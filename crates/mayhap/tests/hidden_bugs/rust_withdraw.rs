// kind: atomicity
// bug: the balance is checked under one lock guard and drawn from under the next
// expect: BALANCE
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static BALANCE: Mutex<i64> = Mutex::new(100);

fn withdraw(amount: i64) {
    if *BALANCE.lock().unwrap() < amount {
        return;
    }
    let mut balance = BALANCE.lock().unwrap();
    *balance -= amount;
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
