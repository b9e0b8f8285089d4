//! Weak causal precedence (WCP) in linear time.
//!
//! Kini, Mathur, Viswanathan, PLDI'17: definition 3, algorithm 1. With HB as in [`crate::hb`], WCP is the least relation with
//! (a) a release before a later access inside the same lock that conflicts with an access of the released section;
//! (b) a release before a later release of the same lock whose section holds an event after one of the first section;
//! (c) HB before or after WCP is WCP. Accesses race if neither WCP nor must-order orders them.
//!
//! Deviations, each needed for the clocks to equal the definition:
//! - The paper's clock of rule (a) has no thread in its index, so that a thread's own earlier section leaks into its past and
//!   orders what nothing orders: `corpus/golden/counterexamples/wcp_alg1_same_thread_leak.std`. Here sections know their
//!   thread and a thread skips its own. Releases of a lock are totally ordered by HB, so the newest section of another thread
//!   stands for all of them, and the newest two by different threads answer every query.
//! - The paper has no fork, join, wait and notify, and no atomic accesses and fences ([`crate::atomics`]). Their edges are
//!   must-order here: part of HB, and used like WCP for ordering accesses
//!   and in rule (b), but not themselves WCP. A third clock K contains them.
//! - With must-order in rule (b), queues are no longer first-in-first-out: a section may be before a release by must-order although
//!   the one queued ahead of it is not. See [`queues`].
//! - Reader locks: (a) and (b) hold between sections that exclude each other, as HB does.
//! - Two sections of one thread do not count in (b), as in the paper's algorithm.
//!
//! Clocks of a thread: H (HB), P (WCP), K (must-order with the WCP order of its sources), and its time N, which increases after
//! release, fork, notify and atomic release. An event's clock is P joined with K, and N for its own thread. Invariants: P is below H; a thread
//! that knows time N of another one in P (H) knows all that the other's H knew at the end of N, so a join is skipped if its epoch
//! is known; the same epochs decide rule (b) without the clocks of acquires that the paper queues.
//!
//! Cost: per access, the locks held; per release, amortised logarithmic in the queue; joins as in [`crate::clock`]. Memory:
//! threads, locks, shared variables × locks they are accessed under, and the queues, which are linear in the trace at worst
//! (the paper shows that no algorithm in one pass does better); their length is reported.
//!
//! What it proves: the first race reported is one in some correct reordering, or there is a reordering with a deadlock.
//! Later ones need not be: `corpus/golden/counterexamples/wcp_later_race_false.std`.

mod cp;
mod queues;
mod sections;

pub(crate) use cp::saturate;

use std::rc::Rc;

use mayhap_trace::{Bits, Op, Tables};

use crate::atomics::{Atomics, Channel};
use crate::census::Census;
use crate::clock::{Clock, Clocks};
use crate::rules::Rules;
use crate::signals::Signals;
use crate::stream::{Access, Sync};

use cp::Edges;
use queues::Queues;
use sections::{Accessed, Sections};

/// The clocks of a thread.
struct Thread {
    /// HB.
    h: Clock,
    /// WCP.
    p: Clock,
    /// Must-order.
    k: Clock,
    /// Time N.
    now: u32,
    /// Changes of K so far.
    k_version: u32,
    /// The latest time that ended with a fork or a notify.
    out: u32,
    holds: Vec<Hold>,
    /// Locks whose queues must be notified when it passes its clock on, with its positions among their users.
    awaiting: Vec<(u32, u32)>,
}

/// A section that its thread has open, of a lock that several threads use.
#[derive(Clone, Copy)]
struct Hold {
    lock: u32,
    shared: bool,
    section: u32,
    place: u32,
}

/// What a thread passes on.
struct Stamp {
    h: Clock,
    p: Clock,
    k: Clock,
    thread: u32,
    now: u32,
}

/// What the next holder of a lock learns.
struct Lock {
    h: Clock,
    p: Clock,
    /// The last exclusive release: thread and time; time 0 for none.
    thread: u32,
    now: u32,
    /// Shared releases since.
    readers_h: Clock,
    readers_p: Clock,
}

/// Weak causal precedence; with `EDGES`, causal precedence: what a section learns it already knew at its acquire.
pub(crate) struct Precedence<const EDGES: bool> {
    census: Rc<Census>,
    edges: Edges,
    clocks: Clocks,
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    signals: Signals<Stamp>,
    atomics: Atomics<Message>,
    sections: Sections,
    accessed: Accessed,
    queues: Queues,
}

