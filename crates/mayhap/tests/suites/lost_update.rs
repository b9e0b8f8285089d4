#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::thread;

    #[test]
    fn nothing_is_lost() {
        let total = Arc::new(AtomicU32::new(0));
        let add = |total: Arc<AtomicU32>| {
            thread::spawn(move || {
                let seen = total.load(SeqCst);
                total.store(seen + 1, SeqCst);
            })
        };
        for thread in [add(total.clone()), add(total.clone())] {
            thread.join().unwrap();
        }
        assert_eq!(total.load(SeqCst), 2);
    }
}
