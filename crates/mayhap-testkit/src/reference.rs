//! The partial orders of the detectors, computed from their definitions by plain fixpoints over boolean matrices.
//!
//! - HB: thread order, and each release before every later acquire of its lock.
//! - SHB (Mathur, Kini, Viswanathan, OOPSLA 2018): HB and each write before the reads that saw it.
//! - CP (Smaragdakis et al., POPL 2012), WCP (Kini, Mathur, Viswanathan, PLDI 2017): the three rules of each. With
//!   *ordered* for "by the order itself or by must-order":
//!   (a) CP puts a release before a later acquire if their sections hold conflicting events, WCP before each later access
//!   of a section on the lock that conflicts with an event of the released section;
//!   (b) if two sections of one lock hold ordered events, CP puts the first release before the second acquire, WCP before
//!   the second release;
//!   (c) HB before or after the order is in the order again.
//!
//! Readings where the papers are silent. Fork, join and notify edges, and what atomic accesses and fences order, are thread order: part
//! of HB and of *ordered*, but not of the order itself. Atomic accesses conflict as others do in (a), but do not race with each
//! other. Two sections of one thread do not count for (b), as in the published algorithm. A section with no
//! release lasts to its thread's end. Two shared sections of a reader lock order nothing. Locks need not nest.
//!
//! Cost: the fifth power of the events at worst; meant for tens of events.

use mayhap_trace::{EventId, Op, Trace};

use crate::Facts;
use crate::facts::close;

/// A relation over the events of a trace: `[a][b]` says that `a` comes before `b`.
pub type Matrix = Vec<Vec<bool>>;

/// A partial order that a detector computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Happens-before.
    Hb,
    /// Schedulable happens-before.
    Shb,
    /// Causally-precedes.
    Cp,
    /// Weak-causally-precedes.
    Wcp,
}

/// The order, with must-order in it, irreflexive. Marks and re-entrant lock operations are ordered with nothing.
pub fn order(trace: &Trace, order: Order) -> Matrix {
    Definitions::of(trace).order(order)
}

/// All races by the order: conflicting events that it leaves unordered, earlier event first, sorted.
///
/// SHB leaves a read and the write that it saw unordered unless something else orders them.
pub fn races(trace: &Trace, by: Order) -> Vec<(EventId, EventId)> {
    let definitions = Definitions::of(trace);
    let before = definitions.order(by);
    let facts = &definitions.facts;
    let mut races = Vec::new();
    for b in 0..trace.len() {
        for a in (0..b).filter(|&a| facts.events[a].races_with(&facts.events[b])) {
            let ordered = match by {
                Order::Shb => definitions.preds(b).any(|p| a == p || before[a][p]),
                _ => before[a][b],
            };
            if !ordered {
                races.push((EventId::at(a), EventId::at(b)));
            }
        }
    }
    races.sort();
    races
}

/// A critical section.
struct Section {
    lock: u32,
    thread: usize,
    shared: bool,
    acquire: usize,
    release: Option<usize>,
    /// The events strictly inside.
    inside: Vec<usize>,
}

impl Section {
    /// Whether two sections cannot overlap.
    fn excludes(&self, other: &Section) -> bool {
        self.lock == other.lock && self.thread != other.thread && !(self.shared && other.shared)
    }

    /// With both ends.
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.inside.iter().copied().chain([self.acquire]).chain(self.release)
    }
}

struct Definitions {
    facts: Facts,
    sections: Vec<Section>,
    /// What atomic accesses and fences order: source and target.
    synchronised: Vec<(usize, usize)>,
    must: Matrix,
    hb: Matrix,
}

impl Definitions {
    fn of(trace: &Trace) -> Self {
        let facts = Facts::of(trace);
        let mut sections = Vec::new();
        for events in &facts.threads {
            for (rank, &acquire) in events.iter().enumerate().filter(|(_, e)| facts.events[**e].op.is_acquire()) {
                let event = facts.events[acquire];
                let release = facts.section[acquire];
                let end = release.map_or(events.len(), |r| facts.rank[r].expect("a section's end takes part"));
                let (lock, thread, shared) = (event.object, event.thread.index(), event.op == Op::SharedAcquire);
                let inside = events[rank + 1..end].to_vec();
                sections.push(Section { lock, thread, shared, acquire, release, inside });
            }
        }
        let synchronised = synchronised(&facts);
        let mut must = facts.must_order();
        let notified = facts.notify.iter().enumerate().filter_map(|(wait, notify)| Some(((*notify)?, wait)));
        for (from, to) in notified.chain(synchronised.iter().copied()) {
            must[from][to] = true;
        }
        close(&mut must);
        let mut hb = must.clone();
        for (first, second) in pairs(&sections) {
            if let Some(release) = first.release.filter(|&r| r < second.acquire) {
                hb[release][second.acquire] = true;
            }
        }
        close(&mut hb);
        Definitions { facts, sections, synchronised, must, hb }
    }

