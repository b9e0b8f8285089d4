//! Many schedules, and many targets each, that have much in common.
//!
//! A incremental holds the state after a schedule. It goes back to where the next one leaves it and runs only the rest, and
//! tells of any number of targets whether the state is theirs. Steps and targets are judged by the [`Checker`]'s own rules;
//! here stands only what it takes to go back: the write that each step replaced, and the place of each event.
//!
//! Cost: a step forth or back O(1); a target O(its events).

use mayhap_trace::{EventId, Relations, Trace};

use crate::{Checked, Checker, Model, Rejection, Schedule, Target, Why, Witness};

/// A schedule under the kernel's rules that can be taken back step by step.
///
/// No read is left open: in the data model every one sees the write it saw.
pub struct IncrementalChecker<'a> {
    checker: Checker<'a>,
    model: Model,
    ran: Vec<EventId>,
    /// What each step's write replaced.
    replaced: Vec<Option<EventId>>,
    /// 1 + the step of each event that has run, else 0.
    place: Vec<u32>,
}

impl<'a> IncrementalChecker<'a> {
    /// The state before the first step.
    pub fn new(trace: &'a Trace, relations: &'a Relations, model: Model) -> Self {
        IncrementalChecker {
            checker: Checker::new(trace, relations),
            model,
            ran: Vec::new(),
            replaced: Vec::new(),
            place: vec![0; trace.len()],
        }
    }

    /// The schedule that has run.
    pub fn schedule(&self) -> &[EventId] {
        &self.ran
    }

    /// The event has run.
    pub fn has_run(&self, event: EventId) -> bool {
        self.place[event.index()] > 0
    }

    /// What an access of this event's variable would see next; `None` is the initial value.
    pub fn would_see(&self, event: EventId) -> Option<EventId> {
        self.checker.replaced(event)
    }

    /// Goes back to the state after the first `keep` steps.
    pub fn rewind(&mut self, keep: usize) {
        while self.ran.len() > keep
            && let (Some(id), Some(replaced)) = (self.ran.pop(), self.replaced.pop())
        {
            self.checker.step_back(id, replaced);
            self.place[id.index()] = 0;
        }
    }

    /// Runs one more event; if a rule forbids it, the state stays as it was.
    pub fn run(&mut self, id: EventId) -> Result<(), Rejection> {
        let step = self.ran.len() + 1;
        let known = id.index() < self.place.len();
        let replaced = if known { self.checker.replaced(id) } else { None };
        let ran = self.checker.step(None, self.model, id);
        ran.map_err(|why| Rejection { step: Some(step), event: Some(id), why })?;
        self.ran.push(id);
        self.replaced.push(replaced);
        self.place[id.index()] = step as u32;
        Ok(())
    }

    /// The schedule reaches the target.
    pub fn reaches(&self, target: &Target) -> Result<(), Rejection> {
        let whole = |why| Rejection { step: None, event: None, why };
        target.validate(self.checker.trace, self.checker.relations).map_err(|e| whole(Why::BadTarget(e)))?;
        let place = |event: EventId| self.place[event.index()].checked_sub(1).map(|step| step as usize);
        self.checker.reached(target, &place).map_err(|what| whole(Why::TargetNotReached(what)))
    }

    /// The schedule as a witness of the target.
    pub fn checked(&mut self, target: &Target) -> Result<Checked, Rejection> {
        self.reaches(target)?;
        let witness = Witness { schedule: Schedule::from(&self.ran) };
        Ok(Checked { target: target.clone(), model: self.model, witness })
    }
}
