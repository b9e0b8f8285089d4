//! What a well-formed trace implies, derived once in one pass: which events take part in reorderings, each release's
//! acquire, each read's write, each wait's notify, the locks held, and must-order.
//!
//! Must-order is program order, fork to first, last to join, and notify to wait where no other notify could take its place,
//! closed transitively; locks and atomic accesses are not in it. Besides, a join never precedes the fork of the thread it waits for, even where that thread did nothing.
//!
//! Cost: linear in the events (plus, per meeting of threads, the clock nodes that change); 16 bytes an event.

use hashbrown::HashMap;

use crate::clocks::{Clock, ClockArena};
use crate::error::Error;
use crate::holds::Mode;
use crate::id::{EventId, NONE, ThreadId};
use crate::kinds::ConditionKind;
use crate::locksets::{LocksetId, Locksets};
use crate::op::Op;
use crate::summary::Bits;
use crate::trace::Trace;
use crate::validate::Validator;

/// Derived tables of one trace.
#[derive(Clone, Debug)]
pub struct Relations {
    /// Rank of each relevant event among the relevant events of its thread; `NONE` for the others.
    rank: Vec<u32>,
    /// The one other event that belongs to each; the functions that read it say which.
    partner: Vec<u32>,
    /// Waits that another notify could serve in another schedule.
    loose_waits: Bits,
    /// Locks held just before each event.
    lockset: Vec<u32>,
    /// Clock of each event, without the event's own thread.
    clock: Vec<Clock>,
    /// Relevant events, thread by thread; `starts` bounds them.
    by_thread: Vec<EventId>,
    starts: Vec<usize>,
    fork_of: Vec<u32>,
    join_of: Vec<u32>,
    locksets: Locksets,
    clocks: ClockArena,
}

impl Relations {
    /// Checks that the trace is well-formed and derives what follows from it.
    pub fn derive(trace: &Trace) -> Result<Relations, Error> {
        Pass::new(trace).run()
    }

    /// Whether the event takes part in reorderings: no mark, no re-entrant lock operation.
    #[inline]
    pub fn is_relevant(&self, event: EventId) -> bool {
        self.rank[event.index()] != NONE
    }

    /// Returns the rank of a relevant event among the relevant events of its thread, from 0.
    ///
    /// # Panics
    /// In debug builds, if the event is not relevant.
    #[inline]
    pub fn rank(&self, event: EventId) -> usize {
        debug_assert!(self.is_relevant(event), "event {event} takes no part in reorderings");
        self.rank[event.index()] as usize
    }

    /// The relevant events of a thread in program order.
    #[inline]
    pub fn thread_events(&self, thread: ThreadId) -> &[EventId] {
        &self.by_thread[self.starts[thread.index()]..self.starts[thread.index() + 1]]
    }

