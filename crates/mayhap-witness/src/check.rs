//! The checker: runs a schedule step by step and says which step breaks which rule.
//!
//! The rules of a correct reordering: each thread runs a prefix of its events; a thread that was forked starts after its
//! fork; a join comes after all of its thread; a wait comes after its notify; no lock is taken while another thread holds
//! it (readers share); and reads keep to the [`Model`]. Then the [`Target`]'s state must be reached.
//!
//! Cost: linear in the part of the schedule that does not follow the observed run from its beginning (see
//! [`crate::checkpoints`]); a [`Checker`] keeps its tables between checks and cleans only what a check touched.

use std::fmt;

use mayhap_trace::{EventId, Op, Relations, ThreadId, Trace};

use crate::checkpoints::{self, Checkpoints};
use crate::{Model, Schedule, Target, TargetError, Witness};

/// A witness that the kernel accepted: the only thing that may be called proven.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    pub(crate) target: Target,
    pub(crate) model: Model,
    pub(crate) witness: Witness,
}

impl Checked {
    /// The target it reaches.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The model it is correct in.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The schedule.
    pub fn witness(&self) -> &Witness {
        &self.witness
    }
}

/// Why a witness was rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// The step, from 1, or `None` where the schedule runs but does not reach the target.
    pub step: Option<usize>,
    /// The event of that step.
    pub event: Option<EventId>,
    /// The broken rule.
    pub why: Why,
}

/// A rule that a witness broke.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// The trace has no such event.
    NoSuchEvent,
    /// A mark or a re-entrant lock operation.
    NotSchedulable,
    /// The thread has another event to run first (`None`: it has run this one already).
    NotNext(Option<EventId>),
    /// The thread's fork has not run.
    NotForked(EventId),
    /// The joined thread has not finished; this is its next event, or its fork.
    NotFinished(EventId),
    /// The notify of this wait has not run.
    NotNotified(EventId),
    /// Another thread, of this name, holds the lock.
    LockHeld(ThreadId, String),
    /// The read sees another write than observed; `None` is the initial value.
    WrongWrite {
        /// What it saw in the observed run.
        observed: Option<EventId>,
        /// What it sees here.
        here: Option<EventId>,
    },
    /// The thread decides by a read that saw another write than observed.
    BranchAfterChangedRead(EventId),
    /// The thread goes on after a read of the target that saw another write than observed.
    GoesOnAfterChangedRead(EventId),
    /// The target makes no sense for this trace.
    BadTarget(TargetError),
    /// The schedule is correct but does not end in the target's state.
    TargetNotReached(String),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.step {
            write!(f, "step {step}")?;
            if let Some(event) = self.event {
                write!(f, " (event {event})")?;
            }
            f.write_str(": ")?;
        }
        let write_name = |w: &Option<EventId>| w.map_or("the initial value".to_string(), |w| format!("event {w}"));
        match &self.why {
            Why::NoSuchEvent => f.write_str("the trace has no such event"),
            Why::NotSchedulable => f.write_str("a mark or re-entrant lock operation takes no part in schedules"),
            Why::NotNext(Some(next)) => write!(f, "event {next} of the same thread must run first"),
            Why::NotNext(None) => f.write_str("the event has run already"),
            Why::NotForked(fork) => write!(f, "its thread is forked by event {fork}, which has not run"),
            Why::NotFinished(next) => write!(f, "the joined thread still has to run event {next}"),
            Why::NotNotified(notify) => write!(f, "it waits for event {notify}, which has not run"),
            Why::LockHeld(_, name) => write!(f, "{name} holds the lock"),
            Why::WrongWrite { observed, here } => {
                write!(f, "the read sees {} instead of {}", write_name(here), write_name(observed))
            }
            Why::BranchAfterChangedRead(read) => {
                write!(f, "the branch depends on event {read}, which saw another write than observed")
            }
            Why::GoesOnAfterChangedRead(read) => {
                write!(f, "the thread goes on after event {read}, which saw another write than observed")
            }
            Why::BadTarget(error) => write!(f, "{error}"),
            Why::TargetNotReached(what) => write!(f, "the schedule is correct but misses the target: {what}"),
        }
    }
}

