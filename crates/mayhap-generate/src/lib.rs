//! Random traces of a given shape, event by event: nothing that has been delivered is remembered.
//!
//! The program that such a trace could have come from: every shared variable has one lock that guards it, every other
//! variable belongs to one thread. Threads work on their own variables, then enter a critical section and make several
//! accesses there, sections nest in the order of lock numbers, and the scheduler takes the processor away now and then,
//! sometimes inside a section, whose lock is then out of reach for the others. So with [`Shape::protected`] at 1 the trace
//! has no race and no deadlock but the planted ones:
//!
//! - A plain race: a thread makes its access and is switched away; another runs up to its own access. The first thread
//!   does nothing in between, so all but its access can run before.
//! - A hidden race: between the accesses both threads enter a section of the same lock, in which they only read. That
//!   orders the accesses by happens-before, but nothing keeps the second section from running first.
//! - A deadlock: two threads, one after the other, nest two locks in opposite orders.
//!
//! Each has separate variables or locks, and in its witness every read sees the same write: it holds in all models.
//!
//! Memory: a few bytes for each thread, lock, variable and location; nothing for events. Well over 10 million events/s.
//!
//! In: a [`Shape`]. Out: a [`Generator`], which is a source of events. This crate must never know what the traces are for.
#![forbid(unsafe_code)]

mod names;
mod plant;
mod random;
mod shape;

pub use random::SplitMix64;
pub use shape::{Shape, ShapeError};

use mayhap_trace::{CHUNK, Columns, Error, NONE, Op, Source, Tables};

use names::{Lazy, enter};
use random::{Chance, Random};

/// Lines of code of one critical section: acquire, release, six reads, six writes, a branch.
const LINES: u32 = 16;
/// Code sites of critical sections, at most; each lock has a few.
const SITES: u32 = 1024;
const SITES_A_LOCK: u32 = 4;
/// Lines of code outside critical sections.
const LOCAL_LINES: u32 = 64;
/// Conditions that threads signal each other with.
const CONDITIONS: u32 = 4;
/// In a critical section most accesses go to what its lock guards.
const GUARDED: f64 = 0.85;
/// Chance of an access to be replaced by a nested section, where nesting is allowed.
const NEST: f64 = 0.1;
/// Threads that are switched away inside a section at one time, at most.
const MOST_INSIDE: usize = 64;
/// Events that one step appends at most.
const STEP: usize = shape::HIDDEN_RACE as usize;

/// A critical section that a thread is in.
#[derive(Clone, Copy)]
struct Section {
    lock: u32,
    reader: bool,
    /// Accesses still to make.
    left: u32,
    /// First of its lines.
    lines: u32,
}

/// A thread of the generated program.
struct Worker {
    sections: Vec<Section>,
    /// Its own variables: the first, and how many.
    own: (u32, u32),
}

/// How far the trace has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Main forks the thread with this index.
    Fork(u32),
    /// Everybody works.
    Work,
    /// Open sections are closed, what is not planted yet is planted.
    Close,
    /// Main joins the thread with this index.
    Join(u32),
    /// Main is alone and fills up.
    Fill,
}

/// A planted race: its variable's cell, its number and the operations of its two accesses.
struct Race {
    variable: u32,
    number: u64,
    ops: [Op; 2],
}

/// The generator: a [`Source`] of events.
pub struct Generator {
    shape: Shape,
    random: Random,
    tables: Tables,
    phase: Phase,
    emitted: u64,
    /// Events that must still come: releases of open sections, planted ones, joins.
    owed: u64,
    workers: Vec<Worker>,
    /// Threads that can do something, and those of them that were switched away inside a section.
    able: Vec<u32>,
    inside: Vec<u32>,
    current: u32,
    run_left: u32,
    /// Of each lock, how it is held: 0 free, `NONE` by a writer, else the number of readers.
    held: Vec<u32>,
    /// The number of shared variables; they come first.
    shared: u32,
    /// The last two notifiers of each condition, different threads, latest first.
    notifiers: [[u32; 2]; CONDITIONS as usize],
    races: u64,
    deadlocks: u64,
    /// A plain race whose second access is still to come, from the current thread.
    pending: Option<Race>,
    chances: Chances,
    variables: Lazy,
    locks: Lazy,
    locations: Lazy,
    conditions: Lazy,
}

