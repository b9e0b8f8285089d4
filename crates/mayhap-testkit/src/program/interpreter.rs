//! Steps a program: given a state and the thread that runs next, what happens is determined.
//!
//! One step is one access to what is shared, followed by everything that concerns the thread's locals only. So a thread
//! always stands before its next step, or at its end. The one thing that a thread leaves open is a timed wait on a
//! condition, which may return or time out ([`Choice`]).
//!
//! Rules: a lock is not recursive; a try or timed lock fails only if the lock is held; a signal wakes one of the threads
//! that wait when it runs, and none later; there are no spurious wake-ups; a timed wait may time out at any time.

use std::fmt;

use super::code::{Code, Instruction};
use super::language::{Operation, Patience, Place, Program, Update};
use super::operations::{access, block_of, release, synchronise, wait};
use super::queue::WaitQueue;
use super::state::{
    Cell, Choice, Decision, Effect, Happened, Holders, Life, Part, Phase, Pipe, State, Thread, UpdateSort, Value,
};

/// Runs one program.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) program: Program,
    pub(crate) code: Code,
}

/// A program did what it must not: only a badly generated program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misuse {
    /// A thread releases a lock, or waits with a mutex, that it does not hold.
    NotHeld(usize),
    /// A thread is forked a second time.
    ForkedTwice(usize),
    /// A thread is joined that is not running, or a second time.
    BadJoin(usize),
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::NotHeld(site) => write!(f, "statement {site} gives up a lock that its thread does not hold"),
            Misuse::ForkedTwice(site) => write!(f, "statement {site} forks a thread that was forked before"),
            Misuse::BadJoin(site) => write!(f, "statement {site} joins a thread that cannot be joined"),
        }
    }
}

/// The step that a thread stands before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next<'a> {
    /// The statement.
    pub site: usize,
    /// Which step of it.
    pub part: Part,
    /// The operation; none is a failing assertion.
    pub operation: Option<&'a Operation>,
}

/// What the next step of a thread would touch in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// What.
    pub cell: Cell,
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// It is atomic.
    pub atomic: bool,
}

impl Machine {
    /// Returns a machine for a program.
    pub fn new(program: &Program) -> Machine {
        Machine { program: program.clone(), code: Code::of(program) }
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The state before the first step.
    pub fn start(&self) -> State {
        let program = &self.program;
        let thread = |counters: &usize| Thread {
            life: Life::Unborn,
            at: 0,
            phase: Phase::Outside,
            locals: vec![Value::ZERO; program.locals.len()],
            rounds: vec![0; *counters],
            has_read: false,
            allocations: 0,
        };
        let mut state = State {
            threads: self.code.counters.iter().map(thread).collect(),
            variables: vec![Value::ZERO; program.variables.len()],
            blocks: Default::default(),
            locks: vec![Holders::default(); program.locks.len()],
            conditions: vec![WaitQueue::new(); program.conditions],
            semaphores: program.semaphores.clone(),
            pipes: vec![Pipe::default(); program.pipes],
            aborted: None,
        };
        state.threads[0].life = Life::Running;
        self.settle(&mut state, 0);
        state
    }

    /// The step that the thread stands before; none if it does not run, has ended, or the program has.
    pub fn next(&self, state: &State, thread: usize) -> Option<Next<'_>> {
        let me = &state.threads[thread];
        if me.life != Life::Running || state.aborted.is_some() {
            return None;
        }
        let part = match me.phase {
            Phase::Outside => Part::Whole,
            Phase::Waiting => Part::Return,
            Phase::Returned => Part::Reacquire,
        };
        match self.code.threads[thread].get(me.at)? {
            Instruction::Do { site, operation } => Some(Next { site: *site, part, operation: Some(operation) }),
            Instruction::Assert { site, .. } => Some(Next { site: *site, part, operation: None }),
            _ => unreachable!("threads settle before a step"),
        }
    }

