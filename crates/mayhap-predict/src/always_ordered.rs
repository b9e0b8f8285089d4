//! Which events happen before another one in every reordering that has it, by the C11 memory model.
//!
//! A clock for each event, computed in one pass in observed order, as [`crate::demands`] does: program order, fork, join and
//! fixed pairs of notify and wait always synchronise. A read that must see the write it saw, since no other write has its value,
//! adds what came before that write if the two synchronise whatever else is reordered: the write releases and the read acquires,
//! or both hold one lock, so that the write's section ends before the read's begins. What a read adds holds from the next branch
//! of its thread on in the models with taint, and at once in the others.
//!
//! Links of other reads, fences and locks alone depend on the schedule and are left out: what is here is true of every schedule,
//! but not all that is.
//!
//! Cost: linear, plus the clock nodes that change; 8 bytes an event.

use mayhap_trace::clocks::{Clock, ClockArena};
use mayhap_trace::{EventId, Execution, Flags, MemoryOrder, Op, Relations, ThreadId, Trace};

use crate::demands::Rules;

/// The clocks of a model.
#[derive(Debug)]
pub(crate) struct AlwaysOrdered {
    arena: ClockArena,
    /// How many events of each thread happen before each event.
    clock: Vec<Clock>,
}

impl AlwaysOrdered {
    pub(crate) fn new(execution: &Execution<'_>, rules: Rules<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let threads = relations.threads();
        let mut pass = Pass {
            trace,
            relations,
            rules,
            arena: ClockArena::new(threads),
            clock: vec![ClockArena::ZERO; trace.len()],
            source: vec![ClockArena::ZERO; trace.len()],
            now: vec![ClockArena::ZERO; threads],
            clean: vec![ClockArena::ZERO; threads],
        };
        (0..trace.len()).for_each(|at| pass.step(EventId::at(at)));
        AlwaysOrdered { arena: pass.arena, clock: pass.clock }
    }

    /// In every reordering that has `b`, the event of `thread` with this rank happens before it.
    pub(crate) fn orders(&self, (thread, rank): (usize, u32), b: EventId) -> bool {
        self.arena.get(self.clock[b.index()], thread) > rank
    }
}

struct Pass<'a> {
    trace: &'a Trace,
    relations: &'a Relations,
    rules: Rules<'a>,
    arena: ClockArena,
    clock: Vec<Clock>,
    /// Of each write: what happens before it where it is clean.
    source: Vec<Clock>,
    now: Vec<Clock>,
    /// What happens before the next event of each thread if the thread is unchanged there.
    clean: Vec<Clock>,
}

impl Pass<'_> {
    fn step(&mut self, id: EventId) {
        let (columns, at) = (self.trace.columns(), id.index());
        let (op, me, other) = (columns.ops[at], usize::from(columns.threads[at]), columns.objects[at] as usize);
        let count = || self.relations.rank(id) as u32 + 1;
        // The access that a question is about may see any write.
        let before = self.now[me];
        match op {
            Op::Read => self.read(id, me),
            Op::Write => {
                // A constant of the code is clean in any thread, so it says nothing of the reads before it.
                let flags = columns.flags_at(at);
                let is_clean = flags.has(Flags::CONSTANT) || flags.has(Flags::INDEPENDENT);
                self.source[at] = if is_clean { self.now[me] } else { self.clean[me] };
            }
            Op::Branch => self.now[me] = self.clean[me],
            Op::Fork => {
                let count = count();
                self.now[other] = self.joined(self.now[other], self.now[me], me, count);
                self.clean[other] = self.joined(self.clean[other], self.clean[me], me, count);
            }
            Op::Join => {
                let count = self.relations.thread_events(ThreadId::at(other)).len() as u32;
                self.now[me] = self.joined(self.now[me], self.now[other], other, count);
                self.clean[me] = self.joined(self.clean[me], self.clean[other], other, count);
            }
            Op::Wait if self.trace.tables().condition_kinds.get(other).has_fixed_pairs() => {
                if let Some(notify) = self.relations.required_notify(id) {
                    let (thread, count) = self.place(notify);
                    self.now[me] = self.joined(self.now[me], self.clock[notify.index()], thread, count);
                    self.clean[me] = self.joined(self.clean[me], self.now[me], thread, count);
                }
            }
            _ => {}
        }
        self.clock[at] = if op == Op::Read { before } else { self.now[me] };
    }

    fn read(&mut self, read: EventId, me: usize) {
        let Some(write) = self.relations.read_from(read) else { return };
        let (writer, count) = self.place(write);
        let is_open = self.rules.open && self.rules.values.is_some_and(|values| values.is_open(read));
        if writer == me || is_open || !self.synchronise(write, read) {
            return;
        }
        self.clean[me] = self.joined(self.clean[me], self.source[write.index()], writer, count);
        if !self.rules.model.allows_change() {
            self.now[me] = self.clean[me];
        }
    }

    /// A read that sees the write synchronises with it in every schedule.
    fn synchronise(&self, write: EventId, read: EventId) -> bool {
        let order = |event: EventId| self.trace.columns().flags_at(event.index()).order();
        let atomics = order(write).is_some_and(MemoryOrder::releases) && order(read).is_some_and(MemoryOrder::acquires);
        let held = |event| self.relations.held(event);
        atomics || self.relations.locksets().common(held(write), held(read)).is_some()
    }

    fn place(&self, event: EventId) -> (usize, u32) {
        (self.trace.columns().threads[event.index()] as usize, self.relations.rank(event) as u32 + 1)
    }

    fn joined(&mut self, clock: Clock, other: Clock, thread: usize, count: u32) -> Clock {
        let clock = self.arena.join(clock, other);
        self.arena.raise(clock, thread, count)
    }
}