struct Chances {
    open: Chance,
    guarded: Chance,
    unprotected: Chance,
    read: Chance,
    reader: Chance,
    preempt: Chance,
    branch: Chance,
    signal: Chance,
    nest: Chance,
    half: Chance,
}

impl Chances {
    fn of(shape: &Shape) -> Self {
        // With `guarded` of the accesses in a section going to shared variables and none outside, this many accesses
        // between two sections make `sharing` come out.
        let guarded = if shape.sharing == 0.0 { 0.0 } else { shape.sharing.max(GUARDED) };
        let section = f64::from(shape.section);
        let between = if shape.sharing == 0.0 { section } else { section * (guarded / shape.sharing - 1.0) };
        Chances {
            open: Chance::of(1.0 / (between + 1.0)),
            guarded: Chance::of(guarded),
            unprotected: Chance::of(1.0 - shape.protected),
            read: Chance::of(shape.reads),
            reader: Chance::of(shape.readers),
            preempt: Chance::of(shape.preemption),
            branch: Chance::of(shape.branches),
            signal: Chance::of(shape.signals),
            nest: Chance::of(NEST),
            half: Chance::of(0.5),
        }
    }
}

impl Generator {
    /// Creates a generator of the trace with this shape.
    pub fn new(shape: Shape) -> Result<Self, ShapeError> {
        shape.validate()?;
        let shared = match shape.locks {
            0 => 0,
            _ if shape.sharing == 0.0 => 0,
            _ if shape.sharing == 1.0 => shape.variables,
            _ => (shape.variables / 2).max(1),
        };
        let (threads, own) = (u64::from(shape.threads), u64::from(shape.variables - shared));
        // Rounded up, so that main is the first to get one.
        let first_own = |t: u64| (own * t).div_ceil(threads) as u32;
        let workers: Vec<Worker> = (0..threads)
            .map(|t| Worker { sections: Vec::new(), own: (shared + first_own(t), first_own(t + 1) - first_own(t)) })
            .collect();
        let able = (0..shape.threads).filter(|&t| shape.locks > 0 || workers[t as usize].own.1 > 0).collect();
        let mut tables = Tables::default();
        for t in 0..shape.threads {
            enter(&mut tables.threads, if t == 0 { "main".to_string() } else { format!("T{t}") });
        }
        Ok(Generator {
            random: Random::new(shape.seed),
            tables,
            phase: Phase::Fork(1),
            emitted: 0,
            owed: threads - 1 + shape.planted_events(),
            workers,
            able,
            inside: Vec::new(),
            current: 0,
            run_left: 0,
            held: vec![0; shape.locks as usize],
            shared,
            notifiers: [[NONE; 2]; CONDITIONS as usize],
            races: 0,
            deadlocks: 0,
            pending: None,
            chances: Chances::of(&shape),
            variables: Lazy::new(shape.variables as usize),
            locks: Lazy::new(shape.locks as usize),
            locations: Lazy::new((SITES * LINES + LOCAL_LINES + 4) as usize),
            conditions: Lazy::new(CONDITIONS as usize),
            shape,
        })
    }

    /// Appends the events of one step; `false` at the end.
    fn step(&mut self, chunk: &mut Columns) -> bool {
        match self.phase {
            Phase::Fork(t) if t < self.shape.threads => {
                self.thread_op(chunk, Op::Fork, t);
                self.phase = Phase::Fork(t + 1);
            }
            Phase::Fork(_) => self.phase = Phase::Work,
            // A step may add an event and owe another, or make an access and a branch.
            Phase::Work if self.emitted + self.owed + 2 <= self.shape.events && !self.able.is_empty() => {
                self.work(chunk);
            }
            Phase::Work => self.phase = Phase::Close,
            Phase::Close => self.close(chunk),
            Phase::Join(t) if t < self.shape.threads => {
                self.owed -= 1;
                self.thread_op(chunk, Op::Join, t);
                self.phase = Phase::Join(t + 1);
            }
            Phase::Join(_) => self.phase = Phase::Fill,
            Phase::Fill if self.emitted < self.shape.events => {
                self.access(chunk, 0, 0, Op::Read, self.local_line(0, Op::Read));
            }
            Phase::Fill => return false,
        }
        true
    }

    fn work(&mut self, chunk: &mut Columns) {
        if self.run_left == 0 {
            if self.finish_race(chunk) {
                return;
            }
            self.switch();
        }
        if self.pending.is_none() && self.is_time_to_plant() && self.plant(chunk) {
            return;
        }
        self.run_left = self.run_left.saturating_sub(1);
        let me = self.current as usize;
        match self.workers[me].sections.last().copied() {
            Some(section) => self.work_inside(chunk, me, section),
            None => self.work_outside(chunk, me),
        }
    }

