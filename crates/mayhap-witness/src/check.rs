//! The checker: runs a schedule step by step and says which step breaks which rule.
//!
//! The rules of the steps are in `state.rs`. Then the [`Target`]'s state must be reached.
//!
//! Cost: linear in the part of the schedule that does not follow the observed run from its beginning; a [`Checker`] keeps
//! its tables between checks and cleans only what a check touched.

use mayhap_trace::{EventId, Execution, Op, ThreadId};

use crate::checkpoints::{Checkpoints, Passed};
use crate::happens_before;
use crate::state::{Rules, State};
use crate::{Model, Rejection, Schedule, Target, Why, Witness};

/// A witness that the kernel accepted: the only thing that may be called proven.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    target: Target,
    model: Model,
    witness: Witness,
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

    /// Returns the schedule.
    pub fn witness(&self) -> &Witness {
        &self.witness
    }
}

/// The state after the first steps of the observed run, from which the checker may go on.
///
/// Only the checker makes one, of the state that its own steps led to. No thread is changed in it, so it depends neither on
/// the model nor on the target.
struct Snapshot {
    /// The relevant events before this place of the trace have run, and no others.
    place: usize,
    /// How many those are.
    steps: usize,
    state: State,
}

impl Passed for Snapshot {
    fn place(&self) -> usize {
        self.place
    }
}

impl Snapshot {
    /// The schedule begins with the steps of the snapshot. `observed` is how far it begins as the observed run did.
    fn begins(&self, schedule: &Schedule, observed: usize) -> bool {
        let before = schedule.ranges().take_while(|range| range.start < self.place);
        let steps: usize = before.map(|range| range.end.min(self.place) - range.start).sum();
        // No relevant event is missing, and there are as many steps as relevant events: no other is among them.
        self.place <= observed && steps == self.steps
    }
}

/// Checks witnesses of one trace.
///
/// It takes an [`Execution`], whose relations are those of its own trace. A trace and the relations of another one do not
/// compile:
///
/// ```compile_fail,E0061
/// # use mayhap_trace::{Relations, Trace};
/// # use mayhap_witness::Checker;
/// let (trace, other) = (Trace::default(), Trace::default());
/// let relations = Relations::derive(&other).unwrap();
/// let checker = Checker::new(&trace, &relations);
/// ```
pub struct Checker<'a> {
    pub(crate) rules: Rules<'a>,
    pub(crate) state: State,
    checkpoints: Checkpoints<Snapshot>,
}

impl<'a> Checker<'a> {
    /// Creates a checker for a trace and what follows from it.
    pub fn new(execution: &'a Execution<'a>) -> Self {
        let trace = execution.trace();
        let state = State::new(trace);
        let checkpoints = Checkpoints::new(trace.len(), state.bytes());
        Checker { rules: Rules::new(execution), checkpoints, state }
    }

    /// Accepts the witness, or says what is wrong with it.
    pub fn check(&mut self, target: &Target, model: Model, witness: Witness) -> Result<Checked, Rejection> {
        let whole = |why| Rejection { step: None, event: None, why };
        target.validate(self.rules.execution).map_err(|e| whole(Why::BadTarget(e)))?;
        let schedule = &witness.schedule;
        let (observed, saved) = self.begin(schedule);
        let verdict = self.run(target, model, schedule, observed, saved).and_then(|()| {
            let place = |event| schedule.position(event);
            let reached = reached(&self.rules, &self.state, target, &place, |step| schedule.skip(step));
            reached.map_err(|what| whole(Why::TargetNotReached(what)))
        });
        self.end(schedule, saved);
        verdict.map(|()| Checked { target: target.clone(), model, witness })
    }

    /// Takes the state after the first steps of a schedule from a checkpoint. Returns how far the schedule begins as the observed
    /// run did, and how many steps those are.
    pub(crate) fn begin(&mut self, schedule: &Schedule) -> (usize, usize) {
        let observed = self.observed(schedule);
        let snapshot = self.checkpoints.last_before(observed).filter(|snapshot| snapshot.begins(schedule, observed));
        let saved = snapshot.map_or(0, |snapshot| {
            self.state.restore(&snapshot.state);
            snapshot.steps
        });
        (observed, saved)
    }

    /// Makes the state that of the empty schedule again.
    pub(crate) fn end(&mut self, schedule: &Schedule, saved: usize) {
        self.state.clear(self.rules.trace, schedule.skip(saved));
    }

