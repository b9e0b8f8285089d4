//! Many schedules, and many targets each, that have much in common.
//!
//! An [`IncrementalChecker`] holds the state after a schedule. It goes back to where the next one leaves it and runs only
//! the rest, and says of any number of targets whether the state is theirs. Steps and targets are judged by the checker's
//! own rules; what is here takes steps back. It proves nothing: [`IncrementalChecker::checked`] hands the schedule to a
//! [`Checker`].
//!
//! Cost: a step forth or back O(1); a target O(its events), but for races by happens-before O(the schedule).

use mayhap_trace::{ConditionKind, Event, EventId, Execution, Op, ThreadId, VarId};

use crate::check::reached;
use crate::state::{LastWrite, Rules, State};
use crate::{Checked, Checker, Model, Rejection, Schedule, Target, Why, Witness};

/// A schedule under the kernel's rules that can be taken back step by step.
///
/// No read is left free: in `data` and `value` every one is the same as observed.
pub struct IncrementalChecker<'a> {
    rules: Rules<'a>,
    state: State,
    model: Model,
    ran: Vec<Ran>,
    /// 1 + the step of each event that has run, else 0.
    place: Vec<u32>,
    schedule: Vec<EventId>,
    /// The same as runs, which is what the checker gets: it is copied for each proof.
    runs: Schedule,
    /// Has the last word.
    checker: Checker<'a>,
}

/// What a step replaced.
struct Ran {
    changed: Option<EventId>,
    last_write: Option<LastWrite>,
    began: u32,
    /// Of a token: it was set.
    count: i64,
    joined: Option<EventId>,
    changed_before: bool,
}

impl<'a> IncrementalChecker<'a> {
    /// The state before the first step.
    pub fn new(execution: &'a Execution<'a>, model: Model) -> Self {
        let trace = execution.trace();
        IncrementalChecker {
            rules: Rules::new(execution),
            state: State::new(trace),
            model,
            ran: Vec::new(),
            place: vec![0; trace.len()],
            schedule: Vec::new(),
            runs: Schedule::default(),
            checker: Checker::new(execution),
        }
    }

    /// The schedule that has run.
    pub fn schedule(&self) -> &[EventId] {
        &self.schedule
    }

    /// The event has run.
    pub fn has_run(&self, event: EventId) -> bool {
        self.place[event.index()] > 0
    }

    /// What an access of this event's variable would see next; `None` is the initial value.
    pub fn would_see(&self, event: EventId) -> Option<EventId> {
        let variable = self.rules.trace.event(event).variable();
        variable.and_then(|variable| self.rules.last_write(&self.state, variable.index()).event())
    }

    /// The thread has read, or been forked or joined with, something that may differ from the observed run.
    pub fn is_changed(&self, thread: ThreadId) -> bool {
        self.state.changed[thread.index()].is_some()
    }

    /// How many events of a thread have run.
    pub fn count(&self, thread: ThreadId) -> u32 {
        self.state.done[thread.index()]
    }

    /// What a thread runs next; `None` if it has finished, or was not forked yet.
    pub fn next_of(&self, thread: ThreadId) -> Option<EventId> {
        let next = self.rules.next(&self.state, thread)?;
        let waits_for_fork =
            self.state.done[thread.index()] == 0 && self.rules.unstarted(&self.state, thread).is_some();
        (!waits_for_fork).then_some(next)
    }

    /// The event that must run next because it is joined to the last one.
    pub fn joined(&self) -> Option<EventId> {
        self.state.joined
    }

    /// The last write of a variable (`None` is the initial value) if it is clean, else `None`.
    pub fn last_clean_write(&self, variable: VarId) -> Option<Option<EventId>> {
        let last = self.rules.last_write(&self.state, variable.index());
        last.is_clean().then(|| last.event())
    }