    /// Gives the processor to another thread, or lets the current one first run to the end of its section.
    fn switch(&mut self) {
        if let Some(section) = self.workers[self.current as usize].sections.last() {
            let crowded = self.inside.len() >= (self.held.len() / 8).clamp(1, MOST_INSIDE);
            if crowded || !self.random.hits(self.chances.preempt) {
                self.run_left = section.left + 1;
                return;
            }
        }
        let resume = !self.inside.is_empty() && self.random.hits(self.chances.half);
        let from = if resume { &self.inside } else { &self.able };
        let next = from[self.random.below(from.len() as u32) as usize];
        self.run(next);
        self.run_left = 1 + self.random.below(2 * self.shape.run - 1);
    }

    /// Makes `next` the current thread.
    fn run(&mut self, next: u32) {
        if !self.workers[self.current as usize].sections.is_empty() {
            self.inside.push(self.current);
        }
        self.inside.retain(|&t| t != next);
        self.current = next;
    }

    fn work_inside(&mut self, chunk: &mut Columns, me: usize, section: Section) {
        if section.left == 0 {
            self.release(chunk, me);
            return;
        }
        let deep = self.workers[me].sections.len() as u32 >= self.shape.nesting;
        if !deep && self.random.hits(self.chances.nest) && self.open(chunk, me, Some(section)) {
            return;
        }
        self.workers[me].sections.last_mut().expect("the thread is in a section").left -= 1;
        let (guarded, own) = (self.guarded_by(section.lock), self.workers[me].own);
        let (variable, op) = if guarded > 0 && (own.1 == 0 || self.random.hits(self.chances.guarded)) {
            let op = if section.reader { Op::Read } else { self.read_or_write() };
            (section.lock + self.shape.locks * self.random.below(guarded), op)
        } else if own.1 > 0 {
            (own.0 + self.random.below(own.1), self.read_or_write())
        } else {
            return;
        };
        let line = 2 + 2 * (section.left % 6) + u32::from(op == Op::Write);
        self.access(chunk, me, variable, op, section.lines + line);
    }

    fn work_outside(&mut self, chunk: &mut Columns, me: usize) {
        if self.random.hits(self.chances.signal) {
            self.signal(chunk, me);
            return;
        }
        let own = self.workers[me].own;
        if (own.1 == 0 || self.random.hits(self.chances.open)) && !self.held.is_empty() {
            if self.shared > 0 && self.random.hits(self.chances.unprotected) {
                let (variable, op) = (self.random.below(self.shared), self.read_or_write());
                self.access(chunk, me, variable, op, self.local_line(variable, op));
                return;
            }
            if self.open(chunk, me, None) {
                return;
            }
        }
        if own.1 > 0 {
            let (variable, op) = (own.0 + self.random.below(own.1), self.read_or_write());
            self.access(chunk, me, variable, op, self.local_line(variable, op));
        } else {
            // Every lock it tried is taken: it waits for the processor to go elsewhere.
            self.run_left = 0;
        }
    }

    /// Enters a critical section; in another, of a lock beyond that one's and with some of its accesses. `false` if the
    /// locks it tried are taken.
    fn open(&mut self, chunk: &mut Columns, me: usize, outer: Option<Section>) -> bool {
        let first = outer.map_or(0, |section| section.lock + 1);
        let choice = self.shape.locks - first;
        if choice == 0 {
            return false;
        }
        for _ in 0..4 {
            let lock = first + self.random.skewed(choice);
            let reader = self.random.hits(self.chances.reader);
            let holders = self.held[lock as usize];
            if holders == 0 || (reader && holders != NONE) {
                let left = 1 + self.random.below(outer.map_or(2 * self.shape.section - 1, |section| section.left));
                if let Some(outer) = self.workers[me].sections.last_mut() {
                    outer.left -= left;
                }
                let site = (lock.wrapping_mul(SITES_A_LOCK) + self.random.below(SITES_A_LOCK)) % SITES;
                let section = Section { lock, reader, left, lines: site * LINES };
                self.held[lock as usize] = if reader { holders + 1 } else { NONE };
                self.workers[me].sections.push(section);
                self.owed += 1;
                self.lock_op(chunk, me, section, true);
                return true;
            }
        }
        false
    }

