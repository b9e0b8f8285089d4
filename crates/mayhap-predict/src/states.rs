//! The search over states: what the threads can reach, by running them step by step under the rules of the kernel.
//!
//! The search over ways ([`crate::alternatives`]) settles one read after the other, which is best where few reads matter. Words
//! that are counted up and down, lists that are changed by compare-exchange and locks that hand themselves on are read all the
//! time, in many ways that are equal in the end. What matters there is the state: how far each thread has run, which threads are
//! changed, and what lies in the variables that are still read. Schedules that lead to the same state are one here, so small
//! traces have few.
//!
//! It is exact. Each step is judged by the kernel's rules; two states with the same key allow the same schedules from there on;
//! a step that commutes with all that other threads can still do is run at once ([`crate::commuting`]); and what leaves the least
//! cut of the query out of reach is left. So if all states were seen, and none is the target's, nothing reaches the target.
//!
//! Cost: O(threads + variables) a state, bounded by [`STATES`] and the events of the trace.

use hashbrown::HashSet;
use mayhap_trace::{EventId, Op, ThreadId, VarId};
use mayhap_witness::{IncrementalChecker, KnownValues, Model, Schedule, Why};

use crate::commuting::{Commuting, Progress};
use crate::context::Context;
use crate::demands::Pairing;
use crate::judge::Judge;
use crate::problem::Problem;
use crate::slice::{Query, Slice};

/// The most states that one question looks at.
const STATES: usize = 20_000;
/// Traces of more events have too many states.
const EVENTS: usize = 1 << 16;

/// How a search over states ended.
pub(crate) enum Reached {
    /// The judge accepts this schedule.
    Schedule(Schedule),
    /// So many states can be reached, and none is the target's.
    Nothing(usize),
    /// As before, but an attempt that failed might have succeeded, which no event stands for.
    NothingButAttempts,
    /// There are too many states.
    Open,
}

/// What a query asks of states.
struct Goal<'q> {
    query: &'q Query,
    /// Pairs of events that run in this order where both run.
    edges: Vec<(EventId, EventId)>,
    /// Events per thread that may run.
    limit: Vec<u32>,
    /// Events per thread that must run.
    cut: Vec<u32>,
    /// Events per thread that must be unchanged.
    unchanged: Vec<u32>,
    /// The variables that several threads access, with the last read of each thread.
    read: Vec<(u32, Vec<(usize, u32)>)>,
}

/// A state on the way, and the steps from it that are left to try.
struct Frame {
    steps: usize,
    /// The next one last.
    left: Vec<EventId>,
}

/// How a step ended.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Ran {
    Whole,
    /// It may not run here.
    Blocked,
    /// It ran, and nothing that follows reaches the target.
    Lost,
    /// It ran in part: the thread stops within it.
    Part,
}

/// Searches over states of one trace.
pub(crate) struct States<'c, 'a> {
    context: &'c Context<'a>,
    model: Model,
    checker: IncrementalChecker<'a>,
    commuting: Commuting,
    values: KnownValues,
    odd: Odd,
    /// An attempt that failed might have succeeded in a state that was seen.
    attempts: bool,
    /// Events that ran over all questions so far.
    pub(crate) steps: u64,
}

/// What some read saw although it returned another value: only that write, or the initial value, is the same to it.
struct Odd {
    writes: HashSet<EventId, foldhash::fast::FixedState>,
    initial: HashSet<u32, foldhash::fast::FixedState>,
}

impl<'c, 'a> States<'c, 'a> {
    /// Creates a search if the trace is not too large.
    pub(crate) fn new(context: &'c Context<'a>, model: Model) -> Option<Self> {
        let strict = matches!(model, Model::Data | Model::Value);
        if context.trace.len() > EVENTS || strict {
            return None;
        }
        let execution = context.execution;
        let values = KnownValues::new(execution);
        let odd = Odd::new(context, &values);
        let (checker, commuting) = (IncrementalChecker::new(execution, model), Commuting::new(execution));
        Some(States { context, model, checker, commuting, values, odd, attempts: false, steps: 0 })
    }

    /// The model that it is for.
    pub(crate) fn model(&self) -> Model {
        self.model
    }

    /// Searches for a schedule that the judge accepts.
    pub(crate) fn search(&mut self, query: &Query, judge: &mut dyn Judge) -> Reached {
        let Some(goal) = self.goal(query) else { return Reached::Open };
        self.checker.rewind(0);
        self.attempts = false;
        let mut seen: HashSet<Box<[u32]>, foldhash::fast::FixedState> = HashSet::default();
        let mut frames: Vec<Frame> = Vec::new();
        let mut alive = self.begin(&goal);
        let mut is_exact = true;
        loop {
            if alive {
                // What is asked to run last of all must not be followed by what commutes with it.
                let mut reached = self.is_reached(&goal);
                alive = reached || self.run_commuting(&goal);
                reached |= alive && self.is_reached(&goal);
                if reached {
                    let schedule = self.schedule();
                    match judge.judge(&schedule) {
                        Ok(()) => return Reached::Schedule(schedule),
                        Err(_) => is_exact = false,
                    }
                } else if alive && seen.insert(self.key(&goal)) {
                    frames.push(Frame { steps: self.checker.schedule().len(), left: self.candidates(&goal) });
                }
            }
            if seen.len() > STATES {
                return Reached::Open;
            }
            let Some(frame) = frames.last_mut() else { break };
            let (steps, next) = (frame.steps, frame.left.pop());
            self.checker.rewind(steps);
            let Some(next) = next else {
                frames.pop();
                alive = false;
                continue;
            };
            alive = match self.step(&goal, next) {
                Ran::Whole => true,
                Ran::Part => self.is_reached(&goal),
                Ran::Blocked | Ran::Lost => false,
            };
        }
        match (is_exact, self.attempts) {
            (false, _) => Reached::Open,
            (true, true) => Reached::NothingButAttempts,
            (true, false) => Reached::Nothing(seen.len()),
        }
    }

