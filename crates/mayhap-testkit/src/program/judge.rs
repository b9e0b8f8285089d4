//! Is what is said of a recorded run true of the program?
//!
//! *Proven* must be shown by an execution of the program. The schedule that comes with it is forced onto the program; if
//! that goes wrong, all executions are searched, to tell a wrong schedule from a wrong claim.
//! *Refuted* must not be reached by an execution that the recorded run shows to be possible ([`Rules::Feasible`]).

use std::cell::OnceCell;

use mayhap_trace::{EventId, Op};
use mayhap_witness::Target;

use super::explore::explore;
use super::facts::{Facts, Side, sorted};
use super::follow::{Failed, Rules};
use super::interpreter::Machine;
use super::lower::Lowered;
use super::recording::Recording;
use super::replay::Replay;

/// Judges verdicts on one recorded run.
pub struct ProgramJudge<'a> {
    machine: &'a Machine,
    recording: &'a Recording,
    lowered: &'a Lowered,
    feasible: Facts,
    limit: usize,
    along: OnceCell<Result<Facts, Failed>>,
    lucky: OnceCell<Result<Facts, Failed>>,
}

/// What a claim that a target can be reached is worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The schedule shows it.
    Shown,
    /// The schedule does not show it, for this reason, but another execution does.
    OtherSchedule(String),
    /// No execution shows it; why the schedule does not.
    False(String),
    /// There are too many executions to tell.
    TooBig,
}

impl<'a> ProgramJudge<'a> {
    /// A judge for one recorded run; explores at most `limit` states.
    pub fn new(
        machine: &'a Machine,
        recording: &'a Recording,
        lowered: &'a Lowered,
        limit: usize,
    ) -> Result<Self, Failed> {
        let feasible = explore(machine, Rules::Feasible(recording), true, limit)?;
        let (along, lucky) = (OnceCell::new(), OnceCell::new());
        Ok(ProgramJudge { machine, recording, lowered, feasible, limit, along, lucky })
    }

    /// The same judge for another trace of the same run.
    pub fn of_trace(mut self, lowered: &'a Lowered) -> Self {
        self.lowered = lowered;
        self
    }

    /// What the executions show that the recorded run shows to be possible. Names are recorded steps.
    pub fn feasible(&self) -> &Facts {
        &self.feasible
    }

    /// Judges the claim that this schedule reaches the target.
    pub fn proven(&self, target: &Target, schedule: impl Iterator<Item = EventId>) -> Claim {
        let schedule: Vec<usize> = schedule.map(EventId::index).collect();
        let finishes = matches!(target, Target::UnorderedRace(..));
        let replay = Replay::run(self.machine, self.recording, self.lowered, &schedule, finishes);
        let why = match replay.and_then(|replay| self.reached(&replay, target)) {
            Ok(()) => return Claim::Shown,
            Err(why) => why,
        };
        let along = self.along.get_or_init(|| explore(self.machine, Rules::Along(self.recording), true, self.limit));
        match along {
            Err(_) => Claim::TooBig,
            Ok(facts) if self.holds(facts, target) == Some(false) => Claim::False(why),
            Ok(_) => Claim::OtherSchedule(why),
        }
    }

    /// Judges the claim that the target cannot be reached: false if an execution reaches it that the recorded run shows to
    /// be possible. Of violations of atomicity and of order nothing is known.
    pub fn refuted(&self, target: &Target) -> bool {
        self.holds(&self.feasible, target) != Some(true)
    }

    /// Some execution reaches the target in which every value that a thread decides by happens to be the recorded one.
    /// None if that is not known.
    pub fn is_lucky(&self, target: &Target) -> Option<bool> {
        let lucky = self.lucky.get_or_init(|| explore(self.machine, Rules::Lucky(self.recording), true, self.limit));
        lucky.as_ref().ok().and_then(|facts| self.holds(facts, target))
    }

    fn step(&self, event: EventId) -> u32 {
        self.lowered.origins[event.index()].step().expect("targets name no branches")
    }

    fn side(&self, event: EventId) -> Side {
        (self.step(event), self.lowered.trace.event(event).op == Op::Write)
    }

    /// Some of the executions reach the target, if that is known.
    fn holds(&self, facts: &Facts, target: &Target) -> Option<bool> {
        let holds = match target {
            Target::Race(a, b) => facts.both_next.contains(&sorted(self.side(*a), self.side(*b))),
            Target::UnorderedRace(a, b) => facts.unordered.contains(&sorted(self.side(*a), self.side(*b))),
            Target::Deadlock(requests) => {
                let mut steps: Vec<u32> = requests.iter().map(|&request| self.step(request)).collect();
                steps.sort_unstable();
                facts.deadlocks.contains(&steps)
            }
            Target::Nondeterminism { read, other, .. } => {
                let pair = (self.step(*read), other.map(|other| self.step(other)));
                facts.last_writes.contains(&pair) || facts.displaced.contains(&pair)
            }
            Target::UseAfterFree { .. } | Target::Atomicity { .. } | Target::Sequence { .. } => return None,
        };
        Some(holds)
    }

    /// The state that a schedule led to is the target's.
    fn reached(&self, replay: &Replay<'_>, target: &Target) -> Result<(), String> {
        let next = |event: EventId| {
            let step = self.step(event);
            let thread = self.recording.steps[step as usize].thread;
            let is_there = replay.next(thread) == Some(step) && {
                let recorded = &self.recording.steps[step as usize];
                let next = self.machine.next(&replay.state, thread);
                next.is_some_and(|next| (next.site, next.part) == (recorded.site, recorded.part))
            };
            if is_there { Ok(thread) } else { Err(format!("event {event} is not next")) }
        };
        let fail = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_string()) };
        match target {
            Target::Race(a, b) => {
                let touch = |event: EventId| {
                    let touch = self.machine.touch(&replay.state, next(event)?).ok_or("the next step is no access")?;
                    let write = self.lowered.trace.event(event).op == Op::Write;
                    fail(if write { touch.writes } else { touch.reads }, "the access would do something else")?;
                    Ok::<_, String>(touch)
                };
                let (first, second) = (touch(*a)?, touch(*b)?);
                fail(first.cell == second.cell && !(first.atomic && second.atomic), "the accesses do not conflict")
            }
            Target::UnorderedRace(a, b) => {
                fail(replay.unordered.contains(&sorted(self.side(*a), self.side(*b))), "the accesses are ordered")
            }
            Target::Deadlock(requests) => {
                let threads = requests.iter().map(|&request| next(request)).collect::<Result<Vec<_>, _>>()?;
                let kept = |thread: &usize| {
                    let request = self.machine.request(&replay.state, *thread);
                    request.is_some_and(|(lock, shared)| {
                        let mut holders = replay.state.locks[lock].against(shared);
                        holders.any(|holder| holder != *thread && threads.contains(&holder))
                    })
                };
                fail(threads.iter().all(kept), "a thread does not wait for the others")
            }
            Target::Nondeterminism { write, read, .. } => {
                let touch = self.machine.touch(&replay.state, next(*read)?).ok_or("the next step is no access")?;
                let saw = write.map(|write| self.step(write));
                fail(replay.last_write(touch.cell) != saw, "the read would see what it saw")
            }
            // That the free has run is plain from the schedule.
            Target::UseAfterFree { access, .. } => next(*access).map(drop),
            // That the events run in the wanted order is plain from the schedule.
            Target::Atomicity { .. } | Target::Sequence { .. } => Ok(()),
        }
    }
}