impl std::error::Error for Rejection {}

#[derive(Clone, Default)]
struct LockState {
    owner: Option<ThreadId>,
    readers: Vec<ThreadId>,
}

/// What a schedule has led to.
#[derive(Clone)]
pub(crate) struct State {
    /// Events run, per thread.
    done: Vec<usize>,
    /// First read of each thread that saw another write than observed.
    changed: Vec<Option<EventId>>,
    locks: Vec<LockState>,
    last_write: Vec<Option<EventId>>,
}

impl State {
    fn new(trace: &Trace) -> Self {
        let tables = trace.tables();
        State {
            done: vec![0; tables.threads.len()],
            changed: vec![None; tables.threads.len()],
            locks: vec![LockState::default(); tables.locks.len()],
            last_write: vec![None; tables.variables.len()],
        }
    }

    /// What a copy takes.
    pub(crate) fn bytes(&self) -> usize {
        self.done.len() * size_of::<(usize, Option<EventId>)>()
            + self.locks.len() * size_of::<LockState>()
            + self.last_write.len() * size_of::<Option<EventId>>()
    }

    fn clear(&mut self) {
        self.done.fill(0);
        self.changed.fill(None);
        self.locks.fill(LockState::default());
        self.last_write.fill(None);
    }
}

/// Checks witnesses of one trace.
pub struct Checker<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) relations: &'a Relations,
    state: State,
    checkpoints: Checkpoints,
}

impl<'a> Checker<'a> {
    /// A checker for a trace and the relations derived from it.
    pub fn new(trace: &'a Trace, relations: &'a Relations) -> Self {
        let state = State::new(trace);
        Checker { trace, relations, checkpoints: Checkpoints::new(trace, &state), state }
    }

    /// Accepts the witness, or says what is wrong with it.
    pub fn check(&mut self, target: &Target, model: Model, witness: Witness) -> Result<Checked, Rejection> {
        let whole = |why| Rejection { step: None, event: None, why };
        target.validate(self.trace, self.relations).map_err(|e| whole(Why::BadTarget(e)))?;
        let observed = checkpoints::observed(self.trace, self.relations, &witness.schedule);
        let saved = self.checkpoints.resume(&witness.schedule, observed, &mut self.state);
        let verdict = self.run(target, model, &witness.schedule, observed, saved);
        let verdict = verdict.and_then(|()| {
            let place = |event| witness.schedule.position(event);
            self.reached(target, &place).map_err(|what| whole(Why::TargetNotReached(what)))
        });
        if saved > 0 {
            self.state.clear();
        } else {
            self.clean(&witness.schedule);
        }
        verdict.map(|()| Checked { target: target.clone(), model, witness })
    }

    /// Runs all steps but those that a checkpoint saved, and keeps the state at checkpoints that are new.
    fn run(
        &mut self,
        target: &Target,
        model: Model,
        schedule: &Schedule,
        observed: usize,
        saved: usize,
    ) -> Result<(), Rejection> {
        for (event, step) in schedule.skip(saved).zip(saved + 1..) {
            let rejection = |why| Rejection { step: Some(step), event: Some(event), why };
            self.step(Some(target), model, event).map_err(rejection)?;
            let place = event.index() + 1;
            if place <= observed && place >= self.checkpoints.due() {
                self.checkpoints.pass(place, step, &self.state);
            }
        }
        Ok(())
    }

