//! Exploring all executions of a program on one input, as far as that can be.
//!
//! Runs are made in turns that [`crate::dpor`] says, until none is left. Two executions differ if a read of some thread saw
//! something else: another value where the recording has values, otherwise another write. What forbids to say that these are all is collected, and named.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use mayhap_record::{Operation, TurnStep};
use mayhap_wire::ring::choice;

use crate::dpor::Tree;
use crate::outcome::{Made, Outcome};
use crate::turns::Turn;

/// The executions that are known, and the turns that lead to others.
#[derive(Debug, Default)]
pub struct Systematic {
    tree: Tree,
    began: bool,
    given_up: bool,
    seen: HashSet<u64>,
    limits: BTreeSet<String>,
    steps_of_threads: Vec<Turn>,
    /// How many runs were too long to be looked at, and how many of them came last in a row.
    unfinished: u64,
    in_row: u32,
    /// Each run is made, since what was derived was refuted.
    makes_all: bool,
    /// The runs, if they are wanted.
    runs: Option<Vec<Made>>,
}

/// So many runs in a row that are too long to be looked at: others are likely to be, too.
const MOST_UNFINISHED: u32 = 3;

impl Systematic {
    /// The turns of the next run; `None` when nothing is left to run.
    pub fn next_turns(&mut self) -> Option<Vec<Turn>> {
        if self.given_up {
            return None;
        }
        if !self.began {
            return Some(Vec::new());
        }
        self.tree.next_turns()
    }

    /// Derives a run that is known without being made, if the next one is; says whether it was.
    pub fn derive(&mut self) -> bool {
        if self.given_up || !self.began || !self.derives() {
            return false;
        }
        let Some(steps) = self.tree.derive() else { return false };
        self.seen.insert(key(&steps));
        if let Some(runs) = &mut self.runs {
            runs.push(Made { steps, success: true, failed: None, is_derived: true });
        }
        true
    }

    /// Nothing forbids to say of what is derived that it is so.
    fn derives(&self) -> bool {
        !self.makes_all && self.limits().is_empty()
    }

    /// How many runs were derived.
    pub fn derived(&self) -> u64 {
        self.tree.derived()
    }

    /// All runs are wanted from now on.
    pub fn keep_runs(&mut self) {
        self.runs = Some(Vec::new());
    }

    /// The runs that were kept, made and derived.
    pub fn runs(&mut self) -> Option<&mut Vec<Made>> {
        self.runs.as_mut()
    }

    /// The turns that would come next if nothing were learnt meanwhile, at most so many.
    pub fn likely(&self, most: usize) -> Vec<Vec<Turn>> {
        if self.given_up || !self.began { Vec::new() } else { self.tree.likely(most) }
    }

    /// Runs are too long to be gone through in turns.
    pub fn has_given_up(&self) -> bool {
        self.given_up
    }

    /// Learns from a run that was made in these turns; says whether no run before it was like it.
    pub fn learn(&mut self, given: &[Turn], outcome: &Outcome) -> bool {
        let is_first = !std::mem::replace(&mut self.began, true);
        if outcome.too_long || outcome.late {
            self.unfinished += 1;
            self.in_row += 1;
            self.given_up = is_first || self.in_row >= MOST_UNFINISHED;
            self.tree.was_not_finished(given);
            return false;
        }
        self.in_row = 0;
        let steps = &outcome.steps;
        self.limits.extend(outcome.unseen.iter().cloned());
        for operation in steps.iter().flat_map(|step| &step.operations) {
            if let Operation::Unclear(what) = operation {
                self.limits.insert((*what).to_string());
            }
        }
        if several_wait(steps) {
            self.limits.insert("which of several waiting threads a notify wakes".into());
        }
        if outcome.success && !all_ended(steps) {
            self.limits.insert("threads that were still running when the program ended".into());
        }
        self.steps_of_threads = steps_of_threads(steps);
        if self.derives() {
            self.tree.derive_from(steps, outcome.success);
        }
        if self.tree.is_refuted() {
            // A thread went on in two ways though it had seen the same.
            *self =
                Systematic { makes_all: true, runs: self.runs.as_ref().map(|_| Vec::new()), ..Systematic::default() };
            return false;
        }
        self.tree.learn(given, steps);
        if let Some(runs) = &mut self.runs {
            runs.push(Made { steps: steps.clone(), success: outcome.success, failed: None, is_derived: false });
        }
        self.seen.insert(key(steps))
    }

