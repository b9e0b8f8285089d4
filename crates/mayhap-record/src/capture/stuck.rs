//! Notices at once that no thread of a program can ever go on.
//!
//! A thread that sleeps in a futex call without a time limit goes on only if another thread of the process wakes it. Where
//! all threads sleep so, none ever does. (A signal could still come from outside; a program that waits for one sleeps in
//! another system call.) The kernel tells what each thread does in `/proc`.

use std::fs;
use std::time::{Duration, Instant};

/// The number of the futex system call.
const FUTEX: u64 = 202;
/// The operations of that call that wait: plain, with a bit set, for a lock, and in a requeue.
const WAITS: [u64; 5] = [0, 6, 9, 11, 13];
/// The bits of an operation that only modify it.
const MODIFIERS: u64 = 128 | 256;
/// How long all threads must have slept so, with nothing recorded in between.
const LONG: Duration = Duration::from_millis(300);
/// The same if the runtime has found that no thread can go on.
const SHORT: Duration = Duration::from_millis(20);

/// Watches one program.
#[derive(Debug, Default)]
pub struct StuckWatch {
    since: Option<(Instant, u64)>,
    hurries: bool,
}

impl StuckWatch {
    /// The runtime has found that no thread can go on: what is seen of them need not last long.
    pub fn hurry(&mut self) {
        self.hurries = true;
    }

    /// Looks at the program, which has recorded `words` so far: whether none of its threads can go on.
    pub fn is_stuck(&mut self, process: u32, words: u64) -> bool {
        let now = Instant::now();
        match self.since {
            // Looking costs a system call for each thread, so one look at the beginning and one at the end suffice.
            Some((since, seen)) if seen == words => {
                if now - since < if self.hurries { SHORT } else { LONG } {
                    return false;
                }
                let stuck = all_threads_wait(process);
                self.since = stuck.then_some((since, words));
                stuck
            }
            _ => {
                self.since = all_threads_wait(process).then_some((now, words));
                false
            }
        }
    }
}

/// Every thread of the process waits for another thread of it, without a time limit.
fn all_threads_wait(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
    let mut any = false;
    for thread in threads {
        let Ok(thread) = thread else { return false };
        let Ok(call) = fs::read_to_string(thread.path().join("syscall")) else { return false };
        if !waits_for_ever(&call) {
            return false;
        }
        any = true;
    }
    any
}

/// The line of `/proc/…/syscall` is of a futex call that waits without a time limit.
fn waits_for_ever(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<u64>().ok());
    let arguments: Vec<u64> =
        words.map_while(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()).collect();
    let [_, operation, _, limit, ..] = arguments[..] else { return false };
    number == Some(FUTEX) && WAITS.contains(&(operation & !MODIFIERS)) && limit == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_waits_are_told_from_others() {
        let waits = "202 0x5640221990c0 0x80 0x2 0x0 0x0 0x0 0x7fd7eedfee18 0x7fd7ef60312b";
        let joins = "202 0x7fd7eedff990 0x109 0xe45 0x0 0x0 0xffffffff 0x7ffde3bf8690 0x7fd7ef602f16";
        let limited = "202 0x5640221990c0 0x80 0x2 0x7ffde3bf8690 0x0 0x0 0x7fd7eedfee18 0x7fd7ef60312b";
        let wakes = "202 0x5640221990c0 0x81 0x1 0x0 0x0 0x0 0x7fd7eedfee18 0x7fd7ef60312b";
        let reads = "0 0x3 0x7ffde3bf8690 0x10 0x0 0x0 0x0 0x7fd7eedfee18 0x7fd7ef60312b";
        assert!(waits_for_ever(waits) && waits_for_ever(joins));
        for other in [limited, wakes, reads, "running", "-1 0x7f 0x7f", ""] {
            assert!(!waits_for_ever(other), "{other}");
        }
    }
}
