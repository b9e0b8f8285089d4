//! Race candidates: conflicting accesses, not both atomic, that must-order leaves unordered and no common lock separates.
//!
//! Accesses of a variable fall into classes: thread, location, read or write, atomic or not, locks held. For each access, its partners are
//! the latest accesses of each class of the other threads, newest class first; as soon as one is ordered before the access,
//! all older ones of that thread are, and the thread is done. So the pairs looked at are near in the trace, and their number
//! is bounded by accesses × classes, not by the square of the accesses.
//!
//! Most variables need none of this: one lock is held at every access, and exclusively at every write, so that no two accesses
//! can be candidates, except perhaps before other threads begin and after they end. Locksets show that first ([`super::protection`]). For the others, which classes can be partners at all is decided when a class is
//! first met, so that an access costs nothing for classes, nor for whole threads, that a lock separates from it.
//!
//! Left out: far instances of a pair of locations beyond [`Limits::instances`], or beyond the [`RECENT`] latest accesses of
//! a class; they are counted. A thread that accesses a variable in more than [`CLASSES`] ways that could race with an
//! access is a gap in the answer, and so are the pairs of locations of a variable beyond [`GROUPS`].
//! [`all_races`] leaves out nothing.
//!
//! Cost: O(accesses × classes that are unordered with them).

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, LocksetId, Op, Relations, Trace};
use mayhap_witness::{Kind, Target};

use super::few_accesses::{self, FEW};
use super::protection::{Access, SharedAccesses, Threads, common_locks, without_ends};
use super::{Candidates, Group, Limits, Nearest, place, shared_accesses};

/// How many of the latest accesses of a class are tried with each later access.
const RECENT: usize = 4;
const _: () = assert!(FEW <= RECENT + 1);
/// Partners of one thread that are tried with each later access.
const CLASSES: usize = 256;
/// Pairs of locations of one variable that are tried. One with more has no lock at thousands of places, which is one bug.
const GROUPS: usize = 1 << 18;
/// For how many classes of a variable the partners are stored, in words of 64; for later classes they are computed each time.
const WORDS: usize = 16;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

struct Class {
    thread: u16,
    is_write: bool,
    is_atomic: bool,
    lockset: LocksetId,
    place: u64,
    /// The latest accesses, oldest first.
    recent: [u32; RECENT],
    count: u8,
    /// All accesses so far.
    total: u64,
    /// Some class is a partner.
    has_partners: bool,
    /// The position of its thread in [`Classes::of_thread`].
    slot: u32,
    /// Its position in [`Classes::kinds`].
    kind: u32,
}

impl Class {
    /// Whether accesses of the two classes conflict and no lock separates them.
    fn is_partner(&self, other: &Class, relations: &Relations) -> bool {
        self.thread != other.thread
            && (self.is_write || other.is_write)
            && !(self.is_atomic && other.is_atomic)
            && relations.locksets().common(self.lockset, other.lockset).is_none()
    }
}

/// The classes of one variable.
#[derive(Default)]
struct Classes {
    all: Vec<Class>,
    index: Map<(u16, bool, bool, LocksetId, u64), u32>,
    /// Per thread, its classes with the most recently used last.
    of_thread: Vec<(u16, Vec<u32>)>,
    slots: Map<u16, u32>,
    /// Of each of the first classes, which others are partners.
    partners: Vec<[u64; WORDS]>,
    /// Classes that differ in thread and location alone.
    kinds: Vec<ClassKind>,
    of_kind: Map<Rivalry, u32>,
    /// The threads to pair an access with, as positions in `of_thread`.
    rivals: Vec<u32>,
}

/// What decides whether classes of two threads can be partners: write, atomic, locks held.
type Rivalry = (bool, bool, LocksetId);

/// The classes with one [`Rivalry`].
struct ClassKind {
    rivalry: Rivalry,
    /// Their threads, as positions in [`Classes::of_thread`], ascending.
    threads: Vec<u32>,
    /// The kinds whose classes can be partners.
    rivals: Vec<u32>,
}

