//! The past of a trace, and the least closed sets in it.
//!
//! A set that is closed under program order is a number of events for each thread: a clock. Closing it under must-order and
//! reads-from is a join of clocks. For locks, look at the rim: the sections that are open after the last event of each thread.
//! If such a section is followed, in the trace, by an acquire in the set from whose section it keeps away, its release must
//! come in, with all that this one needs; that moves the rim, and so on until nothing is left to do. Sections that are closed
//! within the set demand nothing.

use hashbrown::HashMap;
use mayhap_trace::{Event, NONE, Op, Tables};

use crate::clock::{Clock, Clocks};
use crate::signals::Signals;

/// A critical section.
struct Section {
    lock: u32,
    shared: bool,
    acquire: u32,
    /// Events of its thread up to the release, that one included; 0 while open.
    released: u32,
    /// What the release needs of other threads.
    needs: Clock,
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
    /// The thread acquires after the event `after`, within its first `count` events.
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
    /// Per event, the sections open before it.
    open: Vec<u32>,
    /// The sections open now.
    now: u32,
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
    sections: Vec<Section>,
    opens: Vec<Open>,
    /// Users of each lock.
    locks: Vec<Vec<User>>,
    users: HashMap<(u32, u32), u32, foldhash::fast::RandomState>,
}

impl Past {
    pub(super) fn grow(&mut self, tables: &Tables) {
        let thread = || Thread { now: NONE, ..Thread::default() };
        self.threads.resize_with(self.threads.len().max(tables.threads.len()), thread);
        self.last_writes.resize_with(self.last_writes.len().max(tables.variables.len()), || None);
        self.locks.resize_with(self.locks.len().max(tables.locks.len()), Vec::new);
        self.signals.grow(tables.conditions.len());
    }

    /// How many events the thread has made.
    #[inline]
    pub(super) fn count(&self, thread: usize) -> u32 {
        self.threads[thread].open.len() as u32
    }

    /// What must be before the thread's next event.
    pub(super) fn before(&mut self, thread: usize) -> Clock {
        self.clocks.share(&self.threads[thread].clock)
    }

    /// Adds the first `count` events of `thread`, which need `before` of others, to a set.
    pub(super) fn add(&mut self, ideal: &mut Clock, before: &Clock, thread: usize, count: u32) {
        self.clocks.join(ideal, before);
        self.clocks.raise(ideal, thread, count);
    }

    /// Adds all `count` events that the thread has made.
    pub(super) fn add_thread(&mut self, ideal: &mut Clock, thread: usize, count: u32) {
        self.clocks.join(ideal, &self.threads[thread].clock);
        self.clocks.raise(ideal, thread, count);
    }

    /// Closes a set that is closed but for locks.
    pub(super) fn close(&mut self, ideal: &mut Clock) {
        let mut grown = true;
        while grown {
            grown = false;
            for thread in 0..self.threads.len() {
                let count = self.clocks.get(ideal, thread);
                if count > 0 && self.close_thread(ideal, thread, count) {
                    grown = true;
                }
            }
        }
    }

    /// Brings in the release of a section at the rim of `thread` that an acquire in the set follows.
    fn close_thread(&mut self, ideal: &mut Clock, thread: usize, count: u32) -> bool {
        let state = &self.threads[thread];
        let mut at = state.open.get(count as usize).copied().unwrap_or(state.now);
        while at != NONE {
            let Open { section, rest } = self.opens[at as usize];
            let section = &self.sections[section as usize];
            if self.is_followed(ideal, thread, section) {
                self.clocks.join(ideal, &section.needs);
                self.clocks.raise(ideal, thread, section.released);
                return true;
            }
            at = rest;
        }
        false
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
            Self::absorb(&mut self.clocks, &mut self.threads[thread].clock, thread, write);
        }
    }

    /// Takes any other relevant event.
    pub(super) fn sync(&mut self, id: u32, event: &Event) {
        let (thread, object) = (event.thread.index(), event.object as usize);
        match event.op {
            Op::Acquire | Op::SharedAcquire => self.acquire(id, thread, event.object, event.op.is_shared()),
            Op::Release | Op::SharedRelease => self.release(thread, event.object, event.op.is_shared()),
            _ => self.step(thread),
        }
        match event.op {
            Op::Fork => {
                let stamp = self.hand_on(thread);
                Self::absorb(&mut self.clocks, &mut self.threads[object].clock, object, &stamp);
                self.clocks.release(stamp.clock);
            }
            Op::Join => {
                let stamp = self.hand_on(object);
                Self::absorb(&mut self.clocks, &mut self.threads[thread].clock, thread, &stamp);
                self.clocks.release(stamp.clock);
            }
            Op::Notify | Op::NotifyAll => {
                let stamp = self.hand_on(thread);
                if let Some(old) = self.signals.notify(object, thread, stamp) {
                    self.clocks.release(old.clock);
                }
            }
            Op::Wait => {
                if let Some(stamp) = self.signals.seen_by(object, thread) {
                    Self::absorb(&mut self.clocks, &mut self.threads[thread].clock, thread, stamp);
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn step(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.open.push(state.now);
    }

    /// What whoever comes after the thread's latest event needs.
    #[inline]
    fn hand_on(&mut self, thread: usize) -> Stamp {
        let state = &self.threads[thread];
        Stamp { clock: self.clocks.share(&state.clock), thread, count: state.open.len() as u32 }
    }

    #[inline]
    fn absorb(clocks: &mut Clocks, clock: &mut Clock, thread: usize, stamp: &Stamp) {
        // A set with a thread's first events is closed, so that who knows them knows what they need. A thread that was
        // joined without having done anything still passes on its fork.
        if stamp.thread != thread && (clocks.get(clock, stamp.thread) < stamp.count || stamp.count == 0) {
            clocks.join(clock, &stamp.clock);
            clocks.raise(clock, stamp.thread, stamp.count);
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
        let section = Section { lock, shared, acquire: id, released: 0, needs: Clock::ZERO };
        self.sections.push(section);
        self.push_open(thread, self.sections.len() as u32 - 1);
    }

    fn push_open(&mut self, thread: usize, section: u32) {
        self.opens.push(Open { section, rest: self.threads[thread].now });
        self.threads[thread].now = self.opens.len() as u32 - 1;
    }

    fn release(&mut self, thread: usize, lock: u32, shared: bool) {
        self.step(thread);
        // Sections need not be nested: what was opened later stays open.
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
        let needs = self.before(thread);
        let released = self.count(thread);
        let section = &mut self.sections[section as usize];
        (section.released, section.needs) = (released, needs);
    }

    pub(super) fn memory(&self) -> usize {
        let acquires = |u: &User| u.acquires.iter().map(|a| a.all.capacity() * 8).sum::<usize>();
        self.clocks.memory()
            + self.threads.iter().map(|t| t.open.capacity() * 4).sum::<usize>()
            + self.last_writes.capacity() * size_of::<Option<Stamp>>()
            + self.sections.capacity() * size_of::<Section>()
            + self.opens.capacity() * size_of::<Open>()
            + self.locks.iter().flatten().map(acquires).sum::<usize>()
    }
}
