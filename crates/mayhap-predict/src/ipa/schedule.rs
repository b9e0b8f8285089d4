//! From a path of location pairs to a schedule of the whole trace (iPA, section III-B: witness generation).
//!
//! The two threads follow the path; every other thread moves only where it must: to fork, to notify, to end before a
//! join, or to give up a lock that the path needs. Such a move may itself need others, at most one per thread. What comes
//! out is a guess for the kernel: a thread may have been brought where it now blocks the path.
//!
//! Cost: linear in the events that run.

use mayhap_trace::{EventId, Execution, LockId, Mode, Op, Relations, ThreadId, Trace};

use super::checks::Pair;
use super::history::{Histories, blocks, mode_of};

/// How to treat the threads outside the pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Others {
    /// They move when the path needs them.
    Late,
    /// What the target needs of them runs first.
    Early,
}

/// Somebody's hold of a lock.
#[derive(Clone, Copy)]
struct Hold {
    thread: ThreadId,
    acquire: EventId,
    mode: Mode,
}

/// A thread and how many of its events are to have run.
#[derive(Clone, Copy)]
struct Goal {
    thread: ThreadId,
    count: usize,
}

/// Builds one schedule.
pub(crate) struct Scheduler<'a> {
    trace: &'a Trace,
    relations: &'a Relations,
    schedule: Vec<EventId>,
    done: Vec<usize>,
    holds: Vec<Vec<Hold>>,
    /// Threads of the target never pass these counts.
    limits: [Goal; 2],
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(execution: &'a Execution<'a>, target: (EventId, EventId)) -> Self {
        let (trace, relations) = execution.parts();
        let limit = |event: EventId| Goal { thread: trace.event(event).thread, count: relations.rank(event) };
        Scheduler {
            trace,
            relations,
            schedule: Vec::new(),
            done: vec![0; relations.threads()],
            holds: vec![Vec::new(); trace.tables().locks.len()],
            limits: [limit(target.0), limit(target.1)],
        }
    }

    /// A schedule that runs the observed prefix, then the path, then up to the target events. `None` where it gets stuck.
    pub(super) fn build(
        mut self,
        histories: &Histories,
        snapshot: Option<EventId>,
        path: &[Pair],
        others: Others,
    ) -> Option<Vec<EventId>> {
        if let Some(last) = snapshot {
            let prefix = (0..=last.index()).map(EventId::at).filter(|&e| self.relations.is_relevant(e));
            prefix.for_each(|e| self.execute(e));
        }
        if others == Others::Early {
            self.bring_others();
        }
        let [a, b] = self.limits;
        for pair in path {
            for (thread, at) in [(a.thread, pair.a), (b.thread, pair.b)] {
                if let Some(&last) = at.checked_sub(1).and_then(|i| histories.of(thread).events().get(i as usize)) {
                    self.reach(Goal { thread, count: self.relations.rank(last) + 1 })?;
                }
            }
        }
        self.reach(a)?;
        self.reach(b)?;
        (self.done[a.thread.index()] == a.count && self.done[b.thread.index()] == b.count).then_some(self.schedule)
    }

    /// Runs what other threads must do before the target, as far as that works now, and out of their sections.
    fn bring_others(&mut self) {
        let targets = self.limits.map(|limit| self.relations.thread_events(limit.thread)[limit.count]);
        for t in 0..self.relations.threads() {
            let thread = ThreadId::at(t);
            if self.limits.iter().all(|limit| limit.thread != thread) {
                let needed = targets.map(|event| self.relations.before(self.trace, event, thread));
                let count = needed[0].max(needed[1]);
                let _stuck = self.reach(Goal { thread, count });
                let held: Vec<EventId> =
                    self.holds.iter().flatten().filter(|h| h.thread == thread).map(|h| h.acquire).collect();
                for release in held.into_iter().filter_map(|acquire| self.relations.matching_release(acquire)) {
                    let _stuck = self.reach(Goal { thread, count: self.relations.rank(release) + 1 });
                }
            }
        }
    }

    /// Runs a thread until its goal, and whatever that needs of other threads.
    fn reach(&mut self, goal: Goal) -> Option<()> {
        let mut goals = vec![goal];
        while let Some(&Goal { thread, count }) = goals.last() {
            if self.done[thread.index()] >= count {
                goals.pop();
                continue;
            }
            let next = self.relations.thread_events(thread)[self.done[thread.index()]];
            match self.obstacle(thread, next)? {
                None => self.execute(next),
                Some(first) => {
                    let waiting = goals.iter().any(|g| g.thread == first.thread);
                    let beyond = self.limits.iter().any(|l| l.thread == first.thread && l.count < first.count);
                    if waiting || beyond {
                        return None;
                    }
                    goals.push(first);
                }
            }
        }
        Some(())
    }

    /// What must be done before an event that is next in its thread; `None` overall if nothing ever can.
    fn obstacle(&self, thread: ThreadId, next: EventId) -> Option<Option<Goal>> {
        let after =
            |event: EventId| Goal { thread: self.trace.event(event).thread, count: self.relations.rank(event) + 1 };
        let event = self.trace.event(next);
        let fork_of = |t: ThreadId| self.relations.fork_of(t).filter(|&f| !self.has_run(f));
        if let Some(fork) = fork_of(thread) {
            return Some(Some(after(fork)));
        }
        let first = match event.op {
            Op::Join => {
                let child = ThreadId::at(event.object as usize);
                fork_of(child).or_else(|| self.relations.last_of(next).filter(|&last| !self.has_run(last)))
            }
            Op::Wait => self.relations.notify_of(next).filter(|&notify| !self.has_run(notify)),
            Op::Acquire | Op::SharedAcquire => {
                let mode = mode_of(event.op.is_shared());
                let lock = LockId::at(event.object as usize);
                let held = &self.holds[lock.index()];
                match held.iter().find(|h| h.thread != thread && blocks(&[(lock, h.mode)], lock, mode)) {
                    Some(hold) => Some(self.relations.matching_release(hold.acquire)?),
                    None => None,
                }
            }
            _ => None,
        };
        Some(first.map(after))
    }

    fn has_run(&self, event: EventId) -> bool {
        self.relations.rank(event) < self.done[self.trace.event(event).thread.index()]
    }

    fn execute(&mut self, id: EventId) {
        let event = self.trace.event(id);
        if let Some(lock) = event.lock().filter(|_| event.op.is_lock()) {
            let mode = mode_of(event.op.is_shared());
            let holds = &mut self.holds[lock.index()];
            if event.op.is_acquire() {
                holds.push(Hold { thread: event.thread, acquire: id, mode });
            } else {
                holds.retain(|h| h.thread != event.thread || h.mode != mode);
            }
        }
        self.done[event.thread.index()] += 1;
        self.schedule.push(id);
    }
}