/// Whether no two conflicting accesses can race: they are all atomic, or one lock separates all that must-order does not.
fn is_protected(trace: &Trace, relations: &Relations, accesses: &[Access], of_threads: &mut Threads) -> bool {
    // Atomic accesses do not race with each other.
    let is_atomic = |access: &Access| trace.columns().flags_at(access.event.index()).is_atomic();
    if !trace.columns().flags.is_empty() && accesses.iter().all(is_atomic) {
        return true;
    }
    if !common_locks(relations, accesses).is_empty() {
        return true;
    }
    let inner = without_ends(trace, relations, accesses, of_threads);
    inner.len() < accesses.len() && (inner.is_empty() || !common_locks(relations, inner).is_empty())
}

/// Candidates by unordered pair of locations, in the order of their first instance.
pub fn races(accesses: &SharedAccesses<'_>, limits: &Limits) -> Candidates {
    let (trace, relations) = accesses.execution().parts();
    let mut groups = Groups::default();
    let mut skipped = 0;
    let mut classes = Classes::default();
    let mut of_threads = Threads::new(trace);
    for accesses in accesses.variables() {
        groups.begin_variable();
        if is_protected(trace, relations, accesses, &mut of_threads) {
            continue;
        }
        if accesses.len() <= FEW {
            few_accesses::pairs(trace, relations, accesses, &mut |[a, b], places| {
                if let Some(group) = groups.at(places) {
                    group.offer(&[a.event, b.event], limits.instances);
                }
            });
            continue;
        }
        classes.clear();
        for access in accesses.iter().map(|access| access.event) {
            let class = classes.enter(trace, relations, access);
            skipped += classes.pair(trace, relations, access, class, &mut |classes, other, partner| {
                let Some(group) = groups.at([other, class].map(|class| classes.all[class as usize].place)) else {
                    return;
                };
                match partner {
                    Partner::Access(partner) => group.offer(&[partner, access], limits.instances),
                    Partner::Older(count) => group.beyond += count,
                }
            });
            classes.note(class, access);
        }
    }
    let ways = (skipped > 0).then(|| {
        format!("{skipped} times a thread had accessed a variable in more than {CLASSES} ways, and the oldest were not paired")
    });
    let places = (groups.left_out > 0).then(|| {
        let left_out = groups.left_out;
        format!("{left_out} pairs of accesses were not tried, because their variable has more than {GROUPS} pairs of locations that may race")
    });
    let gaps: Vec<String> = ways.into_iter().chain(places).collect();
    let gap = (!gaps.is_empty()).then(|| gaps.join("; "));
    let group = |g: Nearest| g.into_group(Kind::Race, |e| Target::Race(e[0], e[1]));
    Candidates { groups: groups.all.into_iter().map(group).collect(), gap }
}

/// The candidates by unordered pair of places.
#[derive(Default)]
struct Groups {
    all: Vec<Nearest>,
    by_places: Map<(u64, u64), u32>,
    /// The pair that was asked for last, and its position.
    last: Option<((u64, u64), u32)>,
    /// How many there were before the variable that is looked at.
    before: usize,
    /// Pairs of accesses for which there was no group.
    left_out: u64,
}

impl Groups {
    fn begin_variable(&mut self) {
        self.before = self.all.len();
    }

    /// The group of two places; `None` if the variable has too many.
    fn at(&mut self, [p, q]: [u64; 2]) -> Option<&mut Nearest> {
        let key = (p.min(q), p.max(q));
        let group = match self.last {
            Some((last, group)) if last == key => group,
            _ => match self.by_places.get(&key) {
                Some(&known) => known,
                None if self.all.len() - self.before >= GROUPS => {
                    self.left_out += 1;
                    return None;
                }
                None => {
                    self.all.push(Nearest::default());
                    let new = self.all.len() as u32 - 1;
                    self.by_places.insert(key, new);
                    new
                }
            },
        };
        self.last = Some((key, group));
        Some(&mut self.all[group as usize])
    }
}

/// What an access may race with in one class.
enum Partner {
    /// This access.
    Access(EventId),
    /// This many earlier accesses, which are no longer known individually.
    Older(u64),
}

impl Classes {
    fn clear(&mut self) {
        self.all.clear();
        self.index.clear();
        self.of_thread.clear();
        self.slots.clear();
        self.partners.clear();
        self.kinds.clear();
        self.of_kind.clear();
    }

