//! Time-stamped lock histories: the lock events of each thread, and locations between them.
//!
//! Location `i` of a thread means: its first `i` lock events have run and event `i` is the next lock event. An event that
//! is no lock event has the location of the next lock event (iPA, section II; the paper's one sentence that says
//! "preceding" contradicts its own Fig. 1, locksets and Table II). Clocks are those of must-order, locks left out.
//!
//! Cost: one pass over the trace and one over the locks; 4 bytes an event, 4 a lock event, 8 or 16 an acquire.

use std::sync::OnceLock;

use mayhap_trace::{EventId, Execution, LockId, Mode, ThreadId, Trace};

/// A lock and a position in one word, so that one comparison orders both.
fn entry(lock: LockId, position: u32) -> u64 {
    (lock.index() as u64) << 32 | u64::from(position)
}

/// The first position from `from` on that a sorted list has for `lock`.
fn next_of(list: &[u64], lock: LockId, from: u32) -> Option<u32> {
    let next = *list.get(list.partition_point(|&e| e < entry(lock, from)))?;
    (next >> 32 == lock.index() as u64).then_some(next as u32)
}

/// The lock events of one thread.
#[derive(Clone, Debug, Default)]
pub struct History {
    events: Vec<EventId>,
    /// Entries of all acquires, sorted.
    acquires: Vec<u64>,
    /// Entries of the exclusive ones, sorted; `None` if all are.
    exclusive: Option<Vec<u64>>,
    /// Entries of all releases, and of the exclusive ones, sorted. Made when first asked for.
    releases: OnceLock<[Vec<u64>; 2]>,
    /// What the thread holds after its last event.
    left_held: Vec<(LockId, Mode)>,
}

impl History {
    /// The lock events in program order.
    pub fn events(&self) -> &[EventId] {
        &self.events
    }

    /// How many lock events of this thread come before an event of any thread in the observed run.
    pub fn stood(&self, event: EventId) -> u32 {
        self.events.partition_point(|&h| h < event) as u32
    }

    /// What the thread holds when all its events have run.
    pub fn left_held(&self) -> &[(LockId, Mode)] {
        &self.left_held
    }

    /// The first position from `from` on at which the thread takes `lock` in a way that a holder in `mode` would block.
    pub fn wants(&self, lock: LockId, mode: Mode, from: u32) -> u32 {
        let list = if mode == Mode::Shared { self.exclusive() } else { &self.acquires };
        next_of(list, lock, from).unwrap_or(u32::MAX)
    }

    /// The position of the last acquire of a lock in one mode before a location.
    pub(super) fn acquire_before(&self, (lock, mode): (LockId, Mode), location: u32) -> Option<u32> {
        let list = if mode == Mode::Exclusive { self.exclusive() } else { &self.acquires };
        let last = list[list.partition_point(|&e| e < entry(lock, location)).checked_sub(1)?];
        (last >> 32 == lock.index() as u64).then_some(last as u32)
    }

    /// The thread ends, at a position in `from..to`, a section of `lock` that one in `mode` would exclude.
    pub(super) fn gives_up(&self, trace: &Trace, lock: LockId, mode: Mode, from: u32, to: u32) -> bool {
        let [all, exclusive] = self.releases.get_or_init(|| self.gather_releases(trace));
        let list = if mode == Mode::Shared { exclusive } else { all };
        next_of(list, lock, from).is_some_and(|position| position < to)
    }

    fn exclusive(&self) -> &[u64] {
        self.exclusive.as_ref().unwrap_or(&self.acquires)
    }

    fn gather_releases(&self, trace: &Trace) -> [Vec<u64>; 2] {
        let releases = |modes: fn(bool) -> bool| {
            let event = |(position, &id): (usize, &EventId)| {
                let event = trace.event(id);
                let wanted = event.op.is_release() && modes(event.op.is_shared());
                event.lock().filter(|_| wanted).map(|lock| entry(lock, position as u32))
            };
            let mut list: Vec<u64> = self.events.iter().enumerate().filter_map(event).collect();
            list.sort_unstable();
            list
        };
        let all = releases(|_| true);
        let exclusive = if self.exclusive.is_none() { all.clone() } else { releases(|shared| !shared) };
        [all, exclusive]
    }
}