    /// How many steps each thread made in the last run.
    pub fn steps_of_threads(&self) -> &[Turn] {
        &self.steps_of_threads
    }

    /// How many different executions there were.
    pub fn executions(&self) -> u64 {
        self.seen.len() as u64
    }

    /// How many runs are known to be worth making, or were too long to be looked at.
    pub fn open(&self) -> u64 {
        self.tree.open() + self.unfinished
    }

    /// Nothing is left to run, and nothing forbids to say that these are all executions.
    pub fn is_complete(&self) -> bool {
        self.began && self.open() == 0 && self.limits().is_empty()
    }

    /// What forbids to say that these are all executions.
    pub fn limits(&self) -> Vec<String> {
        let mut limits: Vec<String> = self.limits.iter().cloned().collect();
        if self.unfinished > 0 {
            limits.push(format!("runs that are too long to be looked at ({})", self.unfinished));
        }
        if self.tree.diverged > 0 {
            limits.push(format!("runs that did not follow their turns ({})", self.tree.diverged));
        }
        if self.tree.dropped > 0 {
            limits.push(format!("orders for which there was no memory left ({})", self.tree.dropped));
        }
        if self.tree.skipped > 0 {
            limits.push("several choices within one step".into());
        }
        if self.tree.merged {
            limits.push("what comes between a plain write and a plain read right after it".into());
        }
        limits
    }

    /// Loops that wait were followed for a few rounds only.
    pub fn cut_loops(&self) -> bool {
        self.tree.cut_loops
    }
}

/// How many steps each thread makes.
fn steps_of_threads(steps: &[TurnStep]) -> Vec<Turn> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for step in steps {
        *counts.entry(step.thread).or_default() += 1;
    }
    counts.into_iter().map(|(thread, count)| [thread, count]).collect()
}

/// All threads but the first have ended.
fn all_ended(steps: &[TurnStep]) -> bool {
    let mut running: BTreeSet<u32> = BTreeSet::new();
    for step in steps {
        for operation in &step.operations {
            match operation {
                Operation::Fork(thread) => _ = running.insert(*thread),
                Operation::End => _ = running.remove(&step.thread),
                _ => {}
            }
        }
    }
    running.is_empty()
}

/// A notify found more than one thread waiting, and which of them it woke was no choice.
fn several_wait(steps: &[TurnStep]) -> bool {
    let mut waiting: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for step in steps {
        for operation in &step.operations {
            match operation {
                Operation::Wait(condition) => _ = waiting.entry(*condition).or_default().insert(step.thread),
                Operation::Unparked(thread) => waiting.values_mut().for_each(|threads| _ = threads.remove(thread)),
                Operation::Notify(condition) => {
                    let several = waiting.get(condition).map_or(0, BTreeSet::len);
                    let among = |(kind, alternatives, _)| kind == choice::WAITER && alternatives as usize == several;
                    if several > 1 && !step.choices().any(among) {
                        return true;
                    }
                }
                _ => {}
            }
        }
    }
    false
}

/// What comes of attempts, as if it were read.
const ATTEMPT: u64 = u64::MAX - (1 << 40);

