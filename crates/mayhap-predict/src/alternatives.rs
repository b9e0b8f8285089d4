//! The search over what could be served in more than one way: which write of an equal value a read sees, which notify wakes
//! a wait, which section an attempt to lock failed by.
//!
//! It begins with all of these open: a read of a value that several writes wrote may see anything, a wait returns at any
//! time, a failed attempt fails anywhere. That is a relaxation, so if the solver refutes it, nothing reaches the target. If
//! the solver finds a schedule, the kernel judges it. If the kernel accepts, that is the proof; if not, it names one event
//! that is not served there, and the search tries the ways to serve that event, one after the other, the observed one
//! first, then those near to it in the trace. Each way is a [`Repair`]: constraints that the schedule just found breaks, and
//! of which every correct reordering with that event keeps one. So the search is exact: what is refuted in all ways is
//! refuted. It ends because a read that was repaired is served from then on, and because each other repair orders two
//! events that were ordered the other way round, or adds one.
//!
//! A refutation seldom uses all that was settled before it. What it uses is found out by asking again with less, and the search
//! goes back to the latest repair that matters (conflict-directed backjumping, Prosser 1993).
//!
//! Only events that a schedule in fact got wrong are ever decided, which are few: the rest falls into place because the
//! solver stays close to the observed order.
//!
//! The definitions are those of the kernel. A read (in the models that compare values) is the same if it sees any clean
//! write of an equal value. A wait for a condition variable needs a notify that runs after the event before the wait, and a
//! notify of one serves one wait. A semaphore needs as many notifies, with its initial count, as waits. A token needs a notify
//! since the last wait. A failed lock attempt falls into a section of its lock; a failed attempt at a semaphore or token
//! comes where there is nothing to take.
//!
//! Where many ways were tried, the states that can be reached are searched instead ([`crate::states`]), if they are few enough.
//!
//! Cost: one solve a repair, so exponential in the events that are decided, bounded by the budget.

use mayhap_trace::{ConditionKind, EventId, Op, ThreadId, VarId};
use mayhap_witness::{Model, Rejection, Schedule, Why};

use crate::budget::{Remaining, Spent};
use crate::context::Context;
use crate::demands::Pairing;
use crate::judge::Judge;
use crate::problem::{Problem, Repair, Supplier};
use crate::slice::Query;
use crate::solver::{Solved, Solver};
use crate::states::{Reached, States};
use crate::verdict::{Refutation, Rung};

/// Repairs that are tried before it is asked which of them refutations use: most searches end before.
const EASY: u64 = 8;
/// Questions that one refutation may take to find out which repairs it uses.
const ATTEMPTS: u32 = 24;
/// Decisions that such a question may take.
const LITTLE: u64 = 50;
/// Events that a search over states runs for what a node costs.
const STEPS: u64 = 4;

/// The repairs that are left to try at one event.
struct Level {
    /// The next one last.
    left: Vec<Repair>,
    /// Places of earlier repairs that the refutations of those tried use.
    used: Vec<usize>,
}

/// The way to where the search is: the problem has one repair of each level.
#[derive(Default)]
struct Levels(Vec<Level>);

impl Levels {
    /// Adds a level for an event that is not served. Returns what to go on with, as [`Levels::next`] takes it.
    fn open(&mut self, problem: &Problem, mut ways: Vec<Repair>) -> Vec<usize> {
        ways.reverse();
        let all = problem.repairs.iter().enumerate();
        // Which ways there are may depend on what is settled about the same event.
        let event = ways.first().map(|way| way.event);
        let used = all.filter(|(_, r)| event.is_none_or(|event| r.event == event)).map(|(place, _)| place).collect();
        self.0.push(Level { left: ways, used });
        vec![self.0.len() - 1]
    }

    /// The next repair after a refutation that used the repairs at these places, which the problem then lacks. `None` if all
    /// ways are refuted.
    ///
    /// A level whose repair was not used is left at once: its other ways are refuted as well. A level without further ways is
    /// refuted by what the refutations of all its ways used: a reordering that keeps those repairs either has the event, and
    /// keeps one of the ways, or has it not, and keeps them all.
    fn next(&mut self, problem: &mut Problem, mut used: Vec<usize>) -> Option<Repair> {
        loop {
            let place = self.0.len().checked_sub(1)?;
            problem.repairs.truncate(place);
            let level = &mut self.0[place];
            if used.contains(&place) {
                level.used.extend(used.into_iter().filter(|&earlier| earlier != place));
                level.used.sort_unstable();
                level.used.dedup();
                if let Some(repair) = level.left.pop() {
                    return Some(repair);
                }
                used = std::mem::take(&mut level.used);
            }
            self.0.pop();
        }
    }
}

