//! Happens-before of one execution by the rules of C11, as vector clocks.
//!
//! | what | synchronises with |
//! |---|---|
//! | fork, end of a thread | the thread's first step, its join |
//! | unlock | each later lock of that mutex; a reader's unlock only with later writers |
//! | signal, broadcast | the wait that it wakes |
//! | post | each later take of that semaphore |
//! | send | the receive of its message; sends of one pipe among each other, receives likewise |
//! | release store, or store after a release fence | acquire load, or load before an acquire fence, that reads it or a write of its release sequence: read-modify-writes and stores of its thread |

use std::collections::{BTreeMap, VecDeque};

use super::language::Order;
use super::queue::WaitQueue;
use super::state::{Cell, Effect};

/// How many threads a program may have.
pub(crate) const THREADS: usize = 4;

/// How many steps of each thread happen before a point, with the point's own thread exact.
type Clock = [u8; THREADS];

/// The clocks of one execution, and the accesses it has had.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Clocks {
    threads: Vec<ThreadClock>,
    /// What an acquire of each cell synchronises with now, by the thread at the head of the release sequence.
    cells: BTreeMap<Cell, [Clock; THREADS]>,
    /// What writers and readers left at each lock.
    locks: Vec<(Clock, Clock)>,
    conditions: Vec<WaitQueue<Clock>>,
    semaphores: Vec<Clock>,
    pipes: Vec<PipeClock>,
    accesses: BTreeMap<Cell, Vec<Access>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct ThreadClock {
    now: Clock,
    /// At the last release fence.
    released: Clock,
    /// What relaxed loads read, for the next acquire fence.
    pending: Clock,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct PipeClock {
    sent: Clock,
    received: Clock,
    messages: VecDeque<Clock>,
}

/// An access that has run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Access {
    name: u32,
    thread: u8,
    step: u8,
    atomic: bool,
    reads: bool,
    writes: bool,
}

