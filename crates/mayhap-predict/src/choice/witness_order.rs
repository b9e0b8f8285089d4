//! The witness-order graph G' of the nondeterminism paper (section III.A), kept closed.
//!
//! Vertices are all events. Edges are must-order, read-couples (a, b) where b saw a, the witness's own edges, and those
//! that locks induce: for two scopes [u..v] and [x..y] that exclude each other, a path from u to y demands v before x. A
//! cycle means that no interleaving *of the whole trace* has all these orders.
//!
//! Reading the paper: a scope begins with its acquire and ends with its release, so that its example (Fig. 4) has the
//! induced edge from release to acquire. A scope that is never released must be the last of its lock.
//!
//! Invariant: the order is closed under the induced-edge rule whenever [`WitnessOrder::add`] returned `true`.
//! Cost: O(rows raised) a new edge, plus a look at each release among the raised rows.

use mayhap_trace::{EventId, Execution, Relations, ThreadId, Trace};

use super::order::{Mark, Order, Point};
use super::scopes::Scopes;

/// The graph, its locks and the induced edges still to insert.
pub(super) struct WitnessOrder {
    pub(super) order: Order,
    pub(super) scopes: Scopes,
    pending: Vec<(Point, Point)>,
    /// Per thread, the position in the trace of each of its events.
    pub(super) index: Vec<Vec<u32>>,
    /// Inserted edges that go against the observed order, as (to, from) positions, each with the log before it.
    against: Vec<(Mark, u32, u32)>,
}

impl WitnessOrder {
    /// Must-order and what locks induce from it.
    pub(super) fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let threads = relations.threads();
        let mut order = Order::new(vec![0; threads]);
        let mut row = vec![0; threads];
        for thread in 0..threads {
            for &event in relations.thread_events(ThreadId::at(thread)) {
                for (t, cell) in row.iter_mut().enumerate() {
                    *cell = relations.before(trace, event, ThreadId::at(t)) as u32;
                }
                order.grow(thread, &row);
            }
        }
        let index = |t: usize| relations.thread_events(ThreadId::at(t)).iter().map(|e| e.cell()).collect();
        let index = (0..threads).map(index).collect();
        let scopes = Scopes::of(execution);
        let mut graph = WitnessOrder { order, scopes, pending: Vec::new(), index, against: Vec::new() };
        for thread in 0..threads {
            graph.induce(thread, 0, graph.order.end(thread));
        }
        graph.order_open_scopes();
        let consistent = graph.settle();
        debug_assert!(consistent, "the observed order has all these edges");
        graph
    }

    /// What is never released comes after all other scopes of its lock.
    fn order_open_scopes(&mut self) {
        for lists in &self.scopes.lists {
            for open in lists {
                let Some(scope) = open.scopes.last().filter(|s| s.is_open()) else { continue };
                for other in lists.iter().filter(|l| l.excludes(open)) {
                    let last = other.scopes.last().expect("a list has scopes");
                    self.pending.push((last.last(), scope.first()));
                }
            }
        }
    }

    /// Puts `a` before `b`, with all that this induces. `false` on a cycle; then only [`Self::undo`] may follow.
    pub(super) fn add(&mut self, a: Point, b: Point) -> bool {
        self.pending.push((a, b));
        self.settle()
    }

    fn settle(&mut self) -> bool {
        while let Some((a, b)) = self.pending.pop() {
            let (from, to) = (self.index[a.thread][a.rank as usize], self.index[b.thread][b.rank as usize]);
            if from > to {
                self.against.push((self.order.mark(), to, from));
            }
            if !self.order.insert(a, b) {
                self.pending.clear();
                return false;
            }
            for i in 0..self.order.spans().len() {
                let span = self.order.spans()[i];
                if !self.induce(span.thread, span.first, span.end) {
                    self.pending.clear();
                    return false;
                }
            }
        }
        true
    }

    /// Applies the induced-edge rule to the releases of `thread` with ranks from `first` up to `end`: the scopes [x..y].
    fn induce(&mut self, thread: usize, first: u32, end: u32) -> bool {
        let releases = &self.scopes.releases[thread];
        let start = releases.partition_point(|&(rank, _)| rank < first);
        for &(rank, at) in releases[start..].iter().take_while(|&&(rank, _)| rank < end) {
            let lists = &self.scopes.lists[at.lock as usize];
            let mine = &lists[at.list as usize];
            let x = mine.scopes[at.place as usize].first();
            let y = Point { thread, rank };
            for other in lists.iter().filter(|l| l.excludes(mine)) {
                // The latest scope with a path u to y; those before it end earlier in their thread.
                let Some(scope) = other.latest(self.order.row(y)[other.thread]) else { continue };
                if scope.is_open() {
                    return false;
                }
                if !self.order.before(scope.last(), x) {
                    self.pending.push((scope.last(), x));
                }
            }
        }
        true
    }

    pub(super) fn mark(&self) -> Mark {
        self.order.mark()
    }

    pub(super) fn undo(&mut self, mark: Mark) {
        self.pending.clear();
        while self.against.pop_if(|(before, _, _)| *before >= mark).is_some() {}
        self.order.undo(mark);
    }

    /// The part of the trace that edges against the observed order span, if there are any. Outside of it the observed order
    /// keeps all edges: a path that goes back in the trace ends in such an edge's target or later.
    pub(super) fn disorder(&self) -> Option<(u32, u32)> {
        let spans = self.against.iter().map(|&(_, to, from)| (to, from));
        spans.reduce(|(a, b), (to, from)| (a.min(to), b.max(from)))
    }
}

/// Returns an event's place in its thread.
pub(super) fn point(trace: &Trace, relations: &Relations, event: EventId) -> Point {
    Point { thread: trace.columns().threads[event.index()] as usize, rank: relations.rank(event) as u32 }
}
