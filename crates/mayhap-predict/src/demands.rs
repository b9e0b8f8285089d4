//! What an event brings along: the events that every correct reordering with it must have before it, in one model.
//!
//! Must-order, closed under what the model asks of reads: in `data` each read brings the write it saw; in `branch` a
//! branch brings the writes that all earlier reads of its thread saw, while a read alone brings nothing; in `sync` reads
//! bring nothing. The set is down-closed in each thread, so it is a clock, and the clock of a cut is the join of the
//! clocks of its last events. One pass in observed order, since every demand points back in it.
//!
//! Cost: linear, plus the clock nodes that change; 4 bytes an event beside them.

use mayhap_trace::clocks::{Clock, ClockArena};
use mayhap_trace::{EventId, Op, Relations, ThreadId, Trace};
use mayhap_witness::Model;

/// The demand clocks of `data` or `branch`. (`sync` demands must-order alone, which [`Relations`] has.)
#[derive(Debug)]
pub struct Demands {
    arena: ClockArena,
    clock: Vec<Clock>,
}

struct Pass<'a> {
    trace: &'a Trace,
    relations: &'a Relations,
    out: Demands,
    now: Vec<Clock>,
    /// In `branch`: what the next branch of each thread will demand.
    pending: Vec<Clock>,
}

impl Demands {
    /// Computes the clocks of a model.
    pub fn new(trace: &Trace, relations: &Relations, model: Model) -> Self {
        let threads = relations.threads();
        let out = Demands { arena: ClockArena::new(threads), clock: vec![ClockArena::ZERO; trace.len()] };
        let zero = vec![ClockArena::ZERO; threads];
        let mut pass = Pass { trace, relations, out, now: zero.clone(), pending: zero };
        for (id, event) in trace.events() {
            let thread = event.thread.index();
            match event.op {
                Op::Read if matches!(model, Model::Data | Model::Value) => pass.read(id, thread, false),
                Op::Read if model.allows_change() => pass.read(id, thread, true),
                Op::Branch => pass.now[thread] = pass.out.arena.join(pass.now[thread], pass.pending[thread]),
                Op::Fork => pass.fork(id, event.object as usize, thread),
                Op::Join => pass.join(ThreadId::at(event.object as usize), thread),
                Op::Wait => pass.wait(id, thread),
                _ => {}
            }
            pass.out.clock[id.index()] = pass.now[thread];
        }
        pass.out
    }

    /// How many events of `thread`, another thread than the event's, must come before `event`.
    #[inline]
    pub fn before(&self, event: EventId, thread: usize) -> u32 {
        self.arena.get(self.clock[event.index()], thread)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.arena.memory() + self.clock.capacity() * size_of::<Clock>()
    }
}

impl Pass<'_> {
    fn read(&mut self, read: EventId, thread: usize, later: bool) {
        if let Some(write) = self.relations.partner(read) {
            let from = if later { self.pending[thread] } else { self.now[thread] };
            let joined = self.with(from, thread, write);
            if later {
                self.pending[thread] = joined;
            } else {
                self.now[thread] = joined;
            }
        }
    }

    fn wait(&mut self, wait: EventId, thread: usize) {
        if let Some(notify) = self.relations.partner(wait) {
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
