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
use mayhap_trace::{EventId, LockId, LocksetId, Mode, Op, Relations, ThreadId, Trace};
use mayhap_witness::{Kind, Target};

use super::intent::Intent;
use super::protection::{Access, SharedAccesses, Threads, common_locks, without_ends};
use super::{Group, Limits, Nearest, place};

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
pub fn atomicity_violations(accesses: &SharedAccesses<'_>, limits: &Limits) -> Vec<Group> {
    let execution = accesses.execution();
    let (trace, relations) = execution.parts();
    let mut loose = Set::default();
    let mut sources: Map<u64, u64> = Map::default();
    let mut threads = Threads::new(trace);
    for accesses in accesses.variables() {
        observe(trace, accesses, &mut threads, &mut loose);
        if limits.all_patterns {
            observe_sources(trace, relations, accesses, &mut sources);
        }
    }
    let intent = Intent::new(execution);
    // A plain write followed by an atomic access is how an object is made and then shared: not one step.
    let is_atomic = |access: EventId| trace.columns().flags_at(access.index()).is_atomic();
    let shares = |first, second| is_atomic(second) && !is_atomic(first);
    let meant = |first, second| limits.all_patterns || !shares(first, second) && intent.looks_like_one(first, second);
    let mut gather = Gather { trace, relations, limits, groups: Vec::new(), by_places: Map::default() };
    for accesses in accesses.variables() {
        let locks = common_locks(relations, without_ends(trace, relations, accesses, &mut threads));
        let mut classes = None;
        threads.clear();
        for (at, access) in accesses.iter().enumerate() {
            let first = threads.insert(access.thread, at).map(|first| &accesses[first]);
            if let Some(first) = first.filter(|first| (access.rank - first.rank) as usize <= limits.distance)
                && !gather.is_protected(first, access, &locks)
                && !loose.contains(&(place(trace, first.event), place(trace, access.event)))
                && meant(first.event, access.event)
            {
                let classes = classes.get_or_insert_with(|| all_classes(trace, accesses));
                gather.local_pair(first.event, access.event, classes);
            }
            if limits.all_patterns {
                let classes = classes.get_or_insert_with(|| all_classes(trace, accesses));
                gather.third_thread_reader(access.event, classes, &sources);
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
fn observe(trace: &Trace, accesses: &[Access], threads: &mut Threads, loose: &mut Set<(u64, u64)>) {
    let (mut reads, mut writes) = (Latest::default(), Latest::default());
    threads.clear();
    for (at, access) in accesses.iter().enumerate() {
        let me = access.thread;
        if let Some(first) = threads.insert(me, at).map(|first| &accesses[first]) {
            let others = match intruder(first.op, access.op) {
                Op::Read => reads.of_others(me),
                _ => writes.of_others(me),
            };
            if others.is_some_and(|other| other > first.event) {
                loose.insert((place(trace, first.event), place(trace, access.event)));
            }
        }
        let latest = if access.op == Op::Write { &mut writes } else { &mut reads };
        latest.note(me, access.event);
    }
}

/// The latest access, and the latest of another thread than that one's.
#[derive(Default)]
struct Latest {
    one: Option<(u16, EventId)>,
    other: Option<(u16, EventId)>,
}

impl Latest {
    fn note(&mut self, thread: u16, access: EventId) {
        if self.one.is_some_and(|(known, _)| known != thread) {
            self.other = self.one;
        }
        self.one = Some((thread, access));
    }

    /// The latest that is not of this thread.
    fn of_others(&self, thread: u16) -> Option<EventId> {
        let known = if self.one.is_some_and(|(known, _)| known == thread) { self.other } else { self.one };
        known.map(|(_, access)| access)
    }
}

/// Collects the place from which each reading place gets its values; `u64::MAX` if there are several.
fn observe_sources(trace: &Trace, relations: &Relations, accesses: &[Access], sources: &mut Map<u64, u64>) {
    for access in accesses.iter().filter(|access| access.op == Op::Read).map(|access| access.event) {
        let source = relations.read_from(access).map_or(u64::MAX, |w| place(trace, w));
        let known = sources.entry(place(trace, access)).or_insert(source);
        if *known != source {
            *known = u64::MAX;
        }
    }
}

fn all_classes(trace: &Trace, accesses: &[Access]) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut index: Map<(u16, Op, LocksetId, u64), usize> = Map::default();
    for access in accesses {
        let key = (access.thread, access.op, access.held, place(trace, access.event));
        let number = *index.entry(key).or_insert_with(|| {
            classes.push(Class { thread: key.0, op: key.1, lockset: key.2, place: key.3, accesses: Vec::new() });
            classes.len() - 1
        });
        classes[number].accesses.push(access.event);
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
    /// Whether a thread holds one of these locks, which all other threads take for the variable, from the first to the second access, so
    /// that no access that matters can come between.
    fn is_protected(&self, first: &Access, second: &Access, locks: &[LockId]) -> bool {
        let op = intruder(first.op, second.op);
        let held = self.relations.locksets().get(first.held);
        // Readers may hold a lock together.
        let keeps =
            |lock: LockId| held.iter().any(|&(l, mode)| l == lock && (mode == Mode::Exclusive || op == Op::Write));
        if !locks.iter().any(|&lock| keeps(lock)) {
            return false;
        }
        if first.releases == second.releases {
            return true;
        }
        let columns = self.trace.columns();
        let thread = ThreadId::at(usize::from(first.thread));
        let between = &self.relations.thread_events(thread)[first.rank as usize..second.rank as usize];
        let releases = |lock: LockId| {
            between.iter().any(|event| {
                columns.ops[event.index()].is_release() && columns.objects[event.index()] as usize == lock.index()
            })
        };
        locks.iter().any(|&lock| keeps(lock) && !releases(lock))
    }

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