    fn order(&self, order: Order) -> Matrix {
        match order {
            Order::Hb => self.hb.clone(),
            Order::Shb => {
                let mut shb = self.hb.clone();
                for (read, write) in self.facts.saw.iter().enumerate() {
                    if let Some(write) = *write {
                        shb[write][read] = true;
                    }
                }
                close(&mut shb);
                shb
            }
            Order::Cp => self.fixpoint(self.cp_a(), |first, second| (first.release, Some(second.acquire))),
            Order::Wcp => self.fixpoint(self.wcp_a(), |first, second| (first.release, second.release)),
        }
    }

    /// Closes under (b), whose edge `ends` gives, and (c); must-order joins at the end.
    fn fixpoint(
        &self,
        mut order: Matrix,
        ends: impl Fn(&Section, &Section) -> (Option<usize>, Option<usize>),
    ) -> Matrix {
        loop {
            self.compose(&mut order);
            let mut grown = false;
            for (first, second) in pairs(&self.sections) {
                let (Some(from), Some(to)) = ends(first, second) else { continue };
                let ordered = |a: usize, b: usize| order[a][b] || self.must[a][b];
                if from < to && !order[from][to] && first.all().any(|a| second.all().any(|b| ordered(a, b))) {
                    order[from][to] = true;
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        for (row, must) in order.iter_mut().zip(&self.must) {
            row.iter_mut().zip(must).for_each(|(cell, &also)| *cell |= also);
        }
        order
    }

    /// Rule (c).
    fn compose(&self, order: &mut Matrix) {
        let n = order.len();
        let edges: Vec<(usize, usize)> =
            (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|&(a, b)| order[a][b]).collect();
        for (a, b) in edges {
            for c in (0..n).filter(|&c| c == a || self.hb[c][a]) {
                for d in (0..n).filter(|&d| d == b || self.hb[b][d]) {
                    order[c][d] = true;
                }
            }
        }
    }

    fn conflict(&self, a: usize, b: usize) -> bool {
        self.facts.events[a].conflicts(&self.facts.events[b])
    }

    fn cp_a(&self) -> Matrix {
        let mut order = self.nothing();
        for (first, second) in pairs(&self.sections) {
            let Some(release) = first.release.filter(|&r| r < second.acquire) else { continue };
            if first.inside.iter().any(|&a| second.inside.iter().any(|&b| self.conflict(a, b))) {
                order[release][second.acquire] = true;
            }
        }
        order
    }

    fn wcp_a(&self) -> Matrix {
        let mut order = self.nothing();
        for (first, second) in pairs(&self.sections) {
            let Some(release) = first.release.filter(|&r| r < second.acquire) else { continue };
            for &b in &second.inside {
                if first.inside.iter().any(|&a| self.conflict(a, b)) {
                    order[release][b] = true;
                }
            }
        }
        order
    }

    fn nothing(&self) -> Matrix {
        vec![vec![false; self.facts.events.len()]; self.facts.events.len()]
    }

    /// The event before an access in its thread, or the fork of a thread that begins with it; and the releases that it
    /// synchronises with.
    fn preds(&self, event: usize) -> impl Iterator<Item = usize> + '_ {
        let thread = self.facts.events[event].thread.index();
        let before = match self.facts.rank[event] {
            Some(rank) if rank > 0 => Some(self.facts.threads[thread][rank - 1]),
            _ => self.facts.fork[thread],
        };
        let sources = self.synchronised.iter().filter(move |(_, to)| *to == event).map(|(from, _)| *from);
        before.into_iter().chain(sources)
    }
}

/// What atomic accesses and fences order, by the C11 memory model with the release sequences of C++20: a release operation or
/// fence, and an acquire operation or fence that synchronises with it.
fn synchronised(facts: &Facts) -> Vec<(usize, usize)> {
    let order = |e: usize| facts.events[e].flags.order();
    let earlier =
        |e: usize| facts.rank[e].map_or(&[][..], |rank| &facts.threads[facts.events[e].thread.index()][..rank]);
    let mut edges = Vec::new();
    for (to, event) in facts.events.iter().enumerate() {
        if !order(to).is_some_and(|order| order.acquires()) {
            continue;
        }
        let is_read = |e: &usize| facts.events[*e].op == Op::Read && order(*e).is_some();
        let reads: Vec<usize> = match event.op {
            Op::Read => vec![to],
            Op::Fence => earlier(to).iter().copied().filter(is_read).collect(),
            _ => continue,
        };
        for read in reads {
            // The write that was seen, and as long as it is that of a read-modify-write, the one which that saw.
            let mut seen = facts.saw[read];
            while let Some(write) = seen.filter(|&write| order(write).is_some()) {
                if order(write).is_some_and(|order| order.releases()) {
                    edges.push((write, to));
                }
                let fences = earlier(write).iter().filter(|e| facts.events[**e].op == Op::Fence);
                let releases = fences.filter(|e| order(**e).is_some_and(|order| order.releases()));
                edges.extend(releases.map(|&fence| (fence, to)));
                seen = updated(facts, write).and_then(|read| facts.saw[read]);
            }
        }
    }
    edges.retain(|(from, to)| facts.events[*from].thread != facts.events[*to].thread);
    edges
}

/// The atomic read of the same step and variable as a write, if it is that of a read-modify-write.
fn updated(facts: &Facts, write: usize) -> Option<usize> {
    let event = facts.events[write];
    let mut at = write;
    while facts.events[at].flags.is_joined() {
        at = facts.threads[event.thread.index()][facts.rank[at]?.checked_sub(1)?];
        let other = facts.events[at];
        if other.op == Op::Read && other.object == event.object && other.flags.is_atomic() {
            return Some(at);
        }
    }
    None
}

/// Returns all two sections that exclude each other, in both roles.
fn pairs(sections: &[Section]) -> impl Iterator<Item = (&Section, &Section)> {
    sections.iter().flat_map(move |a| sections.iter().filter(|b| a.excludes(b)).map(move |b| (a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Generator, Oracle, Profile, trace};
    use mayhap_witness::Model;

    fn numbers(trace: &Trace, by: Order) -> Vec<(u64, u64)> {
        races(trace, by).iter().map(|(a, b)| (a.number(), b.number())).collect()
    }

    #[test]
    fn the_orders_differ_as_published() {
        let behind = trace("T1 w y; T1 acq l; T1 w x; T1 rel l; T2 acq l; T2 r y; T2 r x; T2 rel l");
        assert_eq!(numbers(&behind, Order::Hb), []);
        assert_eq!(numbers(&behind, Order::Cp), []);
        assert_eq!(numbers(&behind, Order::Wcp), [(1, 6)]);
        let free = trace("T1 w y; T1 acq l; T1 r x; T1 rel l; T2 acq l; T2 r x; T2 rel l; T2 r y");
        assert_eq!(numbers(&free, Order::Hb), []);
        assert_eq!(numbers(&free, Order::Cp), [(1, 8)]);
        assert_eq!(numbers(&free, Order::Wcp), [(1, 8)]);
    }

    #[test]
    fn shb_orders_what_follows_a_read() {
        let trace = trace("T1 w x; T2 r x; T2 r x");
        assert_eq!(numbers(&trace, Order::Hb), [(1, 2), (1, 3)]);
        assert_eq!(numbers(&trace, Order::Shb), [(1, 2)]);
    }

    #[test]
    fn readers_order_nothing_among_themselves() {
        let trace = trace("T1 w x; T1 racq l; T1 rrel l; T2 racq l; T2 rrel l; T2 w x; T3 acq l; T3 rel l; T3 w x");
        assert_eq!(numbers(&trace, Order::Hb), [(1, 6), (6, 9)]);
    }

    /// The orders shrink from HB over CP to WCP, and SHB races can be scheduled.
    #[test]
    fn orders_relate_as_their_theorems_say() {
        let mut found = 0;
        for (name, profile) in Profile::all() {
            for (seed, trace) in Generator::new(profile, 0).take(100) {
                let [hb, cp, wcp] = [Order::Hb, Order::Cp, Order::Wcp].map(|o| order(&trace, o));
                for a in 0..trace.len() {
                    for b in 0..trace.len() {
                        assert!(!wcp[a][b] || hb[a][b], "{name} {seed}: {a} {b} in WCP, not in HB");
                        assert!(!cp[a][b] || hb[a][b], "{name} {seed}: {a} {b} in CP, not in HB");
                    }
                }
                let truth = Oracle::new(&trace, Model::Data).unwrap().all_races();
                for race in races(&trace, Order::Shb) {
                    assert!(truth.contains(&race), "{name} {seed}: SHB race {race:?} cannot be scheduled");
                    found += 1;
                }
            }
        }
        assert!(found > 100, "{found}");
    }
}