/// What distinguishes executions: what the reads of each thread saw, and what came of its attempts. A read that only repeats the one before it counts once, and so does
/// an attempt that fails again.
pub fn key(steps: &[TurnStep]) -> u64 {
    let mut written: HashMap<u64, (u32, u32)> = HashMap::default();
    let mut writes: HashMap<u32, u32> = HashMap::default();
    let mut seen: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut last: HashMap<u32, (u32, u64)> = HashMap::default();
    for step in steps {
        for operation in &step.operations {
            let thread = step.thread;
            if let Operation::Read(address, bytes, found, _) | Operation::Update(address, bytes, found) = operation {
                let saw = found.unwrap_or_else(|| {
                    let mut hasher = DefaultHasher::new();
                    let range = *address..*address + u64::from((*bytes).min(64));
                    range.for_each(|byte| written.get(&byte).hash(&mut hasher));
                    hasher.finish()
                });
                let again = match operation {
                    Operation::Read(.., site @ 1..) => last.insert(thread, (*site, saw)) == Some((*site, saw)),
                    _ => {
                        last.remove(&thread);
                        false
                    }
                };
                if !again {
                    seen.entry(thread).or_default().push(saw);
                }
            } else if !matches!(
                operation,
                Operation::Unparked(_) | Operation::Blocked(_) | Operation::Attempt(_, false)
            ) {
                last.remove(&thread);
            }
            if let Operation::Attempt(object, success) = operation {
                let before = if *success { None } else { last.insert(thread, (0, *object)) };
                if before != Some((0, *object)) {
                    seen.entry(thread).or_default().push(ATTEMPT - u64::from(*success));
                }
            }
            // A call that failed is like a read of another value.
            if let Operation::Choice(kind, _, taken @ 1..) = operation
                && *kind != choice::WAITER
            {
                seen.entry(thread).or_default().push(u64::MAX - u64::from(kind << 24 | taken));
            }
            if let Operation::Write(address, bytes) | Operation::Update(address, bytes, _) = operation {
                let nth = writes.entry(thread).or_default();
                *nth += 1;
                for byte in *address..*address + u64::from((*bytes).min(64)) {
                    written.insert(byte, (thread, *nth));
                }
            }
        }
    }
    let names = thread_names(steps);
    let seen: BTreeMap<&Vec<u32>, Vec<u64>> =
        seen.into_iter().filter_map(|(t, saw)| Some((names.get(&t)?, saw))).collect();
    let mut hasher = DefaultHasher::new();
    seen.hash(&mut hasher);
    hasher.finish()
}

/// Threads by what does not depend on the order in which threads are started: the one that starts it, and how many that has started before.
fn thread_names(steps: &[TurnStep]) -> BTreeMap<u32, Vec<u32>> {
    let mut names: BTreeMap<u32, Vec<u32>> = steps.iter().map(|step| (step.thread, vec![step.thread])).collect();
    let mut started: HashMap<u32, u32> = HashMap::default();
    for step in steps {
        for operation in &step.operations {
            if let Operation::Fork(child) = operation {
                let nth = started.entry(step.thread).or_default();
                *nth += 1;
                let mut name = names.get(&step.thread).cloned().unwrap_or_default();
                name.extend([u32::MAX, *nth]);
                names.insert(*child, name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(thread: u32, operation: Operation) -> TurnStep {
        TurnStep { thread, code: 0, operations: vec![operation] }
    }

    #[test]
    fn a_run_that_takes_too_long_stays_open_and_others_go_on() {
        let steps = vec![
            step(0, Operation::Fork(1)),
            step(0, Operation::Fork(2)),
            step(1, Operation::Write(8, 8)),
            step(2, Operation::Read(8, 8, Some(1), 1)),
            step(1, Operation::Write(16, 8)),
            step(2, Operation::Read(16, 8, Some(1), 1)),
        ];
        let mut all = Systematic::default();
        assert_eq!(all.next_turns(), Some(Vec::new()));
        all.learn(&[], &Outcome { steps, ..Outcome::default() });
        let open = all.open();
        assert!(open > 1, "{open}");
        let turns = all.next_turns().unwrap();
        all.learn(&turns, &Outcome { late: true, ..Outcome::default() });
        assert_eq!(all.open(), open);
        assert!(all.next_turns().is_some() && !all.has_given_up() && !all.is_complete());
        assert_eq!(all.limits(), ["runs that are too long to be looked at (1)"]);
        // A program whose first run takes too long cannot be gone through.
        let mut none = Systematic::default();
        none.learn(&[], &Outcome { too_long: true, ..Outcome::default() });
        assert!(none.has_given_up() && none.next_turns().is_none());
    }
}
