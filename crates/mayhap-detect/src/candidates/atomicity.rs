//! Candidates for atomicity violations: two accesses that appear intended to be atomic, and a remote access that must not come between.
//!
//! Local pairs are successive accesses of one thread to one variable, at most [`Limits::distance`] events of the thread
//! apart. Remote accesses are those that no serial order explains: a write between two reads, between a write and a read,
//! between a read and a write; a read between two writes. Another pattern is SeqCheck's third-thread reader: a write, and a read
//! of it by another thread, with a third thread's write between; it is expressed as a nondeterministic read.
//!
//! That a pair is intended to be atomic is a guess, so these are left out:
//! - pairs of locations that the observed run itself interleaved in such a way, even once: the run passed, so they are not
//!   intended to be atomic. For a third-thread reader: reads at a location that saw writes of several locations;
//! - remote accesses that must-order puts before the first or after the second local access;
//! - remote accesses under a lock that the local thread holds throughout;
//! - unless [`Limits::all_patterns`] asks for them, pairs in different critical sections that do not appear intended to be atomic
//!   ([`Intent::looks_like_one`]), and all third-thread readers: correct programs are full of both.
//!
//! Cost: O(local pairs × (classes of remote accesses × log + distance)).

use hashbrown::{HashMap, HashSet};
use mayhap_trace::{EventId, Execution, LockId, LocksetId, Mode, Op, Relations, Trace};
use mayhap_witness::{Kind, Target};

use super::intent::Intent;
use super::{Group, Limits, Nearest, place, shared_accesses};

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;
type Set<K> = HashSet<K, foldhash::fast::FixedState>;

/// How many instances of a class are tried with a pair, on each side of it.
const AROUND: usize = 2;

/// Accesses of one thread, kind, lockset and place.
struct Class {
    thread: u16,
    op: Op,
    lockset: LocksetId,
    place: u64,
    accesses: Vec<EventId>,
}

/// The operation that must not come between, if there is one.
fn intruder(first: Op, second: Op) -> Op {
    if (first, second) == (Op::Write, Op::Write) { Op::Read } else { Op::Write }
}

/// Candidates by the locations of the three accesses.
pub fn atomicity_violations(execution: &Execution<'_>, limits: &Limits) -> Vec<Group> {
    let (trace, relations) = execution.parts();
    let (accesses, bounds) = shared_accesses(trace);
    let variables = || bounds.windows(2).map(|w| &accesses[w[0] as usize..w[1] as usize]).filter(|a| !a.is_empty());
    let mut loose = Set::default();
    let mut sources: Map<u64, u64> = Map::default();
    for accesses in variables() {
        observe(trace, accesses, &mut loose);
        observe_sources(trace, relations, accesses, &mut sources);
    }
    let intent = Intent::new(execution);
    // A plain write followed by an atomic access is how an object is made and then shared: not one step.
    let is_atomic = |access: EventId| trace.columns().flags_at(access.index()).is_atomic();
    let shares = |first, second| is_atomic(second) && !is_atomic(first);
    let meant = |first, second| limits.all_patterns || !shares(first, second) && intent.looks_like_one(first, second);
    let mut gather = Gather { trace, relations, limits, groups: Vec::new(), by_places: Map::default() };
    for accesses in variables() {
        let classes = classes(trace, relations, accesses);
        let mut last: Map<u16, EventId> = Map::default();
        for &access in accesses {
            let thread = trace.columns().threads[access.index()];
            if let Some(first) = last.insert(thread, access)
                && relations.rank(access) - relations.rank(first) <= limits.distance
                && !loose.contains(&(place(trace, first), place(trace, access)))
                && meant(first, access)
            {
                gather.local_pair(first, access, &classes);
            }
            if limits.all_patterns {
                gather.third_thread_reader(access, &classes, &sources);
            }
        }
    }
    gather.groups.into_iter().map(|(third, g)| g.into_group(Kind::Atomicity, |e| target(third, e))).collect()
}

fn target(third_thread: bool, events: &[EventId]) -> Target {
    let [first, remote, second] = [events[0], events[1], events[2]];
    if third_thread {
        Target::Nondeterminism { write: Some(first), read: second, other: Some(remote) }
    } else {
        Target::Atomicity { first, remote, second }
    }
}

/// Collects the pairs of places that the observed run interleaved unserialisably.
fn observe(trace: &Trace, accesses: &[EventId], loose: &mut Set<(u64, u64)>) {
    // Per thread: its latest access, and whether others have read or written since.
    let mut threads: Vec<(u16, EventId, bool, bool)> = Vec::new();
    for &access in accesses {
        let event = trace.event(access);
        let me = trace.columns().threads[access.index()];
        for (_, _, read, written) in threads.iter_mut().filter(|t| t.0 != me) {
            *read |= event.op == Op::Read;
            *written |= event.op == Op::Write;
        }
        match threads.iter_mut().find(|t| t.0 == me) {
            Some(state) => {
                let (first, read, written) = (state.1, state.2, state.3);
                let bad = match intruder(trace.event(first).op, event.op) {
                    Op::Read => read,
                    _ => written,
                };
                if bad {
                    loose.insert((place(trace, first), place(trace, access)));
                }
                *state = (me, access, false, false);
            }
            None => threads.push((me, access, false, false)),
        }
    }
}

