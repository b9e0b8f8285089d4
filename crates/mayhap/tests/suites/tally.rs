static mut LAST: u32 = 0;

pub fn add(n: u32) {
    unsafe {
        LAST = n;
    }
}

pub fn last() -> u32 {
    unsafe { LAST }
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_threads_add() {
        let threads: Vec<_> = (0..2).map(|n| std::thread::spawn(move || super::add(n))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(super::last() < 2);
    }

    #[test]
    fn one_thread_adds() {
        super::add(3);
    }
}