    /// What the query asks for; `None` if its least cut says that it is out of reach, which others have found.
    fn goal<'q>(&self, query: &'q Query) -> Option<Goal<'q>> {
        let context = self.context;
        let problem = Problem::new(context, query, self.model, Pairing::Open);
        let Slice { cut, mut unchanged, mut limit } = Slice::of_query(&problem, query).ok()?;
        let mut edges = query.edges.clone();
        match query.displaced {
            Some((write, Some(other))) => edges.push((write, other)),
            Some((write, None)) => {
                let limit = &mut limit[context.thread(write)];
                *limit = (*limit).min(context.rank(write));
            }
            None => {}
        }
        if self.model.allows_change() {
            let decided = cut.iter().enumerate().map(|(thread, &cut)| context.decided(thread, cut));
            unchanged.iter_mut().zip(decided).for_each(|(unchanged, decided)| *unchanged = decided.max(*unchanged));
        }
        let read = self.commuting.shared_reads(&limit);
        Some(Goal { query, edges, limit, cut, unchanged, read })
    }

    /// Nothing that the query asks for is lost before the first step.
    fn begin(&self, goal: &Goal<'_>) -> bool {
        goal.cut.iter().zip(&goal.limit).all(|(cut, limit)| cut <= limit)
    }

    fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.context.relations.threads()).map(ThreadId::at)
    }

    fn schedule(&self) -> Schedule {
        let mut schedule = Schedule::default();
        schedule.extend(self.checker.schedule().iter().copied());
        schedule
    }

    /// The state is what the query asks for.
    fn is_reached(&self, goal: &Goal<'_>) -> bool {
        let Query { final_event, .. } = *goal.query;
        self.is_reached_but(goal, None) && final_event.is_none_or(|e| self.checker.schedule().last() == Some(&e))
    }

    /// The state is what the query asks for, `but` for an event that is still to run.
    fn is_reached_but(&self, goal: &Goal<'_>, but: Option<EventId>) -> bool {
        let Query { next, last, run, .. } = goal.query;
        let count = |e: EventId| self.checker.count(ThreadId::at(self.context.thread(e)));
        let started = |e: EventId| self.checker.next_of(ThreadId::at(self.context.thread(e))) == Some(e);
        let ran = |e: &EventId| Some(*e) == but || self.checker.has_run(*e);
        next.iter().all(|&e| started(e))
            && run.iter().all(ran)
            && last.iter().all(|e| ran(e) && count(*e) <= self.context.rank(*e) + 1)
    }

    /// The query does not forbid the event here.
    fn is_allowed(&self, goal: &Goal<'_>, event: EventId) -> bool {
        let (thread, rank) = (self.context.thread(event), self.context.rank(event));
        let Query { run, last, adjacent, final_event, .. } = goal.query;
        let must_run = |e: EventId| run.contains(&e) || last.contains(&e);
        let last_run = self.checker.schedule().last().copied();
        rank < goal.limit[thread]
            && goal.edges.iter().all(|&(x, y)| match event {
                e if e == x => !self.checker.has_run(y),
                e if e == y => !must_run(x) || self.checker.has_run(x),
                _ => true,
            })
            && adjacent.iter().all(|&(x, y)| (last_run == Some(x)) == (event == y))
            && (*final_event != Some(event) || self.is_reached_but(goal, Some(event)))
    }

    /// The query names the event.
    fn is_named(&self, goal: &Goal<'_>, event: EventId) -> bool {
        let Query { run, next, last, .. } = goal.query;
        run.contains(&event)
            || next.contains(&event)
            || last.contains(&event)
            || goal.edges.iter().any(|&(x, y)| event == x || event == y)
    }

    /// Runs an event and those that are joined to it.
    fn step(&mut self, goal: &Goal<'_>, event: EventId) -> Ran {
        let before = self.checker.schedule().len();
        let mut next = Some(event);
        while let Some(event) = next {
            if !self.is_allowed(goal, event) {
                return if self.checker.schedule().len() == before { Ran::Blocked } else { Ran::Part };
            }
            if let Err(rejection) = self.checker.run(event) {
                let strict = self.context.rank(event) < goal.unchanged[self.context.thread(event)];
                self.attempts |= rejection.why == Why::AttemptMaySucceed && !strict;
                return if self.checker.schedule().len() == before { Ran::Blocked } else { Ran::Part };
            }
            self.steps += 1;
            if self.is_lost(goal, event) {
                return Ran::Lost;
            }
            next = self.checker.joined();
        }
        Ran::Whole
    }

    /// The event, which ran last, changed a thread that must be unchanged.
    fn is_lost(&self, goal: &Goal<'_>, event: EventId) -> bool {
        let thread = self.context.thread(event);
        let changed = |thread: usize| self.checker.is_changed(ThreadId::at(thread));
        let event_of = self.context.trace.event(event);
        match event_of.op {
            Op::Fork => changed(event_of.object as usize) && goal.unchanged[event_of.object as usize] > 0,
            Op::Read | Op::Join => changed(thread) && self.context.rank(event) < goal.unchanged[thread],
            _ => false,
        }
    }

    /// Runs all that commutes with what other threads can still do. False if nothing that follows reaches the target.
    fn run_commuting(&mut self, goal: &Goal<'_>) -> bool {
        let mut again = self.checker.joined().is_none();
        while again {
            again = false;
            for thread in self.threads() {
                while let Some(next) = self.checker.next_of(thread).filter(|&next| self.commutes(goal, next)) {
                    let before = self.checker.schedule().len();
                    match self.step(goal, next) {
                        Ran::Whole => again = true,
                        Ran::Lost => return false,
                        Ran::Blocked | Ran::Part => {
                            self.checker.rewind(before);
                            break;
                        }
                    }
                }
            }
        }
        true
    }

    /// The whole step that begins with this event commutes with all that other threads can still do.
    fn commutes(&self, goal: &Goal<'_>, event: EventId) -> bool {
        let (context, thread, rank) = (self.context, self.context.thread(event), self.context.rank(event));
        let end = if context.has_blocks { context.step_end(thread, rank + 1) } else { rank + 1 };
        let done = |thread: usize| self.checker.count(ThreadId::at(thread));
        let progress = Progress { done: &done, limit: &goal.limit };
        end <= goal.limit[thread]
            && (rank..end)
                .map(|rank| context.event_at(thread, rank))
                .all(|event| !self.is_named(goal, event) && self.commuting.commutes(context.execution, event, progress))
    }

    /// The first events of the steps to try from here: those of threads that must get further last, so that they are tried first,
    /// each in observed order.
    fn candidates(&self, goal: &Goal<'_>) -> Vec<EventId> {
        let mut next: Vec<EventId> =
            self.threads().filter_map(|t| self.checker.next_of(t)).filter(|&e| self.is_allowed(goal, e)).collect();
        let is_needed = |e: EventId| self.context.rank(e) < goal.cut[self.context.thread(e)];
        next.sort_unstable_by_key(|&e| (is_needed(e), std::cmp::Reverse(e)));
        next
    }

    /// What decides how things go on from here.
    fn key(&self, goal: &Goal<'_>) -> Box<[u32]> {
        let mut words = Vec::with_capacity(self.context.relations.threads() + goal.read.len() + 2);
        for thread in self.threads() {
            words.push(self.checker.count(thread) << 1 | u32::from(self.checker.is_changed(thread)));
        }
        // Between the events of an adjacent pair, the one that ran last matters.
        let last = self.checker.schedule().last();
        words.extend(last.filter(|&&e| goal.query.adjacent.iter().any(|&(x, _)| x == e)).map(|e| e.cell()));
        for (variable, readers) in &goal.read {
            let is_read = readers.iter().any(|&(t, last)| last >= self.checker.count(ThreadId::at(t)));
            words.push(if is_read { self.class(VarId::at(*variable as usize)) } else { 0 });
        }
        self.checker.describe_conditions(&mut words);
        words.into_boxed_slice()
    }

    /// What lies in a variable, as far as reads can tell.
    fn class(&self, variable: VarId) -> u32 {
        let Some(write) = self.checker.last_clean_write(variable) else { return 1 };
        let value = self.values.written(self.context.trace, variable, write);
        match value.filter(|_| self.model.compares_values() && !self.odd.has(variable, write)) {
            Some(value) => 2 + 2 * value.cell(),
            None => 3 + 2 * write.map_or(0, |write| 1 + write.cell()),
        }
    }
}

impl Odd {
    fn new(context: &Context<'_>, values: &KnownValues) -> Self {
        let trace = context.trace;
        let mut odd = Odd { writes: HashSet::default(), initial: HashSet::default() };
        for (read, event) in trace.events().filter(|(_, event)| event.op == Op::Read) {
            let write = context.relations.read_from(read);
            let variable = VarId::at(event.object as usize);
            if values.returned(context.execution, read) != values.written(trace, variable, write) {
                match write {
                    Some(write) => odd.writes.insert(write),
                    None => odd.initial.insert(event.object),
                };
            }
        }
        odd
    }

    fn has(&self, variable: VarId, write: Option<EventId>) -> bool {
        match write {
            Some(write) => self.writes.contains(&write),
            None => self.initial.contains(&variable.cell()),
        }
    }
}
