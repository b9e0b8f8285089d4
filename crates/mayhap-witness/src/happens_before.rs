//! Happens-before of the C11 memory model in one schedule.
//!
//! Vector clocks (Mattern 1989), joined where one event synchronises with another:
//! - program order, fork to first, last to join;
//! - a release of a lock with later acquires of it (of a shared release: with exclusive ones only);
//! - a notify with the wait that it is matched with; of a semaphore or token, all earlier notifies with the wait;
//! - a release write with an acquire read that sees it or a write of its release sequence: the read-modify-writes, and the
//!   atomic writes of the same thread, that follow it directly in the variable's order. C++20 has dropped the latter, so
//!   that a program may race by C++20 and not by C11 and C++17; what is proven is a race by all of them;
//! - fences: a release fence lends its clock to later atomic writes of its thread, an acquire fence takes over what earlier
//!   atomic reads of its thread saw. A sequentially consistent fence is both. Consume counts as acquire.
//!
//! Writes are ordered as they run in the schedule, and every read sees the last of them.
//!
//! Whether the first of two events happens before the second depends only on what runs from the first one on: its place in its
//! thread is in no clock before, and what was published before lends nothing that a clock without it lacks.
//!
//! Cost: linear in the schedule from the first event on, times the threads at each synchronisation.

use std::collections::HashMap;

use mayhap_trace::{ConditionKind, EventId, Flags, MemoryOrder, Op};

use crate::state::{Rules, State};

/// How many events of each thread come before; threads beyond the end have none.
#[derive(Clone, Default)]
struct Clock(Vec<u32>);

impl Clock {
    fn get(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    fn raise(&mut self, thread: usize, count: u32) {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] = self.0[thread].max(count);
    }

    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, &theirs)| *mine = (*mine).max(theirs));
    }
}

#[derive(Clone, Default)]
struct ThreadClocks {
    now: Clock,
    /// What its atomic reads without acquire saw: an acquire fence takes it over.
    seen: Clock,
    /// At its last release fence: its atomic writes without release publish it.
    fenced: Clock,
}

/// The clocks after a part of a schedule.
struct Clocks<'r, 'a> {
    rules: &'r Rules<'a>,
    threads: Vec<ThreadClocks>,
    /// Per lock, what its exclusive releases published, and its shared ones.
    locks: HashMap<usize, [Clock; 2]>,
    /// Per variable, what an acquire read takes over from its last write: the clocks of the release sequences that the write is
    /// in, by the threads at their heads.
    published: HashMap<usize, Vec<(usize, Clock)>>,
    /// Per semaphore or token, what its notifies published.
    posted: HashMap<usize, Clock>,
    /// What each notify of another condition published.
    notified: HashMap<EventId, Clock>,
}

/// Both events run in the schedule, and neither happens before the other. `end` is the state that the schedule leads to, and
/// `since` its events from the first of the two on.
pub(crate) fn unordered(
    rules: &Rules<'_>,
    end: &State,
    since: impl Iterator<Item = EventId>,
    (a, b): (EventId, EventId),
) -> bool {
    let mut clocks = Clocks::new(rules);
    let mut woken = end.woken.iter();
    let mut first = None;
    for id in since {
        let event = rules.trace.event(id);
        let (me, rank) = (event.thread.index(), rules.relations.rank(id) as u32);
        clocks.threads[me].now.raise(me, rank + 1);
        let fixed = || rules.relations.notify_of(id);
        let notify = match event.condition() {
            Some(condition) if event.op == Op::Wait => {
                match rules.trace.tables().condition_kinds.get(condition.index()) {
                    ConditionKind::Condition => {
                        let own = woken.by_ref().find(|(wait, _)| *wait == id);
                        own.map(|&(_, place)| end.notify_of(condition, place))
                    }
                    kind if kind.has_fixed_pairs() => fixed(),
                    _ => None,
                }
            }
            _ => None,
        };
        clocks.step(id, notify);
        match first {
            Some((thread, count)) if id == a || id == b => return clocks.threads[me].now.get(thread) < count,
            None if id == a || id == b => first = Some((me, rank + 1)),
            _ => {}
        }
    }
    false
}

