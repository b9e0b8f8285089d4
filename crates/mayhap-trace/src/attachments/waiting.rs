//! The threads that were waiting when the recording ended, kept with the trace as JSON
//! ([`mayhap_wire::attachment::WAITING`]).

use std::io::Read;

use mayhap_wire::attachment;
use serde::{Deserialize, Serialize};

use crate::format::native;

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A lock that another thread, or the thread itself, holds.
    Lock,
    /// A condition to be notified.
    Condition,
    /// A semaphore to be raised.
    Semaphore,
    /// Further threads to arrive at a barrier.
    Barrier,
    /// The end of a thread.
    Thread,
    /// To be unparked by another thread, as threads of Rust's library are.
    Unpark,
    /// Something to be put into a channel.
    Data,
    /// Room in a channel.
    Room,
}

/// A thread that was waiting when the recording ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// The name of the thread.
    pub thread: String,
    /// What it waits for.
    pub what: What,
    /// The name of the lock, condition, semaphore, barrier, thread or channel.
    pub object: String,
    /// Where it waits.
    pub location: Option<String>,
    /// The call stack, innermost frame first.
    pub stack: Vec<String>,
    /// The threads that hold the lock.
    pub holders: Vec<String>,
}

impl Waiting {
    /// The threads that must go on before this one can.
    fn waits_for(&self) -> impl Iterator<Item = &str> {
        let joined = (self.what == What::Thread).then_some(self.object.as_str());
        self.holders.iter().map(String::as_str).chain(joined)
    }

    /// Returns the threads as bytes.
    pub fn encode(all: &[Waiting]) -> Vec<u8> {
        serde_json::to_vec(all).unwrap_or_default()
    }

    /// The threads that a native trace lists; none where it has no such list.
    pub fn read(trace: impl Read) -> Vec<Waiting> {
        let bytes = native::attachments(trace, attachment::WAITING).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// A cycle of threads of which each waits for the next one; `None` if there is none. A thread that waits for itself is
    /// one as well.
    pub fn cycle(all: &[Waiting]) -> Option<Vec<&Waiting>> {
        for start in all {
            let mut path = vec![start];
            let mut at = start;
            while let Some(next) = at.waits_for().find_map(|name| all.iter().find(|w| w.thread == name)) {
                if let Some(first) = path.iter().position(|w| w.thread == next.thread) {
                    return Some(path.split_off(first));
                }
                path.push(next);
                at = next;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(thread: &str, what: What, object: &str, holders: &[&str]) -> Waiting {
        Waiting {
            thread: thread.into(),
            what,
            object: object.into(),
            location: None,
            stack: Vec::new(),
            holders: holders.iter().map(ToString::to_string).collect(),
        }
    }

    fn names(all: &[Waiting]) -> Option<Vec<&str>> {
        Waiting::cycle(all).map(|cycle| cycle.iter().map(|w| w.thread.as_str()).collect())
    }

    #[test]
    fn threads_that_wait_for_each_other_are_a_cycle() {
        let all = [
            waiting("main", What::Thread, "main.1", &[]),
            waiting("main.1", What::Lock, "b", &["main.2"]),
            waiting("main.2", What::Lock, "a", &["main.1"]),
        ];
        assert_eq!(names(&all), Some(vec!["main.1", "main.2"]));
        assert_eq!(names(&all[..2]), None);
    }

    #[test]
    fn a_thread_can_wait_for_itself() {
        assert_eq!(names(&[waiting("main", What::Lock, "a", &["main"])]), Some(vec!["main"]));
        assert_eq!(names(&[waiting("main", What::Condition, "c", &[])]), None);
    }
}
