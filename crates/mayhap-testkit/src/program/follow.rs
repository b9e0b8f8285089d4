//! How far an execution does what a recorded run did, and which of its values are sure.

use std::collections::BTreeMap;

use super::clocks::parts;
use super::interpreter::Misuse;
use super::recording::Recording;
use super::state::{Cell, Effect, Happened, UpdateSort};

/// Which executions count, and what their steps are called.
#[derive(Clone, Copy, Debug)]
pub enum Rules<'a> {
    /// All; a step's name is its statement.
    Free,
    /// All; a step's name is its index in the recording, as long as its thread runs the statements it ran there.
    Along(&'a Recording),
    /// Those that the recording shows to be possible; names as above.
    Feasible(&'a Recording),
    /// Those that are possible and do what was recorded, whether or not the recording shows it: a value that a thread
    /// decides by only happens to be the recorded one.
    Lucky(&'a Recording),
}

/// Why an exploration has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    /// There are more states than allowed.
    TooBig,
    /// The program is not valid.
    Misuse(Misuse),
    /// A thread took another way than recorded though the trace of the recording has no branch there: a mistake in how
    /// runs are recorded.
    Undecided(usize),
}

/// The threads of an execution compared with a recorded run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Follow {
    threads: Vec<Following>,
    /// The last write of each cell, and whether its value is surely the recorded one.
    cells: BTreeMap<Cell, (Option<u32>, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Following {
    /// How many of its recorded steps the thread has run.
    steps: u32,
    /// It has read something that is not surely what it read in the recorded run.
    changed: bool,
    /// It takes no further part: it would decide by something unsure, or does what it did not do in the recorded run.
    out: bool,
}

/// What the rules say of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// It must not run.
    Forbidden,
    /// It runs, and has this name.
    Runs(Option<u32>),
    /// A compare-exchange that may go another way than recorded: its read runs, with this effect, and its thread stops.
    LastRead(Option<u32>, Effect),
}

impl Follow {
    pub(crate) fn new(threads: usize) -> Follow {
        Follow { threads: vec![Following::default(); threads], cells: BTreeMap::new() }
    }

    /// The last write of a cell.
    pub(crate) fn last_write(&self, cell: Cell) -> Option<u32> {
        self.cells.get(&cell).and_then(|(write, _)| *write)
    }

    /// The recorded step that the thread comes to next.
    pub(crate) fn next(&self, recording: &Recording, thread: usize) -> Option<u32> {
        let me = &self.threads[thread];
        recording.by_thread[thread].get(me.steps as usize).copied().filter(|_| !me.out)
    }

    /// The recorded step has run.
    pub(crate) fn has_run(&self, recording: &Recording, step: u32) -> bool {
        let thread = recording.steps[step as usize].thread;
        let ran = self.threads[thread].steps as usize;
        recording.by_thread[thread][..ran].contains(&step)
    }

    /// The next step, which would write, counts as one that does: a compare-exchange must surely succeed.
    pub(crate) fn may_write(&self, rules: &Rules<'_>, thread: usize, cell: Cell) -> bool {
        let Rules::Feasible(recording) = rules else { return true };
        let Some(index) = self.next(recording, thread) else { return false };
        match recording.steps[index as usize].effect {
            Effect::Modify { update: UpdateSort::Compare, .. } => {
                !self.threads[thread].changed && self.is_same(recording, index, cell)
            }
            Effect::FailedCompare { .. } => false,
            _ => true,
        }
    }

    /// Takes in a step that an execution runs.
    pub(crate) fn step(&mut self, rules: &Rules<'_>, happened: &Happened) -> Result<Step, Failed> {
        match rules {
            Rules::Free => {
                let name = happened.site as u32;
                self.write(happened, Some(name), true);
                Ok(Step::Runs(Some(name)))
            }
            Rules::Along(recording) => {
                let expected = self.next(recording, happened.thread).filter(|&index| {
                    let recorded = &recording.steps[index as usize];
                    let same = (recorded.site, recorded.part) == (happened.site, happened.part);
                    same && touched(&recorded.effect) == touched(&happened.effect)
                });
                let me = &mut self.threads[happened.thread];
                match expected {
                    Some(_) => me.steps += 1,
                    None => *me = Following { out: true, ..Default::default() },
                }
                self.write(happened, expected, true);
                Ok(Step::Runs(expected))
            }
            Rules::Feasible(recording) => self.feasible(recording, happened, false),
            Rules::Lucky(recording) => self.feasible(recording, happened, true),
        }
    }

    fn feasible(&mut self, recording: &Recording, happened: &Happened, lucky: bool) -> Result<Step, Failed> {
        let thread = happened.thread;
        let Some(index) = self.next(recording, thread) else { return Ok(Step::Forbidden) };
        let recorded = &recording.steps[index as usize];
        if (recorded.site, recorded.part) != (happened.site, happened.part) {
            return Err(Failed::Undecided(happened.site));
        }
        let before = self.threads[thread].changed;
        if let Some((cell, true, ..)) = parts(&recorded.effect)
            && !self.is_same(recording, index, cell)
            && !(lucky && happened.effect.value_read() == recorded.effect.value_read())
        {
            self.threads[thread].changed = true;
        }
        let changed = self.threads[thread].changed;
        let compares = matches!(
            recorded.effect,
            Effect::Modify { update: UpdateSort::Compare, .. } | Effect::FailedCompare { .. }
        );
        if compares && changed {
            self.threads[thread].steps += 1;
            self.threads[thread].out = true;
            return Ok(Step::LastRead(Some(index), read_only(&happened.effect)));
        }
        // A thread that must not decide has not ended, even if only the decision was left.
        let unfinished = matches!(happened.effect, Effect::Joined(child) if self.threads[child].out);
        if unfinished || recorded.effect.shape() != happened.effect.shape() {
            return Ok(Step::Forbidden);
        }
        let clean = match happened.effect {
            Effect::Write { constant: true, .. } | Effect::Modify { constant: true, .. } => true,
            Effect::Modify { update: UpdateSort::Exchange, .. } => !before,
            _ => !changed,
        };
        self.write(happened, Some(index), clean);
        self.meet(happened);
        let me = &mut self.threads[thread];
        me.steps += 1;
        me.out = happened.decision.is_some() && me.changed;
        Ok(Step::Runs(Some(index)))
    }

    /// What a thread is forked with, or leaves to the thread that joins it, may come from what it read.
    fn meet(&mut self, happened: &Happened) {
        let parent = happened.thread;
        match happened.effect {
            Effect::Forked(child) => {
                let changed = self.threads[parent].changed;
                self.threads[child].changed = changed;
                self.threads[child].out = changed && happened.born.is_some();
            }
            Effect::Joined(child) => self.threads[parent].changed |= self.threads[child].changed,
            _ => {}
        }
    }

    /// The recorded step, which reads the cell, would surely read what it read.
    fn is_same(&self, recording: &Recording, index: u32, cell: Cell) -> bool {
        let recorded = &recording.steps[index as usize];
        let (write, clean) = self.cells.get(&cell).copied().unwrap_or((None, true));
        let saw = recording.saw[index as usize];
        let value = match write {
            Some(write) => value_written(&recording.steps[write as usize].effect),
            None if recording.tells_initial(cell) => Some(super::state::Value::ZERO),
            None => None,
        };
        clean && (write == saw || (value.is_some() && value == recorded.effect.value_read()))
    }

    fn write(&mut self, happened: &Happened, name: Option<u32>, clean: bool) {
        if let Some((cell, _, true, _)) = parts(&happened.effect) {
            self.cells.insert(cell, (name, clean));
        }
    }
}

/// The cell that a step touched.
fn touched(effect: &Effect) -> Option<Cell> {
    parts(effect).map(|(cell, ..)| cell)
}

/// What a step wrote, if a trace can tell.
fn value_written(effect: &Effect) -> Option<super::state::Value> {
    match *effect {
        Effect::Write { value, .. } => Some(value),
        Effect::Modify { written, .. } => Some(written),
        _ => None,
    }
}

/// A compare-exchange as a read.
fn read_only(effect: &Effect) -> Effect {
    match *effect {
        Effect::Modify { cell, read, order, .. } => Effect::FailedCompare { cell, read, order },
        other => other,
    }
}