    fn enter(&mut self, trace: &Trace, relations: &Relations, access: EventId) -> u32 {
        let columns = trace.columns();
        let thread = columns.threads[access.index()];
        let is_write = columns.ops[access.index()] == Op::Write;
        let is_atomic = columns.flags_at(access.index()).is_atomic();
        let (lockset, place) = (relations.held(access), place(trace, access));
        let key = (thread, is_write, is_atomic, lockset, place);
        if let Some(&known) = self.index.get(&key) {
            return known;
        }
        let number = self.all.len() as u32;
        self.index.insert(key, number);
        let none = [0; RECENT];
        let slot = *self.slots.entry(thread).or_insert_with(|| {
            self.of_thread.push((thread, Vec::new()));
            self.of_thread.len() as u32 - 1
        });
        self.of_thread[slot as usize].1.push(number);
        let kind = self.kind_of(relations, (is_write, is_atomic, lockset));
        let threads = &mut self.kinds[kind as usize].threads;
        if let Err(at) = threads.binary_search(&slot) {
            threads.insert(at, slot);
        }
        self.all.push(Class {
            thread,
            is_write,
            is_atomic,
            lockset,
            place,
            recent: none,
            count: 0,
            total: 0,
            has_partners: false,
            slot,
            kind,
        });
        self.acquaint(relations, number);
        number
    }

    fn kind_of(&mut self, relations: &Relations, rivalry: Rivalry) -> u32 {
        if let Some(&known) = self.of_kind.get(&rivalry) {
            return known;
        }
        let number = self.kinds.len() as u32;
        self.of_kind.insert(rivalry, number);
        self.kinds.push(ClassKind { rivalry, threads: Vec::new(), rivals: Vec::new() });
        let (is_write, is_atomic, lockset) = rivalry;
        for other in 0..=number as usize {
            let (writes, atomic, held) = self.kinds[other].rivalry;
            if (is_write || writes) && !(is_atomic && atomic) && relations.locksets().common(lockset, held).is_none() {
                self.kinds[number as usize].rivals.push(other as u32);
                if other != number as usize {
                    self.kinds[other].rivals.push(number);
                }
            }
        }
        number
    }

    /// Finds the partners of a new class.
    fn acquaint(&mut self, relations: &Relations, number: u32) {
        let new = number as usize;
        if new >= 64 * WORDS {
            let known = if new == 64 * WORDS { 0 } else { new };
            self.all[known..].iter_mut().for_each(|class| class.has_partners = true);
            return;
        }
        self.partners.push([0; WORDS]);
        for other in 0..new {
            if self.all[new].is_partner(&self.all[other], relations) {
                for (a, b) in [(new, other), (other, new)] {
                    self.partners[a][b / 64] |= 1 << (b % 64);
                    self.all[a].has_partners = true;
                }
            }
        }
    }

    fn are_partners(&self, relations: &Relations, a: u32, b: u32) -> bool {
        match self.partners.get(a as usize) {
            Some(row) if (b as usize) < 64 * WORDS => row[b as usize / 64] >> (b % 64) & 1 == 1,
            _ => self.all[a as usize].is_partner(&self.all[b as usize], relations),
        }
    }

    /// Calls `found` with each class and earlier access that the access may race with. Returns how many
    /// threads had more classes than are tried.
    fn pair(
        &mut self,
        trace: &Trace,
        relations: &Relations,
        access: EventId,
        class: u32,
        found: &mut dyn FnMut(&mut Classes, u32, Partner),
    ) -> u64 {
        let mut skipped = 0;
        let Class { slot: me, has_partners, .. } = self.all[class as usize];
        if !has_partners {
            return 0;
        }
        let rivals = self.rivals(class);
        for thread in rivals.iter().map(|&slot| slot as usize).filter(|&slot| slot != me as usize) {
            let mut tried = 0;
            for i in (0..self.of_thread[thread].1.len()).rev() {
                let other = self.of_thread[thread].1[i];
                if !self.are_partners(relations, class, other) {
                    continue;
                }
                tried += 1;
                let c = &self.all[other as usize];
                if c.count == 0 {
                    continue;
                }
                let newest = EventId::at(c.recent[c.count as usize - 1] as usize);
                if relations.ordered(trace, newest, access) {
                    break;
                }
                if tried > CLASSES {
                    skipped += 1;
                    break;
                }
                let (recent, count) = (c.recent, c.count as usize);
                let mut older = c.total - count as u64;
                for &cell in recent[..count].iter().rev() {
                    let partner = EventId::at(cell as usize);
                    if relations.ordered(trace, partner, access) {
                        older = 0;
                        break;
                    }
                    found(self, other, Partner::Access(partner));
                }
                if older > 0 {
                    found(self, other, Partner::Older(older));
                }
            }
        }
        self.rivals = rivals;
        skipped
    }

