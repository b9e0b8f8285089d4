// A thread of a scope and the scope itself are not ordered.
// race: SHARED
use crate::shared::{put, thread};

pub fn main() {
    std::thread::scope(|scope| {
        scope.spawn(thread(|| put(0)));
        put(0);
    });
}
