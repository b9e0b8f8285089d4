//! Learning from contradictions: which few orders cannot hold together, and how far a search may go back.
//!
//! Conflict-driven clause learning (Marques-Silva, Sakallah 1996; Moskewicz et al. 2001) over orders instead of Booleans.
//! An edge that closes a cycle is taken apart: it and the edges of the path that it closes follow from paths and clauses,
//! those from older edges, and so on back to decisions. Resolving the newest edge of the decision level again and again
//! leaves a set of edges that cannot hold together, of which one only is from that level (the first unique implication
//! point). In a linear order `not a→b` is `b→a`, so the set is learnt as a clause: one of the reversed edges holds. The
//! search goes back to the level at which all but that one are contradicted, and asserts it there.
//!
//! Deviation: a SAT solver's reasons are clauses that it stores. Here they are paths, too many to store; an edge keeps the
//! two ends, and the path is searched for when it is needed, among the edges that were there at that time.
//!
//! Invariants: a clause watches two options that are not contradicted, unless the others are and one was asserted; the
//! option `x→y` is contradicted when `y` reaches `x`, so it is watched at the cell (`x`, chain of `y`). Going back takes
//! orders away, so watches stay right. Clauses follow from the graph alone, not from decisions.
//!
//! Cost: a path a resolved edge, O(nodes + edges) with a logarithm; a visit to the clauses of each changed cell.
//!
//! What it proves: a contradiction that depends on no decision refutes the graph.

use std::collections::BinaryHeap;

use crate::closure::{Edge, Mark, Node, PathSearch};
use crate::polygraph::Polygraph;
use crate::saturate::Reason;

/// Learnt clauses: of each, one edge must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses {
    all: Vec<Vec<Edge>>,
    /// Per cell of the order, the clauses that watch an option there. Empty while nothing is learnt.
    watched: Vec<Vec<u32>>,
}

impl Clauses {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.watched.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

impl Polygraph {
    /// The cell whose growth may contradict an option.
    fn cell(&self, option: &Edge) -> usize {
        option.from as usize * self.threads.len() + self.order.chain_of(option.to)
    }

    fn contradicted(&self, option: &Edge) -> bool {
        self.order.reaches(option.to, option.from)
    }

    /// Adds a clause whose first option is to hold now, and asserts that.
    fn learn(&mut self, clause: Vec<Edge>) -> Result<(), Edge> {
        let first = clause[0];
        if clause.len() == 1 {
            return self.assert_because(first, Reason::Given);
        }
        let number = self.clauses.len() as u32;
        self.watch(number, &clause);
        self.clauses.all.push(clause);
        self.assert_because(first, Reason::Clause(number))
    }

    fn watch(&mut self, number: u32, clause: &[Edge]) {
        self.clauses.watched.resize_with(self.len() * self.threads.len(), Vec::new);
        for option in &clause[..2] {
            let cell = self.cell(option);
            self.clauses.watched[cell].push(number);
        }
    }

    /// Looks at the clauses that a changed cell may have contradicted an option of.
    pub(crate) fn wake(&mut self, node: Node, chain: usize) {
        if self.clauses.watched.is_empty() {
            return;
        }
        let cell = node as usize * self.threads.len() + chain;
        let mut list = std::mem::take(&mut self.clauses.watched[cell]);
        list.retain(|&number| self.keeps_watch(number, cell));
        // What moved its watch within the same cell stands there already.
        list.append(&mut self.clauses.watched[cell]);
        self.clauses.watched[cell] = list;
    }

    /// Finds another option to watch at if the one of this cell is contradicted; if there is none, queues the other watched
    /// one. True if the clause still watches this cell.
    fn keeps_watch(&mut self, number: u32, cell: usize) -> bool {
        let clause = &self.clauses.all[number as usize];
        let Some(at) = (0..2).find(|&i| self.cell(&clause[i]) == cell && self.contradicted(&clause[i])) else {
            return true;
        };
        let other = clause[1 - at];
        if self.order.reaches(other.from, other.to) {
            return true;
        }
        if let Some(next) = (2..clause.len()).find(|&i| !self.contradicted(&clause[i])) {
            let moved = self.cell(&clause[next]);
            self.clauses.all[number as usize].swap(at, next);
            self.clauses.watched[moved].push(number);
            return false;
        }
        self.queue.push((other, Reason::Clause(number)));
        true
    }
}

/// Takes contradictions apart.
#[derive(Debug, Default)]
pub(crate) struct Learner {
    paths: PathSearch,
    /// Edges that are still to be resolved or kept, newest first.
    open: BinaryHeap<u32>,
    seen: Vec<bool>,
    conflicts: u64,
    /// Conflicts until the next restart, and how many restarts there were.
    patience: u64,
    restarts: u64,
}

/// Conflicts of the shortest run between restarts.
const RUN: u64 = 64;
/// Clauses that are kept from one restart to the next, and how many more for each conflict.
const KEPT: usize = 2_000;

impl Learner {
    /// Begins a new graph.
    pub(crate) fn start(&mut self) {
        (self.conflicts, self.restarts, self.patience) = (0, 0, RUN);
    }