    /// Runs one event. Only reads that `target` leaves open may see another write in the data model.
    pub(crate) fn step(&mut self, target: Option<&Target>, model: Model, id: EventId) -> Result<(), Why> {
        if id.index() >= self.trace.len() {
            return Err(Why::NoSuchEvent);
        }
        if !self.relations.is_relevant(id) {
            return Err(Why::NotSchedulable);
        }
        let event = self.trace.event(id);
        let me = event.thread;
        if self.next(me) != Some(id) {
            return Err(Why::NotNext(self.next(me).filter(|_| !self.has_run(id))));
        }
        if let Some(fork) = self.unstarted(me) {
            return Err(Why::NotForked(fork));
        }
        if matches!(model, Model::Data | Model::Value)
            && let Some(read) = self.state.changed[me.index()]
        {
            return Err(Why::GoesOnAfterChangedRead(read));
        }
        let object = event.object as usize;
        match event.op {
            Op::Read => {
                let (observed, here) = (self.relations.partner(id), self.state.last_write[object]);
                if observed != here {
                    if matches!(model, Model::Data | Model::Value)
                        && !target.is_some_and(|target| free_read(target, id))
                    {
                        return Err(Why::WrongWrite { observed, here });
                    }
                    self.state.changed[me.index()].get_or_insert(id);
                }
            }
            Op::Write => self.state.last_write[object] = Some(id),
            Op::Acquire | Op::SharedAcquire => {
                let lock = &self.state.locks[object];
                let reader = lock.readers.iter().copied().find(|&t| t != me).filter(|_| event.op == Op::Acquire);
                if let Some(holder) = lock.owner.filter(|&t| t != me).or(reader) {
                    return Err(Why::LockHeld(holder, self.trace.tables().thread(holder).to_string()));
                }
                match event.op {
                    Op::Acquire => self.state.locks[object].owner = Some(me),
                    _ => self.state.locks[object].readers.push(me),
                }
            }
            Op::Release => self.state.locks[object].owner = None,
            Op::SharedRelease => self.state.locks[object].readers.retain(|&t| t != me),
            Op::Join => {
                let child = ThreadId::at(object);
                if let Some(missing) = self.unstarted(child).or(self.next(child)) {
                    return Err(Why::NotFinished(missing));
                }
            }
            Op::Wait => {
                let notify = self.relations.partner(id).filter(|&n| !self.has_run(n));
                if let Some(notify) = notify {
                    return Err(Why::NotNotified(notify));
                }
            }
            Op::Branch => {
                if let Some(read) = self.state.changed[me.index()].filter(|_| model.allows_change()) {
                    return Err(Why::BranchAfterChangedRead(read));
                }
            }
            Op::Fork | Op::Notify | Op::NotifyAll | Op::Begin | Op::End | Op::Try => {}
            Op::FailedAcquire | Op::FailedSharedAcquire | Op::FailedWait | Op::Fence => {}
        }
        self.state.done[me.index()] += 1;
        Ok(())
    }

    /// The next event of a thread.
    fn next(&self, thread: ThreadId) -> Option<EventId> {
        self.relations.thread_events(thread).get(self.state.done[thread.index()]).copied()
    }

    fn has_run(&self, event: EventId) -> bool {
        self.relations.rank(event) < self.state.done[self.trace.event(event).thread.index()]
    }

    /// The fork that a thread still waits for before its first event.
    fn unstarted(&self, thread: ThreadId) -> Option<EventId> {
        self.relations.fork_of(thread).filter(|&fork| !self.has_run(fork))
    }

    /// The event is what its started thread would do next.
    fn is_next(&self, event: EventId) -> Result<(), String> {
        let thread = self.trace.event(event).thread;
        match self.unstarted(thread) {
            Some(fork) => {
                Err(format!("event {event} is not next: its thread is forked by event {fork}, which has not run"))
            }
            None if self.next(thread) == Some(event) => Ok(()),
            None => Err(format!("event {event} is not next in its thread")),
        }
    }

