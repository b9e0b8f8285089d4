//! Time-stamped lock histories: the lock events of each thread, and locations between them.
//!
//! Location `i` of a thread means: its first `i` lock events have run and event `i` is the next lock event. An event that
//! is no lock event has the location of the next lock event (iPA, section II; the paper's one sentence that says
//! "preceding" contradicts its own Fig. 1, locksets and Table II). Clocks are those of must-order, locks left out.
//!
//! Cost: 4 bytes a lock event plus 8 or 16 for its entries by lock; a location takes one binary search.

use std::sync::OnceLock;

use mayhap_trace::{EventId, LockId, Mode, Relations, ThreadId, Trace};

/// The lock events of one thread.
#[derive(Clone, Debug, Default)]
pub struct History {
    events: Vec<EventId>,
    /// (lock, position) of all acquires, sorted.
    acquires: Vec<(LockId, u32)>,
    /// (lock, position) of the exclusive ones, sorted; `None` if all are.
    exclusive: Option<Vec<(LockId, u32)>>,
    /// (lock, position) of all releases, and of the exclusive ones, sorted. Made when first asked for.
    releases: OnceLock<[Vec<(LockId, u32)>; 2]>,
    /// What the thread holds after its last event.
    left_held: Vec<(LockId, Mode)>,
}

impl History {
    /// The lock events in program order.
    pub fn events(&self) -> &[EventId] {
        &self.events
    }

    /// How many lock events come before an event of this thread: its location.
    pub fn location(&self, event: EventId) -> u32 {
        self.events.partition_point(|&h| h < event) as u32
    }

    /// What the thread holds when all its events have run.
    pub fn left_held(&self) -> &[(LockId, Mode)] {
        &self.left_held
    }

    /// The first position from `from` on at which the thread takes `lock` in a way that a holder in `mode` would block.
    pub fn wants(&self, lock: LockId, mode: Mode, from: u32) -> u32 {
        let list = if mode == Mode::Shared { self.exclusive() } else { &self.acquires };
        let next = list.get(list.partition_point(|&entry| entry < (lock, from)));
        next.filter(|(l, _)| *l == lock).map_or(u32::MAX, |&(_, position)| position)
    }

    /// The last acquire of a lock in one mode before an event of this thread.
    pub(crate) fn acquire_before(&self, (lock, mode): (LockId, Mode), event: EventId) -> Option<EventId> {
        let list = if mode == Mode::Exclusive { self.exclusive() } else { &self.acquires };
        let at = list.partition_point(|&entry| entry < (lock, self.location(event))).checked_sub(1)?;
        (list[at].0 == lock).then(|| self.events[list[at].1 as usize])
    }

    /// The thread ends, at a position in `from..to`, a section of `lock` that one in `mode` would exclude.
    pub(super) fn gives_up(&self, trace: &Trace, lock: LockId, mode: Mode, from: u32, to: u32) -> bool {
        let [all, exclusive] = self.releases.get_or_init(|| self.gather_releases(trace));
        let list = if mode == Mode::Shared { exclusive } else { all };
        let next = list.get(list.partition_point(|&entry| entry < (lock, from)));
        next.is_some_and(|&(l, position)| l == lock && position < to)
    }
}

impl History {
    fn exclusive(&self) -> &[(LockId, u32)] {
        self.exclusive.as_ref().unwrap_or(&self.acquires)
    }

    fn gather_releases(&self, trace: &Trace) -> [Vec<(LockId, u32)>; 2] {
        let releases = |modes: fn(bool) -> bool| {
            let event = |(position, &id): (usize, &EventId)| {
                let event = trace.event(id);
                let wanted = event.op.is_release() && modes(event.op.is_shared());
                event.lock().filter(|_| wanted).map(|lock| (lock, position as u32))
            };
            let mut list: Vec<(LockId, u32)> = self.events.iter().enumerate().filter_map(event).collect();
            list.sort_unstable();
            list
        };
        [releases(|_| true), releases(|shared| !shared)]
    }
}

/// The histories of all threads.
#[derive(Clone, Debug)]
pub struct Histories {
    threads: Vec<History>,
}

impl Histories {
    /// Gathers the lock events of a trace.
    pub fn new(trace: &Trace, relations: &Relations) -> Self {
        let threads = (0..relations.threads()).map(|t| gather(trace, relations, ThreadId::at(t))).collect();
        Histories { threads }
    }

    /// The history of a thread.
    #[inline]
    pub fn of(&self, thread: ThreadId) -> &History {
        &self.threads[thread.index()]
    }

    /// Threads that have lock events, with their histories.
    pub fn locking(&self) -> impl Iterator<Item = (ThreadId, &History)> {
        self.threads.iter().enumerate().filter(|(_, h)| !h.events.is_empty()).map(|(t, h)| (ThreadId::at(t), h))
    }
}

fn gather(trace: &Trace, relations: &Relations, thread: ThreadId) -> History {
    let mut history = History::default();
    let (mut exclusive, mut shared) = (Vec::new(), false);
    for &id in relations.thread_events(thread) {
        let event = trace.event(id);
        if let Some(lock) = event.lock() {
            let (position, mode) = (history.events.len() as u32, mode_of(event.op.is_shared()));
            if event.op.is_acquire() {
                history.acquires.push((lock, position));
                match mode {
                    Mode::Exclusive => exclusive.push((lock, position)),
                    Mode::Shared => shared = true,
                }
                history.left_held.push((lock, mode));
            } else {
                history.left_held.retain(|&held| held != (lock, mode));
            }
            history.events.push(id);
        }
    }
    history.acquires.sort_unstable();
    if shared {
        exclusive.sort_unstable();
        history.exclusive = Some(exclusive);
    }
    history
}

/// The mode of a lock operation.
pub(crate) fn mode_of(shared: bool) -> Mode {
    if shared { Mode::Shared } else { Mode::Exclusive }
}

/// Somebody who holds `held` keeps others from taking `lock` in `mode`.
pub(crate) fn blocks(held: &[(LockId, Mode)], lock: LockId, mode: Mode) -> bool {
    held.iter().any(|&(l, m)| l == lock && (mode == Mode::Exclusive || m == Mode::Exclusive))
}
