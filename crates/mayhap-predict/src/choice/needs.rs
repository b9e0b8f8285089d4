//! What an event cannot do without: e needs d if every correct reordering with e has d before e.
//!
//! Rules, for one model, closed transitively: program order, fork, join, notify; the write that a read saw (in the data
//! model with the read itself, in the branch model with the next branch of its thread, in the sync model never); and of
//! two scopes that exclude each other, acq1 before acq2 demands rel1 before acq2, acq1 before rel2 demands rel1 before
//! rel2 (the second scope is closed, so the first must have been).
//!
//! A set of events that is closed under needs is a vector of positions, one a thread: a [`Frontier`]. Two closures of
//! frontiers stand on top:
//! - [`Needs::close_at`]: a thread that took a lock that the read's thread holds at its cut has released it (the read's thread
//!   keeps it, so the other scope came before). Every schedule that reaches the cut contains the result: *mandatory*.
//! - [`Needs::close_observed`]: of two scopes in the set the one taken first in the observed run is closed. The result, in
//!   observed order, is a correct reordering: *sufficient* (the sync-preserving ideal of Mathur, Pavlogiannis, Viswanathan).
//!
//! All rules hold in the observed order, so one forward pass computes the rows. Both closures are monotone.
//! Cost: O(events x threads) memory and time plus, per lock event, the lists of its lock; a closure looks only at the locks
//! held at the frontier.

use mayhap_trace::{EventId, Execution, Mode, Op, Relations, ThreadId, Trace};
use mayhap_witness::Model;

use super::order::Point;
use super::scopes::{List, OPEN, Scope, Scopes};

/// How many first events of each thread a set holds.
pub(super) type Frontier = Vec<u32>;

/// The writes of one variable in one thread.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    /// Tells it from all others of the trace; they count from 0.
    pub(super) number: u32,
    pub(super) thread: usize,
    /// Ascending.
    pub(super) ranks: Vec<u32>,
}

/// The needs of every event, and the tables they stand on.
pub(super) struct Needs<'a> {
    pub(super) trace: &'a Trace,
    pub(super) relations: &'a Relations,
    pub(super) execution: &'a Execution<'a>,
    pub(super) model: Model,
    pub(super) scopes: Scopes,
    threads: usize,
    /// Rows of each thread's events in program order.
    rows: Vec<Vec<u32>>,
    /// Per thread, its reads and its acquires.
    reads: Vec<Vec<EventId>>,
    acquires: Vec<Vec<EventId>>,
    /// Per variable.
    writes: Vec<Vec<Writes>>,
    /// Per event, the rank of the next branch of its thread at or after it; filled in the branch model only.
    next_branch: Vec<u32>,
    /// Per thread, lock and mode of the scopes that it never closes.
    left_open: Vec<Vec<(u32, Mode)>>,
}

impl<'a> Needs<'a> {
    pub(super) fn new(execution: &'a Execution<'a>, model: Model) -> Self {
        let (trace, relations) = execution.parts();
        let threads = relations.threads();
        let mut needs = Needs {
            trace,
            relations,
            execution,
            model,
            scopes: Scopes::of(execution),
            threads,
            rows: vec![Vec::new(); threads],
            reads: vec![Vec::new(); threads],
            acquires: vec![Vec::new(); threads],
            writes: vec![Vec::new(); trace.tables().variables.len()],
            next_branch: Vec::new(),
            left_open: vec![Vec::new(); threads],
        };
        for (lock, lists) in needs.scopes.lists.iter().enumerate() {
            for list in lists {
                if list.scopes.last().is_some_and(Scope::is_open) {
                    needs.left_open[list.thread].push((lock as u32, list.mode));
                }
            }
        }
        needs.fill();
        (0..).zip(needs.writes.iter_mut().flatten()).for_each(|(number, writes)| writes.number = number);
        if model.allows_change() {
            needs.find_branches();
        }
        needs
    }

    fn add_write(&mut self, variable: usize, thread: usize, rank: u32) {
        let writes = &mut self.writes[variable];
        match writes.iter_mut().find(|w| w.thread == thread) {
            Some(writes) => writes.ranks.push(rank),
            None => writes.push(Writes { number: 0, thread, ranks: vec![rank] }),
        }
    }

