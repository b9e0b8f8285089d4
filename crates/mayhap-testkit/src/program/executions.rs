//! Counts the distinguishable executions of a program, by going through all its interleavings.
//!
//! Two executions differ if some thread found something else: another value where it reads, or another result of an attempt to take a lock or a semaphore, or of a
//! timed wait. A read that only repeats the one right before it, at the same statement and with the same value, counts once, and so does an attempt that fails
//! again, so that rounds of a loop that waits are not told apart. The order of steps that no thread sees is no difference, and neither is where allocated cells lie.

use std::collections::HashSet;

use super::interpreter::Machine;
use super::packed::PackedSet;
use super::state::{Attempt, Effect, Happened, State, Value};

/// What a thread found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Found {
    /// A value that was read.
    Value(Value),
    /// Whether an attempt succeeded, or a timed wait was woken.
    Success(bool),
}

/// What each thread found, in its order.
pub type History = Vec<Vec<Found>>;

#[derive(Clone, Hash)]
struct Node {
    state: State,
    history: History,
    /// The last read of each thread, or its last attempt that failed, if it did nothing else since.
    last: Vec<Option<(Look, Found)>>,
}

/// What a thread looked at without changing anything: by a statement that reads, or at a lock or semaphore that it did not get.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Look {
    Statement(usize),
    Lock(usize),
    Semaphore(usize),
}

/// What the threads found, of every execution until nothing can go on; `None` if there are more states than the limit.
pub fn executions(machine: &Machine, limit: usize) -> Option<HashSet<History>> {
    let threads = machine.program().threads.len();
    let start = Node { state: machine.start(), history: vec![Vec::new(); threads], last: vec![None; threads] };
    let mut seen = PackedSet::default();
    seen.insert(&start);
    let (mut open, mut ends) = (vec![start], HashSet::new());
    while let Some(node) = open.pop() {
        let mut moved = false;
        for thread in 0..threads {
            for choice in machine.choices(&node.state, thread) {
                moved = true;
                let mut next = node.clone();
                let happened = machine.step(&mut next.state, thread, choice).ok()?;
                next.find(&happened);
                if seen.insert(&next) {
                    open.push(next);
                }
                if seen.len() > limit {
                    return None;
                }
            }
        }
        if !moved {
            ends.insert(node.history);
        }
    }
    Some(ends)
}

impl Node {
    /// Adds what a step found.
    fn find(&mut self, happened: &Happened) {
        let thread = happened.thread;
        let look = match happened.effect {
            Effect::Read { .. } | Effect::FailedCompare { .. } => Some(Look::Statement(happened.site)),
            Effect::FailedAcquire { lock, .. } => Some(Look::Lock(lock)),
            Effect::FailedTake { semaphore, .. } => Some(Look::Semaphore(semaphore)),
            // Nothing of these is recorded: what comes after them still repeats what came before.
            Effect::Fence(_) | Effect::Allocated(_) | Effect::Nothing => return,
            _ => None,
        };
        let found = found(happened.effect);
        let looked = look.zip(found);
        if looked.is_none() || self.last[thread] != looked {
            self.history[thread].extend(found);
        }
        self.last[thread] = looked;
    }
}

/// What a step found.
fn found(effect: Effect) -> Option<Found> {
    match effect {
        Effect::Read { value, .. } | Effect::FailedCompare { read: value, .. } => Some(Found::Value(value)),
        Effect::Modify { read, .. } => Some(Found::Value(read)),
        Effect::Received { value, .. } => Some(Found::Value(value)),
        Effect::Acquired { attempt: Attempt::Try | Attempt::Timed, .. }
        | Effect::Taken { attempt: Attempt::Try | Attempt::Timed, .. }
        | Effect::Woken { timed: true, .. } => Some(Found::Success(true)),
        Effect::FailedAcquire { .. } | Effect::FailedTake { .. } | Effect::TimedOut { .. } => {
            Some(Found::Success(false))
        }
        _ => None,
    }
}