    /// After an edge closed a cycle: learns why, goes back as far as the reason does, and asserts what follows. `None` if
    /// the contradiction depends on no decision.
    pub(crate) fn resolve(
        &mut self,
        graph: &mut Polygraph,
        failed: Edge,
        levels: &mut Vec<Mark>,
    ) -> Option<Result<(), Edge>> {
        self.conflicts += 1;
        let mut reasons = self.conflict(graph, failed, levels);
        let newest = *reasons.first()?;
        // One edge of its level, the others older: the newest of those says how far to go back.
        let back = reasons.get(1).map_or(0, |&edge| level_of(levels, edge));
        debug_assert!(back < level_of(levels, newest));
        let reversed = |edge: u32| graph.over_runs(reversed(graph.order.edges()[edge as usize]));
        let clause = reasons.drain(..).map(reversed).collect();
        graph.order.undo(levels[back]);
        levels.truncate(back);
        Some(graph.learn(clause))
    }

    /// Edges that cannot hold together, newest first, the first alone in its level.
    fn conflict(&mut self, graph: &Polygraph, failed: Edge, levels: &[Mark]) -> Vec<u32> {
        let given = levels.first().map_or(usize::MAX, Mark::edges) as u32;
        let all = graph.order.edges().len();
        self.seen.clear();
        self.seen.resize(all, false);
        self.open.clear();
        self.follow(graph, failed.to, failed.from, all, given);
        self.explain(graph, failed, graph.failed, all, given);
        let mut kept: Vec<u32> = Vec::new();
        while let Some(edge) = self.open.pop() {
            let level = level_of(levels, edge);
            let alone = self.open.peek().is_none_or(|&next| level_of(levels, next) < level);
            if !kept.is_empty() || alone {
                kept.push(edge);
            } else {
                let index = edge as usize;
                self.explain(graph, graph.order.edges()[index], graph.reasons[index], index, given);
            }
        }
        kept
    }

    /// Adds what an edge follows from: edges among the first `limit`, but not the `given` ones.
    fn explain(&mut self, graph: &Polygraph, edge: Edge, reason: Reason, limit: usize, given: u32) {
        match reason {
            // A decision is the oldest of its level, so it is alone there when its turn comes and is not asked for a reason.
            Reason::Given | Reason::Decision => {}
            Reason::Path(from, to) => self.follow(graph, from, to, limit, given),
            Reason::Clause(number) => {
                let clause = &graph.clauses.all[number as usize];
                for option in clause.iter().filter(|o| (o.from, o.to) != (edge.from, edge.to)) {
                    self.follow(graph, option.to, option.from, limit, given);
                }
            }
        }
    }

    fn follow(&mut self, graph: &Polygraph, from: Node, to: Node, limit: usize, given: u32) {
        for edge in graph.order.oldest_path(from, to, limit, &mut self.paths) {
            if edge >= given && !std::mem::replace(&mut self.seen[edge as usize], true) {
                self.open.push(edge);
            }
        }
    }

    /// From time to time the search starts afresh with what it has learnt, so that early decisions do not hold it up, and
    /// forgets long clauses. Runs grow as Luby, Sinclair and Zuckerman (1993) have them.
    pub(crate) fn restart(&mut self, graph: &mut Polygraph, levels: &mut Vec<Mark>) {
        if self.conflicts < self.patience || levels.is_empty() {
            return;
        }
        self.restarts += 1;
        self.patience = self.conflicts + RUN * luby(self.restarts + 1);
        graph.order.undo(levels[0]);
        levels.clear();
        if graph.clauses.len() > KEPT + self.conflicts as usize / 8 {
            graph.forget_clauses();
        }
    }
}

impl Polygraph {
    /// Drops the longer half of the clauses. Only where no edge that may be taken back follows from a clause.
    fn forget_clauses(&mut self) {
        let mut all = std::mem::take(&mut self.clauses.all);
        all.retain(|clause| !clause.iter().any(|o| self.order.reaches(o.from, o.to)));
        all.sort_by_key(Vec::len);
        all.truncate(all.len() / 2);
        self.clauses.clear();
        for (number, mut clause) in all.into_iter().enumerate() {
            // At the outset every rule has been applied, so that two options at least are open.
            let open: Vec<usize> = (0..clause.len()).filter(|&i| !self.contradicted(&clause[i])).take(2).collect();
            debug_assert_eq!(open.len(), 2, "a clause with one option left was applied");
            open.iter().enumerate().for_each(|(place, &at)| clause.swap(place, at));
            self.watch(number as u32, &clause);
            self.clauses.all.push(clause);
        }
    }
}

/// Returns the decision level of an edge: how many decisions were taken when it came.
fn level_of(levels: &[Mark], edge: u32) -> usize {
    levels.partition_point(|mark| mark.edges() <= edge as usize)
}

fn reversed(edge: Edge) -> Edge {
    Edge { from: edge.to, to: edge.from, ..edge }
}

/// Returns the sequence 1 1 2 1 1 2 4 1 1 2 ….
fn luby(i: u64) -> u64 {
    let length = (i + 1).next_power_of_two();
    if length == i + 1 { length / 2 } else { luby(i + 1 - length / 2) }
}
