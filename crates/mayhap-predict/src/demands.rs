//! What an event brings along: the events that every correct reordering with it must have before it, in one model.
//!
//! Must-order, closed under what the model asks of reads whose write is settled. In `data` and `value` each read brings the
//! write that it saw. In `branch` and `causal` a branch brings, *clean*, what all earlier reads of its thread saw, while a
//! read alone brings nothing. In `sync` reads bring nothing. A set is down-closed in each thread, so it is a clock, and the
//! clock of a cut is the join of the clocks of its last events. One pass in observed order, since every demand points back.
//!
//! A write is clean if its thread was not changed before it: then all earlier reads of that thread must be the same, and the
//! writes that they saw clean. So there are two clocks in the models with taint: what an event brings where its thread may
//! be changed, and what it brings where it may not. The second half of each clock has, for each thread, how many of its
//! events must be unchanged. A constant of the code is clean in any thread; a write that does not come from the reads of its
//! own step ([`Flags::INDEPENDENT`]) is clean if the thread was unchanged before the step.
//!
//! [`Pairing::Open`] leaves out the reads and waits that something else could serve: what is left is demanded whatever the
//! search decides ([`crate::alternatives`]).
//!
//! Cost: linear, plus the clock nodes that change; 4 bytes an event beside them, 12 in the models with taint.

use mayhap_trace::clocks::{Clock, ClockArena};
use mayhap_trace::{EventId, Execution, Flags, Op, Relations, ThreadId, Trace};
use mayhap_witness::Model;

use crate::value_classes::ValueClasses;

/// What serves the reads and waits that could be served by something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairing {
    /// What served them in the observed run.
    Observed,
    /// That is left open.
    Open,
}

/// What a pass is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'r> {
    pub(crate) model: Model,
    /// The reads that another write of an equal value could serve are open; the waits that another notify could, too.
    pub(crate) open: bool,
    pub(crate) values: Option<&'r ValueClasses>,
}

/// The demand clocks of a model. (`sync` without open waits demands must-order alone, which [`Relations`] has.)
#[derive(Debug)]
pub struct Demands {
    arena: ClockArena,
    threads: usize,
    /// What each event brings.
    clock: Vec<Clock>,
    /// In the models with taint: what a write brings that must be clean.
    source: Vec<Clock>,
    /// In these: how many events of its thread must be unchanged for a write to be clean. Empty: those before the write.
    unchanged: Vec<u32>,
}

struct Pass<'a> {
    trace: &'a Trace,
    relations: &'a Relations,
    rules: Rules<'a>,
    out: Demands,
    now: Vec<Clock>,
    /// What each thread brings if it is unchanged here.
    clean: Vec<Clock>,
    /// The same before its present step, and the rank of that step.
    before_step: Vec<(Clock, u32)>,
}

impl Demands {
    /// Computes the clocks of a model.
    pub(crate) fn new(execution: &Execution<'_>, rules: Rules) -> Self {
        let (trace, relations) = execution.parts();
        let threads = relations.threads();
        let taint = rules.model.allows_change();
        let (entries, sources) = if taint { (2 * threads, trace.len()) } else { (threads, 0) };
        let special = Flags::CONSTANT.bits() | Flags::INDEPENDENT.bits();
        let special = taint && trace.columns().flags.iter().any(|f| f & special != 0);
        let out = Demands {
            arena: ClockArena::new(entries),
            threads,
            clock: vec![ClockArena::ZERO; trace.len()],
            source: vec![ClockArena::ZERO; sources],
            unchanged: vec![0; if special { trace.len() } else { 0 }],
        };
        let zero = vec![ClockArena::ZERO; threads];
        let before_step = vec![(ClockArena::ZERO, 0); threads];
        let mut pass = Pass { trace, relations, rules, out, now: zero.clone(), clean: zero, before_step };
        match taint {
            false => pass.run(),
            true => pass.run_with_taint(),
        }
        pass.out
    }

    /// How many events of `thread`, another thread than the event's, must come before `event`.
    #[inline]
    pub fn before(&self, event: EventId, thread: usize) -> u32 {
        self.arena.get(self.clock[event.index()], thread)
    }

    /// How many events of `thread` must be unchanged if `event` runs. Branches of threads that are demanded are left out.
    #[inline]
    pub(crate) fn unchanged(&self, event: EventId, thread: usize) -> u32 {
        self.arena.get(self.clock[event.index()], self.threads + thread)
    }

    /// How many events of `thread`, another thread than the write's, must come before `write` if it is to be clean.
    #[inline]
    pub(crate) fn before_clean(&self, write: EventId, thread: usize) -> u32 {
        self.arena.get(self.source[write.index()], thread)
    }

    /// How many events of `thread`, another thread than the write's, must be unchanged if `write` is to be clean.
    #[inline]
    pub(crate) fn unchanged_clean(&self, write: EventId, thread: usize) -> u32 {
        self.arena.get(self.source[write.index()], self.threads + thread)
    }

    /// How many events of the write's own thread must be unchanged if it is to be clean.
    #[inline]
    pub(crate) fn unchanged_own(&self, write: EventId, rank: u32) -> u32 {
        self.unchanged.get(write.index()).copied().unwrap_or(rank)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let clocks = self.clock.capacity() + self.source.capacity();
        self.arena.memory() + clocks * size_of::<Clock>() + self.unchanged.capacity() * size_of::<u32>()
    }
}

