//! Threads race on a few variables, write values that nobody else writes, and log what they wrote and read.
//! Usage: `programs reads LOG THREADS STEPS`. The log has per thread: how many entries, then the entries as in [`crate::shared`].

use crate::shared::SHARED;

const VARIABLES: u64 = 4;

fn work(thread: u64, steps: u64) -> Vec<u64> {
    let mut entries = Vec::with_capacity(steps as usize);
    let mut random = 88172645463325252u64.wrapping_add(7919 * thread);
    for i in 0..steps {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let variable = random % VARIABLES;
        let place = SHARED.place(variable as usize);
        if random >> 60 == 0 {
            let value = thread << 40 | i;
            // SAFETY: a race on a plain word is what this program is about.
            unsafe { *place = value };
            entries.push(1 << 63 | variable << 56 | value);
        } else {
            // SAFETY: as above.
            let value = unsafe { *place };
            entries.push(variable << 56 | value);
        }
    }
    entries
}

pub fn main() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [log, threads, steps] = arguments.as_slice() else { panic!("programs reads LOG THREADS STEPS") };
    let (threads, steps): (u64, u64) = (threads.parse().unwrap(), steps.parse().unwrap());
    let running: Vec<_> = (1..=threads).map(|thread| std::thread::spawn(move || work(thread, steps))).collect();
    let mut bytes = Vec::new();
    for entries in running.into_iter().map(|thread| thread.join().unwrap()) {
        bytes.extend((entries.len() as u64).to_le_bytes());
        bytes.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
    }
    std::fs::write(log, bytes).unwrap();
}
