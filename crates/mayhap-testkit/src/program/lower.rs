//! A recorded run as a trace, lowered as the recorder lowers real programs.
//!
//! | step | events |
//! |---|---|
//! | access | `r` or `w` with its value and memory order; constants of the code are marked |
//! | fetch-and-add, exchange | `r`, joined `w` (of an exchange: independent) |
//! | compare-exchange | `r`, joined branch, and joined `w` if it succeeded |
//! | lock, try, timed lock | `acq`/`racq` with its attempt, or `facq`/`fracq` |
//! | wait on a condition | `rel`; `wait` unless it timed out; `acq` |
//! | semaphore | `notify`, `wait`, `fwait` |
//! | n-th message of a pipe | `notify` and `wait` of a condition of its own; further ones keep the order of each end |
//! | free | a write that is marked |
//! | allocation, a wait that times out | nothing |
//!
//! A branch follows where the thread decides and has read since it last did. A computed address and what is written to a
//! pipe count as decisions: other threads see them.

use mayhap_trace::{
    Columns, ConditionKind, Event, Flags, LocId, LockKind, MemoryOrder, NONE, Op, Tables, ThreadId, Trace, ValueId,
    VariableKind,
};

use super::interpreter::Machine;
use super::language::{LockSort, Order};
use super::print_c::print_c;
use super::recording::Recording;
use super::state::{Attempt, Cell, Decision, Effect, Happened, UpdateSort, Value};

/// The trace of a recorded run.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The trace.
    pub trace: Trace,
    /// Where each event comes from.
    pub origins: Vec<Origin>,
}

/// Where an event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// This event is when the step takes effect.
    Step(u32),
    /// A further event of a step.
    Further(u32),
    /// The thread decided.
    Decision,
}

impl Origin {
    /// The step that the event is part of.
    pub fn step(self) -> Option<u32> {
        match self {
            Origin::Step(step) | Origin::Further(step) => Some(step),
            Origin::Decision => None,
        }
    }
}

/// Lowers a recorded run.
///
/// # Panics
/// If the tables of a trace cannot hold it: only for programs far beyond what can be explored.
pub fn lower(machine: &Machine, recording: &Recording) -> Lowered {
    let mut lowering = Lowering {
        recording,
        lines: print_c(&machine.program).lines,
        columns: Columns::default(),
        tables: tables(machine),
        origins: Vec::new(),
    };
    for (index, happened) in recording.steps.iter().enumerate() {
        lowering.step(index as u32, happened);
        lowering.decide(happened.thread, happened.decision);
        if let Effect::Forked(child) = happened.effect {
            lowering.decide(child, happened.born);
        }
    }
    Lowered { trace: Trace::from_parts(lowering.columns, lowering.tables), origins: lowering.origins }
}

fn tables(machine: &Machine) -> Tables {
    let program = &machine.program;
    let mut tables = Tables::default();
    let fits = "small programs fit the tables";
    for thread in 0..program.threads.len() {
        tables.threads.intern(thread_name(thread).as_bytes()).expect(fits);
    }
    for (lock, sort) in program.locks.iter().enumerate() {
        tables.locks.intern(format!("m{lock}").as_bytes()).expect(fits);
        let kind = match sort {
            LockSort::Mutex => LockKind::Mutex,
            LockSort::ReadWrite => LockKind::RwLock,
        };
        tables.lock_kinds.set(lock, kind);
    }
    for condition in 0..program.conditions {
        let cell = tables.conditions.intern(format!("c{condition}").as_bytes()).expect(fits);
        tables.condition_kinds.set(cell as usize, ConditionKind::Condition);
    }
    for (semaphore, initial) in program.semaphores.iter().enumerate() {
        let cell = tables.conditions.intern(format!("s{semaphore}").as_bytes()).expect(fits);
        tables.condition_kinds.set(cell as usize, ConditionKind::Semaphore { initial: *initial });
    }
    for variable in 0..program.variables.len() {
        tables.variables.intern(format!("x{variable}").as_bytes()).expect(fits);
        tables.variable_kinds.set(variable, VariableKind::Memory);
    }
    tables
}

fn thread_name(thread: usize) -> String {
    if thread == 0 { "main".to_string() } else { format!("t{thread}") }
}

struct Lowering<'a> {
    recording: &'a Recording,
    lines: Vec<usize>,
    columns: Columns,
    tables: Tables,
    origins: Vec<Origin>,
}

