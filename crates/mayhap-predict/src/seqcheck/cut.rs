//! Which events run: a prefix of each thread, closed under what the model demands.
//!
//! A cut holds, with an event, its must-order predecessors and, for every strict read, the write it saw. Which reads are
//! strict depends on the cut: in `data` all of them, in `branch` those with a later branch of their thread in the cut, in
//! `sync` none. A thread may have a limit that it must not pass.
//!
//! Cost: each event of the cut is looked at once.

use mayhap_trace::{EventId, Op, ThreadId};
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
            Model::Branch | Model::Causal => index.branch_before(thread, count).unwrap_or(0),
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
            let strict = self.strict(index, thread);
            for rank in self.settled[t]..strict {
                let id = index.at(thread, rank);
                if index.trace.event(id).op == Op::Read {
                    wanted.extend(index.relations.partner(id));
                }
            }
            self.settled[t] = self.settled[t].max(strict);
        }
        Ok(())
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

/// Events of other threads that must run before this one.
pub(crate) fn demanded(index: &Index<'_>, id: EventId) -> [Option<EventId>; 2] {
    let event = index.trace.event(id);
    match event.op {
        Op::Wait => [index.relations.partner(id), None],
        Op::Join => [index.relations.partner(id), index.relations.fork_of(ThreadId::at(event.object as usize))],
        _ => [None, None],
    }
}
