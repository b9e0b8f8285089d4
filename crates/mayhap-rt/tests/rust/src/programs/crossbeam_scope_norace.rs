// Threads of crossbeam's scope are joined at its end.
// counts: fork=2 join=2
use crate::shared::{change, put, thread};

pub fn main() {
    put(0);
    crossbeam::scope(|scope| {
        for i in 0..2 {
            let body = thread(move || change(i));
            scope.spawn(move |_| body());
        }
    })
    .unwrap();
    change(0);
    change(1);
}
