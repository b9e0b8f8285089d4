//! The decision of the nondeterminism paper as it stands (Sinha, Malik, Gupta: "Efficient Predictive Analysis for
//! Detecting Nondeterminism in Multi-Threaded Programs", Fig. 8), for comparison with the corrected one.
//!
//! For a triplet (w, r, c) and a witness kind: G' gets all read-couples but (w, r) and the witness's edges; a cycle means
//! infeasible. Else S_choice is computed; if it is empty the witness is called feasible, else choice graphs are built, one
//! edge a pair, until one has no cycle.
//!
//! Where the paper is silent: of the initial write nothing comes before and it is never absent; kind 3 (w absent) adds only
//! c before r, and demands that G' has no path from w to r or c, because what needs w is absent with it.
//!
//! What an answer proves: nothing. A kept couple is only an edge, so a third write may land between
//! (`nondet_interference.std`: called feasible, is not), and couples and locks after the witness are demanded as well
//! (`nondet_whole_trace.std`: called infeasible, is feasible).
//!
//! Never rebuilt: G' of one read is what all couples but its own make. Halving the list of couples reaches that state for
//! every read with insertions and undos alone, each couple inserted log2(reads) times: insert the later half, descend into
//! the earlier one, undo, and the other way round. Couples go in latest first, so that an insertion stops where a later
//! couple has raised the rows already. Per witness its edges are inserted on top and undone; kinds 1 and 2 extend kind 3.

use mayhap_trace::{EventId, Execution, Mode, Op, Relations, ThreadId, Trace};

use super::abstraction::{ChoicePair, choice_pairs, keep_live};
use super::order::Point;
use super::triplets::Triplets;
use super::witness_order::{WitnessOrder, point};

/// How the paper's procedure ended for one witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The witness-order graph has a cycle: infeasible.
    Cyclic,
    /// No cycle and no choice to make: feasible.
    Feasible,
    /// There were choices to make.
    Choices {
        /// Pairs in S_choice; there are 2 to that power choice graphs.
        pairs: u32,
        /// Choice graphs built.
        explored: u64,
        /// One of them has no cycle; `None` where the budget ran out.
        feasible: Option<bool>,
    },
}

impl Outcome {
    /// The paper's verdict; `None` where the budget ran out.
    pub fn feasible(self) -> Option<bool> {
        match self {
            Outcome::Cyclic => Some(false),
            Outcome::Feasible => Some(true),
            Outcome::Choices { feasible, .. } => feasible,
        }
    }
}

/// What is known about one read: each other write with the outcomes of kinds 1, 2 and 3.
pub type ReadOutcomes<'o> = &'o [(Option<EventId>, [Outcome; 3])];

/// The paper's decision on one trace.
pub struct Literal<'a> {
    trace: &'a Trace,
    relations: &'a Relations,
    execution: &'a Execution<'a>,
    graph: WitnessOrder,
    /// Choice graphs to build at most for one witness.
    limit: u64,
}

impl<'a> Literal<'a> {
    /// Prepares the graph; at most `limit` choice graphs are built for one witness.
    pub fn new(execution: &'a Execution<'a>, limit: u64) -> Self {
        let (trace, relations) = execution.parts();
        Literal { trace, relations, execution, graph: WitnessOrder::new(execution), limit }
    }

    /// Decides the three kinds of one triplet.
    pub fn decide(&mut self, read: EventId, other: Option<EventId>) -> [Outcome; 3] {
        let mark = self.graph.mark();
        for id in (0..self.trace.len()).rev().map(EventId::at) {
            if id != read {
                self.add_couple(id);
            }
        }
        keep_live(&mut self.graph);
        let outcomes = self.kinds(read, other);
        self.graph.undo(mark);
        outcomes
    }