/// Weak causal precedence.
pub(crate) type Wcp = Precedence<false>;
/// Causal precedence.
pub(crate) type Cp = Precedence<true>;

impl Wcp {
    pub(crate) fn new(census: Rc<Census>) -> Self {
        Self::with(census, Edges::default())
    }
}

impl<const EDGES: bool> Precedence<EDGES> {
    fn with(census: Rc<Census>, mut edges: Edges) -> Self {
        edges.begin_pass();
        Precedence {
            edges,
            clocks: Clocks::default(),
            threads: Vec::new(),
            locks: Vec::new(),
            signals: Signals::default(),
            atomics: Atomics::default(),
            sections: Sections::default(),
            accessed: Accessed::default(),
            queues: Queues::new(&census, EDGES),
            census,
        }
    }

    /// Returns the greatest total length of the queues.
    pub(crate) fn longest_queues(&self) -> u64 {
        self.queues.longest()
    }

    fn acquire(&mut self, thread: usize, lock: u32, shared: bool) {
        if self.census.locks[lock as usize].users.len() < 2 {
            return;
        }
        if self.sections.are_many() {
            self.sweep();
        }
        let state = &mut self.threads[thread];
        let from = &self.locks[lock as usize];
        if from.thread as usize != thread && self.clocks.get(&state.h, from.thread as usize) < from.now {
            self.clocks.join(&mut state.h, &from.h);
            self.clocks.raise(&mut state.h, from.thread as usize, from.now);
            self.clocks.join(&mut state.p, &from.p);
        }
        if !shared {
            self.clocks.join(&mut state.h, &from.readers_h);
            self.clocks.join(&mut state.p, &from.readers_p);
        }
        let section = self.sections.open(thread as u32, state.now);
        if EDGES {
            self.edges.open(&mut self.clocks, &self.sections, &mut state.p, section);
        }
        let place = self.census.place(lock, thread as u32);
        state.holds.push(Hold { lock, shared, section, place });
        self.queues.acquire(lock, place);
    }

    fn release(&mut self, thread: usize, lock: u32, shared: bool) {
        let users = &self.census.locks[lock as usize].users;
        if users.len() < 2 {
            return;
        }
        let state = &mut self.threads[thread];
        let at = state.holds.iter().rposition(|h| h.lock == lock && h.shared == shared);
        let hold = state.holds.remove(at.expect("a relevant release has its acquire"));
        let Hold { section, place, .. } = hold;
        self.rule_b(thread, hold);
        let state = &mut self.threads[thread];
        let leaky = state.out >= self.sections.get(section).acquired;
        self.sections.close(section, self.clocks.share(&state.h), state.now);
        self.queues.push(&mut self.clocks, &self.sections, lock, place, shared, section, leaky);
        if self.queues.asks_for_hand_on(lock, place) {
            state.awaiting.push((lock, place));
        }
        let lock = &mut self.locks[lock as usize];
        if shared {
            self.clocks.join(&mut lock.readers_h, &state.h);
            self.clocks.raise(&mut lock.readers_h, thread, state.now);
            self.clocks.join(&mut lock.readers_p, &state.p);
        } else {
            self.clocks.assign(&mut lock.h, &state.h);
            self.clocks.assign(&mut lock.p, &state.p);
            (lock.thread, lock.now) = (thread as u32, state.now);
            self.clocks.release(std::mem::replace(&mut lock.readers_h, Clock::ZERO));
            self.clocks.release(std::mem::replace(&mut lock.readers_p, Clock::ZERO));
        }
        state.now += 1;
    }

    /// Frees sections that nothing refers to.
    #[cold]
    fn sweep(&mut self) {
        let mut marked = Bits::default();
        self.accessed.mark(&mut marked);
        self.queues.mark(&mut marked);
        let open = self.threads.iter().flat_map(|t| &t.holds);
        open.for_each(|hold| marked.insert(hold.section as usize));
        if EDGES {
            self.edges.mark(&mut marked, self.sections.opened());
        }
        // Causal precedence needs the numbers of sections to stay the same.
        self.sections.sweep(&mut self.clocks, &marked, EDGES);
    }

