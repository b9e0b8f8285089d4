//! The lock-abstraction graph and S_choice (nondeterminism paper, section III.B): which unordered pairs of scopes can
//! matter to a witness.
//!
//! Each maximal run of overlapping scopes becomes one vertex, each unordered pair of scopes of a lock an undirected edge.
//! A pair belongs to S_choice if it lies on a walk from x to y for a witness edge (y, x). The paper says paths; we take
//! walks, because then no cycle can use a pair outside S_choice together with one inside, which its proof needs.
//!
//! The vertices reachable from x are a suffix of every thread, so a search holds one rank a thread. If a scope is reached,
//! so are all later ones of its thread and lock, and of another thread's scopes the first that is not ordered before it:
//! that one is either after it (a path) or unordered (a choice edge). Backwards the same with prefixes.
//!
//! Cost: O(rounds x lists of scopes x log), where rounds are the times a rank moves.

use super::order::{Order, Point};
use super::scopes::{List, Scope, ScopeAt};
use super::witness_order::WitnessOrder;

/// Two scopes of one lock that G' does not order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChoicePair(pub(super) ScopeAt, pub(super) ScopeAt);

/// The pairs of scopes that a witness with these edges (from, to) depends on.
pub(super) fn choice_pairs(graph: &WitnessOrder, witness: &[(Point, Point)]) -> Vec<ChoicePair> {
    let walks: Vec<(Vec<u32>, Vec<u32>)> =
        witness.iter().map(|&(y, x)| (forward(graph, x), backward(graph, y))).collect();
    let mut pairs = Vec::new();
    if !walks.is_empty() {
        collect(graph, &walks, &mut pairs);
    }
    pairs
}

/// Restricts what follows to the locks with scopes that the graph does not order. More edges order more, so this holds for
/// all graphs that extend this one; of ordered scopes the later is reached from the earlier by a path anyway.
pub(super) fn keep_live(graph: &mut WitnessOrder) {
    let order = &graph.order;
    graph.scopes.keep_live(|lists| {
        lists.iter().enumerate().any(|(i, a)| {
            let others = lists[i + 1..].iter().filter(|b| b.excludes(a));
            others.into_iter().any(|b| a.scopes.iter().any(|scope| !unordered(order, scope, b).is_empty()))
        })
    });
}

/// Per thread, the first rank that a walk from `x` reaches; the thread's end where there is none.
fn forward(graph: &WitnessOrder, x: Point) -> Vec<u32> {
    let (order, scopes) = (&graph.order, &graph.scopes);
    let mut reached: Vec<u32> = (0..order.threads()).map(|t| order.end(t)).collect();
    reached[x.thread] = scopes.hull[x.thread][x.rank as usize].0;
    let mut todo = vec![x.thread];
    while let Some(thread) = todo.pop() {
        let from = Point { thread, rank: reached[thread] };
        let mut reach = |t: usize, rank: u32| {
            if rank < reached[t] {
                reached[t] = scopes.hull[t][rank as usize].0;
                todo.push(t);
            }
        };
        (0..order.threads()).filter(|&t| t != thread).for_each(|t| reach(t, order.first_after(from, t)));
        for (mine, others) in graph.scopes.contended(thread) {
            // The first scope that is reached: it ends at or after the rank.
            let first = mine.scopes.partition_point(|s| s.release < from.rank);
            let Some(scope) = mine.scopes.get(first) else { continue };
            for other in others {
                let next = other.scopes.partition_point(|s| ordered(order, s, scope));
                if let Some(next) = other.scopes.get(next) {
                    reach(other.thread, next.acquire);
                }
            }
        }
    }
    reached
}

/// Per thread, how many of its first events are on walks to `y`.
fn backward(graph: &WitnessOrder, y: Point) -> Vec<u32> {
    let (order, scopes) = (&graph.order, &graph.scopes);
    let mut reached = vec![0; order.threads()];
    reached[y.thread] = scopes.hull[y.thread][y.rank as usize].1 + 1;
    let mut todo = vec![y.thread];
    while let Some(thread) = todo.pop() {
        let to = Point { thread, rank: reached[thread] - 1 };
        let mut reach = |t: usize, count: u32| {
            if count > reached[t] {
                reached[t] = scopes.hull[t][count as usize - 1].1 + 1;
                todo.push(t);
            }
        };
        (0..order.threads()).filter(|&t| t != thread).for_each(|t| reach(t, order.row(to)[t]));
        for (mine, others) in graph.scopes.contended(thread) {
            let Some(scope) = mine.latest(to.rank + 1) else { continue };
            for other in others {
                let after = other.scopes.partition_point(|s| !ordered(order, scope, s));
                if let Some(last) = after.checked_sub(1) {
                    reach(other.thread, other.scopes[last].acquire + 1);
                }
            }
        }
    }
    reached
}

/// All of `a` comes before all of `b`.
fn ordered(order: &Order, a: &Scope, b: &Scope) -> bool {
    !a.is_open() && order.before(a.last(), b.first())
}

/// Adds the unordered pairs with one scope on walks from x and the other on walks to y, for some witness edge.
fn collect(graph: &WitnessOrder, walks: &[(Vec<u32>, Vec<u32>)], pairs: &mut Vec<ChoicePair>) {
    let on_walk = |s: &Scope, t: &Scope| {
        walks.iter().any(|(after, before)| s.release >= after[s.thread] && t.acquire < before[t.thread])
    };
    for &lock in &graph.scopes.live_locks {
        let lists = &graph.scopes.lists[lock as usize];
        let at = |list: usize, place: usize| ScopeAt { lock, list: list as u32, place: place as u32 };
        for (i, a) in lists.iter().enumerate() {
            for (j, b) in lists.iter().enumerate().skip(i + 1).filter(|(_, b)| b.excludes(a)) {
                for (place, scope) in a.scopes.iter().enumerate() {
                    for partner in unordered(&graph.order, scope, b) {
                        let other = &b.scopes[partner];
                        if on_walk(scope, other) || on_walk(other, scope) {
                            pairs.push(ChoicePair(at(i, place), at(j, partner)));
                        }
                    }
                }
            }
        }
    }
}

/// The scopes of a list that are ordered neither before nor after `scope`.
fn unordered(order: &Order, scope: &Scope, list: &List) -> std::ops::Range<usize> {
    let first = list.scopes.partition_point(|s| ordered(order, s, scope));
    let rest = list.scopes[first..].partition_point(|s| !ordered(order, scope, s));
    first..first + rest
}