impl Lowering<'_> {
    fn event(&mut self, origin: Origin, thread: usize, op: Op, object: u32, site: usize) {
        let location = format!("program.c:{}", self.lines[site]);
        let location = self.tables.locations.intern(location.as_bytes()).expect("small programs fit the tables");
        self.columns.push(Event::new(ThreadId::at(thread), op, object, LocId::from_cell(location)));
        self.origins.push(origin);
    }

    /// Gives the last event flags and, if it has one, a value.
    fn mark(&mut self, flags: Flags, value: Option<Value>) {
        let value = match value {
            Some(Value::Integer(number)) => Some(mayhap_trace::Value::Bits(number as u64)),
            Some(Value::Address(block)) => {
                let block = block.thread as u32 * 1000 + block.number;
                Some(mayhap_trace::Value::Pointer { block, offset: 0 })
            }
            Some(Value::Freed) | None => None,
        };
        let cell = value.map(|value| self.tables.values.intern(value).expect("small programs fit the tables"));
        self.columns.set_last(flags, cell.map_or(NONE, ValueId::cell));
    }

    fn decide(&mut self, thread: usize, decision: Option<Decision>) {
        if let Some(Decision { site, implicit }) = decision {
            self.event(Origin::Decision, thread, Op::Branch, NONE, site);
            if implicit {
                self.mark(Flags::IMPLICIT, None);
            }
        }
    }

    fn variable(&mut self, cell: Cell, atomic: bool) -> u32 {
        let name = match cell {
            Cell::Variable(variable) => format!("x{variable}"),
            Cell::Block(block) => format!("{}#{}", thread_name(block.thread), block.number),
        };
        let cell = self.tables.variables.intern(name.as_bytes()).expect("small programs fit the tables");
        let kind = if atomic { VariableKind::Atomic } else { self.tables.variable_kinds.get(cell as usize) };
        let kind = if kind == VariableKind::Unspecified { VariableKind::Memory } else { kind };
        self.tables.variable_kinds.set(cell as usize, kind);
        cell
    }

    /// A condition that waits and notifies pair up on: the n-th of some end of a pipe.
    fn channel(&mut self, pipe: usize, what: &str, number: u32) -> u32 {
        let name = format!("p{pipe}.{what}{number}");
        let cell = self.tables.conditions.intern(name.as_bytes()).expect("small programs fit the tables");
        self.tables.condition_kinds.set(cell as usize, ConditionKind::Channel);
        cell
    }

    fn condition(&self, name: String) -> u32 {
        self.tables.conditions.find(&name).expect("entered before the first event") as u32
    }

    fn step(&mut self, index: u32, happened: &Happened) {
        let (thread, site) = (happened.thread, happened.site);
        let main = Origin::Step(index);
        match happened.effect {
            Effect::Read { .. }
            | Effect::Write { .. }
            | Effect::Modify { .. }
            | Effect::FailedCompare { .. }
            | Effect::Freed(_) => self.access(index, happened),
            Effect::Fence(order) => {
                self.event(main, thread, Op::Fence, NONE, site);
                self.mark(Flags::atomic(memory_order(order)), None);
            }
            Effect::Acquired { lock, shared, attempt } => {
                let op = if shared { Op::SharedAcquire } else { Op::Acquire };
                self.event(main, thread, op, lock as u32, site);
                self.mark(attempted(attempt), None);
            }
            Effect::FailedAcquire { lock, shared, attempt } => {
                let op = if shared { Op::FailedSharedAcquire } else { Op::FailedAcquire };
                self.event(main, thread, op, lock as u32, site);
                self.mark(attempted(attempt), None);
            }
            Effect::Released { lock, shared } => {
                let op = if shared { Op::SharedRelease } else { Op::Release };
                self.event(main, thread, op, lock as u32, site);
            }
            Effect::WaitBegan { mutex, .. } => self.event(main, thread, Op::Release, mutex as u32, site),
            Effect::Woken { condition, timed } => {
                let cell = self.condition(format!("c{condition}"));
                self.event(main, thread, Op::Wait, cell, site);
                self.mark(attempted(if timed { Attempt::Timed } else { Attempt::Blocking }), None);
            }
            Effect::Notified { condition, all } => {
                let cell = self.condition(format!("c{condition}"));
                self.event(main, thread, if all { Op::NotifyAll } else { Op::Notify }, cell, site);
            }
            Effect::Posted(semaphore) => {
                let cell = self.condition(format!("s{semaphore}"));
                self.event(main, thread, Op::Notify, cell, site);
            }
            Effect::Taken { semaphore, attempt } | Effect::FailedTake { semaphore, attempt } => {
                let failed = matches!(happened.effect, Effect::FailedTake { .. });
                let cell = self.condition(format!("s{semaphore}"));
                self.event(main, thread, if failed { Op::FailedWait } else { Op::Wait }, cell, site);
                self.mark(attempted(attempt), None);
            }
            Effect::Forked(child) => self.event(main, thread, Op::Fork, child as u32, site),
            Effect::Joined(child) => self.event(main, thread, Op::Join, child as u32, site),
            Effect::Sent { .. } | Effect::Received { .. } => self.message(index, happened),
            Effect::TimedOut { .. } | Effect::Allocated(_) | Effect::Nothing | Effect::Aborted => {}
        }
    }

    fn access(&mut self, index: u32, happened: &Happened) {
        let (thread, site) = (happened.thread, happened.site);
        let (main, further) = (Origin::Step(index), Origin::Further(index));
        let flags = |order: Option<Order>| order.map_or(Flags::NONE, |order| Flags::atomic(memory_order(order)));
        let constant = |constant: bool| if constant { Flags::CONSTANT } else { Flags::NONE };
        match happened.effect {
            Effect::Read { cell, value, order } => {
                let variable = self.variable(cell, order.is_some());
                self.event(main, thread, Op::Read, variable, site);
                self.mark(flags(order), Some(value));
            }
            Effect::Write { cell, value, order, constant: is_constant } => {
                let variable = self.variable(cell, order.is_some());
                if self.recording.is_stored_first(cell) {
                    let zero = self.tables.values.intern(mayhap_trace::Value::Bits(0)).expect("a new table has room");
                    self.tables.initial_values.set(variable as usize, Some(zero));
                }
                self.event(main, thread, Op::Write, variable, site);
                self.mark(flags(order).with(constant(is_constant)), Some(value));
            }
            Effect::Modify { cell, read, written, order, update, constant: is_constant } => {
                let variable = self.variable(cell, true);
                self.event(main, thread, Op::Read, variable, site);
                self.mark(flags(Some(order)), Some(read));
                if update == UpdateSort::Compare {
                    self.event(further, thread, Op::Branch, NONE, site);
                    self.mark(Flags::JOINED, None);
                }
                self.event(further, thread, Op::Write, variable, site);
                let source = if update == UpdateSort::Exchange { Flags::INDEPENDENT } else { Flags::NONE };
                let marks = flags(Some(order)).with(Flags::JOINED).with(source).with(constant(is_constant));
                self.mark(marks, Some(written));
            }
            Effect::FailedCompare { cell, read, order } => {
                let variable = self.variable(cell, true);
                self.event(main, thread, Op::Read, variable, site);
                self.mark(flags(Some(order)), Some(read));
                self.event(further, thread, Op::Branch, NONE, site);
                self.mark(Flags::JOINED, None);
            }
            Effect::Freed(block) => {
                let variable = self.variable(Cell::Block(block), false);
                self.event(main, thread, Op::Write, variable, site);
                self.mark(Flags::FREE, None);
            }
            _ => unreachable!("no access"),
        }
    }

    /// Only orders between different threads need conditions: program order gives the others.
    fn message(&mut self, index: u32, happened: &Happened) {
        let (thread, site) = (happened.thread, happened.site);
        let (pipe, number, sends) = match happened.effect {
            Effect::Sent { pipe, number, .. } => (pipe, number, true),
            Effect::Received { pipe, number, .. } => (pipe, number, false),
            _ => unreachable!("no message"),
        };
        let end = if sends { "send" } else { "receive" };
        let other_end = |recording: &Recording, wanted: u32, of_sends: bool| {
            let is_it = |step: &&Happened| match step.effect {
                Effect::Sent { pipe: p, number: n, .. } => of_sends && (p, n) == (pipe, wanted),
                Effect::Received { pipe: p, number: n, .. } => !of_sends && (p, n) == (pipe, wanted),
                _ => false,
            };
            recording.steps.iter().find(is_it).map(|step| step.thread)
        };
        let is_other = |found: Option<usize>| found.is_some_and(|other| other != thread);
        let mut events = Vec::new();
        let before = number.checked_sub(1).and_then(|earlier| other_end(self.recording, earlier, sends));
        if is_other(before) {
            events.push((Op::Wait, self.channel(pipe, end, number), false));
        }
        if sends || is_other(other_end(self.recording, number, true)) {
            let op = if sends { Op::Notify } else { Op::Wait };
            events.push((op, self.channel(pipe, "message", number), true));
        }
        if is_other(other_end(self.recording, number + 1, sends)) {
            events.push((Op::Notify, self.channel(pipe, end, number + 1), false));
        }
        let effect = events.iter().position(|(_, _, is_message)| *is_message).unwrap_or(0);
        for (i, (op, cell, _)) in events.into_iter().enumerate() {
            let origin = if i == effect { Origin::Step(index) } else { Origin::Further(index) };
            self.event(origin, thread, op, cell, site);
        }
    }
}

fn memory_order(order: Order) -> MemoryOrder {
    match order {
        Order::Relaxed => MemoryOrder::Relaxed,
        Order::Consume => MemoryOrder::Consume,
        Order::Acquire => MemoryOrder::Acquire,
        Order::Release => MemoryOrder::Release,
        Order::AcquireRelease => MemoryOrder::AcquireRelease,
        Order::Sequential => MemoryOrder::SequentiallyConsistent,
    }
}

fn attempted(attempt: Attempt) -> Flags {
    match attempt {
        Attempt::Blocking => Flags::NONE,
        Attempt::Try => Flags::TRY,
        Attempt::Timed => Flags::TIMED,
    }
}

#[cfg(test)]
#[path = "lower_tests.rs"]
mod tests;