/// The histories of all threads.
#[derive(Clone, Debug)]
pub struct Histories {
    threads: Vec<History>,
    /// Of each event, how many lock events of its thread come before it.
    locations: Vec<u32>,
}

/// An acquire as the one pass meets it.
#[derive(Clone, Copy, Default)]
struct Taken {
    thread: u16,
    shared: bool,
    lock: u32,
    position: u32,
}

impl Histories {
    /// Gathers the lock events of a trace.
    pub fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let columns = trace.columns();
        let mut threads = vec![History::default(); relations.threads()];
        let mut locations = vec![0; columns.len()];
        let mut counts = vec![0; threads.len()];
        let mut taken = Vec::new();
        let events = columns.ops.iter().zip(&columns.threads).zip(&mut locations);
        for (i, ((&op, &thread), location)) in events.enumerate() {
            let count = &mut counts[thread as usize];
            *location = *count;
            let id = EventId::at(i);
            if !op.is_lock() || !relations.is_relevant(id) {
                continue;
            }
            let history = &mut threads[thread as usize];
            if op.is_acquire() {
                let (shared, lock) = (op.is_shared(), columns.objects[i]);
                taken.push(Taken { thread, shared, lock, position: *count });
                if relations.matching_release(id).is_none() {
                    history.left_held.push((LockId::at(lock as usize), mode_of(shared)));
                }
            }
            history.events.push(id);
            *count += 1;
        }
        enter(&mut threads, &taken, trace.tables().locks.len());
        Histories { threads, locations }
    }

    /// Returns the history of a thread.
    #[inline]
    pub fn of(&self, thread: ThreadId) -> &History {
        &self.threads[thread.index()]
    }

    /// How many lock events of its thread come before an event: its location.
    #[inline]
    pub fn location(&self, event: EventId) -> u32 {
        self.locations[event.index()]
    }

    /// Threads that have lock events, with their histories.
    pub fn locking(&self) -> impl Iterator<Item = (ThreadId, &History)> {
        self.threads.iter().enumerate().filter(|(_, h)| !h.events.is_empty()).map(|(t, h)| (ThreadId::at(t), h))
    }
}

/// Enters acquires, given in observed order, into the lists of their threads, lock by lock.
fn enter(threads: &mut [History], taken: &[Taken], locks: usize) {
    let mut ends = vec![0u32; locks + 1];
    taken.iter().for_each(|t| ends[t.lock as usize + 1] += 1);
    for lock in 0..locks {
        ends[lock + 1] += ends[lock];
    }
    let mut by_lock = vec![Taken::default(); taken.len()];
    for t in taken {
        let at = &mut ends[t.lock as usize];
        by_lock[*at as usize] = *t;
        *at += 1;
    }
    taken.iter().filter(|t| t.shared).for_each(|t| threads[t.thread as usize].exclusive = Some(Vec::new()));
    for t in by_lock {
        let (history, entry) = (&mut threads[t.thread as usize], entry(LockId::at(t.lock as usize), t.position));
        history.acquires.push(entry);
        if let Some(exclusive) = history.exclusive.as_mut().filter(|_| !t.shared) {
            exclusive.push(entry);
        }
    }
}

/// The mode of a lock operation.
pub(crate) fn mode_of(shared: bool) -> Mode {
    if shared { Mode::Shared } else { Mode::Exclusive }
}

/// Somebody who holds `held` keeps others from taking `lock` in `mode`.
pub(crate) fn blocks(held: &[(LockId, Mode)], lock: LockId, mode: Mode) -> bool {
    held.iter().any(|&(l, m)| l == lock && (mode == Mode::Exclusive || m == Mode::Exclusive))
}