    /// The choices that the thread has now: none if it waits for others, or runs no more.
    pub fn choices(&self, state: &State, thread: usize) -> impl Iterator<Item = Choice> + use<> {
        let next = self.next(state, thread);
        let go = next.is_some_and(|next| !self.is_blocked(state, thread, &next));
        let gives_up = next.is_some_and(|next| {
            next.part == Part::Return && matches!(next.operation, Some(Operation::Wait { timed: Some(_), .. }))
        });
        go.then_some(Choice::Go).into_iter().chain(gives_up.then_some(Choice::TimeOut))
    }

    fn is_blocked(&self, state: &State, thread: usize, next: &Next<'_>) -> bool {
        match *next {
            Next { part: Part::Return, operation: Some(Operation::Wait { condition, .. }), .. } => {
                !state.conditions[*condition].may_return(thread)
            }
            Next { part: Part::Reacquire, operation: Some(Operation::Wait { mutex, .. }), .. } => {
                state.locks[*mutex].are_against(false)
            }
            Next { operation: Some(Operation::Acquire { lock, shared, patience: Patience::Blocking }), .. } => {
                state.locks[*lock].are_against(*shared)
            }
            Next { operation: Some(Operation::Take { semaphore, patience: Patience::Blocking }), .. } => {
                state.semaphores[*semaphore] == 0
            }
            Next { operation: Some(Operation::Receive { pipe, .. }), .. } => state.pipes[*pipe].messages.is_empty(),
            Next { operation: Some(Operation::Join(child)), .. } => state.threads[*child].life == Life::Running,
            _ => false,
        }
    }

    /// The blocking acquire that the thread stands before: the lock, whether shared.
    pub fn request(&self, state: &State, thread: usize) -> Option<(usize, bool)> {
        match self.next(state, thread)? {
            Next { operation: Some(Operation::Acquire { lock, shared, patience: Patience::Blocking }), .. } => {
                Some((*lock, *shared))
            }
            Next { part: Part::Reacquire, operation: Some(Operation::Wait { mutex, .. }), .. } => Some((*mutex, false)),
            _ => None,
        }
    }

    /// The memory that the thread's next step would touch. A compare-exchange that would fail only reads.
    pub fn touch(&self, state: &State, thread: usize) -> Option<Touch> {
        let locals = &state.threads[thread].locals;
        let place = |place: &Place| match place {
            Place::Variable(variable) => Some(Cell::Variable(*variable)),
            Place::Through(pointer) => block_of(locals[*pointer]).map(Cell::Block),
        };
        match self.next(state, thread)?.operation? {
            Operation::Read { place: at, order, .. } => {
                Some(Touch { cell: place(at)?, reads: true, writes: false, atomic: order.is_some() })
            }
            Operation::Write { place: at, order, .. } => {
                Some(Touch { cell: place(at)?, reads: false, writes: true, atomic: order.is_some() })
            }
            Operation::Modify { variable, update, .. } => {
                let old = state.variables[*variable];
                let writes = match update {
                    Update::Compare { expected, .. } => expected.value(locals) == old,
                    Update::Exchange(_) | Update::Add(_) => true,
                };
                Some(Touch { cell: Cell::Variable(*variable), reads: true, writes, atomic: true })
            }
            Operation::Free { pointer } => {
                let cell = place(&Place::Through(*pointer))?;
                Some(Touch { cell, reads: false, writes: true, atomic: false })
            }
            _ => None,
        }
    }