    /// The threads with a class that no lock separates from the given one, in the order in which they came.
    fn rivals(&mut self, class: u32) -> Vec<u32> {
        let mut rivals = std::mem::take(&mut self.rivals);
        rivals.clear();
        let mut several = false;
        for &rival in &self.kinds[self.all[class as usize].kind as usize].rivals {
            several |= !rivals.is_empty();
            rivals.extend_from_slice(&self.kinds[rival as usize].threads);
        }
        if several {
            rivals.sort_unstable();
            rivals.dedup();
        }
        rivals
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
        c.total += 1;
        let order = &mut self.of_thread[c.slot as usize].1;
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
pub fn all_races(execution: &Execution<'_>) -> Vec<Group> {
    let (trace, relations) = execution.parts();
    let (accesses, bounds) = shared_accesses(trace);
    let mut groups: Vec<Vec<(EventId, EventId)>> = Vec::new();
    let mut by_places: Map<(u64, u64), usize> = Map::default();
    for variable in bounds.windows(2) {
        let accesses = &accesses[variable[0] as usize..variable[1] as usize];
        for (i, &b) in accesses.iter().enumerate() {
            let event = trace.event(b);
            for &a in &accesses[..i] {
                let open = event.races_with(&trace.event(a))
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
        Group { kind: Kind::Race, targets, instances, beyond: 0 }
    };
    groups.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;

    use super::*;

    fn candidates(text: &str) -> Candidates {
        let trace = parse_std(text).unwrap();
        let execution = Execution::derive(&trace).unwrap();
        races(&SharedAccesses::new(&execution), &Limits::default())
    }

    #[test]
    fn what_is_not_tried_is_counted() {
        let many: String = "T1|w(x)|a\n".repeat(10);
        let found = candidates(&format!("{many}T2|w(x)|b\n"));
        assert_eq!((found.groups[0].instances, found.groups[0].beyond, found.gap), (4, 6, None));
    }

    #[test]
    fn more_ways_than_are_paired_are_a_gap() {
        let ways = |n: usize| (0..n).map(|i| format!("T1|w(x)|a{i}\n")).collect::<String>() + "T2|w(x)|b\n";
        let all = candidates(&ways(CLASSES));
        assert_eq!((all.groups.len(), all.gap), (CLASSES, None));
        let cut = candidates(&ways(CLASSES + 1));
        assert_eq!(cut.groups.len(), CLASSES);
        assert!(cut.gap.is_some());
    }

    #[test]
    fn more_pairs_of_locations_than_are_tried_are_a_gap() {
        let accesses = |side: usize| {
            let each = move |i: usize| format!("T{}|w(x)|a{i}\nT{}|w(x)|b{i}\n", 2 * (i % 40), 2 * (i % 40) + 1);
            (0..side).map(each).collect::<String>()
        };
        let found = candidates(&accesses(400));
        assert_eq!(found.groups.len(), GROUPS);
        assert!(found.gap.is_some_and(|gap| gap.contains("pairs of locations")));
        assert_eq!(candidates(&accesses(40)).gap, None);
    }

    #[test]
    fn threads_that_a_lock_separates_are_not_looked_at() {
        let threads = 60_000;
        let mut text: String = (1..=threads).map(|t| format!("T0|fork(T{t})|f\n")).collect();
        let section = |t: u32| format!("T{t}|acq(l)|a\nT{t}|r(x)|b\nT{t}|w(x)|c\nT{t}|rel(l)|d\n");
        text.extend((1..=threads).map(section));
        text += "T0|r(x)|e\n";
        // Pairs of the sections' threads would be some billions.
        let found = candidates(&text);
        let instances: Vec<u64> = found.groups.iter().map(|group| group.instances).collect();
        assert_eq!((instances, found.gap), (vec![u64::from(threads)], None));
    }
}