impl<'r, 'a> Clocks<'r, 'a> {
    fn new(rules: &'r Rules<'a>) -> Self {
        let threads = vec![ThreadClocks::default(); rules.trace.tables().threads.len()];
        let (locks, published, posted, notified) = Default::default();
        Clocks { rules, threads, locks, published, posted, notified }
    }

    /// Runs an event; a wait with fixed pairs or for a condition variable comes with its notify.
    fn step(&mut self, id: EventId, notify: Option<EventId>) {
        let event = self.rules.trace.event(id);
        let (me, object) = (event.thread.index(), event.object as usize);
        match event.op {
            Op::Fork => {
                let clock = self.threads[me].now.clone();
                self.threads[object].now.join(&clock);
            }
            Op::Join => {
                let clock = self.threads[object].now.clone();
                self.threads[me].now.join(&clock);
            }
            Op::Acquire => {
                let published = self.locks.get(&object).into_iter().flatten();
                published.for_each(|clock| self.threads[me].now.join(clock));
            }
            Op::SharedAcquire => {
                let published = self.locks.get(&object).map(|[exclusive, _]| exclusive);
                published.into_iter().for_each(|clock| self.threads[me].now.join(clock));
            }
            Op::Release => self.locks.entry(object).or_default()[0].join(&self.threads[me].now),
            Op::SharedRelease => self.locks.entry(object).or_default()[1].join(&self.threads[me].now),
            Op::Notify | Op::NotifyAll => {
                let kind = self.rules.trace.tables().condition_kinds.get(object);
                if kind.has_fixed_pairs() || kind == ConditionKind::Condition {
                    self.notified.insert(id, self.threads[me].now.clone());
                } else {
                    self.posted.entry(object).or_default().join(&self.threads[me].now);
                }
            }
            Op::Wait => {
                let clock = notify.and_then(|notify| self.notified.get(&notify)).or_else(|| self.posted.get(&object));
                clock.into_iter().for_each(|clock| self.threads[me].now.join(clock));
            }
            Op::Read => self.read(me, object, event.flags.order()),
            Op::Write => self.write(id, me, object, event.flags),
            Op::Fence => self.fence(me, event.flags.order()),
            Op::FailedAcquire | Op::FailedSharedAcquire | Op::FailedWait => {}
            Op::Branch | Op::Begin | Op::End | Op::Try => {}
        }
    }

    fn read(&mut self, me: usize, variable: usize, order: Option<MemoryOrder>) {
        let ThreadClocks { now, seen, .. } = &mut self.threads[me];
        let Some(order) = order else { return };
        let clock = if order.acquires() { now } else { seen };
        self.published.get(&variable).into_iter().flatten().for_each(|(_, published)| clock.join(published));
    }

    fn write(&mut self, id: EventId, me: usize, variable: usize, flags: Flags) {
        let continues = self.is_read_modify_write(id, variable);
        let ThreadClocks { now, fenced, .. } = &self.threads[me];
        let Some(order) = flags.order() else {
            self.published.remove(&variable);
            return;
        };
        let published = self.published.entry(variable).or_default();
        if !continues {
            published.retain(|&(head, _)| head == me);
        }
        let clock = if order.releases() { now } else { fenced };
        match published.iter_mut().find(|(head, _)| *head == me) {
            Some((_, mine)) => mine.join(clock),
            None => published.push((me, clock.clone())),
        }
    }

    fn fence(&mut self, me: usize, order: Option<MemoryOrder>) {
        let ThreadClocks { now, seen, fenced } = &mut self.threads[me];
        if order.is_some_and(MemoryOrder::acquires) {
            now.join(seen);
        }
        if order.is_some_and(MemoryOrder::releases) {
            fenced.clone_from(now);
        }
    }

    /// The write is atomic, and its step began with an atomic read of the same variable.
    fn is_read_modify_write(&self, write: EventId, variable: usize) -> bool {
        let (trace, relations) = self.rules.execution.parts();
        let event = trace.event(write);
        let events = relations.thread_events(event.thread);
        let mut rank = relations.rank(write);
        let mut joined = event.flags;
        while joined.is_joined() && rank > 0 {
            rank -= 1;
            let earlier = trace.event(events[rank]);
            let reads = earlier.op == Op::Read && earlier.object as usize == variable && earlier.flags.is_atomic();
            if reads && event.flags.is_atomic() {
                return true;
            }
            joined = earlier.flags;
        }
        false
    }
}
