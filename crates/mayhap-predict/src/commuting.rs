//! Steps that commute with all that other threads can still do, so that a search over states may run them at once.
//!
//! A step is one if every event of it is:
//! - a branch, a fork or a join: it depends on its own thread, or on one that has finished;
//! - a read of a variable that no other thread still writes, or a write of one that no other thread still accesses;
//! - an access of a variable that a lock protects in the whole trace: while its thread holds the lock, no other thread gets there;
//! - a release: whatever can happen before it can happen after it. Not where an attempt at the lock failed, which needs the lock
//!   to be held, nor just before a wait for a condition variable, which begins there;
//! - an acquire of a lock that one thread uses alone;
//! - a notify that is never lost (of a semaphore, or one that serves a certain wait), and a wait for such a one.
//!
//! Cost: the tables are built once for a trace, in linear time; a question about an event takes O(threads · log accesses).

use mayhap_trace::{ConditionKind, Event, EventId, Execution, Mode, Op, ThreadId};

/// The accesses of one thread to one variable, as ranks in program order.
#[derive(Debug, Default)]
struct Accesses {
    thread: u16,
    all: Vec<u32>,
    writes: Vec<u32>,
}

impl Accesses {
    /// The thread still has one of these to run, before its limit.
    fn any_left(ranks: &[u32], done: u32, limit: u32) -> bool {
        ranks.get(ranks.partition_point(|&rank| rank < done)).is_some_and(|&rank| rank < limit)
    }
}

/// How far the threads have run, and how far they may.
#[derive(Clone, Copy)]
pub(crate) struct Progress<'p> {
    pub(crate) done: &'p dyn Fn(usize) -> u32,
    pub(crate) limit: &'p [u32],
}

/// What is known of a trace's objects.
#[derive(Debug)]
pub(crate) struct Commuting {
    variables: Vec<Vec<Accesses>>,
    /// A lock is held exclusively at every access of the variable.
    protected: Vec<bool>,
    /// Of each lock: no attempt to take it failed.
    never_failed: Vec<bool>,
    /// Of each lock: no two threads use it.
    alone: Vec<bool>,
    /// Of each condition: no attempt to take from it failed.
    never_empty: Vec<bool>,
}

impl Commuting {
    pub(crate) fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let tables = trace.tables();
        let mut this = Commuting {
            variables: tables.variables.iter().map(|_| Vec::new()).collect(),
            protected: vec![false; tables.variables.len()],
            never_failed: vec![true; tables.locks.len()],
            alone: vec![true; tables.locks.len()],
            never_empty: vec![true; tables.conditions.len()],
        };
        let mut users: Vec<Option<ThreadId>> = vec![None; tables.locks.len()];
        // The locks that were held at all accesses so far.
        let mut common: Vec<Option<Vec<u32>>> = vec![None; tables.variables.len()];
        for thread in (0..relations.threads()).map(ThreadId::at) {
            for (rank, &id) in relations.thread_events(thread).iter().enumerate() {
                let event = trace.event(id);
                let object = event.object as usize;
                match event.op {
                    Op::Read | Op::Write => {
                        this.access(&event, rank as u32);
                        let held = relations.locksets().get(relations.held(id));
                        let mut held =
                            held.iter().filter(|(_, mode)| *mode == Mode::Exclusive).map(|(lock, _)| lock.cell());
                        match &mut common[object] {
                            Some(locks) => {
                                let held: Vec<u32> = held.collect();
                                locks.retain(|lock| held.contains(lock));
                            }
                            none => *none = Some(held.by_ref().collect()),
                        }
                    }
                    Op::FailedWait => this.never_empty[object] = false,
                    _ => {
                        if let Some(lock) = event.lock() {
                            this.alone[lock.index()] &= *users[lock.index()].get_or_insert(thread) == thread;
                            this.never_failed[lock.index()] &= !event.op.is_failed_attempt();
                        }
                    }
                }
            }
        }
        for (protected, locks) in this.protected.iter_mut().zip(common) {
            *protected = locks.is_some_and(|locks| !locks.is_empty());
        }
        this
    }

    fn access(&mut self, event: &Event, rank: u32) {
        let threads = &mut self.variables[event.object as usize];
        let thread = event.thread.cell() as u16;
        if threads.last().is_none_or(|last| last.thread != thread) {
            threads.push(Accesses { thread, ..Accesses::default() });
        }
        if let Some(last) = threads.last_mut() {
            last.all.push(rank);
            if event.op == Op::Write {
                last.writes.push(rank);
            }
        }
    }

    /// The event commutes with all that the other threads can still do.
    pub(crate) fn commutes(&self, execution: &Execution<'_>, id: EventId, progress: Progress<'_>) -> bool {
        let (trace, relations) = execution.parts();
        let event = trace.event(id);
        let object = event.object as usize;
        let kind = || trace.tables().condition_kinds.get(object);
        match event.op {
            Op::Read => self.protected[object] || !self.others_left(&event, progress, |a| &a.writes),
            Op::Write => self.protected[object] || !self.others_left(&event, progress, |a| &a.all),
            Op::Release | Op::SharedRelease => {
                let next = relations.thread_events(event.thread).get(relations.rank(id) + 1);
                self.never_failed[object] && next.is_none_or(|&next| trace.event(next).op != Op::Wait)
            }
            Op::Acquire | Op::SharedAcquire => self.alone[object],
            Op::Notify | Op::NotifyAll => match kind() {
                ConditionKind::Semaphore { .. } => self.never_empty[object],
                kind => kind.has_fixed_pairs() && self.never_empty[object],
            },
            Op::Wait => kind().has_fixed_pairs(),
            Op::FailedAcquire | Op::FailedSharedAcquire | Op::FailedWait => false,
            Op::Branch | Op::Fork | Op::Join | Op::Fence | Op::Begin | Op::End | Op::Try => true,
        }
    }

    /// Another thread still has such an access of the variable to run.
    fn others_left(&self, event: &Event, progress: Progress<'_>, which: impl Fn(&Accesses) -> &Vec<u32>) -> bool {
        self.variables[event.object as usize].iter().any(|accesses| {
            let thread = usize::from(accesses.thread);
            thread != event.thread.index()
                && Accesses::any_left(which(accesses), (progress.done)(thread), progress.limit[thread])
        })
    }

    /// The variables that several threads access, each with what is left to read of it under these limits: the last read's
    /// rank by thread.
    pub(crate) fn shared_reads(&self, limit: &[u32]) -> Vec<(u32, Vec<(usize, u32)>)> {
        let mut shared = Vec::new();
        for (variable, threads) in self.variables.iter().enumerate().filter(|(_, threads)| threads.len() > 1) {
            let last_read = |accesses: &Accesses| {
                let (thread, mut writes) = (usize::from(accesses.thread), accesses.writes.iter().rev().peekable());
                let below = accesses.all.partition_point(|&rank| rank < limit[thread]);
                let mut reads = accesses.all[..below].iter().rev().filter(|&&rank| {
                    while writes.next_if(|&&write| write > rank).is_some() {}
                    writes.peek() != Some(&&rank)
                });
                reads.next().map(|&rank| (thread, rank))
            };
            let reads: Vec<(usize, u32)> = threads.iter().filter_map(last_read).collect();
            if !reads.is_empty() {
                shared.push((variable as u32, reads));
            }
        }
        shared
    }
}