    /// Rule (b) for the end of a section.
    #[inline]
    fn rule_b(&mut self, thread: usize, hold: Hold) {
        let Hold { lock, shared, section, place } = hold;
        let state = &mut self.threads[thread];
        let (p, k, k_version) = (&mut state.p, &state.k, state.k_version);
        let mut asker = queues::Asker { thread: thread as u32, p, k, k_version };
        let (edges, mixed) = (&mut self.edges, self.census.locks[lock as usize].shared);
        let tell = |other| {
            if EDGES {
                edges.tell(section, other, mixed);
            }
        };
        self.queues.release(&mut self.clocks, &self.sections, lock, place, shared, &mut asker, tell);
    }

    /// The clocks of a thread at an event from which a must-order edge leaves.
    fn hand_on(&mut self, thread: usize) -> Stamp {
        let state = &mut self.threads[thread];
        let now = state.now;
        state.out = now;
        state.now += 1;
        for (lock, place) in state.awaiting.drain(..) {
            self.queues.hand_on(lock, place);
        }
        let mut k = self.clocks.share(&state.k);
        self.clocks.join(&mut k, &state.p);
        Stamp { h: self.clocks.share(&state.h), p: self.clocks.share(&state.p), k, thread: thread as u32, now }
    }

    fn absorb(clocks: &mut Clocks, state: &mut Thread, stamp: &Stamp) {
        let from = stamp.thread as usize;
        clocks.join(&mut state.h, &stamp.h);
        clocks.raise(&mut state.h, from, stamp.now);
        clocks.join(&mut state.p, &stamp.p);
        clocks.join(&mut state.k, &stamp.k);
        clocks.raise(&mut state.k, from, stamp.now);
        state.k_version += 1;
    }

    /// Lets the atomic variables, which are part of this order, change it.
    #[inline(never)]
    fn by_atomics(&mut self, change: impl FnOnce(&mut Atomics<Message>, &mut Self)) {
        let mut atomics = std::mem::take(&mut self.atomics);
        change(&mut atomics, self);
        self.atomics = atomics;
    }

    fn edge(&mut self, from: usize, to: usize) {
        let stamp = self.hand_on(from);
        Self::absorb(&mut self.clocks, &mut self.threads[to], &stamp);
        self.drop_stamp(stamp);
    }

    /// Sections that are still open end with their threads.
    fn finish(&mut self) {
        for thread in 0..self.threads.len() {
            for hold in std::mem::take(&mut self.threads[thread].holds) {
                self.rule_b(thread, hold);
            }
        }
    }

    fn drop_stamp(&mut self, stamp: Stamp) {
        self.clocks.release(stamp.h);
        self.clocks.release(stamp.p);
        self.clocks.release(stamp.k);
    }
}

/// What an atomic variable or a fence hands on: HB, WCP and must-order, its sender included.
pub(crate) struct Message {
    h: Clock,
    p: Clock,
    k: Clock,
}

impl<const EDGES: bool> Channel for Precedence<EDGES> {
    type Message = Message;

    fn send(&mut self, thread: usize) -> Message {
        let Stamp { mut h, p, mut k, now, .. } = self.hand_on(thread);
        self.clocks.raise(&mut h, thread, now);
        self.clocks.raise(&mut k, thread, now);
        Message { h, p, k }
    }

    fn receive(&mut self, thread: usize, message: &Message) {
        let state = &mut self.threads[thread];
        self.clocks.join(&mut state.h, &message.h);
        self.clocks.join(&mut state.p, &message.p);
        self.clocks.join(&mut state.k, &message.k);
        state.k_version += 1;
    }

    fn merge(&mut self, to: &mut Message, from: &Message) {
        self.clocks.join(&mut to.h, &from.h);
        self.clocks.join(&mut to.p, &from.p);
        self.clocks.join(&mut to.k, &from.k);
    }

    fn share(&mut self, message: &Message) -> Message {
        let [h, p, k] = [&message.h, &message.p, &message.k].map(|clock| self.clocks.share(clock));
        Message { h, p, k }
    }

    fn discard(&mut self, message: Message) {
        self.clocks.release(message.h);
        self.clocks.release(message.p);
        self.clocks.release(message.k);
    }
}