    /// How many threads the trace has.
    #[inline]
    pub fn threads(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    fn partner(&self, event: EventId) -> Option<EventId> {
        EventId::from_cell(self.partner[event.index()])
    }

    /// The write that a read saw; `None` is the initial value.
    #[inline]
    pub fn read_from(&self, read: EventId) -> Option<EventId> {
        self.partner(read)
    }

    /// The release that ends the section of an acquire; `None` if the trace ends inside it.
    #[inline]
    pub fn matching_release(&self, acquire: EventId) -> Option<EventId> {
        self.partner(acquire)
    }

    /// The acquire that began the section of a release.
    #[inline]
    pub fn acquire_of(&self, release: EventId) -> Option<EventId> {
        self.partner(release)
    }

    /// The notify that a wait was paired with ([`crate::Pairing`]); `None` if it took from a semaphore's initial count.
    #[inline]
    pub fn notify_of(&self, wait: EventId) -> Option<EventId> {
        self.partner(wait)
    }

    /// The notify that comes before a wait in every schedule; `None` where another one, or an initial count, could serve it.
    #[inline]
    pub fn required_notify(&self, wait: EventId) -> Option<EventId> {
        self.notify_of(wait).filter(|_| !self.loose_waits.contains(wait.index()))
    }

    /// The acquire of a section that made an attempt to acquire its lock fail; `None` for a semaphore.
    #[inline]
    pub fn blocker_of(&self, failed: EventId) -> Option<EventId> {
        self.partner(failed)
    }

    /// The first event of the thread that a fork started, if it has one.
    #[inline]
    pub fn first_of(&self, fork: EventId) -> Option<EventId> {
        self.partner(fork)
    }

    /// The last event of the thread that a join waited for, if it has one.
    #[inline]
    pub fn last_of(&self, join: EventId) -> Option<EventId> {
        self.partner(join)
    }

    /// The fork of a thread, if the trace has it.
    #[inline]
    pub fn fork_of(&self, thread: ThreadId) -> Option<EventId> {
        EventId::from_cell(self.fork_of[thread.index()])
    }

    /// The join of a thread, if the trace has it.
    #[inline]
    pub fn join_of(&self, thread: ThreadId) -> Option<EventId> {
        EventId::from_cell(self.join_of[thread.index()])
    }

    /// The locks that the event's thread holds just before the event.
    #[inline]
    pub fn held(&self, event: EventId) -> LocksetId {
        LocksetId::from_cell(self.lockset[event.index()])
    }

    /// Returns the table of locksets.
    #[inline]
    pub fn locksets(&self) -> &Locksets {
        &self.locksets
    }

    /// Whether must-order orders `a` before `b`: `a` precedes `b` in every correct reordering that contains `b`. Constant time; irreflexive.
    #[inline]
    pub fn ordered(&self, trace: &Trace, a: EventId, b: EventId) -> bool {
        let (columns, rank) = (trace.columns(), self.rank[a.index()]);
        let thread = columns.threads[a.index()];
        if thread == columns.threads[b.index()] {
            rank < self.rank[b.index()]
        } else {
            rank < self.clocks.get(self.clock[b.index()], thread as usize)
        }
    }

    /// How many events of `thread` come before `event` in must-order.
    #[inline]
    pub fn before(&self, trace: &Trace, event: EventId, thread: ThreadId) -> usize {
        if trace.columns().threads[event.index()] as usize == thread.index() {
            self.rank(event)
        } else {
            self.clocks.get(self.clock[event.index()], thread.index()) as usize
        }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        (self.rank.capacity() + self.partner.capacity() + self.lockset.capacity() + self.clock.capacity()) * 4
            + self.by_thread.capacity() * 4
            + self.clocks.memory()
    }
}

/// The running state of the one pass.
struct Pass<'t> {
    trace: &'t Trace,
    validator: Validator,
    out: Relations,
    counts: Vec<u32>,
    /// Clock of each thread so far.
    now: Vec<Clock>,
    held: Vec<LocksetId>,
    last_write: Vec<u32>,
    notifies: NotifyCounts,
}

impl<'t> Pass<'t> {
    fn new(trace: &'t Trace) -> Self {
        let (events, threads) = (trace.len(), trace.tables().threads.len());
        let out = Relations {
            rank: vec![NONE; events],
            partner: vec![NONE; events],
            loose_waits: Bits::default(),
            lockset: vec![0; events],
            clock: vec![ClockArena::ZERO; events],
            by_thread: Vec::new(),
            starts: vec![0; threads + 1],
            fork_of: vec![NONE; threads],
            join_of: vec![NONE; threads],
            locksets: Locksets::default(),
            clocks: ClockArena::new(threads),
        };
        Pass {
            trace,
            validator: Validator::for_trace(trace),
            out,
            counts: vec![0; threads],
            now: vec![ClockArena::ZERO; threads],
            held: vec![LocksetId::EMPTY; threads],
            last_write: vec![NONE; trace.tables().variables.len()],
            notifies: NotifyCounts::of(trace),
        }
    }

    fn run(mut self) -> Result<Relations, Error> {
        for (id, event) in self.trace.events() {
            let step = self.validator.step_in_trace(self.trace.tables(), id, &event)?;
            let thread = event.thread.index();
            if step.relevant {
                self.meet(id, event.op, event.object, thread, step.partner);
                self.out.rank[id.index()] = self.counts[thread];
                self.counts[thread] += 1;
            }
            self.out.clock[id.index()] = self.now[thread];
            self.out.lockset[id.index()] = self.held[thread].cell();
            if step.relevant && event.op.is_lock() {
                self.lock(event.op, event.object, thread);
            }
        }
        self.gather();
        Ok(self.out)
    }

