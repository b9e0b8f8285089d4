//! Race candidates: conflicting accesses that must-order leaves unordered and no common lock keeps apart.
//!
//! Accesses of a variable fall into classes: thread, location, read or write, locks held. For each access, its partners are
//! the latest accesses of each class of the other threads, newest class first; as soon as one is ordered before the access,
//! all older ones of that thread are, and the thread is done. So the pairs looked at are near in the trace, and their number
//! is bounded by accesses × classes, not by the square of the accesses.
//!
//! Left out: nothing that could race, but far instances of a pair of locations beyond [`Limits::instances`], or beyond the
//! [`RECENT`] latest accesses of a class, or beyond [`CLASSES`] classes of a thread: the nearest are kept. [`all_races`]
//! leaves out nothing.
//!
//! Cost: O(accesses × classes that are unordered with them).

use hashbrown::HashMap;
use mayhap_trace::{EventId, LocksetId, Op, Relations, Trace};
use mayhap_witness::{Kind, Target};

use super::{Group, Limits, Nearest, place, shared_accesses};

/// Latest accesses of a class that are tried with each later one.
const RECENT: usize = 4;
/// Classes of one thread that are tried with each later access.
const CLASSES: usize = 256;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

struct Class {
    thread: u16,
    is_write: bool,
    lockset: LocksetId,
    place: u64,
    /// The latest accesses, oldest first.
    recent: [u32; RECENT],
    count: u8,
}

/// The classes of one variable.
#[derive(Default)]
struct Classes {
    all: Vec<Class>,
    index: Map<(u16, bool, LocksetId, u64), u32>,
    /// Per thread, its classes with the most recently used last.
    of_thread: Vec<(u16, Vec<u32>)>,
    /// Group of a pair of classes.
    groups: Map<(u32, u32), u32>,
}

/// Candidates by unordered pair of locations, in the order of their first instance.
pub fn races(trace: &Trace, relations: &Relations, limits: &Limits) -> Vec<Group> {
    let (accesses, bounds) = shared_accesses(trace);
    let mut groups: Vec<Nearest> = Vec::new();
    let mut by_places: Map<(u64, u64), u32> = Map::default();
    let mut classes = Classes::default();
    for variable in bounds.windows(2).filter(|w| w[0] < w[1]) {
        classes.all.clear();
        classes.index.clear();
        classes.of_thread.clear();
        classes.groups.clear();
        for &access in &accesses[variable[0] as usize..variable[1] as usize] {
            let class = classes.enter(trace, relations, access);
            classes.pair(trace, relations, access, class, &mut |classes, other, partner| {
                let group = *classes.groups.entry((other, class)).or_insert_with(|| {
                    let (p, q) = (classes.all[other as usize].place, classes.all[class as usize].place);
                    *by_places.entry((p.min(q), p.max(q))).or_insert_with(|| {
                        groups.push(Nearest::default());
                        groups.len() as u32 - 1
                    })
                });
                groups[group as usize].offer(&[partner, access], limits.instances);
            });
            classes.note(class, access);
        }
    }
    groups.into_iter().map(|g| g.into_group(Kind::Race, |e| Target::Race(e[0], e[1]))).collect()
}

impl Classes {
    fn enter(&mut self, trace: &Trace, relations: &Relations, access: EventId) -> u32 {
        let columns = trace.columns();
        let thread = columns.threads[access.index()];
        let is_write = columns.ops[access.index()] == Op::Write;
        let (lockset, place) = (relations.held(access), place(trace, access));
        *self.index.entry((thread, is_write, lockset, place)).or_insert_with(|| {
            let number = self.all.len() as u32;
            self.all.push(Class { thread, is_write, lockset, place, recent: [0; RECENT], count: 0 });
            match self.of_thread.iter_mut().find(|(t, _)| *t == thread) {
                Some((_, classes)) => classes.push(number),
                None => self.of_thread.push((thread, vec![number])),
            }
            number
        })
    }

    /// Calls `found` with each class and earlier access that the access may race with.
    fn pair(
        &mut self,
        trace: &Trace,
        relations: &Relations,
        access: EventId,
        class: u32,
        found: &mut dyn FnMut(&mut Classes, u32, EventId),
    ) {
        let (me, is_write) = (self.all[class as usize].thread, self.all[class as usize].is_write);
        let lockset = self.all[class as usize].lockset;
        for thread in 0..self.of_thread.len() {
            if self.of_thread[thread].0 == me {
                continue;
            }
            let count = self.of_thread[thread].1.len();
            for i in (0..count).rev().take(CLASSES) {
                let other = self.of_thread[thread].1[i];
                let c = &self.all[other as usize];
                if c.count == 0 {
                    continue;
                }
                let newest = EventId::at(c.recent[c.count as usize - 1] as usize);
                if relations.ordered(trace, newest, access) {
                    break;
                }
                if !(is_write || c.is_write) || relations.locksets().common(c.lockset, lockset).is_some() {
                    continue;
                }
                let (recent, count) = (c.recent, c.count as usize);
                for &cell in recent[..count].iter().rev() {
                    let partner = EventId::at(cell as usize);
                    if relations.ordered(trace, partner, access) {
                        break;
                    }
                    found(self, other, partner);
                }
            }
        }
    }

    /// The access is now the latest of its class, and the class the latest of its thread.
    fn note(&mut self, class: u32, access: EventId) {
        let c = &mut self.all[class as usize];
        if c.count as usize == RECENT {
            c.recent.rotate_left(1);
            c.count -= 1;
        }
        c.recent[c.count as usize] = access.cell();
        c.count += 1;
        let thread = c.thread;
        let (_, order) = self.of_thread.iter_mut().find(|(t, _)| *t == thread).expect("the class was entered");
        if order.last() != Some(&class) {
            let at = order.iter().rposition(|&o| o == class).expect("the class was entered");
            order.remove(at);
            order.push(class);
        }
    }
}

/// Every pair of conflicting accesses that must-order and locks leave open, by unordered pair of locations, nearest first.
///
/// Quadratic in the accesses of a variable, as the answer is.
pub fn all_races(trace: &Trace, relations: &Relations) -> Vec<Group> {
    let (accesses, bounds) = shared_accesses(trace);
    let mut groups: Vec<Vec<(EventId, EventId)>> = Vec::new();
    let mut by_places: Map<(u64, u64), usize> = Map::default();
    for variable in bounds.windows(2) {
        let accesses = &accesses[variable[0] as usize..variable[1] as usize];
        for (i, &b) in accesses.iter().enumerate() {
            let event = trace.event(b);
            for &a in &accesses[..i] {
                let open = event.conflicts(&trace.event(a))
                    && !relations.ordered(trace, a, b)
                    && relations.locksets().common(relations.held(a), relations.held(b)).is_none();
                if open {
                    let (p, q) = (place(trace, a), place(trace, b));
                    let group = *by_places.entry((p.min(q), p.max(q))).or_insert_with(|| {
                        groups.push(Vec::new());
                        groups.len() - 1
                    });
                    groups[group].push((a, b));
                }
            }
        }
    }
    let group = |mut pairs: Vec<(EventId, EventId)>| {
        pairs.sort_by_key(|(a, b)| b.cell() - a.cell());
        let instances = pairs.len() as u64;
        let targets = pairs.into_iter().map(|(a, b)| Target::Race(a, b)).collect();
        Group { kind: Kind::Race, targets, instances }
    };
    groups.into_iter().map(group).collect()
}
