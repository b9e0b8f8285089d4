//! Forces a schedule of a trace onto the program that it was recorded of, step by step.

use std::collections::BTreeSet;

use super::clocks::{Clocks, parts};
use super::facts::{Side, sorted};
use super::interpreter::Machine;
use super::lower::{Lowered, Origin};
use super::recording::Recording;
use super::state::{Cell, Choice, Effect, State};

/// What a forced run led to.
#[derive(Clone, Debug)]
pub(crate) struct Replay<'a> {
    machine: &'a Machine,
    recording: &'a Recording,
    lowered: &'a Lowered,
    pub(crate) state: State,
    clocks: Clocks,
    /// How many of its recorded steps each thread has run.
    steps: Vec<usize>,
    /// Pairs of accesses that ran and are unordered.
    pub(crate) unordered: BTreeSet<(Side, Side)>,
    /// The last write of each cell, as a recorded step.
    writes: Vec<(Cell, u32)>,
}

impl<'a> Replay<'a> {
    /// Runs a schedule, given as places of events in the trace. Says where the program does something else.
    ///
    /// A read-modify-write that only begins with the last event runs if `finishes`; else it counts as what is next.
    pub(crate) fn run(
        machine: &'a Machine,
        recording: &'a Recording,
        lowered: &'a Lowered,
        schedule: &[usize],
        finishes: bool,
    ) -> Result<Replay<'a>, String> {
        let program = &machine.program;
        let mut replay = Replay {
            machine,
            recording,
            lowered,
            state: machine.start(),
            clocks: Clocks::new(program.locks.len(), program.conditions, program.semaphores.len(), program.pipes),
            steps: vec![0; program.threads.len()],
            unordered: BTreeSet::new(),
            writes: Vec::new(),
        };
        (0..program.threads.len()).try_for_each(|thread| replay.silent(thread))?;
        for (place, &event) in schedule.iter().enumerate() {
            let fail = |what: String| format!("at event {}: {what}", event + 1);
            match lowered.origins[event] {
                Origin::Step(step) => {
                    let last = place + 1 == schedule.len();
                    if finishes || !replay.is_cut_short(step, schedule) {
                        replay.step(step, last).map_err(fail)?;
                    }
                }
                Origin::Further(_) => {}
                Origin::Decision => {
                    let thread = lowered.trace.columns().threads[event] as usize;
                    replay.silent(thread).map_err(fail)?;
                }
            }
        }
        Ok(replay)
    }

    /// The recorded step that the thread comes to next.
    pub(crate) fn next(&self, thread: usize) -> Option<u32> {
        self.recording.by_thread[thread].get(self.steps[thread]).copied()
    }

    /// The last write of a cell.
    pub(crate) fn last_write(&self, cell: Cell) -> Option<u32> {
        self.writes.iter().rev().find(|(c, _)| *c == cell).map(|(_, write)| *write)
    }

    fn is_cut_short(&self, step: u32, schedule: &[usize]) -> bool {
        let joined = |place: usize| self.lowered.trace.columns().flags_at(place).is_joined();
        let origins = self.lowered.origins.iter().enumerate();
        origins
            .filter(|(place, origin)| origin.step() == Some(step) && joined(*place))
            .any(|(place, _)| !schedule.contains(&place))
    }

    fn step(&mut self, step: u32, last: bool) -> Result<(), String> {
        let recorded = &self.recording.steps[step as usize];
        let thread = recorded.thread;
        if self.next(thread) != Some(step) {
            return Err(format!("statement {} is not what its thread comes to", recorded.site));
        }
        let next = self.machine.next(&self.state, thread).ok_or("the thread has ended")?;
        if (next.site, next.part) != (recorded.site, recorded.part) {
            return Err(format!("the thread comes to statement {} instead of {}", next.site, recorded.site));
        }
        let choice = if matches!(recorded.effect, Effect::TimedOut { .. }) { Choice::TimeOut } else { Choice::Go };
        if !self.machine.choices(&self.state, thread).any(|c| c == choice) {
            return Err(format!("statement {} has to wait", recorded.site));
        }
        let happened = self.machine.step(&mut self.state, thread, choice).map_err(|misuse| misuse.to_string())?;
        if !is_as_recorded(&happened.effect, &recorded.effect, last) {
            return Err(format!("{:?} instead of {:?}", happened.effect, recorded.effect));
        }
        self.steps[thread] += 1;
        self.clocks.observe(thread, &happened.effect);
        let unordered = &mut self.unordered;
        self.clocks.access(thread, step, &happened.effect, |(a, b)| {
            unordered.insert(sorted(a, b));
        });
        if let Some((cell, _, true, _)) = parts(&happened.effect) {
            self.writes.push((cell, step));
        }
        if let Effect::Forked(child) = happened.effect
            && happened.born.is_none()
        {
            self.silent(child)?;
        }
        // What comes after a decision waits for it.
        if happened.decision.is_none() { self.silent(thread) } else { Ok(()) }
    }

    /// The thread has the lock already, or keeps it: such an event takes no part in schedules.
    fn is_reentrant(&self, thread: usize, effect: &Effect) -> bool {
        let held = |lock: usize| self.state.locks[lock].readers.iter().filter(|reader| **reader == thread).count();
        match *effect {
            Effect::Acquired { lock, shared: true, .. } => held(lock) > 0,
            Effect::Released { lock, shared: true } => held(lock) > 1,
            _ => false,
        }
    }

    /// Runs steps that no event of a schedule stands for.
    fn silent(&mut self, thread: usize) -> Result<(), String> {
        let Some(step) = self.next(thread) else { return Ok(()) };
        let recorded = &self.recording.steps[step as usize];
        let is_silent = self.is_reentrant(thread, &recorded.effect)
            || !self.lowered.origins.iter().any(|origin| origin.step() == Some(step));
        let next = self.machine.next(&self.state, thread).map(|next| (next.site, next.part));
        if is_silent && recorded.effect != Effect::Aborted && next == Some((recorded.site, recorded.part)) {
            self.step(step, false)?;
        }
        Ok(())
    }
}

/// The step did what it did in the recorded run. A try or timed operation that failed there may succeed: its thread goes on
/// all the same until it looks at the result. So may a compare-exchange that is the last step of all.
fn is_as_recorded(here: &Effect, recorded: &Effect, last: bool) -> bool {
    let succeeds = match (*recorded, *here) {
        (Effect::FailedAcquire { lock, shared, attempt }, here) => here == Effect::Acquired { lock, shared, attempt },
        (Effect::FailedTake { semaphore, attempt }, here) => here == Effect::Taken { semaphore, attempt },
        _ => false,
    };
    let compares = matches!(here, Effect::FailedCompare { .. }) || matches!(recorded, Effect::FailedCompare { .. });
    here.shape() == recorded.shape() || succeeds || (last && compares)
}