    fn fill(&mut self) {
        let mut now = vec![vec![0; self.threads]; self.threads];
        let mut promised = now.clone();
        for (id, event) in self.trace.events().filter(|(id, _)| self.relations.is_relevant(*id)) {
            let thread = event.thread.index();
            let rank = self.relations.rank(id) as u32;
            let mut row = std::mem::take(&mut now[thread]);
            if rank == 0
                && let Some(fork) = self.relations.fork_of(event.thread)
            {
                self.include(&mut row, fork);
            }
            match event.op {
                Op::Write => self.add_write(event.object as usize, thread, rank),
                Op::Read => {
                    if let Some(write) = self.relations.read_from(id) {
                        match self.model {
                            Model::Data | Model::Value => self.include(&mut row, write),
                            Model::Branch | Model::Causal => self.include(&mut promised[thread], write),
                            Model::Sync => {}
                        }
                    }
                }
                Op::Branch if self.model.allows_change() => join(&mut row, &promised[thread]),
                Op::Wait => {
                    let notify = self.relations.required_notify(id);
                    notify.into_iter().for_each(|notify| self.include(&mut row, notify));
                }
                Op::Join => {
                    let fork = self.relations.fork_of(ThreadId::at(event.object as usize));
                    fork.into_iter().chain(self.relations.last_of(id)).for_each(|e| self.include(&mut row, e));
                }
                op if op.is_lock() => self.close_earlier(&mut row, event.object, thread, op.is_shared()),
                _ => {}
            }
            row[thread] = rank;
            self.rows[thread].extend_from_slice(&row);
            if event.op == Op::Read {
                self.reads[thread].push(id);
            } else if event.op.is_acquire() {
                self.acquires[thread].push(id);
            }
            row[thread] = rank + 1;
            now[thread] = row;
        }
    }

    /// An acquire or release of `lock`: other scopes that began before it, by `row`, are closed before it.
    fn close_earlier(&self, row: &mut [u32], lock: u32, thread: usize, shared: bool) {
        let mine = if shared { Mode::Shared } else { Mode::Exclusive };
        let lists = &self.scopes.lists[lock as usize];
        let mut changed = true;
        while changed {
            changed = false;
            for other in lists.iter().filter(|l| excludes(l, thread, mine)) {
                if let Some(release) = self.unclosed(row, other) {
                    self.include(row, release);
                    changed = true;
                }
            }
        }
    }

    /// The release of the list's last scope in the set, if the set lacks it and the trace has it.
    fn unclosed(&self, frontier: &[u32], list: &List) -> Option<EventId> {
        let count = frontier[list.thread];
        let scope = list.latest(count).filter(|s| s.release >= count && !s.is_open())?;
        Some(self.event(scope.last()))
    }

