//! One execution of a program, step by step.

use super::clocks::parts;
use super::interpreter::{Machine, Misuse};
use super::state::{Cell, Choice, Effect, Happened, State, Value};
use crate::Random;

/// What happened in one execution.
#[derive(Clone, Debug)]
pub struct Recording {
    /// All steps, in order.
    pub steps: Vec<Happened>,
    /// The steps of each thread, as indices.
    pub by_thread: Vec<Vec<u32>>,
    /// For each step that reads a cell, the step that wrote what it read (`None`: the initial value).
    pub saw: Vec<Option<u32>>,
    /// The state at the end: all threads ended, or stuck, or aborted.
    pub end: State,
}

impl Recording {
    /// Runs one random interleaving to its end.
    pub fn random(machine: &Machine, random: &mut Random) -> Result<Recording, Misuse> {
        let mut state = machine.start();
        let mut steps: Vec<Happened> = Vec::new();
        let burst = *random.pick(&[0, 30, 60, 85]);
        loop {
            let ready: Vec<(usize, Choice)> = (0..state.threads.len())
                .flat_map(|thread| machine.choices(&state, thread).map(move |choice| (thread, choice)))
                .collect();
            if ready.is_empty() {
                break;
            }
            let last = steps.last().map(|step| step.thread);
            let same: Vec<_> = ready.iter().copied().filter(|(thread, _)| Some(*thread) == last).collect();
            let stays = !same.is_empty() && random.percent(burst);
            let &(thread, choice) = random.pick(if stays { &same } else { &ready });
            steps.push(machine.step(&mut state, thread, choice)?);
        }
        Ok(Recording::of(steps, state))
    }

    pub(crate) fn of(steps: Vec<Happened>, end: State) -> Recording {
        let mut by_thread = vec![Vec::new(); end.threads.len()];
        let mut saw = Vec::with_capacity(steps.len());
        let mut last = std::collections::BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            by_thread[step.thread].push(index as u32);
            let access = parts(&step.effect);
            saw.push(access.and_then(|(cell, ..)| last.get(&cell).copied()));
            if let Some((cell, _, true, _)) = access {
                last.insert(cell, index as u32);
            }
        }
        Recording { steps, by_thread, saw, end }
    }

    /// Some step read the initial value of the cell, or replaced that of a variable atomically, so that a trace of the run contains it.
    pub(crate) fn tells_initial(&self, cell: Cell) -> bool {
        self.is_stored_first(cell) || self.is_read_initially(cell)
    }

    /// The first access of this variable is an atomic store, which sees what it replaces.
    pub(crate) fn is_stored_first(&self, cell: Cell) -> bool {
        let mut accesses = self.steps.iter().filter(|step| parts(&step.effect).is_some_and(|(c, ..)| c == cell));
        let is_store = |step: &Happened| matches!(step.effect, Effect::Write { order: Some(_), .. });
        matches!(cell, Cell::Variable(_)) && accesses.next().is_some_and(is_store)
    }

    fn is_read_initially(&self, cell: Cell) -> bool {
        self.steps
            .iter()
            .zip(&self.saw)
            .any(|(step, saw)| saw.is_none() && parts(&step.effect).is_some_and(|(c, reads, ..)| c == cell && reads))
    }
}

impl Effect {
    /// Returns the effect without its values: equal for two steps that do the same.
    pub(crate) fn shape(self) -> Effect {
        match self {
            Effect::Read { cell, order, .. } => Effect::Read { cell, order, value: Value::ZERO },
            Effect::Write { cell, order, constant, .. } => Effect::Write { cell, order, constant, value: Value::ZERO },
            Effect::Modify { cell, order, update, constant, .. } => {
                Effect::Modify { cell, order, update, constant, read: Value::ZERO, written: Value::ZERO }
            }
            Effect::FailedCompare { cell, order, .. } => Effect::FailedCompare { cell, order, read: Value::ZERO },
            Effect::Sent { pipe, number, .. } => Effect::Sent { pipe, number, value: Value::ZERO },
            Effect::Received { pipe, number, .. } => Effect::Received { pipe, number, value: Value::ZERO },
            other => other,
        }
    }

    /// The value that the step read from memory.
    pub(crate) fn value_read(&self) -> Option<Value> {
        match *self {
            Effect::Read { value, .. } => Some(value),
            Effect::Modify { read, .. } | Effect::FailedCompare { read, .. } => Some(read),
            _ => None,
        }
    }
}
