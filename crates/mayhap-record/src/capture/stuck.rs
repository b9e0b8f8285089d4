//! Notices at once that no thread of a program can ever go on.
//!
//! A thread that sleeps in a futex call without a time limit goes on only if another thread of the process wakes it. Where
//! all threads sleep so, none ever does. (A signal could still come from outside; a program that waits for one sleeps in
//! another system call.) The system shows what each thread does in `/proc`.
//!
//! The same is true of a thread that waits for a pipe or socket whose both ends are in the program. Which calls are such waits the
//! runtime alone knows; it counts them. The program must then have no child, which may have inherited an end, and no `io_uring`.

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
    channel_waits: u32,
}

impl StuckWatch {
    /// The runtime has found that no thread can go on: what is seen of them need not last long.
    pub fn hurry(&mut self) {
        self.hurries = true;
    }

    /// So many threads wait for what only other threads of the program can do to a channel.
    pub fn waits_for_channels(&mut self, threads: u32) {
        self.channel_waits = threads;
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
                let stuck = all_threads_wait(process, self.channel_waits);
                self.since = stuck.then_some((since, words));
                stuck
            }
            _ => {
                self.since = all_threads_wait(process, self.channel_waits).then_some((now, words));
                false
            }
        }
    }
}

/// Every thread of the process waits for another thread of it, without a time limit; so many of them for channels.
fn all_threads_wait(process: u32, channel_waits: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
    let (mut threads_seen, mut in_calls) = (0, 0);
    for thread in threads {
        let Ok(thread) = thread else { return false };
        let Ok(call) = fs::read_to_string(thread.path().join("syscall")) else { return false };
        match wait_of(&call) {
            Some(Wait::Futex) => {}
            Some(Wait::Channel) => in_calls += 1,
            None => return false,
        }
        threads_seen += 1;
    }
    threads_seen > 0 && in_calls <= channel_waits && (in_calls == 0 || is_alone(process))
}

/// The process has no child and no `io_uring`, which could put something into its channels.
fn is_alone(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let has_no_child = |children: String| children.trim().is_empty();
    let is_ring = |file: std::path::PathBuf| file.to_string_lossy().contains("io_uring");
    threads.flatten().all(|thread| fs::read_to_string(thread.path().join("children")).is_ok_and(has_no_child))
        && !descriptors.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(is_ring))
}

/// How a thread waits without a time limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    /// For another thread to wake it.
    Futex,
    /// In a call that the runtime makes for a channel, if it has counted one.
    Channel,
}

/// The numbers of `poll`, and of calls that put data into descriptors.
const POLL: u64 = 7;
const PUTS: [u64; 6] = [1, 20, 40, 44, 46, 275];

/// How the thread waits that a line of `/proc/…/syscall` is of; `None` if it may go on by itself.
fn wait_of(line: &str) -> Option<Wait> {
    let mut words = line.split_whitespace();
    let number = words.next()?.parse::<u64>().ok()?;
    let arguments: Vec<u64> =
        words.map_while(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()).collect();
    let [_, second, third, fourth, ..] = arguments[..] else { return None };
    match number {
        FUTEX if WAITS.contains(&(second & !MODIFIERS)) && fourth == 0 => Some(Wait::Futex),
        POLL if second == 1 && third as u32 == u32::MAX => Some(Wait::Channel),
        _ if PUTS.contains(&number) => Some(Wait::Channel),
        _ => None,
    }
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
        let polls = "7 0x7ffde3bf8690 0x1 0xffffffff 0x0 0x0 0x0 0x7fd7eedfee18 0x7fd7ef60312b";
        let polls_long = "7 0x7ffde3bf8690 0x1 0x1000 0x0 0x0 0x0 0x7fd7eedfee18 0x7fd7ef60312b";
        assert_eq!([waits, joins].map(wait_of), [Some(Wait::Futex); 2]);
        assert_eq!(wait_of(polls), Some(Wait::Channel));
        for other in [limited, wakes, reads, polls_long, "running", "-1 0x7f 0x7f", ""] {
            assert_eq!(wait_of(other), None, "{other}");
        }
    }
}