/// Two accesses that are unordered: their names, and whether each is meant as a write.
pub(crate) type Unordered = ((u32, bool), (u32, bool));

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Clocks {
    pub(crate) fn new(locks: usize, conditions: usize, semaphores: usize, pipes: usize) -> Clocks {
        Clocks {
            threads: vec![ThreadClock::default(); THREADS],
            cells: BTreeMap::new(),
            locks: vec![Default::default(); locks],
            conditions: vec![WaitQueue::new(); conditions],
            semaphores: vec![Default::default(); semaphores],
            pipes: vec![PipeClock::default(); pipes],
            accesses: BTreeMap::new(),
        }
    }

    /// Takes in what a thread did.
    pub(crate) fn observe(&mut self, thread: usize, effect: &Effect) {
        let me = &mut self.threads[thread];
        me.now[thread] += 1;
        let now = me.now;
        match *effect {
            Effect::Read { cell, order: Some(order), .. } | Effect::FailedCompare { cell, order, .. } => {
                self.load(thread, cell, order);
            }
            Effect::Write { cell, order, .. } => {
                let left = order.map(|order| self.threads[thread].leaves(order));
                let heads = self.cells.entry(cell).or_default();
                for (head, clock) in heads.iter_mut().enumerate() {
                    match left {
                        Some(left) if head == thread => join(clock, &left),
                        _ => *clock = Clock::default(),
                    }
                }
            }
            Effect::Modify { cell, order, .. } => {
                self.load(thread, cell, order);
                let left = self.threads[thread].leaves(order);
                join(&mut self.cells.entry(cell).or_default()[thread], &left);
            }
            Effect::Freed(block) => {
                self.cells.remove(&Cell::Block(block));
            }
            Effect::Fence(order) => {
                if order.acquires() {
                    let pending = me.pending;
                    join(&mut me.now, &pending);
                }
                if order.releases() {
                    me.released = me.now;
                }
            }
            Effect::Acquired { lock, shared, .. } => {
                let (writers, readers) = self.locks[lock];
                join(&mut me.now, &writers);
                if !shared {
                    join(&mut me.now, &readers);
                }
            }
            Effect::Released { lock, shared: false } | Effect::WaitBegan { mutex: lock, .. } => {
                join(&mut self.locks[lock].0, &now);
            }
            Effect::Released { lock, shared: true } => join(&mut self.locks[lock].1, &now),
            Effect::Posted(semaphore) => join(&mut self.semaphores[semaphore], &now),
            Effect::Taken { semaphore, .. } => join(&mut me.now, &self.semaphores[semaphore]),
            Effect::Forked(child) => self.threads[child].now = now,
            Effect::Joined(child) => {
                let ended = self.threads[child].now;
                join(&mut self.threads[thread].now, &ended);
            }
            Effect::Sent { pipe, .. } => {
                let pipe = &mut self.pipes[pipe];
                join(&mut me.now, &pipe.sent);
                pipe.sent = me.now;
                pipe.messages.push_back(me.now);
            }
            Effect::Received { pipe, .. } => {
                let pipe = &mut self.pipes[pipe];
                join(&mut me.now, &pipe.messages.pop_front().unwrap_or_default());
                join(&mut me.now, &pipe.received);
                pipe.received = me.now;
            }
            _ => {}
        }
        self.observe_conditions(thread, effect);
    }

    fn observe_conditions(&mut self, thread: usize, effect: &Effect) {
        let me = &mut self.threads[thread];
        match *effect {
            Effect::WaitBegan { condition, .. } => self.conditions[condition].begin(thread),
            Effect::Woken { condition, .. } => join(&mut me.now, &self.conditions[condition].take(thread)),
            Effect::TimedOut { condition } => self.conditions[condition].leave(thread),
            Effect::Notified { condition, all } => self.conditions[condition].notify(all, me.now),
            _ => {}
        }
    }

    fn load(&mut self, thread: usize, cell: Cell, order: Order) {
        let me = &mut self.threads[thread];
        for left in self.cells.get(&cell).copied().unwrap_or_default() {
            join(if order.acquires() { &mut me.now } else { &mut me.pending }, &left);
        }
    }

    /// Takes in an access of the step just observed; every earlier one that it is unordered with, as far as they conflict.
    pub(crate) fn access(&mut self, thread: usize, name: u32, effect: &Effect, mut each: impl FnMut(Unordered)) {
        let Some((cell, reads, writes, atomic)) = parts(effect) else { return };
        let now = self.threads[thread].now;
        let here = Access { name, thread: thread as u8, step: now[thread], atomic, reads, writes };
        let before = self.accesses.entry(cell).or_default();
        for earlier in before.iter() {
            let ordered = earlier.step <= now[earlier.thread as usize];
            if ordered || (earlier.atomic && atomic) {
                continue;
            }
            for (first, second) in [(false, true), (true, false), (true, true)] {
                let has = |access: &Access, write: bool| if write { access.writes } else { access.reads };
                if has(earlier, first) && has(&here, second) {
                    each(((earlier.name, first), (name, second)));
                }
            }
        }
        // In which order they ran does not matter to what comes.
        let place = before.partition_point(|access| (access.thread, access.step) < (here.thread, here.step));
        before.insert(place, here);
    }
}

impl ThreadClock {
    /// What a store of this order leaves for acquires.
    fn leaves(&self, order: Order) -> Clock {
        if order.releases() { self.now } else { self.released }
    }
}

/// The cell of an access, whether it reads and writes, whether it is atomic.
pub(crate) fn parts(effect: &Effect) -> Option<(Cell, bool, bool, bool)> {
    match *effect {
        Effect::Read { cell, order, .. } => Some((cell, true, false, order.is_some())),
        Effect::Write { cell, order, .. } => Some((cell, false, true, order.is_some())),
        Effect::Modify { cell, .. } => Some((cell, true, true, true)),
        Effect::FailedCompare { cell, .. } => Some((cell, true, false, true)),
        Effect::Freed(block) => Some((Cell::Block(block), false, true, false)),
        _ => None,
    }
}