    /// Sets the event's partner and joins the clocks that end in it.
    fn meet(&mut self, id: EventId, op: Op, object: u32, thread: usize, partner: Option<EventId>) {
        if self.counts[thread] == 0
            && let Some(fork) = EventId::from_cell(self.out.fork_of[thread])
        {
            self.out.partner[fork.index()] = id.cell();
        }
        let other = object as usize;
        match op {
            Op::Read => self.out.partner[id.index()] = self.last_write[other],
            Op::Write => self.last_write[other] = id.cell(),
            Op::Release | Op::SharedRelease => {
                let acquire = partner.expect("a closing release has its acquire");
                self.out.partner[id.index()] = acquire.cell();
                self.out.partner[acquire.index()] = id.cell();
            }
            Op::Wait => self.meet_notify(id, object, thread, partner),
            Op::FailedAcquire | Op::FailedSharedAcquire => {
                self.out.partner[id.index()] = partner.map_or(NONE, EventId::cell);
            }
            Op::Fork => {
                self.out.fork_of[other] = id.cell();
                let clock = self.now[thread];
                self.join_clock(other, clock, thread, self.counts[thread] + 1);
            }
            Op::Join => {
                self.out.join_of[other] = id.cell();
                let clock = self.now[other];
                self.join_clock(thread, clock, other, self.counts[other]);
            }
            _ => {}
        }
    }

    fn meet_notify(&mut self, wait: EventId, object: u32, thread: usize, notify: Option<EventId>) {
        let Some(notify) = notify else { return };
        self.out.partner[wait.index()] = notify.cell();
        let from = self.trace.columns().threads[notify.index()] as usize;
        let kind = self.trace.tables().condition_kinds.get(object as usize);
        if !self.notifies.is_only_one(kind, object, thread) {
            self.out.loose_waits.insert(wait.index());
        } else if from != thread {
            let clock = self.out.clock[notify.index()];
            self.join_clock(thread, clock, from, self.out.rank[notify.index()] + 1);
        }
    }

    /// Everything before `clock`, and the first `count` events of `from`, now come before what `thread` does next.
    fn join_clock(&mut self, thread: usize, clock: Clock, from: usize, count: u32) {
        let joined = self.out.clocks.join(self.now[thread], clock);
        self.now[thread] = self.out.clocks.raise(joined, from, count);
    }

    fn lock(&mut self, op: Op, object: u32, thread: usize) {
        let lock = crate::id::LockId::at(object as usize);
        let mode = if op.is_shared() { Mode::Shared } else { Mode::Exclusive };
        let set = self.held[thread];
        self.held[thread] = if op.is_acquire() {
            self.out.locksets.with(set, (lock, mode))
        } else {
            self.out.locksets.without(set, (lock, mode))
        };
    }

    /// Sorts the relevant events by thread and gives each join its thread's last event.
    fn gather(&mut self) {
        let out = &mut self.out;
        for (thread, &count) in self.counts.iter().enumerate() {
            out.starts[thread + 1] = out.starts[thread] + count as usize;
        }
        out.by_thread = vec![EventId::at(0); out.starts[self.counts.len()]];
        for (i, &rank) in out.rank.iter().enumerate() {
            if rank != NONE {
                let thread = self.trace.columns().threads[i] as usize;
                out.by_thread[out.starts[thread] + rank as usize] = EventId::at(i);
            }
        }
        for thread in 0..self.counts.len() {
            if let Some(join) = EventId::from_cell(out.join_of[thread])
                && self.counts[thread] > 0
            {
                out.partner[join.index()] = out.by_thread[out.starts[thread + 1] - 1].cell();
            }
        }
    }
}

/// How many notifies the conditions have, where any of them may serve a wait.
#[derive(Default)]
struct NotifyCounts {
    all: Vec<u32>,
    by_thread: HashMap<(u32, usize), u32, foldhash::fast::RandomState>,
}

impl NotifyCounts {
    fn of(trace: &Trace) -> Self {
        let mut counts = NotifyCounts::default();
        if trace.tables().condition_kinds.iter().all(|(_, kind)| kind.has_fixed_pairs()) {
            return counts;
        }
        counts.all = vec![0; trace.tables().conditions.len()];
        for (_, event) in trace.events_of(Op::is_notify) {
            counts.all[event.object as usize] += 1;
            *counts.by_thread.entry((event.object, event.thread.index())).or_default() += 1;
        }
        counts
    }

    /// No other notify, and no initial count, could serve a wait of `thread`.
    fn is_only_one(&self, kind: ConditionKind, condition: u32, thread: usize) -> bool {
        let all = || self.all[condition as usize];
        match kind {
            ConditionKind::Condition => {
                let own = self.by_thread.get(&(condition, thread)).copied().unwrap_or(0);
                all() - own == 1
            }
            ConditionKind::Semaphore { initial } => initial == 0 && all() == 1,
            ConditionKind::Token => all() == 1,
            _ => true,
        }
    }
}