    /// Leaves the innermost section.
    fn release(&mut self, chunk: &mut Columns, me: usize) {
        let section = self.workers[me].sections.pop().expect("the thread is in a section");
        let held = &mut self.held[section.lock as usize];
        *held = if section.reader { *held - 1 } else { 0 };
        self.owed -= 1;
        self.lock_op(chunk, me, section, false);
    }

    fn lock_op(&mut self, chunk: &mut Columns, me: usize, section: Section, acquire: bool) {
        let op = match (acquire, section.reader) {
            (true, false) => Op::Acquire,
            (true, true) => Op::SharedAcquire,
            (false, false) => Op::Release,
            (false, true) => Op::SharedRelease,
        };
        let cell = self.locks.cell(section.lock, &mut self.tables.locks, || format!("L{}", section.lock));
        self.emit(chunk, me, op, cell, section.lines + u32::from(!acquire));
    }

    /// Accesses a variable, and sometimes branches on what it read.
    fn access(&mut self, chunk: &mut Columns, me: usize, variable: u32, op: Op, line: u32) {
        self.access_unbranched(chunk, me, variable, op, line);
        if op == Op::Read && self.phase == Phase::Work && self.random.hits(self.chances.branch) {
            self.emit(chunk, me, Op::Branch, NONE, line - line % LINES + LINES - 1);
        }
    }

    fn access_unbranched(&mut self, chunk: &mut Columns, me: usize, variable: u32, op: Op, line: u32) {
        let shared = self.shared;
        let cell = self.variables.cell(variable, &mut self.tables.variables, || {
            if variable < shared { format!("shared{variable}") } else { format!("own{variable}") }
        });
        self.emit(chunk, me, op, cell, line);
    }

    /// Waits for a condition that another thread has notified, or notifies one.
    fn signal(&mut self, chunk: &mut Columns, me: usize) {
        let condition = self.random.below(CONDITIONS);
        let notifiers = &mut self.notifiers[condition as usize];
        let notified = notifiers.iter().any(|&t| t != NONE && t as usize != me);
        let op = match notified && self.random.hits(self.chances.half) {
            true => Op::Wait,
            false if self.random.below(4) == 0 => Op::NotifyAll,
            false => Op::Notify,
        };
        if op != Op::Wait && notifiers[0] as usize != me {
            *notifiers = [me as u32, notifiers[0]];
        }
        let cell = self.conditions.cell(condition, &mut self.tables.conditions, || format!("C{condition}"));
        let line = SITES * LINES + LOCAL_LINES + 2 + u32::from(op == Op::Wait);
        self.emit(chunk, me, op, cell, line);
    }

    fn thread_op(&mut self, chunk: &mut Columns, op: Op, thread: u32) {
        let line = SITES * LINES + LOCAL_LINES + u32::from(op == Op::Join);
        self.emit(chunk, 0, op, thread, line);
    }

    /// Appends an event at a line of the generated program.
    #[inline]
    fn emit(&mut self, chunk: &mut Columns, me: usize, op: Op, object: u32, line: u32) {
        let location = self.locations.cell(line, &mut self.tables.locations, || match line / LINES {
            site if site < SITES => format!("site{site}.c:{}", line % LINES + 1),
            _ => format!("main.c:{}", line - SITES * LINES + 1),
        });
        chunk.push_cells(me as u16, op, object, location);
        self.emitted += 1;
    }

    /// A line outside critical sections: the same variable and operation, the same line. Each sixteenth is for branches.
    fn local_line(&self, variable: u32, op: Op) -> u32 {
        let line = (2 * variable + u32::from(op == Op::Write)) % LOCAL_LINES;
        SITES * LINES + if line % LINES == LINES - 1 { line - 2 } else { line }
    }

    fn read_or_write(&mut self) -> Op {
        if self.random.hits(self.chances.read) { Op::Read } else { Op::Write }
    }

    /// How many variables the lock guards: every `locks`-th of the shared ones.
    fn guarded_by(&self, lock: u32) -> u32 {
        if lock < self.shared { (self.shared - lock - 1) / self.shape.locks + 1 } else { 0 }
    }
}

impl Source for Generator {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        chunk.clear();
        while chunk.len() + STEP <= CHUNK && self.step(chunk) {}
        Ok(!chunk.is_empty())
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.tables
    }
}
