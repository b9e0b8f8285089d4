//! Lookups that the rules need: the nearest write of a variable, the nearest section of a lock, the readers of a write,
//! each by thread. Built once a trace.
//!
//! Cost: linear memory; a lookup is one binary search.

use mayhap_trace::{EventId, Execution, LockId, Mode, Op, Relations, ThreadId, Trace, VarId};

use crate::ipa::mode_of;

/// A critical section of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    pub(crate) thread: ThreadId,
    pub(crate) lock: LockId,
    pub(crate) mode: Mode,
    pub(crate) acquire: EventId,
    pub(crate) release: Option<EventId>,
}

#[derive(Clone, Debug, Default)]
struct ThreadIndex {
    /// (variable, rank) of writes, sorted.
    writes: Vec<(u32, u32)>,
    /// (lock, shared, rank) of acquires, sorted.
    acquires: Vec<(u32, bool, u32)>,
    /// Ranks of branches.
    branches: Vec<u32>,
    /// What the thread holds after its last event.
    left_held: Vec<(LockId, Mode)>,
}

/// The lookups of one trace.
#[derive(Clone, Debug)]
pub(crate) struct Index<'a> {
    pub(crate) execution: &'a Execution<'a>,
    pub(crate) trace: &'a Trace,
    pub(crate) relations: &'a Relations,
    threads: Vec<ThreadIndex>,
    /// (write, thread, rank) of reads, sorted.
    readers: Vec<(EventId, u32, u32)>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(execution: &'a Execution<'a>) -> Self {
        let (trace, relations) = execution.parts();
        let mut threads = vec![ThreadIndex::default(); relations.threads()];
        let mut readers = Vec::new();
        for (id, event) in trace.events().filter(|&(id, _)| relations.is_relevant(id)) {
            let rank = relations.rank(id) as u32;
            let thread = &mut threads[event.thread.index()];
            let held = |mode| (LockId::at(event.object as usize), mode);
            match event.op {
                Op::Write => thread.writes.push((event.object, rank)),
                Op::Read => {
                    readers.extend(relations.read_from(id).map(|w| (w, event.thread.cell(), rank)));
                }
                Op::Branch => thread.branches.push(rank),
                op if op.is_acquire() => {
                    thread.acquires.push((event.object, op.is_shared(), rank));
                    thread.left_held.push(held(mode_of(op.is_shared())));
                }
                op if op.is_release() => thread.left_held.retain(|&h| h != held(mode_of(op.is_shared()))),
                _ => {}
            }
        }
        for thread in &mut threads {
            thread.writes.sort_unstable();
            thread.acquires.sort_unstable();
        }
        readers.sort_unstable();
        Index { execution, trace, relations, threads, readers }
    }

    pub(crate) fn thread(&self, event: EventId) -> ThreadId {
        self.trace.event(event).thread
    }

    pub(crate) fn rank(&self, event: EventId) -> u32 {
        self.relations.rank(event) as u32
    }

    /// Returns the event of a thread at a rank.
    pub(crate) fn at(&self, thread: ThreadId, rank: u32) -> EventId {
        self.relations.thread_events(thread)[rank as usize]
    }

    pub(crate) fn length(&self, thread: ThreadId) -> u32 {
        self.relations.thread_events(thread).len() as u32
    }

    /// The last write of a variable among the first `count` events of a thread.
    pub(crate) fn write_before(&self, thread: ThreadId, variable: VarId, count: u32) -> Option<EventId> {
        let writes = &self.threads[thread.index()].writes;
        let at = writes.partition_point(|&entry| entry < (variable.cell(), count)).checked_sub(1)?;
        (writes[at].0 == variable.cell()).then(|| self.at(thread, writes[at].1))
    }

    /// The first write of a variable at rank `from` or later.
    pub(crate) fn write_from(&self, thread: ThreadId, variable: VarId, from: u32) -> Option<EventId> {
        let writes = &self.threads[thread.index()].writes;
        let &(v, rank) = writes.get(writes.partition_point(|&w| w < (variable.cell(), from)))?;
        (v == variable.cell()).then(|| self.at(thread, rank))
    }

    /// The last acquire of a lock in one mode among the first `count` events of a thread.
    pub(crate) fn acquire_before(&self, thread: ThreadId, lock: LockId, mode: Mode, count: u32) -> Option<EventId> {
        let acquires = &self.threads[thread.index()].acquires;
        let shared = mode == Mode::Shared;
        let at = acquires.partition_point(|&a| a < (lock.cell(), shared, count)).checked_sub(1)?;
        let (l, s, rank) = acquires[at];
        ((l, s) == (lock.cell(), shared)).then(|| self.at(thread, rank))
    }

    /// The rank of the last branch among the first `count` events of a thread.
    pub(crate) fn branch_before(&self, thread: ThreadId, count: u32) -> Option<u32> {
        let branches = &self.threads[thread.index()].branches;
        branches.partition_point(|&b| b < count).checked_sub(1).map(|at| branches[at])
    }

    /// The last read of a write among the first `count` events of a thread.
    pub(crate) fn reader_before(&self, write: EventId, thread: ThreadId, count: u32) -> Option<EventId> {
        let at = self.readers.partition_point(|&r| r < (write, thread.cell(), count)).checked_sub(1)?;
        let (w, t, rank) = self.readers[at];
        ((w, t) == (write, thread.cell())).then(|| self.at(thread, rank))
    }

    /// The section that an acquire opens.
    pub(crate) fn section(&self, acquire: EventId) -> Section {
        let event = self.trace.event(acquire);
        let lock = LockId::at(event.object as usize);
        let mode = mode_of(event.op.is_shared());
        Section { thread: event.thread, lock, mode, acquire, release: self.relations.matching_release(acquire) }
    }

    /// The sections that a thread has open after its first `count` events.
    pub(crate) fn open_after(&self, thread: ThreadId, count: u32) -> Vec<Section> {
        let held = match self.relations.thread_events(thread).get(count as usize) {
            Some(&next) => self.relations.locksets().get(self.relations.held(next)),
            None => &self.threads[thread.index()].left_held,
        };
        let acquire = |&(lock, mode)| self.acquire_before(thread, lock, mode, count);
        held.iter().filter_map(acquire).map(|a| self.section(a)).collect()
    }

    /// Returns all threads.
    pub(crate) fn all_threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::at)
    }
}

impl Section {
    /// The two sections cannot be open at once.
    pub(crate) fn excludes(&self, other: &Section) -> bool {
        self.thread != other.thread
            && self.lock == other.lock
            && (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive)
    }
}