impl Pass<'_> {
    fn run(&mut self) {
        let strict = self.rules.model != Model::Sync;
        let columns = self.trace.columns();
        for at in 0..columns.len() {
            let (id, thread, object) =
                (EventId::at(at), usize::from(columns.threads[at]), columns.objects[at] as usize);
            match columns.ops[at] {
                Op::Read if strict => {
                    if let Some(write) = self.supplier(id) {
                        self.now[thread] = self.with(self.now[thread], thread, write);
                    }
                }
                Op::Fork => self.fork(id, object, thread),
                Op::Join => self.join(ThreadId::at(object), thread),
                Op::Wait => self.wait(id, thread),
                _ => {}
            }
            self.out.clock[id.index()] = self.now[thread];
        }
    }

    fn run_with_taint(&mut self) {
        let threads = self.out.threads;
        let (columns, special) = (self.trace.columns(), !self.out.unchanged.is_empty());
        for at in 0..columns.len() {
            let (id, thread, object) =
                (EventId::at(at), usize::from(columns.threads[at]), columns.objects[at] as usize);
            // They matter only where some event is special.
            let flags = if special { columns.flags_at(at) } else { Flags::NONE };
            if special && self.relations.is_relevant(id) && !flags.is_joined() {
                self.before_step[thread] = (self.clean[thread], self.relations.rank(id) as u32);
            }
            match columns.ops[at] {
                Op::Read => self.read(id, thread),
                Op::Write => {
                    let rank = self.relations.rank(id) as u32;
                    let (source, unchanged) = if flags.has(Flags::CONSTANT) {
                        (self.now[thread], 0)
                    } else if flags.has(Flags::INDEPENDENT) {
                        let (before, rank) = self.before_step[thread];
                        (self.out.arena.join(self.now[thread], before), rank)
                    } else {
                        (self.clean[thread], rank)
                    };
                    self.out.source[id.index()] = source;
                    if special {
                        self.out.unchanged[id.index()] = unchanged;
                    }
                }
                Op::Branch => self.now[thread] = self.clean[thread],
                Op::Fork => {
                    let child = object;
                    self.fork(id, child, thread);
                    let rank = self.relations.rank(id) as u32;
                    let clock = self.out.arena.join(self.clean[child], self.clean[thread]);
                    let clock = self.out.arena.raise(clock, thread, rank + 1);
                    self.clean[child] = self.out.arena.raise(clock, threads + thread, rank);
                }
                Op::Join => {
                    let child = ThreadId::at(object);
                    self.join(child, thread);
                    let clock = self.out.arena.join(self.clean[thread], self.clean[child.index()]);
                    let events = self.relations.thread_events(child).len() as u32;
                    let clock = self.out.arena.raise(clock, child.index(), events);
                    self.clean[thread] = self.out.arena.raise(clock, threads + child.index(), events);
                }
                Op::Wait => {
                    self.wait(id, thread);
                    self.clean[thread] = self.out.arena.join(self.clean[thread], self.now[thread]);
                }
                _ => {}
            }
            self.out.clock[id.index()] = self.now[thread];
        }
    }

    /// The write that a read must see, if that is settled.
    fn supplier(&self, read: EventId) -> Option<EventId> {
        let write = self.relations.read_from(read)?;
        let open = self.rules.open && self.rules.values.is_some_and(|values| values.is_open(read));
        (!open).then_some(write)
    }

    /// A read of a thread that is to stay unchanged: its write must be clean.
    fn read(&mut self, read: EventId, thread: usize) {
        let Some(write) = self.supplier(read) else { return };
        let writer = self.trace.columns().threads[write.index()] as usize;
        if writer == thread {
            // What it brings is what its thread brought when it was unchanged there.
            return;
        }
        let rank = self.relations.rank(write) as u32;
        let unchanged = self.out.unchanged_own(write, rank);
        let clean = self.clean[thread];
        let arena = &mut self.out.arena;
        if arena.get(clean, writer) > rank && arena.get(clean, self.out.threads + writer) >= unchanged {
            return;
        }
        let joined = arena.join(clean, self.out.source[write.index()]);
        let joined = arena.raise(joined, writer, rank + 1);
        self.clean[thread] = arena.raise(joined, self.out.threads + writer, unchanged);
    }

    fn wait(&mut self, wait: EventId, thread: usize) {
        let notify = match self.rules.open {
            true => self.relations.required_notify(wait),
            false => self.relations.notify_of(wait),
        };
        if let Some(notify) = notify {
            self.now[thread] = self.with(self.now[thread], thread, notify);
        }
    }

    fn fork(&mut self, fork: EventId, child: usize, thread: usize) {
        let clock = self.out.arena.join(self.now[child], self.now[thread]);
        self.now[child] = self.out.arena.raise(clock, thread, self.relations.rank(fork) as u32 + 1);
    }

    fn join(&mut self, child: ThreadId, thread: usize) {
        let clock = self.out.arena.join(self.now[thread], self.now[child.index()]);
        let events = self.relations.thread_events(child).len() as u32;
        self.now[thread] = self.out.arena.raise(clock, child.index(), events);
    }

    /// `clock` with `event`, of any thread, and all that it demands.
    fn with(&mut self, clock: Clock, own: usize, event: EventId) -> Clock {
        let thread = self.trace.columns().threads[event.index()] as usize;
        let count = self.relations.rank(event) as u32 + 1;
        // What a clock holds of another thread came with all that it demands.
        if thread != own && self.out.arena.get(clock, thread) >= count {
            return clock;
        }
        let joined = self.out.arena.join(clock, self.out.clock[event.index()]);
        if thread == own { joined } else { self.out.arena.raise(joined, thread, count) }
    }
}