    /// Runs the thread's next step.
    ///
    /// # Panics
    /// If the thread does not have this choice.
    pub fn step(&self, state: &mut State, thread: usize, choice: Choice) -> Result<Happened, Misuse> {
        let next = self.next(state, thread).expect("the thread has a next step");
        let (site, part) = (next.site, next.part);
        let mut happened =
            Happened { thread, site, part, effect: Effect::Aborted, memory_error: false, decision: None, born: None };
        let Some(operation) = next.operation else {
            state.aborted = Some(site);
            return Ok(happened);
        };
        debug_assert!(choice == Choice::TimeOut || !self.is_blocked(state, thread, &next));
        happened.effect = match operation {
            Operation::Wait { condition, mutex, timed } => {
                wait(state, thread, choice, (*condition, *mutex, *timed)).ok_or(Misuse::NotHeld(site))?
            }
            Operation::Fork(child) => {
                if state.threads[*child].life != Life::Unborn {
                    return Err(Misuse::ForkedTwice(site));
                }
                state.threads[*child].life = Life::Running;
                state.threads[*child].has_read = true;
                happened.born = self.settle(state, *child);
                Effect::Forked(*child)
            }
            Operation::Join(child) => {
                if state.threads[*child].life != Life::Ended {
                    return Err(Misuse::BadJoin(site));
                }
                state.threads[*child].life = Life::Joined;
                Effect::Joined(*child)
            }
            Operation::Release(lock) => release(state, thread, *lock).ok_or(Misuse::NotHeld(site))?,
            Operation::Read { .. } | Operation::Write { .. } | Operation::Modify { .. } | Operation::Free { .. } => {
                let (effect, error) = access(state, thread, operation);
                happened.memory_error = error;
                effect
            }
            other => synchronise(state, thread, other),
        };
        if happened.effect == Effect::Aborted {
            state.aborted = Some(site);
            return Ok(happened);
        }
        self.go_on(state, thread, &mut happened);
        Ok(happened)
    }

    /// Moves past what happened, up to the next step.
    fn go_on(&self, state: &mut State, thread: usize, happened: &mut Happened) {
        let me = &mut state.threads[thread];
        match happened.effect {
            Effect::Read { .. }
            | Effect::Modify { update: UpdateSort::Add | UpdateSort::Exchange, .. }
            | Effect::FailedAcquire { .. }
            | Effect::FailedTake { .. }
            | Effect::Joined(_)
            | Effect::Received { .. } => me.has_read = true,
            // A compare-exchange has decided by what it read.
            Effect::Modify { update: UpdateSort::Compare, .. } | Effect::FailedCompare { .. } => me.has_read = false,
            _ => {}
        }
        match happened.effect {
            Effect::WaitBegan { .. } => me.phase = Phase::Waiting,
            Effect::Woken { .. } | Effect::TimedOut { .. } => me.phase = Phase::Returned,
            _ => {
                me.phase = Phase::Outside;
                me.at += 1;
                happened.decision = self.settle(state, thread);
            }
        }
    }

    /// Runs what concerns the thread's locals only. The first decision after a read is what a trace contains.
    fn settle(&self, state: &mut State, thread: usize) -> Option<Decision> {
        let me = &mut state.threads[thread];
        let mut decision = None;
        loop {
            let decides = match self.code.threads[thread].get(me.at) {
                None => {
                    me.life = Life::Ended;
                    return decision;
                }
                Some(Instruction::Do { site, operation }) => {
                    let visible = operation.has_computed_address() || matches!(operation, Operation::Send { .. });
                    visible.then_some(Decision { site: *site, implicit: true })
                }
                Some(
                    Instruction::Unless { site, .. }
                    | Instruction::Round { site, .. }
                    | Instruction::Assert { site, .. },
                ) => Some(Decision { site: *site, implicit: false }),
                Some(_) => None,
            };
            if decides.is_some() && me.has_read {
                me.has_read = false;
                decision = decides;
            }
            if !advance(me, &self.code.threads[thread][me.at]) {
                return decision;
            }
        }
    }
}

/// Runs an instruction that concerns locals only. False if the thread has come to a step.
fn advance(me: &mut Thread, instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Do { .. } => return false,
        Instruction::Assign { into, value } => {
            me.locals[*into] = value.value(&me.locals);
            me.at += 1;
        }
        Instruction::Unless { condition, target, .. } => {
            me.at = if condition.holds(&me.locals) { me.at + 1 } else { *target };
        }
        Instruction::Enter { counter } => {
            me.rounds[*counter] = 0;
            me.at += 1;
        }
        Instruction::Round { condition, counter, bound, target, .. } => {
            let goes_on = me.rounds[*counter] < *bound && condition.holds(&me.locals);
            me.rounds[*counter] = if goes_on { me.rounds[*counter] + 1 } else { 0 };
            me.at = if goes_on { me.at + 1 } else { *target };
        }
        Instruction::Jump(target) => me.at = *target,
        Instruction::Assert { condition, .. } => {
            if !condition.holds(&me.locals) {
                return false;
            }
            me.at += 1;
        }
    }
    true
}