    pub(crate) fn reached(&self, target: &Target, place: &dyn Fn(EventId) -> Option<usize>) -> Result<(), String> {
        let in_order = |events: &[EventId]| {
            let mut before: Option<(EventId, usize)> = None;
            for &event in events {
                let at = place(event).ok_or_else(|| format!("event {event} does not run"))?;
                if let Some((earlier, _)) = before.filter(|&(_, earlier)| earlier > at) {
                    return Err(format!("event {event} runs before event {earlier}"));
                }
                before = Some((event, at));
            }
            Ok(())
        };
        match target {
            Target::Race(a, b) => self.is_next(*a).and_then(|()| self.is_next(*b)),
            Target::UnorderedRace(..) => {
                Err("happens-before clocks do not leave the two accesses unordered".to_string())
            }
            Target::Deadlock(requests) => requests.iter().try_for_each(|&request| {
                self.is_next(request)?;
                let event = self.trace.event(request);
                let lock = &self.state.locks[event.object as usize];
                let member =
                    |t: ThreadId| t != event.thread && requests.iter().any(|&r| self.trace.event(r).thread == t);
                let blocked = lock.owner.is_some_and(member)
                    || (event.op == Op::Acquire && lock.readers.iter().any(|&t| member(t)));
                if blocked {
                    Ok(())
                } else {
                    Err(format!("no thread of the cycle holds the lock that event {request} wants"))
                }
            }),
            Target::Atomicity { first, remote, second } => {
                in_order(&[*first, *remote, *second])?;
                let last = self.state.done.iter().sum::<usize>() == place(*second).map_or(0, |at| at + 1);
                if last { Ok(()) } else { Err(format!("event {second} is not the last of the schedule")) }
            }
            Target::Sequence { events, adjacent } => {
                in_order(events)?;
                adjacent.iter().try_for_each(|(x, y)| match (place(*x), place(*y)) {
                    (Some(i), Some(j)) if j == i + 1 => Ok(()),
                    _ => Err(format!("something runs between events {x} and {y}")),
                })
            }
            Target::Nondeterminism { write, read, other } => {
                self.is_next(*read)?;
                let other_at = match other {
                    Some(c) => Some(place(*c).ok_or_else(|| format!("event {c} does not run"))?),
                    None => None,
                };
                match write.map(|w| (w, place(w))) {
                    Some((w, Some(at))) if other_at < Some(at) => {
                        Err(format!("event {w}, which the read saw, runs and is not overwritten by the other write"))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// The last write of the access's variable: what a read would see and a write would replace.
    pub(crate) fn replaced(&self, id: EventId) -> Option<EventId> {
        self.trace.event(id).variable().and_then(|x| self.state.last_write[x.index()])
    }

    /// Takes back the event that ran last; `replaced` is what [`Self::replaced`] said before it.
    pub(crate) fn step_back(&mut self, id: EventId, replaced: Option<EventId>) {
        let event = self.trace.event(id);
        let (me, object) = (event.thread, event.object as usize);
        self.state.done[me.index()] -= 1;
        match event.op {
            Op::Read if self.state.changed[me.index()] == Some(id) => self.state.changed[me.index()] = None,
            Op::Write => self.state.last_write[object] = replaced,
            Op::Acquire => self.state.locks[object].owner = None,
            Op::Release => self.state.locks[object].owner = Some(me),
            Op::SharedAcquire => self.state.locks[object].readers.retain(|&t| t != me),
            Op::SharedRelease => self.state.locks[object].readers.push(me),
            _ => {}
        }
    }

    fn clean(&mut self, schedule: &Schedule) {
        for id in schedule.iter().filter(|id| id.index() < self.trace.len()) {
            let event = self.trace.event(id);
            self.state.done[event.thread.index()] = 0;
            self.state.changed[event.thread.index()] = None;
            if let Some(lock) = event.lock() {
                self.state.locks[lock.index()] = LockState::default();
            }
            if let Some(variable) = event.variable() {
                self.state.last_write[variable.index()] = None;
            }
        }
    }
}

/// The target leaves open what this read sees.
fn free_read(target: &Target, read: EventId) -> bool {
    matches!(target, Target::Atomicity { remote, second, .. } if read == *remote || read == *second)
}
