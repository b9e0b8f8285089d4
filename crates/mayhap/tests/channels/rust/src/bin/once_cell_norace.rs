//! Cells that are filled once.
use once_cell::sync::*;
use std::thread;
static L: Lazy<Vec<u64>> = Lazy::new(|| vec![1; 8]);
static C: OnceCell<String> = OnceCell::new();
static R: once_cell::race::OnceBox<String> = once_cell::race::OnceBox::new();
fn main() {
    let f = || {
        let n = L.len();
        let c = C.get_or_init(|| "abc".to_string()).len();
        let r = R.get_or_init(|| Box::new("x".to_string())).len();
        n + c + r
    };
    let a = thread::spawn(f);
    let b = thread::spawn(f);
    println!("{}", a.join().unwrap() + b.join().unwrap());
}
