//! The past of a trace, and the least closed sets in it.
//!
//! A set that is closed under program order is a number of events for each thread: a clock. Closing it under must-order and
//! reads-from is a join of clocks or, where no clock is available, a walk along the edges into the events that are added: past
//! clocks are not kept for each section, because they would take threads × sections of memory. For locks, consider the rim: the
//! sections that are open after the last event of each thread. If such a section is followed, in the trace, by an acquire in the
//! set whose section it excludes, its release must be added, with everything that it needs. That moves the rim, and so on until
//! nothing is left to do. Sections that are closed within the set require nothing.

use hashbrown::HashMap;
use mayhap_trace::{ConditionKind, Kinds, NONE, Op, Tables};

use crate::clock::{Clock, Clocks};
use crate::signals::Signals;
use crate::stream::Sync;

/// A critical section.
struct Section {
    lock: u32,
    shared: bool,
    acquire: u32,
    /// Events of its thread up to the release, that one included; 0 while open.
    released: u32,
}

/// A thread's events from number `at - 1` on need the first `count` events of another thread. (`at` is 0 for a fork: all do.)
#[derive(Clone, Copy)]
struct Edge {
    at: u32,
    thread: u32,
    count: u32,
}

/// A list of open sections: one and the rest.
#[derive(Clone, Copy)]
struct Open {
    section: u32,
    rest: u32,
}

/// One thread's acquires of one lock in one mode.
#[derive(Default)]
struct Acquires {
    /// Ranks in the thread and event numbers, ascending.
    all: Vec<(u32, u32)>,
}

impl Acquires {
    /// Whether the thread acquires after the event `after`, within its first `count` events.
    fn follow(&self, after: u32, count: u32) -> bool {
        match self.all.last() {
            Some(&(_, id)) if id > after => {
                let within = self.all.partition_point(|&(rank, _)| rank < count);
                within > 0 && self.all[within - 1].1 > after
            }
            _ => false,
        }
    }
}

/// A thread that uses a lock.
struct User {
    thread: u32,
    /// Exclusive and shared acquires.
    acquires: [Acquires; 2],
}

#[derive(Default)]
struct Thread {
    /// What must be before its next event.
    clock: Clock,
    /// Where other threads come in, ascending; what is known through an earlier one is left out.
    edges: Vec<Edge>,
    /// Per event, the sections open before it.
    open: Vec<u32>,
    /// The sections open now.
    now: u32,
    /// It is listed in [`Past::rim`].
    at_rim: bool,
}

impl Thread {
    /// The sections open after the first `count` events.
    #[inline]
    fn open_at(&self, count: u32) -> u32 {
        self.open.get(count as usize).copied().unwrap_or(self.now)
    }
}

struct Stamp {
    clock: Clock,
    thread: usize,
    count: u32,
}

/// What has gone by.
#[derive(Default)]
pub(super) struct Past {
    pub(super) clocks: Clocks,
    threads: Vec<Thread>,
    last_writes: Vec<Option<Stamp>>,
    signals: Signals<Stamp>,
    kinds: Kinds<ConditionKind>,
    /// For each semaphore and token, how many events each thread had made with its latest wait.
    waits: HashMap<u32, Vec<(u32, u32)>, foldhash::fast::FixedState>,
    sections: Vec<Section>,
    opens: Vec<Open>,
    /// Users of each lock.
    locks: Vec<Vec<User>>,
    users: HashMap<(u32, u32), u32, foldhash::fast::FixedState>,
    /// Threads whose events are coming into a set: how many were in, and will be.
    coming: Vec<(u32, u32, u32)>,
    /// With more threads than this, threads have no clocks. Without locks to order them, their clocks have nothing in common and
    /// would take threads × threads of memory; an ideal is then computed by walking from the empty set.
    most_clocks: usize,
    walks: bool,
    /// The latest set that was computed from the empty set: its thread, how many of that thread's events, and the set.
    base: (usize, u32, Clock),
    /// Threads with a section open at the rim of a set.
    rim: Vec<u32>,
}

impl Past {
    pub(super) fn new(most_clocks: usize) -> Past {
        Past { most_clocks, base: (usize::MAX, 0, Clock::ZERO), ..Past::default() }
    }