/// Collects the place from which each reading place gets its values; `u64::MAX` if there are several.
fn observe_sources(trace: &Trace, relations: &Relations, accesses: &[EventId], sources: &mut Map<u64, u64>) {
    for &access in accesses.iter().filter(|&&a| trace.event(a).op == Op::Read) {
        let source = relations.read_from(access).map_or(u64::MAX, |w| place(trace, w));
        let known = sources.entry(place(trace, access)).or_insert(source);
        if *known != source {
            *known = u64::MAX;
        }
    }
}

fn classes(trace: &Trace, relations: &Relations, accesses: &[EventId]) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut index: Map<(u16, Op, LocksetId, u64), usize> = Map::default();
    for &access in accesses {
        let thread = trace.columns().threads[access.index()];
        let key = (thread, trace.event(access).op, relations.held(access), place(trace, access));
        let number = *index.entry(key).or_insert_with(|| {
            classes.push(Class { thread, op: key.1, lockset: key.2, place: key.3, accesses: Vec::new() });
            classes.len() - 1
        });
        classes[number].accesses.push(access);
    }
    classes
}

struct Gather<'s> {
    trace: &'s Trace,
    relations: &'s Relations,
    limits: &'s Limits,
    /// Whether it is a third-thread reader, and the instances.
    groups: Vec<(bool, Nearest)>,
    by_places: Map<(bool, u64, u64, u64), usize>,
}

impl Gather<'_> {
    fn local_pair(&mut self, first: EventId, second: EventId, classes: &[Class]) {
        let (a, b) = (self.trace.event(first), self.trace.event(second));
        let op = intruder(a.op, b.op);
        let me = self.trace.columns().threads[first.index()];
        let mut throughout: Option<Vec<(LockId, Mode)>> = None;
        for class in classes.iter().filter(|c| c.op == op && c.thread != me) {
            let throughout = throughout.get_or_insert_with(|| self.held_throughout(first, second));
            let held = self.relations.locksets().get(class.lockset);
            let excluded = throughout.iter().any(|&(lock, mode)| {
                held.iter().any(|&(l, m)| l == lock && !(mode == Mode::Shared && m == Mode::Shared))
            });
            if !excluded {
                self.with_class(false, first, second, class);
            }
        }
    }

    /// The locks that the thread of two accesses holds from the first to the second.
    fn held_throughout(&self, first: EventId, second: EventId) -> Vec<(LockId, Mode)> {
        let thread = self.trace.event(first).thread;
        let between = self.relations.rank(first)..self.relations.rank(second);
        let mut held = self.relations.locksets().get(self.relations.held(first)).to_vec();
        for &id in &self.relations.thread_events(thread)[between] {
            let event = self.trace.event(id);
            if event.op.is_release() {
                let mode = if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive };
                held.retain(|&(lock, m)| lock.index() != event.object as usize || m != mode);
            }
        }
        held
    }

    fn third_thread_reader(&mut self, read: EventId, classes: &[Class], sources: &Map<u64, u64>) {
        if self.trace.event(read).op != Op::Read {
            return;
        }
        let Some(write) = self.relations.read_from(read) else { return };
        let threads = [write, read].map(|e| self.trace.columns().threads[e.index()]);
        let apart = read.index() - write.index();
        let single = sources.get(&place(self.trace, read)) == Some(&place(self.trace, write));
        if threads[0] == threads[1] || apart > self.limits.distance || !single {
            return;
        }
        for class in classes.iter().filter(|c| c.op == Op::Write && !threads.contains(&c.thread)) {
            self.with_class(true, write, read, class);
        }
    }

    /// Offers the nearest accesses of a class on both sides of a pair.
    fn with_class(&mut self, third: bool, first: EventId, second: EventId, class: &Class) {
        let before = class.accesses.partition_point(|&e| e < first);
        let after = class.accesses.partition_point(|&e| e < second);
        let nearest = before.saturating_sub(AROUND)..class.accesses.len().min(after + AROUND);
        for &remote in &class.accesses[nearest] {
            let ordered = |a: EventId, b: EventId| a < b && self.relations.ordered(self.trace, a, b);
            // A write that must come before the seen write, or after the read, cannot be seen instead.
            if ordered(remote, first) || ordered(second, remote) {
                continue;
            }
            let key = (third, place(self.trace, first), class.place, place(self.trace, second));
            let group = *self.by_places.entry(key).or_insert_with(|| {
                self.groups.push((third, Nearest::default()));
                self.groups.len() - 1
            });
            self.groups[group].1.offer(&[first, remote, second], self.limits.instances);
        }
    }
}
