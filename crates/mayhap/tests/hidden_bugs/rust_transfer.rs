// kind: deadlock
// bug: a transfer locks the accounts in the order of its arguments
// expect: ALICE
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static ALICE: Mutex<i64> = Mutex::new(100);
static BOB: Mutex<i64> = Mutex::new(100);

fn pay_rent() {
    let mut from = ALICE.lock().unwrap();
    let mut to = BOB.lock().unwrap();
    *from -= 30;
    *to += 30;
}

fn pay_back() {
    let mut from = BOB.lock().unwrap();
    let mut to = ALICE.lock().unwrap();
    *from -= 10;
    *to += 10;
}

fn main() {
    let rent = thread::spawn(pay_rent);
    let back = thread::spawn(|| {
        thread::sleep(Duration::from_millis(30));
        pay_back();
    });
    rent.join().unwrap();
    back.join().unwrap();
    println!("{} {}", ALICE.lock().unwrap(), BOB.lock().unwrap());
}