    /// Runs all steps but the first `saved`, and offers the states on the observed way to the checkpoints.
    fn run(
        &mut self,
        target: &Target,
        model: Model,
        schedule: &Schedule,
        observed: usize,
        saved: usize,
    ) -> Result<(), Rejection> {
        let free = target.free_reads();
        for (event, step) in schedule.skip(saved).zip(saved + 1..) {
            let rejection = |why| Rejection { step: Some(step), event: Some(event), why };
            self.rules.step(&mut self.state, model, &free, event).map_err(rejection)?;
            let place = event.index() + 1;
            if place <= observed && self.checkpoints.is_due(place) && self.state.changed.iter().all(Option::is_none) {
                self.checkpoints.keep(Snapshot { place, steps: step, state: self.state.saved(place) });
            }
        }
        Ok(())
    }

    /// How far the schedule begins as the observed run did: no relevant event before this place of the trace is missing,
    /// and none comes out of turn.
    fn observed(&self, schedule: &Schedule) -> usize {
        let trace = self.rules.trace;
        let mut place = 0;
        for range in schedule.ranges() {
            while place < range.start.min(trace.len()) && !self.rules.relations.is_relevant(EventId::at(place)) {
                place += 1;
            }
            if place != range.start {
                return place;
            }
            place = range.end;
        }
        place
    }
}

/// The event is what its started thread would do next.
fn is_next(rules: &Rules<'_>, state: &State, event: EventId) -> Result<(), String> {
    let thread = rules.trace.event(event).thread;
    match rules.unstarted(state, thread) {
        Some(fork) => {
            Err(format!("event {event} is not next: its thread is forked by event {fork}, which has not run"))
        }
        None if rules.next(state, thread) == Some(event) => Ok(()),
        None => Err(format!("event {event} is not next in its thread")),
    }
}

/// The events run in this order.
fn in_order(place: &dyn Fn(EventId) -> Option<usize>, events: &[EventId]) -> Result<(), String> {
    let mut before: Option<(EventId, usize)> = None;
    for &event in events {
        let at = place(event).ok_or_else(|| format!("event {event} does not run"))?;
        if let Some((earlier, _)) = before.filter(|&(_, earlier)| earlier > at) {
            return Err(format!("event {event} runs before event {earlier}"));
        }
        before = Some((event, at));
    }
    Ok(())
}

/// A thread of the cycle holds the lock that the acquire waits for.
fn is_blocked(rules: &Rules<'_>, state: &State, requests: &[EventId], request: EventId) -> Result<(), String> {
    let event = rules.trace.event(request);
    let lock = &state.locks[event.object as usize];
    let member = |t: ThreadId| t != event.thread && requests.iter().any(|&r| rules.trace.event(r).thread == t);
    let by_reader = event.op == Op::Acquire && lock.readers.iter().any(|&t| member(t));
    if by_reader || lock.owner.is_some_and(member) {
        Ok(())
    } else {
        Err(format!("no thread of the cycle holds the lock that event {request} wants"))
    }
}

/// The state is the target's, or why it is not. `place` and `since` are of the schedule that led to it: the step of an event, and
/// the events from a step on.
pub(crate) fn reached<I: Iterator<Item = EventId>>(
    rules: &Rules<'_>,
    state: &State,
    target: &Target,
    place: &dyn Fn(EventId) -> Option<usize>,
    since: impl FnOnce(usize) -> I,
) -> Result<(), String> {
    match target {
        Target::Race(a, b) => is_next(rules, state, *a).and_then(|()| is_next(rules, state, *b)),
        Target::UnorderedRace(a, b) => {
            let runs = |event| place(event).ok_or_else(|| format!("event {event} does not run"));
            let first = runs(*a)?.min(runs(*b)?);
            if happens_before::unordered(rules, state, since(first), (*a, *b)) {
                Ok(())
            } else {
                Err(format!("one of events {a} and {b} happens before the other"))
            }
        }
        Target::UseAfterFree { free, access } => {
            place(*free).ok_or_else(|| format!("event {free} does not run"))?;
            is_next(rules, state, *access)
        }
        Target::Deadlock(requests) => requests.iter().try_for_each(|&request| {
            is_next(rules, state, request)?;
            is_blocked(rules, state, requests, request)
        }),
        Target::Atomicity { first, remote, second } => {
            in_order(place, &[*first, *remote, *second])?;
            let steps = state.done.iter().map(|&n| n as usize).sum::<usize>();
            let is_last = place(*second).is_some_and(|at| at + 1 == steps);
            if is_last { Ok(()) } else { Err(format!("event {second} is not the last of the schedule")) }
        }
        Target::Sequence { events, adjacent } => {
            in_order(place, events)?;
            adjacent.iter().try_for_each(|(x, y)| match (place(*x), place(*y)) {
                (Some(i), Some(j)) if j == i + 1 => Ok(()),
                _ => Err(format!("something runs between events {x} and {y}")),
            })
        }
        Target::Nondeterminism { write, read, other } => {
            is_next(rules, state, *read)?;
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