impl<const EDGES: bool> Rules for Precedence<EDGES> {
    fn grow(&mut self, tables: &Tables) {
        let thread = || Thread {
            h: Clock::ZERO,
            p: Clock::ZERO,
            k: Clock::ZERO,
            now: 1,
            k_version: 0,
            out: 0,
            holds: Vec::new(),
            awaiting: Vec::new(),
        };
        self.threads.resize_with(self.threads.len().max(tables.threads.len()), thread);
        let lock = || Lock {
            h: Clock::ZERO,
            p: Clock::ZERO,
            thread: 0,
            now: 0,
            readers_h: Clock::ZERO,
            readers_p: Clock::ZERO,
        };
        self.locks.resize_with(self.locks.len().max(tables.locks.len()), lock);
        self.accessed.grow(tables.variables.len());
        self.signals.grow(tables);
    }

    #[inline]
    fn sync(&mut self, sync: &Sync<'_>) {
        let event = sync.event;
        let (thread, object) = (event.thread.index(), event.object as usize);
        match event.op {
            Op::Acquire => self.acquire(thread, event.object, false),
            Op::SharedAcquire => self.acquire(thread, event.object, true),
            Op::Release => self.release(thread, event.object, false),
            Op::SharedRelease => self.release(thread, event.object, true),
            Op::Fork => self.edge(thread, object),
            Op::Join => self.edge(object, thread),
            Op::Notify | Op::NotifyAll => {
                let stamp = self.hand_on(thread);
                if let Some(old) = self.signals.notify(sync, stamp) {
                    self.drop_stamp(old);
                }
            }
            Op::Wait => {
                if let Some(stamp) = self.signals.seen_by(sync) {
                    Self::absorb(&mut self.clocks, &mut self.threads[thread], stamp);
                }
                if let Some(stamp) = self.signals.used_by(sync) {
                    self.drop_stamp(stamp);
                }
            }
            Op::Read
            | Op::Write
            | Op::Branch
            | Op::Begin
            | Op::End
            | Op::Try
            | Op::FailedAcquire
            | Op::FailedSharedAcquire
            | Op::FailedWait => {}
            Op::Fence => {
                self.by_atomics(|atomics, order| atomics.fence(order, sync));
            }
        }
    }

    /// What an atomic read learns, and rule (a).
    #[inline]
    fn before_check(&mut self, access: &Access) {
        let Access { thread, variable, write, .. } = *access;
        if access.flags.is_atomic() && !write && !self.atomics.are_unused() {
            self.by_atomics(|atomics, order| atomics.read(order, access));
        }
        let state = &mut self.threads[thread];
        if state.holds.is_empty() || !self.census.conflicts(variable) {
            return;
        }
        for hold in &state.holds {
            let &Hold { lock, shared, section, .. } = hold;
            let inside = sections::Inside { section, lock, shared, thread: thread as u32 };
            let (edges, census) = (&mut self.edges, &self.census);
            let tell = |other| {
                if EDGES {
                    edges.tell(section, other, census.locks[lock as usize].shared);
                }
            };
            self.accessed.access(&mut self.clocks, &self.sections, &mut state.p, inside, variable, write, tell);
        }
    }

    #[inline(always)]
    fn after_check(&mut self, access: &Access) {
        if access.write && (access.flags.is_atomic() || !self.atomics.are_unused()) {
            self.by_atomics(|atomics, order| atomics.write(order, access));
        }
    }

    #[inline]
    fn now(&self, thread: usize) -> u32 {
        self.threads[thread].now
    }

    #[inline]
    fn knows(&self, thread: usize, other: usize) -> u32 {
        let state = &self.threads[thread];
        self.clocks.get(&state.p, other).max(self.clocks.get(&state.k, other))
    }

    #[inline]
    fn exceeds(&self, clock: &Clock, thread: usize) -> bool {
        let state = &self.threads[thread];
        self.clocks.exceeds_both(clock, &state.p, &state.k, thread)
    }

    #[inline]
    fn clocks(&mut self) -> &mut Clocks {
        &mut self.clocks
    }

    fn memory(&self) -> usize {
        self.clocks.memory()
            + self.threads.capacity() * size_of::<Thread>()
            + self.locks.capacity() * size_of::<Lock>()
            + self.sections.memory()
            + self.accessed.memory()
            + self.edges.memory()
            + self.queues.memory()
    }
}