    pub(super) fn grow(&mut self, tables: &Tables) {
        if !self.walks && tables.threads.len() > self.most_clocks {
            self.walks = true;
            let stamps = self.last_writes.iter_mut().flatten().map(|write| &mut write.clock);
            for clock in self.threads.iter_mut().map(|thread| &mut thread.clock).chain(stamps) {
                self.clocks.release(std::mem::take(clock));
            }
        }
        let thread = || Thread { now: NONE, ..Thread::default() };
        self.threads.resize_with(self.threads.len().max(tables.threads.len()), thread);
        self.last_writes.resize_with(self.last_writes.len().max(tables.variables.len()), || None);
        self.locks.resize_with(self.locks.len().max(tables.locks.len()), Vec::new);
        self.signals.grow(tables);
        if !tables.condition_kinds.is_empty() {
            self.kinds = tables.condition_kinds.clone();
        }
    }

    /// How many events the thread has made.
    #[inline]
    pub(super) fn count(&self, thread: usize) -> u32 {
        self.threads[thread].open.len() as u32
    }

    /// What must precede the thread's next event, or the zero clock where that is not worth storing; see [`Self::add`].
    pub(super) fn before(&mut self, thread: usize) -> Clock {
        let clock = &self.threads[thread].clock;
        if clock.is_small() { self.clocks.share(clock) } else { Clock::ZERO }
    }

    /// Adds the first `count` events of `thread` to a closed set, and what the next one needs. That is `before`, if it is kept.
    pub(super) fn add(&mut self, ideal: &mut Clock, before: &Clock, thread: usize, count: u32) {
        if before.is_zero() {
            return self.reach(ideal, thread, count);
        }
        self.clocks.join(ideal, before);
        self.clocks.raise(ideal, thread, count);
    }

    /// Adds all `count` events that the thread has made.
    pub(super) fn add_thread(&mut self, ideal: &mut Clock, thread: usize, count: u32) {
        if self.walks {
            return self.add_walked(ideal, thread, count);
        }
        self.clocks.join(ideal, &self.threads[thread].clock);
        self.clocks.raise(ideal, thread, count);
    }

    fn add_walked(&mut self, ideal: &mut Clock, thread: usize, count: u32) {
        if (self.base.0, self.base.1) != (thread, count) {
            let mut base = Clock::ZERO;
            self.reach(&mut base, thread, count);
            let old = std::mem::replace(&mut self.base, (thread, count, base));
            self.clocks.release(old.2);
        }
        self.clocks.join(ideal, &self.base.2);
    }

    /// Adds the first `count` events of `thread`, with all that they and the next one need but for locks.
    fn reach(&mut self, ideal: &mut Clock, thread: usize, count: u32) {
        let had = self.clocks.get(ideal, thread);
        self.clocks.raise(ideal, thread, count);
        self.coming.push((thread as u32, had, count));
        while let Some((thread, had, count)) = self.coming.pop() {
            self.look_at_rim(thread as usize, count);
            let state = &self.threads[thread as usize];
            let first = if had == 0 { 0 } else { state.edges.partition_point(|edge| edge.at <= had) };
            for edge in state.edges[first..].iter().take_while(|edge| edge.at <= count) {
                let had = self.clocks.get(ideal, edge.thread as usize);
                if had < edge.count {
                    self.clocks.raise(ideal, edge.thread as usize, edge.count);
                    self.coming.push((edge.thread, had, edge.count));
                }
            }
        }
    }

    /// Closes a set that is closed but for locks.
    pub(super) fn close(&mut self, ideal: &mut Clock) {
        for thread in 0..self.threads.len() {
            let count = self.clocks.get(ideal, thread);
            if count > 0 {
                self.look_at_rim(thread, count);
            }
        }
        // What comes in adds to the rim.
        let mut grown = true;
        while grown {
            grown = false;
            let mut at = 0;
            while at < self.rim.len() {
                let thread = self.rim[at] as usize;
                match self.followed(ideal, thread) {
                    Some(released) => {
                        self.reach(ideal, thread, released);
                        grown = true;
                    }
                    None if self.threads[thread].open_at(self.clocks.get(ideal, thread)) == NONE => {
                        self.rim.swap_remove(at);
                        self.threads[thread].at_rim = false;
                    }
                    None => at += 1,
                }
            }
        }
        for thread in self.rim.drain(..) {
            self.threads[thread as usize].at_rim = false;
        }
    }