    /// Decides all triplets of all reads, and returns the outcomes of each read.
    pub fn survey(&mut self, triplets: &Triplets, tell: &mut dyn FnMut(EventId, ReadOutcomes<'_>)) {
        let (couples, rest): (Vec<EventId>, Vec<EventId>) =
            triplets.reads().into_iter().partition(|&read| self.couple(read).is_some());
        self.halve(&couples, triplets, tell);
        let mark = self.graph.mark();
        couples.iter().rev().for_each(|&read| self.add_couple(read));
        rest.iter().for_each(|&read| self.read(read, triplets, tell));
        self.graph.undo(mark);
    }

    /// With all couples outside of `couples` in the graph, decides each of its reads without its own.
    fn halve(&mut self, couples: &[EventId], triplets: &Triplets, tell: &mut dyn FnMut(EventId, ReadOutcomes<'_>)) {
        match couples {
            [] => {}
            [read] => self.read(*read, triplets, tell),
            _ => {
                let (early, late) = couples.split_at(couples.len() / 2);
                for (inside, outside) in [(early, late), (late, early)] {
                    let mark = self.graph.mark();
                    outside.iter().rev().for_each(|&read| self.add_couple(read));
                    self.halve(inside, triplets, tell);
                    self.graph.undo(mark);
                }
            }
        }
    }

    fn read(&mut self, read: EventId, triplets: &Triplets, tell: &mut dyn FnMut(EventId, ReadOutcomes<'_>)) {
        keep_live(&mut self.graph);
        let others = triplets.others(self.execution, read);
        let outcomes: Vec<_> = others.into_iter().map(|other| (other, self.kinds(read, other))).collect();
        tell(read, &outcomes);
    }

    /// The couple of a read, unless program order implies it.
    fn couple(&self, read: EventId) -> Option<(Point, Point)> {
        if self.trace.event(read).op != Op::Read || !self.relations.is_relevant(read) {
            return None;
        }
        let write = self.relations.read_from(read)?;
        let (a, b) = (self.point(write), self.point(read));
        (a.thread != b.thread).then_some((a, b))
    }

    fn add_couple(&mut self, read: EventId) {
        if let Some((a, b)) = self.couple(read) {
            let consistent = self.graph.add(a, b);
            debug_assert!(consistent, "the observed order has all couples");
        }
    }

    fn point(&self, event: EventId) -> Point {
        point(self.trace, self.relations, event)
    }

    /// Returns the three kinds of a triplet, in the graph with all couples but the read's own.
    fn kinds(&mut self, read: EventId, other: Option<EventId>) -> [Outcome; 3] {
        let r = self.point(read);
        let w = self.relations.read_from(read).map(|w| self.point(w));
        let c = other.map(|c| self.point(c));
        let order = &self.graph.order;
        let mut outcomes = [Outcome::Cyclic; 3];
        // Most triplets end here, by one look at the closure.
        let read_needs_w = w.is_none_or(|w| order.before(w, r));
        if c.is_some_and(|c| c == r || order.before(r, c)) {
            return outcomes;
        }
        let c_needs_w = w.is_none_or(|w| c.is_some_and(|c| order.before(w, c)));
        let absent = !read_needs_w && !c_needs_w;
        let overwritten = match (w, c) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(w), Some(c)) => !order.before(c, w),
        };
        if !absent && !overwritten {
            return outcomes;
        }
        let mark = self.graph.mark();
        let seen: Vec<(Point, Point)> = c.map(|c| (c, r)).into_iter().collect();
        if seen.iter().all(|&(c, r)| self.graph.add(c, r)) {
            let order = &self.graph.order;
            let still_absent =
                absent && w.is_some_and(|w| !order.before(w, r) && c.is_none_or(|c| !order.before(w, c)));
            if still_absent {
                outcomes[2] = self.choices(&seen);
                outcomes[0] = self.with_edge(&seen, w.map(|w| (r, w)));
            }
            if overwritten {
                outcomes[1] = self.with_edge(&seen, w.zip(c));
            }
        }
        self.graph.undo(mark);
        outcomes
    }

    /// The witness with these edges, which the graph has, and one more to insert.
    fn with_edge(&mut self, edges: &[(Point, Point)], more: Option<(Point, Point)>) -> Outcome {
        let mark = self.graph.mark();
        let edges: Vec<(Point, Point)> = edges.iter().copied().chain(more).collect();
        let consistent = more.is_none_or(|(a, b)| self.graph.add(a, b));
        let outcome = if consistent { self.choices(&edges) } else { Outcome::Cyclic };
        self.graph.undo(mark);
        outcome
    }

    /// The second phase: the graph has no cycle, `witness` are the edges of the witness in it.
    fn choices(&mut self, witness: &[(Point, Point)]) -> Outcome {
        let mut pairs = choice_pairs(&self.graph, witness);
        if pairs.is_empty() {
            return Outcome::Feasible;
        }
        if self.observed_choices() {
            return Outcome::Choices { pairs: pairs.len() as u32, explored: 1, feasible: Some(true) };
        }
        // Observed order first: it is the choice most likely to fit the rest.
        for pair in &mut pairs {
            if self.acquire(*pair, false) > self.acquire(*pair, true) {
                *pair = ChoicePair(pair.1, pair.0);
            }
        }
        pairs.sort_unstable_by_key(|pair| self.acquire(*pair, true));
        let (mark, mut explored) = (self.graph.mark(), 0);
        let feasible = self.choose(&pairs, &mut explored);
        self.graph.undo(mark);
        Outcome::Choices { pairs: pairs.len() as u32, explored, feasible }
    }

    /// A linear order of G' close to the observed one takes no lock twice: then the choices that it makes are a choice graph
    /// without a cycle. Only where edges go against the observed order does it differ from it.
    fn observed_choices(&self) -> bool {
        let Some((first, last)) = self.graph.disorder() else { return true };
        let (order, index) = (&self.graph.order, &self.graph.index);
        let mut done: Vec<u32> = index.iter().map(|i| i.partition_point(|&e| e < first) as u32).collect();
        let end: Vec<u32> = index.iter().map(|i| i.partition_point(|&e| e <= last) as u32).collect();
        let mut held: Vec<(u32, usize, bool)> = Vec::new();
        for (thread, &rank) in done.iter().enumerate() {
            if let Some(&next) = index[thread].get(rank as usize) {
                let locks = self.relations.locksets().get(self.relations.held(EventId::at(next as usize)));
                held.extend(locks.iter().map(|&(lock, mode)| (lock.cell(), thread, mode == Mode::Shared)));
            }
        }
        loop {
            let ready = (0..done.len()).filter(|&t| done[t] < end[t]).filter(|&thread| {
                let row = order.row(Point { thread, rank: done[thread] });
                row.iter().zip(&done).all(|(need, have)| need <= have)
            });
            let Some(thread) = ready.min_by_key(|&t| index[t][done[t] as usize]) else {
                return done == end;
            };
            let event = self.trace.event(EventId::at(index[thread][done[thread] as usize] as usize));
            let (lock, shared) = (event.object, event.op.is_shared());
            if event.op.is_acquire() {
                if held.iter().any(|&(l, t, s)| l == lock && t != thread && !(s && shared)) {
                    return false;
                }
                held.push((lock, thread, shared));
            } else if event.op.is_release() {
                held.retain(|&(l, t, s)| (l, t, s) != (lock, thread, shared));
            }
            done[thread] += 1;
        }
    }

    fn acquire(&self, pair: ChoicePair, second: bool) -> EventId {
        let scope = self.graph.scopes.scope(if second { pair.1 } else { pair.0 });
        self.relations.thread_events(ThreadId::at(scope.thread))[scope.acquire as usize]
    }

    /// Some selection of one edge for each of `pairs` has no cycle. A cycle ends the graph under construction at once: all
    /// its completions have it too.
    fn choose(&mut self, pairs: &[ChoicePair], explored: &mut u64) -> Option<bool> {
        let mut rest = pairs;
        let (first, second) = loop {
            let Some((pair, tail)) = rest.split_first() else {
                *explored += 1;
                return Some(true);
            };
            rest = tail;
            let (a, b) = (*self.graph.scopes.scope(pair.0), *self.graph.scopes.scope(pair.1));
            let ordered = |x: &super::scopes::Scope, y: &super::scopes::Scope| {
                !x.is_open() && self.graph.order.before(x.last(), y.first())
            };
            if !ordered(&a, &b) && !ordered(&b, &a) {
                break (a, b);
            }
        };
        for (before, after) in [(first, second), (second, first)].into_iter().filter(|(before, _)| !before.is_open()) {
            let mark = self.graph.mark();
            if self.graph.add(before.last(), after.first()) {
                let found = self.choose(rest, explored);
                if found != Some(false) {
                    return found;
                }
            } else {
                *explored += 1;
            }
            self.graph.undo(mark);
            if *explored >= self.limit {
                return None;
            }
        }
        Some(false)
    }
}

/// The two phases on given edges instead of a triplet: `edges` hold besides must-order, `witness` are those of the witness.
/// Read-couples are left to the caller.
pub fn decide_edges(
    execution: &Execution<'_>,
    edges: &[(EventId, EventId)],
    witness: &[(EventId, EventId)],
    limit: u64,
) -> Outcome {
    let mut literal = Literal::new(execution, limit);
    let points: Vec<(Point, Point)> =
        edges.iter().chain(witness).map(|&(a, b)| (literal.point(a), literal.point(b))).collect();
    if points.iter().all(|&(a, b)| literal.graph.add(a, b)) {
        keep_live(&mut literal.graph);
        literal.choices(&points[edges.len()..])
    } else {
        Outcome::Cyclic
    }
}
