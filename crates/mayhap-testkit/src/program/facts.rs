//! What all executions of a program show, as far as they were explored.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{Part, Value};

/// One side of a race: the name of a step, and whether its write is meant or its read.
///
/// What a name stands for is up to the exploration: a statement of the program, or a step of a recorded run.
pub type Side = (u32, bool);

/// What a set of executions shows.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Conflicting accesses, not both atomic, that can be next at the same time; the lesser side first.
    pub both_next: BTreeSet<(Side, Side)>,
    /// Conflicting accesses, not both atomic, that can be unordered by happens-before; the lesser side first.
    pub unordered: BTreeSet<(Side, Side)>,
    /// Sets of two or three blocking acquires that can wait for each other; sorted.
    pub deadlocks: BTreeSet<Vec<u32>>,
    /// Reads that can be next when this is the last write of their cell (`None`: none yet).
    pub last_writes: BTreeSet<(u32, Option<u32>)>,
    /// Reads of a recorded run that can be next when this write has run and the one they saw has not (`None`: the initial
    /// value is there, or was). Only known of executions that the run shows to be possible.
    pub displaced: BTreeSet<(u32, Option<u32>)>,
    /// The values that each read can return.
    pub values: BTreeMap<u32, BTreeSet<Value>>,
    /// What the program can look like at its end.
    pub outcomes: BTreeSet<Outcome>,
    /// Statements that can touch freed memory or follow the null pointer.
    pub memory_errors: BTreeSet<usize>,
    /// How many states were visited.
    pub states: usize,
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// All threads ended: the variables, and the locals of each thread.
    Ended {
        /// Final values of the shared variables.
        variables: Vec<Value>,
        /// Final values of each thread's locals.
        locals: Vec<Vec<Value>>,
    },
    /// No thread can run: for each thread that has not ended, where it waits.
    Stuck(Vec<Waiting>),
    /// The program failed at this statement.
    Aborted(usize),
}

/// Where a thread of a stuck program waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Waiting {
    /// The thread.
    pub thread: usize,
    /// The statement.
    pub site: usize,
    /// Which step of it: one that waits to return from a wait has lost its wake-up.
    pub part: Part,
}

impl Facts {
    /// The two sides can race: both next, or both run and unordered.
    pub fn races(&self, a: Side, b: Side) -> bool {
        let pair = sorted(a, b);
        self.both_next.contains(&pair) || self.unordered.contains(&pair)
    }

    /// Statements whose assertion can fail, or that can crash.
    pub fn failures(&self) -> BTreeSet<usize> {
        self.outcomes.iter().filter_map(|o| if let Outcome::Aborted(site) = o { Some(*site) } else { None }).collect()
    }

    /// Waits that can last forever because their wake-up came too early or never.
    pub fn lost_wake_ups(&self) -> BTreeSet<usize> {
        let stuck = self.outcomes.iter().filter_map(|o| if let Outcome::Stuck(who) = o { Some(who) } else { None });
        stuck.flatten().filter(|waiting| waiting.part == Part::Return).map(|waiting| waiting.site).collect()
    }
}

/// A pair with the lesser side first.
pub(crate) fn sorted(a: Side, b: Side) -> (Side, Side) {
    if a <= b { (a, b) } else { (b, a) }
}