impl Solver<'_, '_> {
    /// Searches for a schedule that the judge accepts, over all ways to serve reads, waits and failed attempts.
    pub(crate) fn search_alternatives(
        &mut self,
        query: &Query,
        model: Model,
        remaining: &mut Remaining,
        judge: &mut dyn Judge,
    ) -> Solved {
        let mut problem = Problem::new(self.context, query, model, Pairing::Open);
        let mut levels = Levels::default();
        let mut first: Option<Refutation> = None;
        let mut tried = 0;
        let mut attempt_may_succeed = false;
        loop {
            let used = match self.solve_problem(&problem, query, remaining) {
                Solved::Refuted(refutation) => {
                    first.get_or_insert(refutation);
                    self.explain_repairs(&problem, query, remaining, tried)
                }
                Solved::Schedule(schedule, rung) => match judge.judge(&schedule) {
                    Ok(()) => return Solved::Schedule(schedule, rung),
                    Err(rejection) => {
                        attempt_may_succeed |= self.may_succeed_unnoticed(model, &rejection);
                        let Some(repairs) = self.ways_to_serve(&problem, &schedule, &rejection, judge) else {
                            return Solved::Rejected(rejection);
                        };
                        levels.open(&problem, repairs)
                    }
                },
                unsolved => return unsolved,
            };
            let Some(repair) = levels.next(&mut problem, used) else {
                return match attempt_may_succeed {
                    true => Solved::Spent(Spent::Attempt),
                    false => Solved::Refuted(exhausted(first, tried)),
                };
            };
            problem.repairs.push(repair);
            tried += 1;
            if tried == self.ways
                && let Some(solved) = self.search_states(query, model, remaining, judge)
            {
                return solved;
            }
            if let Err(spent) = remaining.pay_for(1 + self.graph.len() as u64) {
                return Solved::Spent(spent);
            }
        }
    }

    /// Searches over the states that can be reached instead; `None` if there are too many.
    fn search_states(
        &mut self,
        query: &Query,
        model: Model,
        remaining: &mut Remaining,
        judge: &mut dyn Judge,
    ) -> Option<Solved> {
        if self.states.as_ref().is_none_or(|states| states.model() != model) {
            self.states = States::new(self.context, model).map(Box::new);
        }
        let states = self.states.as_mut()?;
        let before = states.steps;
        let reached = states.search(query, judge);
        let cost = (states.steps - before) / STEPS;
        self.counts.work += cost;
        // With nothing left, the search goes on to its end at the next repair.
        let _ = remaining.pay_for(cost);
        match reached {
            Reached::Schedule(schedule) => Some(Solved::Schedule(schedule, Rung::Search)),
            Reached::Nothing(states) => {
                let reason = format!("none of the {states} states that the threads can reach is the target's");
                Some(Solved::Refuted(Refutation {
                    rung: Rung::Search,
                    reason,
                    cycle: Vec::new(),
                    premises: Vec::new(),
                }))
            }
            Reached::NothingButAttempts => Some(Solved::Spent(Spent::Attempt)),
            Reached::Open => None,
        }
    }

    /// Repairs of a refuted problem that refute it by themselves, by their places: few, where that is cheap to find out. The
    /// last one is always among them, since without it there was a schedule.
    fn explain_repairs(
        &mut self,
        problem: &Problem,
        query: &Query,
        remaining: &mut Remaining,
        tried: u64,
    ) -> Vec<usize> {
        let last = problem.repairs.len().saturating_sub(1);
        let mut used: Vec<usize> = (0..problem.repairs.len()).collect();
        if tried < EASY {
            return used;
        }
        // Halves first, then quarters: most repairs have nothing to do with it.
        let mut size = last.div_ceil(2);
        let mut attempts = ATTEMPTS;
        while size > 0 {
            let mut at = 0;
            while at < used.len().saturating_sub(1) && attempts > 0 {
                let part = at..(at + size).min(used.len() - 1);
                let rest: Vec<usize> =
                    used.iter().enumerate().filter(|(i, _)| !part.contains(i)).map(|(_, &place)| place).collect();
                attempts -= 1;
                if remaining.pay_for(1 + self.graph.len() as u64).is_ok() && self.refutes(problem, query, &rest) {
                    used = rest;
                } else {
                    at = part.end;
                }
            }
            size = if attempts == 0 || size == 1 { 0 } else { size.div_ceil(2) };
        }
        used
    }