    /// Adds what decides which waits can be served, as far as it does not follow from how far the threads have run: of tokens
    /// whether they are set, of condition variables the notifies that the threads which wait for them now may take.
    pub fn describe_conditions(&self, words: &mut Vec<u32>) {
        let mut waiting: Vec<(u32, u32)> = Vec::new();
        for thread in (0..self.state.done.len()).map(ThreadId::at) {
            let next = self.next_of(thread).map(|next| self.rules.trace.event(next));
            let waits = |event: &Event| event.op == Op::Wait && self.rules.kind(event) == ConditionKind::Condition;
            waiting.extend(next.filter(waits).map(|event| (event.object, self.state.began[thread.index()])));
        }
        for (number, condition) in self.state.conditions.iter().enumerate() {
            match self.rules.trace.tables().condition_kinds.get(number) {
                ConditionKind::Token => words.push(condition.count as u32),
                ConditionKind::Condition => {
                    let began = || waiting.iter().filter(|w| w.0 as usize == number).map(|w| w.1 as usize);
                    let Some(first) = began().min() else { continue };
                    let usable = |from: usize| condition.notifies[from..].iter().filter(|n| n.all || !n.used);
                    words.extend(usable(first).map(|n| u32::from(n.all)));
                    words.extend(began().map(|from| 2 + usable(from).count() as u32));
                }
                _ => {}
            }
        }
    }

    /// Goes back to the state after the first `keep` steps.
    pub fn rewind(&mut self, keep: usize) {
        while self.schedule.len() > keep
            && let (Some(id), Some(ran)) = (self.schedule.pop(), self.ran.pop())
        {
            self.step_back(id, ran);
            self.place[id.index()] = 0;
            self.runs.pop();
        }
    }

    /// Runs one more event; if a rule forbids it, the state stays as it was.
    pub fn run(&mut self, id: EventId) -> Result<(), Rejection> {
        let step = self.schedule.len() + 1;
        let rejection = |why| Rejection { step: Some(step), event: Some(id), why };
        if id.index() >= self.place.len() {
            return Err(rejection(Why::NoSuchEvent));
        }
        let before = self.replaced_by(id);
        self.rules.step(&mut self.state, self.model, &[None, None], id).map_err(rejection)?;
        self.schedule.push(id);
        self.runs.push(id);
        self.ran.push(before);
        self.place[id.index()] = step as u32;
        Ok(())
    }

    /// The schedule reaches the target.
    pub fn reaches(&self, target: &Target) -> Result<(), Rejection> {
        let whole = |why| Rejection { step: None, event: None, why };
        target.validate(self.rules.execution).map_err(|e| whole(Why::BadTarget(e)))?;
        let place = |event: EventId| self.place[event.index()].checked_sub(1).map(|step| step as usize);
        let reached = reached(&self.rules, &self.state, target, &place, |step| self.schedule[step..].iter().copied());
        reached.map_err(|what| whole(Why::TargetNotReached(what)))
    }

    /// Returns the checker's word on the schedule as a witness of the target.
    pub fn checked(&mut self, target: &Target) -> Result<Checked, Rejection> {
        self.reaches(target)?;
        self.checker.check(target, self.model, Witness { schedule: self.runs.clone() })
    }

    fn replaced_by(&self, id: EventId) -> Ran {
        let event = self.rules.trace.event(id);
        let thread = event.thread.index();
        Ran {
            changed: self.state.changed[thread],
            last_write: event.variable().map(|x| self.state.written(x.index())),
            began: self.state.began[thread],
            count: event.condition().map_or(0, |c| self.state.conditions[c.index()].count),
            joined: self.state.joined,
            changed_before: self.state.changed_before,
        }
    }

    /// Takes back the event that ran last.
    fn step_back(&mut self, id: EventId, ran: Ran) {
        let state = &mut self.state;
        let event = self.rules.trace.event(id);
        let (me, object) = (event.thread, event.object as usize);
        state.done[me.index()] -= 1;
        state.changed[me.index()] = ran.changed;
        state.began[me.index()] = ran.began;
        state.joined = ran.joined;
        state.changed_before = ran.changed_before;
        if let Some(last_write) = ran.last_write {
            state.unwrite(object, last_write);
        }
        match event.op {
            Op::Acquire => state.locks[object].owner = None,
            Op::Release => state.locks[object].owner = Some(me),
            Op::SharedAcquire => state.locks[object].readers.retain(|&t| t != me),
            Op::SharedRelease => state.locks[object].readers.push(me),
            Op::Fork => {
                state.changed[object] = None;
                state.began[object] = 0;
            }
            Op::Notify | Op::NotifyAll => {
                state.conditions[object].count = ran.count;
                state.conditions[object].notifies.pop();
            }
            Op::Wait => {
                state.conditions[object].count = ran.count;
                if let Some((_, place)) = state.woken.pop_if(|(wait, _)| *wait == id) {
                    state.conditions[object].notifies[place as usize].used = false;
                }
            }
            _ => {}
        }
    }
}
