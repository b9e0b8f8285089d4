//! Which events run: a prefix of each thread, closed under what the model demands.
//!
//! A cut holds, with an event, its must-order predecessors and, for every strict read, the write it saw. Which reads are
//! strict depends on the cut: in `data` all of them, in `sync` none. In `branch` those with a later branch of their thread
//! in the cut, and, beyond the paper (`branch_value_flow.std`), those that a write comes after which a strict read sees: its
//! value must be the observed one. Threads pass that on by fork and join. A thread may have a limit that it must not pass.
//!
//! Cost: each event of the cut is looked at once.

use mayhap_trace::{EventId, Flags, Op, ThreadId};
use mayhap_witness::Model;

use super::index::{Index, Section};

/// An event that would have to run although its thread stops before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Overrun {
    pub(crate) event: EventId,
}

/// Prefixes of all threads.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    model: Model,
    /// Events that run, by thread.
    pub(crate) counts: Vec<u32>,
    /// Events that may run, by thread.
    pub(crate) limits: Vec<u32>,
    /// Reads at or after these ranks may see anything although the model says otherwise.
    pub(crate) free_from: Vec<u32>,
    /// In `data`, a read is strict only once its thread goes on: the branch that depends on it comes after it.
    pub(crate) late_branches: bool,
    /// Events by thread that must be unchanged because another thread reads what comes of them.
    unchanged: Vec<u32>,
    /// How far the reads of each thread have been made strict.
    settled: Vec<u32>,
}

impl Cut {
    /// Nothing runs.
    pub(crate) fn empty(index: &Index<'_>, model: Model) -> Self {
        let lengths: Vec<u32> = index.all_threads().map(|t| index.length(t)).collect();
        let zero = vec![0; lengths.len()];
        Cut {
            model,
            counts: zero.clone(),
            limits: lengths,
            free_from: vec![u32::MAX; zero.len()],
            late_branches: false,
            unchanged: zero.clone(),
            settled: zero,
        }
    }

    /// The event runs.
    pub(crate) fn has(&self, index: &Index<'_>, event: EventId) -> bool {
        index.rank(event) < self.counts[index.thread(event).index()]
    }

    /// Reads of a thread before this rank must see what they saw.
    pub(crate) fn strict(&self, index: &Index<'_>, thread: ThreadId) -> u32 {
        let count = self.counts[thread.index()];
        let strict = match self.model {
            Model::Data | Model::Value => count.saturating_sub(u32::from(self.late_branches)),
            Model::Branch | Model::Causal => {
                index.branch_before(thread, count).unwrap_or(0).max(self.unchanged[thread.index()])
            }
            Model::Sync => 0,
        };
        strict.min(self.free_from[thread.index()])
    }

    /// The event is a read that must see what it saw.
    pub(crate) fn is_strict(&self, index: &Index<'_>, read: EventId) -> bool {
        index.rank(read) < self.strict(index, index.thread(read))
    }

    /// Adds an event and all that it demands.
    pub(crate) fn add(&mut self, index: &Index<'_>, event: EventId) -> Result<(), Overrun> {
        self.add_observed(index, event, &mut |_, _| ())
    }

    /// The same; `entered` sees every event that comes in, and may ask for more.
    pub(crate) fn add_observed(
        &mut self,
        index: &Index<'_>,
        event: EventId,
        entered: &mut dyn FnMut(EventId, &mut Vec<EventId>),
    ) -> Result<(), Overrun> {
        let mut wanted = vec![event];
        let mut touched = Vec::new();
        loop {
            while let Some(event) = wanted.pop() {
                let thread = index.thread(event);
                let (t, rank) = (thread.index(), index.rank(event));
                if rank < self.counts[t] {
                    continue;
                }
                if rank >= self.limits[t] {
                    return Err(Overrun { event: index.at(thread, self.limits[t]) });
                }
                if self.counts[t] == 0 {
                    wanted.extend(index.relations.fork_of(thread));
                }
                for rank in self.counts[t]..=rank {
                    let id = index.at(thread, rank);
                    wanted.extend(demanded(index, id).into_iter().flatten());
                    entered(id, &mut wanted);
                }
                self.counts[t] = rank + 1;
                touched.push(thread);
            }
            let Some(thread) = touched.pop() else { return Ok(()) };
            self.settle(index, thread, &mut wanted, &mut touched);
        }
    }

    /// Demands what the strict reads of a thread saw, and in the models with taint that it is clean.
    fn settle(&mut self, index: &Index<'_>, thread: ThreadId, wanted: &mut Vec<EventId>, touched: &mut Vec<ThreadId>) {
        let t = thread.index();
        let strict = self.strict(index, thread);
        let taint = self.model.allows_change();
        if taint && (strict > 0 || index.branch_before(thread, self.counts[t]).is_some()) {
            let mut child = thread;
            while let Some(fork) = index.relations.fork_of(child) {
                child = index.thread(fork);
                self.keep_unchanged(child, index.rank(fork), touched);
            }
        }
        for rank in self.settled[t]..strict {
            let id = index.at(thread, rank);
            let event = index.trace.event(id);
            match event.op {
                Op::Read => {
                    let write = index.relations.read_from(id);
                    wanted.extend(write);
                    if let Some(write) = write.filter(|_| taint) {
                        self.keep_unchanged(index.thread(write), unchanged_before(index, write), touched);
                    }
                }
                Op::Join if taint => {
                    let child = ThreadId::at(event.object as usize);
                    self.keep_unchanged(child, index.length(child), touched);
                }
                _ => {}
            }
        }
        self.settled[t] = self.settled[t].max(strict);
    }

    fn keep_unchanged(&mut self, thread: ThreadId, count: u32, touched: &mut Vec<ThreadId>) {
        let unchanged = &mut self.unchanged[thread.index()];
        if *unchanged < count {
            *unchanged = count;
            touched.push(thread);
        }
    }

    /// The sections left open.
    pub(crate) fn open(&self, index: &Index<'_>) -> Vec<Section> {
        index.all_threads().flat_map(|t| index.open_after(t, self.counts[t.index()])).collect()
    }

    /// All events, in observed order.
    pub(crate) fn events(&self, index: &Index<'_>) -> Vec<EventId> {
        let mut events: Vec<EventId> = Vec::with_capacity(self.counts.iter().sum::<u32>() as usize);
        for thread in index.all_threads() {
            events.extend(&index.relations.thread_events(thread)[..self.counts[thread.index()] as usize]);
        }
        events.sort_unstable();
        events
    }
}

/// How many events of its thread must be unchanged for a write to be clean.
fn unchanged_before(index: &Index<'_>, write: EventId) -> u32 {
    let flags = |rank: u32| index.trace.event(index.at(index.thread(write), rank)).flags;
    let mut rank = index.rank(write);
    if flags(rank).has(Flags::CONSTANT) {
        return 0;
    }
    while flags(index.rank(write)).has(Flags::INDEPENDENT) && rank > 0 && flags(rank).is_joined() {
        rank -= 1;
    }
    rank
}

/// Events of other threads that must run before this one.
pub(crate) fn demanded(index: &Index<'_>, id: EventId) -> [Option<EventId>; 2] {
    let event = index.trace.event(id);
    match event.op {
        Op::Wait => [index.relations.required_notify(id), None],
        Op::Join => [index.relations.last_of(id), index.relations.fork_of(ThreadId::at(event.object as usize))],
        _ => [None, None],
    }
}