    /// These repairs of a problem refute it, which takes no search to see.
    fn refutes(&mut self, problem: &Problem, query: &Query, places: &[usize]) -> bool {
        let repairs = places.iter().map(|&place| problem.repairs[place].clone()).collect();
        let mut problem = problem.clone();
        problem.repairs = repairs;
        let mut little = Remaining::decisions(LITTLE, u32::MAX);
        matches!(self.solve_problem(&problem, query, &mut little), Solved::Refuted(_))
    }

    /// The ways to serve the event that a schedule does not serve; `None` if the schedule is wrong in another way.
    fn ways_to_serve(
        &self,
        problem: &Problem,
        schedule: &Schedule,
        rejection: &Rejection,
        judge: &mut dyn Judge,
    ) -> Option<Vec<Repair>> {
        let event = match rejection.why {
            Why::BranchAfterChangedRead(_) => self.first_changed(schedule, judge)?,
            // A read that the target would leave free, if its thread did not go on.
            Why::GoesOnAfterChangedRead(read) => read,
            Why::WrongWrite { .. } | Why::AttemptMaySucceed | Why::NoWakeUp | Why::NothingToTake => rejection.event?,
            _ => return None,
        };
        let place = schedule.position(event)?;
        let ways = Ways { problem, context: problem.context, schedule, event, place };
        match problem.context.trace.event(event).op {
            Op::Read => ways.of_read(),
            Op::FailedAcquire | Op::FailedSharedAcquire => Some(ways.of_failed_acquire()),
            Op::FailedWait => ways.of_failed_wait(),
            Op::Wait => ways.of_wait(),
            _ => None,
        }
    }

    /// An attempt that failed in the trace may succeed here, and nothing that its thread does later depends on that. The program
    /// could go on this way, holding what it took, but no schedule of the trace's events says so.
    fn may_succeed_unnoticed(&self, model: Model, rejection: &Rejection) -> bool {
        let is_strict = |event| self.context.rank(event) < self.region.strict[self.context.thread(event)];
        rejection.why == Why::AttemptMaySucceed
            && matches!(model, Model::Branch | Model::Causal)
            && !rejection.event.is_some_and(is_strict)
    }

    /// The first event that changes its thread although it must not. What it reads is clean, since changes that come
    /// earlier were allowed to be; so it is this event that is not served, not one before it.
    fn first_changed(&self, schedule: &Schedule, judge: &mut dyn Judge) -> Option<EventId> {
        judge.first_change(schedule, &|event| self.context.rank(event) < self.region.strict[self.context.thread(event)])
    }
}

/// Returns the refutation of all ways. Without any, the first one is of the relaxation and says it all.
fn exhausted(first: Option<Refutation>, tried: u64) -> Refutation {
    let mut refutation = first.unwrap_or_else(|| Refutation {
        rung: Rung::Search,
        reason: "an event can be served in no way".to_string(),
        cycle: Vec::new(),
        premises: Vec::new(),
    });
    if tried > 0 {
        refutation.rung = Rung::Search;
        refutation.reason = format!(
            "no order exists in any of {tried} ways to serve reads, waits and failed attempts; in the first, {}",
            refutation.reason
        );
    }
    refutation
}

/// An event that is not served at its place of a schedule.
struct Ways<'w, 'c, 'a> {
    problem: &'w Problem<'c, 'a>,
    context: &'c Context<'a>,
    schedule: &'w Schedule,
    event: EventId,
    place: usize,
}