    /// Lists a thread of which the first `count` events are in a set, if a section is open after them.
    #[inline]
    fn look_at_rim(&mut self, thread: usize, count: u32) {
        let state = &mut self.threads[thread];
        if state.open_at(count) != NONE && !state.at_rim {
            state.at_rim = true;
            self.rim.push(thread as u32);
        }
    }

    /// The release of a section at the rim of `thread` that an acquire in the set follows, as a number of events.
    fn followed(&self, ideal: &Clock, thread: usize) -> Option<u32> {
        let mut at = self.threads[thread].open_at(self.clocks.get(ideal, thread));
        while at != NONE {
            let Open { section, rest } = self.opens[at as usize];
            let section = &self.sections[section as usize];
            if self.is_followed(ideal, thread, section) {
                return Some(section.released);
            }
            at = rest;
        }
        None
    }

    fn is_followed(&self, ideal: &Clock, thread: usize, section: &Section) -> bool {
        // Readers are kept away by exclusive sections only, which come first.
        let modes = if section.shared { 1 } else { 2 };
        self.locks[section.lock as usize].iter().filter(|user| user.thread as usize != thread).any(|user| {
            let count = self.clocks.get(ideal, user.thread as usize);
            count > 0 && user.acquires[..modes].iter().any(|acquires| acquires.follow(section.acquire, count))
        })
    }

    /// Takes an access.
    #[inline]
    pub(super) fn access(&mut self, thread: usize, variable: usize, write: bool) {
        self.step(thread);
        if write {
            let stamp = self.hand_on(thread);
            if let Some(old) = self.last_writes[variable].replace(stamp) {
                self.clocks.release(old.clock);
            }
        } else if let Some(write) = &self.last_writes[variable] {
            Self::absorb(&mut self.clocks, &mut self.threads, self.walks, thread, write);
        }
    }

    /// Takes any other relevant event.
    pub(super) fn sync(&mut self, sync: &Sync<'_>) {
        let &Sync { id, event, partner } = sync;
        let (thread, object) = (event.thread.index(), event.object as usize);
        match event.op {
            Op::Acquire | Op::SharedAcquire => self.acquire(id, thread, event.object, event.op.is_shared()),
            Op::Release | Op::SharedRelease => self.release(thread, event.object, event.op.is_shared()),
            _ => self.step(thread),
        }
        match event.op {
            Op::Fork => {
                let stamp = self.hand_on(thread);
                Self::absorb(&mut self.clocks, &mut self.threads, self.walks, object, &stamp);
                self.clocks.release(stamp.clock);
            }
            Op::Join => {
                let stamp = self.hand_on(object);
                Self::absorb(&mut self.clocks, &mut self.threads, self.walks, thread, &stamp);
                self.clocks.release(stamp.clock);
            }
            Op::Notify | Op::NotifyAll => {
                let stamp = self.hand_on(thread);
                if let Some(old) = self.signals.notify(sync, stamp) {
                    self.clocks.release(old.clock);
                }
            }
            Op::Wait => {
                if let Some(stamp) = self.signals.seen_by(sync) {
                    Self::absorb(&mut self.clocks, &mut self.threads, self.walks, thread, stamp);
                }
                if let Some(stamp) = self.signals.used_by(sync) {
                    self.clocks.release(stamp.clock);
                }
                self.note_wait(event.object, thread);
            }
            Op::FailedAcquire | Op::FailedSharedAcquire => {
                if let Some((other, count)) = partner.and_then(|acquire| self.find_acquire(event.object, acquire)) {
                    self.need(thread, other, count);
                }
            }
            Op::FailedWait => {
                for (other, count) in self.waits.get(&event.object).cloned().unwrap_or_default() {
                    self.need(thread, other as usize, count);
                }
            }
            _ => {}
        }
    }

    /// Keeps how far a thread was at its latest wait for a semaphore or token.
    fn note_wait(&mut self, condition: u32, thread: usize) {
        if matches!(self.kinds.get(condition as usize), ConditionKind::Semaphore { .. } | ConditionKind::Token) {
            let count = self.count(thread);
            let waits = self.waits.entry(condition).or_default();
            waits.retain(|(other, _)| *other as usize != thread);
            waits.push((thread as u32, count));
        }
    }

    /// The thread of an acquire, and how many events it had made with it.
    fn find_acquire(&self, lock: u32, acquire: u32) -> Option<(usize, u32)> {
        self.locks[lock as usize].iter().find_map(|user| {
            let all = user.acquires.iter().map(|acquires| &acquires.all);
            let found = all.flat_map(|all| all.binary_search_by_key(&acquire, |&(_, id)| id).map(|at| all[at].0));
            found.last().map(|rank| (user.thread as usize, rank + 1))
        })
    }