    fn find_branches(&mut self) {
        self.next_branch = vec![u32::MAX; self.trace.len()];
        for thread in 0..self.threads {
            let mut next = u32::MAX;
            for (rank, &id) in self.relations.thread_events(ThreadId::at(thread)).iter().enumerate().rev() {
                if self.trace.event(id).op == Op::Branch {
                    next = rank as u32;
                }
                self.next_branch[id.index()] = next;
            }
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// How many events of each thread the event needs; of its own thread, its rank.
    #[inline]
    pub(super) fn row(&self, event: EventId) -> &[u32] {
        let point = self.point(event);
        self.rows(point.thread, point.rank, point.rank + 1)
    }

    /// The rows of a thread's events with ranks from `first` up to `end`, one after the other.
    #[inline]
    pub(super) fn rows(&self, thread: usize, first: u32, end: u32) -> &[u32] {
        &self.rows[thread][first as usize * self.threads..end as usize * self.threads]
    }

    /// The reads, and the acquires, of a thread with ranks from `first` up to `end`.
    pub(super) fn reads_and_acquires(&self, thread: usize, first: u32, end: u32) -> [&[EventId]; 2] {
        let rank = |e: &EventId| self.relations.rank(*e) as u32;
        [&self.reads[thread], &self.acquires[thread]].map(|events| {
            let start = events.partition_point(|e| rank(e) < first);
            let count = events[start..].partition_point(|e| rank(e) < end);
            &events[start..start + count]
        })
    }

    #[inline]
    pub(super) fn event(&self, point: Point) -> EventId {
        self.relations.thread_events(ThreadId::at(point.thread))[point.rank as usize]
    }

    #[inline]
    pub(super) fn point(&self, event: EventId) -> Point {
        super::witness_order::point(self.trace, self.relations, event)
    }

    /// How many relevant events a thread has.
    pub(super) fn length(&self, thread: usize) -> u32 {
        self.relations.thread_events(ThreadId::at(thread)).len() as u32
    }

    /// The writes of an access's variable, by thread.
    pub(super) fn writes(&self, access: EventId) -> &[Writes] {
        &self.writes[self.trace.columns().objects[access.index()] as usize]
    }

    /// How many [`Writes`] there are.
    pub(super) fn lists_of_writes(&self) -> usize {
        self.writes.iter().map(Vec::len).sum()
    }

    /// The scope that an acquire begins.
    pub(super) fn scope_of(&self, acquire: EventId) -> Scope {
        let point = self.point(acquire);
        let release = self.relations.matching_release(acquire).map_or(OPEN, |r| self.relations.rank(r) as u32);
        Scope { thread: point.thread, acquire: point.rank, release }
    }

    /// The read must see the write it saw, given how far its thread goes.
    #[inline]
    pub(super) fn is_strict(&self, read: EventId, frontier: u32) -> bool {
        match self.model {
            Model::Data | Model::Value => true,
            Model::Sync => false,
            Model::Branch | Model::Causal => self.next_branch[read.index()] < frontier,
        }
    }

    /// `a` is before `b` in every correct reordering that has `b`.
    #[inline]
    pub(super) fn needed(&self, a: Point, b: EventId) -> bool {
        self.row(b)[a.thread] > a.rank
    }

    /// Adds an event and all it needs.
    #[inline]
    pub(super) fn include(&self, frontier: &mut [u32], event: EventId) {
        join(frontier, self.row(event));
        let point = self.point(event);
        frontier[point.thread] = frontier[point.thread].max(point.rank + 1);
    }

    /// What must have run for `event` to be next: its thread's events before it, or its fork.
    pub(super) fn enabling(&self, event: EventId) -> Frontier {
        let point = self.point(event);
        let mut frontier = vec![0; self.threads];
        let before = match point.rank.checked_sub(1) {
            Some(rank) => Some(self.event(Point { rank, ..point })),
            None => self.relations.fork_of(ThreadId::at(point.thread)),
        };
        before.into_iter().for_each(|e| self.include(&mut frontier, e));
        frontier
    }

    /// Closes a set under what the cut before `read` demands; see the module. Scopes that are never closed stay open here.
    pub(super) fn close_at(&self, frontier: &mut [u32], read: EventId) {
        let thread = self.trace.columns().threads[read.index()] as usize;
        let held = self.relations.locksets().get(self.relations.held(read));
        let mut changed = !held.is_empty();
        while changed {
            changed = false;
            for &(lock, mode) in held {
                for other in self.scopes.lists[lock.index()].iter().filter(|l| excludes(l, thread, mode)) {
                    if let Some(release) = self.unclosed(frontier, other) {
                        self.include(frontier, release);
                        changed = true;
                    }
                }
            }
        }
    }

    /// Closes a set so that it can run in observed order. `false` if it would take the release of a scope never closed.
    pub(super) fn close_observed(&self, frontier: &mut [u32]) -> bool {
        let mut changed = true;
        while changed {
            changed = false;
            for thread in 0..self.threads {
                if frontier[thread] == 0 {
                    continue;
                }
                if frontier[thread] < self.length(thread) {
                    let next = self.event(Point { thread, rank: frontier[thread] });
                    for &(lock, mode) in self.relations.locksets().get(self.relations.held(next)) {
                        let Some(scope) = self.overtaken(frontier, thread, lock.index(), mode) else { continue };
                        let Some(release) = self.relations.matching_release(scope) else { return false };
                        self.include(frontier, release);
                        changed = true;
                    }
                } else if (self.left_open[thread].iter())
                    .any(|&(lock, mode)| self.overtaken(frontier, thread, lock as usize, mode).is_some())
                {
                    return false;
                }
            }
        }
        true
    }

    /// The acquire of the scope that `thread` has open at the frontier, if the set has a scope taken later.
    fn overtaken(&self, frontier: &[u32], thread: usize, lock: usize, mode: Mode) -> Option<EventId> {
        let lists = &self.scopes.lists[lock];
        let mine = lists.iter().find(|l| l.thread == thread && l.mode == mode)?;
        let acquire = self.event(mine.latest(frontier[thread])?.first());
        let later = lists
            .iter()
            .filter(|l| l.excludes(mine))
            .any(|other| other.latest(frontier[other.thread]).is_some_and(|s| self.event(s.first()) > acquire));
        later.then_some(acquire)
    }
}

fn excludes(list: &List, thread: usize, mode: Mode) -> bool {
    list.thread != thread && (list.mode == Mode::Exclusive || mode == Mode::Exclusive)
}

/// The union of two sets.
#[inline]
pub(super) fn join(frontier: &mut [u32], other: &[u32]) {
    frontier.iter_mut().zip(other).for_each(|(a, &b)| *a = (*a).max(b));
}