impl Ways<'_, '_, '_> {
    fn must(&self, a: EventId, b: EventId) -> bool {
        self.context.relations.ordered(self.context.trace, a, b)
    }

    /// How far away in the trace another event is.
    fn distance(&self, other: EventId) -> usize {
        other.index().abs_diff(self.event.index())
    }

    /// Every clean write of an equal value that could be the last before the read.
    fn of_read(&self) -> Option<Vec<Repair>> {
        let (context, read) = (self.context, self.event);
        let repaired = self.problem.repairs.iter().any(|r| r.event == read);
        if repaired || !self.problem.model.compares_values() || !context.values().is_open(read) {
            return None;
        }
        let observed = context.relations.read_from(read);
        let (writes, initial) = context.values().equals(context.execution, read);
        let mut writes: Vec<EventId> = writes.filter(|&w| Some(w) != observed && self.could_see(w)).collect();
        writes.sort_by_key(|&w| self.distance(w));
        let mut suppliers = vec![observed.map_or(Supplier::Initial, Supplier::Write)];
        suppliers.extend(writes.into_iter().map(Supplier::Write));
        if initial && observed.is_some() && self.could_see_initial() {
            suppliers.push(Supplier::Initial);
        }
        let repair = |supplier| Repair { supplier: Some(supplier), ..Repair::of(read, true) };
        Some(suppliers.into_iter().map(repair).collect())
    }

    fn variable(&self) -> VarId {
        VarId::at(self.context.trace.event(self.event).object as usize)
    }

    /// Must-order does not keep the read from seeing a write.
    fn could_see(&self, write: EventId) -> bool {
        let (context, read) = (self.context, self.event);
        let (reader, writer) = (context.thread(read), context.thread(write));
        if self.must(read, write) {
            return false;
        }
        context.accesses.writes_of(self.variable()).all(|(thread, writes)| {
            if thread.index() == reader {
                let own = writes[..writes.partition_point(|&w| context.rank(w) < context.rank(read))].last();
                own.is_none_or(|&own| own == write || (writer != reader && !self.must(write, own)))
            } else if thread.index() == writer {
                let next = writes.get(writes.partition_point(|&w| context.rank(w) <= context.rank(write)));
                next.is_none_or(|&next| !self.must(next, read))
            } else {
                true
            }
        })
    }

    fn could_see_initial(&self) -> bool {
        let mut writes = self.context.accesses.writes_of(self.variable());
        writes.all(|(_, writes)| !self.must(writes[0], self.event))
    }

    /// A section of the lock that the attempt falls into.
    fn of_failed_acquire(&self) -> Vec<Repair> {
        let event = self.context.trace.event(self.event);
        let Some(lock) = event.lock() else { return Vec::new() };
        let exclusive_only = event.op == Op::FailedSharedAcquire;
        let mut repairs = Vec::new();
        for section in self.context.sections.of_lock(lock).flatten() {
            let release = self.context.relations.matching_release(section.acquire);
            let excluded = section.thread == event.thread
                || (section.shared && exclusive_only)
                || self.must(self.event, section.acquire)
                || release.is_some_and(|release| self.must(release, self.event));
            if !excluded {
                let edges = release.map(|release| (self.event, release)).into_iter().collect();
                repairs.push(Repair { before: Some(section.acquire), edges, ..Repair::of(self.event, false) });
            }
        }
        repairs.sort_by_key(|r| r.before.map(|acquire| self.distance(acquire)));
        repairs
    }

    /// The waits and notifies of the event's condition: in the schedule before the event's place, and all others.
    fn signals(&self) -> (Vec<EventId>, Vec<EventId>) {
        let condition = self.context.trace.event(self.event).object;
        let of_condition = |e: &EventId| {
            let event = self.context.trace.event(*e);
            event.object == condition && (event.op == Op::Wait || event.op.is_notify())
        };
        let before: Vec<EventId> = self.schedule.iter().take(self.place).filter(of_condition).collect();
        let all = self.context.signals_of(condition as usize).iter();
        let others = all.filter(|e| **e != self.event && !before.contains(e));
        let mut others: Vec<EventId> = others.copied().collect();
        others.sort_by_key(|&e| self.distance(e));
        (before, others)
    }

    fn is_notify(&self, event: EventId) -> bool {
        self.context.trace.event(event).op.is_notify()
    }

    fn kind(&self) -> ConditionKind {
        self.context.trace.tables().condition_kinds.get(self.context.trace.event(self.event).object as usize)
    }

    fn of_wait(&self) -> Option<Vec<Repair>> {
        match self.kind() {
            ConditionKind::Condition => self.of_condition_wait(),
            ConditionKind::Semaphore { .. } => Some(self.of_semaphore_wait()),
            ConditionKind::Token => self.of_token_wait(),
            _ => None,
        }
    }

    fn is_repaired(&self, event: EventId) -> bool {
        self.problem.repairs.iter().any(|r| r.event == event)
    }

    /// A notify that runs after the wait began. If the wait has one, another wait took it, and that one is to be settled.
    fn of_condition_wait(&self) -> Option<Vec<Repair>> {
        let (before, others) = self.signals();
        if self.is_repaired(self.event) {
            let thief = before.iter().copied().find(|&e| !self.is_notify(e) && !self.is_repaired(e))?;
            let place = self.schedule.position(thief)?;
            return Ways { event: thief, place, ..*self }.of_condition_wait();
        }
        let (thread, rank) = (self.context.thread(self.event), self.context.rank(self.event));
        let began = match rank {
            0 => self.context.relations.fork_of(ThreadId::at(thread)),
            _ => Some(self.context.event_at(thread, rank - 1)),
        };
        let mut notifies: Vec<EventId> = before.into_iter().chain(others).filter(|&e| self.is_notify(e)).collect();
        notifies.retain(|&n| !self.must(self.event, n) && began.is_none_or(|began| began != n && !self.must(n, began)));
        let observed = self.context.relations.notify_of(self.event);
        notifies.sort_by_key(|&n| (Some(n) != observed, self.distance(n)));
        let repair = |notify: EventId| Repair {
            before: Some(notify),
            edges: began.map(|began| (began, notify)).into_iter().collect(),
            takes: (self.context.trace.event(notify).op == Op::Notify).then_some(notify),
            ..Repair::of(self.event, false)
        };
        Some(notifies.into_iter().map(repair).collect())
    }

    /// One more notify before the wait, or one wait less.
    fn of_semaphore_wait(&self) -> Vec<Repair> {
        let (before, others) = self.signals();
        let more = others.into_iter().filter(|&n| self.is_notify(n) && !self.must(self.event, n));
        let less = before.into_iter().filter(|&w| !self.is_notify(w) && !self.must(w, self.event));
        let more = more.map(|notify| Repair { before: Some(notify), ..Repair::of(self.event, false) });
        let less = less.map(|wait| Repair { edges: vec![(self.event, wait)], ..Repair::of(self.event, false) });
        more.chain(less).collect()
    }

    /// The notify that set the token. If that is settled, a wait took it in between, and comes before or after both.
    fn of_token_wait(&self) -> Option<Vec<Repair>> {
        let (before, others) = self.signals();
        let set = self.problem.repairs.iter().find(|r| r.event == self.event).and_then(|r| r.before);
        if let Some(notify) = set {
            let after = before.iter().position(|&e| e == notify)?;
            let taker = before[after..].iter().copied().find(|&e| !self.is_notify(e))?;
            let edges = [(taker, notify), (self.event, taker)];
            let possible = edges.into_iter().filter(|&(x, y)| !self.must(y, x));
            return Some(possible.map(|e| Repair { edges: vec![e], ..Repair::of(self.event, false) }).collect());
        }
        let mut notifies: Vec<EventId> = before.into_iter().chain(others).filter(|&e| self.is_notify(e)).collect();
        notifies.retain(|&n| !self.must(self.event, n));
        let observed = self.context.relations.notify_of(self.event);
        notifies.sort_by_key(|&n| (Some(n) != observed, self.distance(n)));
        Some(notifies.into_iter().map(|n| Repair { before: Some(n), ..Repair::of(self.event, false) }).collect())
    }

    /// One notify less before the attempt, or one more wait.
    fn of_failed_wait(&self) -> Option<Vec<Repair>> {
        let (before, others) = self.signals();
        let later = |notify: EventId| Repair { edges: vec![(self.event, notify)], ..Repair::of(self.event, false) };
        let mut repairs: Vec<Repair> = Vec::new();
        match self.kind() {
            ConditionKind::Semaphore { .. } => {
                let less = before.iter().copied().filter(|&n| self.is_notify(n) && !self.must(n, self.event));
                repairs.extend(less.map(later));
                let more = others.into_iter().filter(|&w| !self.is_notify(w) && !self.must(self.event, w));
                repairs.extend(more.map(|wait| Repair { before: Some(wait), ..Repair::of(self.event, false) }));
            }
            ConditionKind::Token => {
                let set = before.iter().copied().rfind(|&e| self.is_notify(e))?;
                if !self.must(set, self.event) {
                    repairs.push(later(set));
                }
                let waits = before.into_iter().chain(others).filter(|&w| !self.is_notify(w));
                let between = waits.filter(|&w| !self.must(self.event, w) && !self.must(w, set));
                repairs.extend(between.map(|wait| {
                    let edges = vec![(set, wait)];
                    Repair { before: Some(wait), edges, ..Repair::of(self.event, false) }
                }));
            }
            _ => return None,
        }
        Some(repairs)
    }
}