    /// The event that `thread` has just made needs the first `count` events of another.
    fn need(&mut self, thread: usize, other: usize, count: u32) {
        let mut clock = Clock::ZERO;
        if !self.walks {
            self.reach(&mut clock, other, count);
            for thread in self.rim.drain(..) {
                self.threads[thread as usize].at_rim = false;
            }
        }
        let stamp = Stamp { clock, thread: other, count };
        Self::absorb(&mut self.clocks, &mut self.threads, self.walks, thread, &stamp);
        self.clocks.release(stamp.clock);
    }

    #[inline]
    fn step(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.open.push(state.now);
    }

    /// What every event after the thread's latest event needs.
    #[inline]
    fn hand_on(&mut self, thread: usize) -> Stamp {
        let state = &self.threads[thread];
        Stamp { clock: self.clocks.share(&state.clock), thread, count: state.open.len() as u32 }
    }

    /// Takes an edge into the thread's next event, or the one just made.
    #[inline]
    fn absorb(clocks: &mut Clocks, threads: &mut [Thread], walks: bool, thread: usize, stamp: &Stamp) {
        if stamp.thread == thread {
            return;
        }
        let state = &mut threads[thread];
        let at = state.open.len() as u32;
        let edge = Edge { at, thread: stamp.thread as u32, count: stamp.count };
        // A set with a thread's first events is closed: a set that contains them contains what they need.
        let known = if walks {
            state.edges.last().is_some_and(|last| last.thread == edge.thread && last.count >= edge.count)
        } else {
            clocks.get(&state.clock, stamp.thread) >= stamp.count
        };
        if !known && stamp.count > 0 {
            if !walks {
                clocks.join(&mut state.clock, &stamp.clock);
                clocks.raise(&mut state.clock, stamp.thread, stamp.count);
            }
            state.edges.push(edge);
        } else if stamp.count == 0 {
            // A joined thread that did nothing still passes its fork on. Without clocks these are zero.
            clocks.join(&mut state.clock, &stamp.clock);
            let forks = threads[stamp.thread].edges.clone();
            threads[thread].edges.extend(forks.into_iter().map(|edge| Edge { at, ..edge }));
        }
    }

    fn acquire(&mut self, id: u32, thread: usize, lock: u32, shared: bool) {
        let rank = self.count(thread);
        let users = &mut self.locks[lock as usize];
        let user = *self.users.entry((lock, thread as u32)).or_insert_with(|| {
            users.push(User { thread: thread as u32, acquires: Default::default() });
            users.len() as u32 - 1
        });
        users[user as usize].acquires[usize::from(shared)].all.push((rank, id));
        self.step(thread);
        let section = Section { lock, shared, acquire: id, released: 0 };
        self.sections.push(section);
        self.push_open(thread, self.sections.len() as u32 - 1);
    }

    fn push_open(&mut self, thread: usize, section: u32) {
        self.opens.push(Open { section, rest: self.threads[thread].now });
        self.threads[thread].now = self.opens.len() as u32 - 1;
    }

    fn release(&mut self, thread: usize, lock: u32, shared: bool) {
        self.step(thread);
        // Sections need not be nested: sections opened later stay open.
        let mut later = Vec::new();
        let section = loop {
            let Open { section, rest } = self.opens[self.threads[thread].now as usize];
            self.threads[thread].now = rest;
            let found = &self.sections[section as usize];
            if found.lock == lock && found.shared == shared {
                break section;
            }
            later.push(section);
        };
        for section in later.into_iter().rev() {
            self.push_open(thread, section);
        }
        self.sections[section as usize].released = self.count(thread);
    }

    pub(super) fn memory(&self) -> usize {
        let acquires = |u: &User| u.acquires.iter().map(|a| a.all.capacity() * 8).sum::<usize>();
        self.clocks.memory()
            + self.threads.iter().map(|t| t.open.capacity() * 4 + t.edges.capacity() * size_of::<Edge>()).sum::<usize>()
            + self.last_writes.capacity() * size_of::<Option<Stamp>>()
            + self.sections.capacity() * size_of::<Section>()
            + self.opens.capacity() * size_of::<Open>()
            + self.locks.iter().flatten().map(acquires).sum::<usize>()
    }
}
