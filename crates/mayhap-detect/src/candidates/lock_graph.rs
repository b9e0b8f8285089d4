//! The lock graph: an edge leads from each lock held to the lock that is acquired next. Only its cycles can be deadlocks.
//!
//! A thread that holds many locks would give an edge for each. One edge, from the lock it acquired last, is enough to tell which
//! locks lie on a cycle: each lock that it holds leads to the one acquired next, and so on to the last.
//!
//! Cost: O(acquires), and O(locks held) for an acquire whose locks were not released in the order that a stack expects.

use mayhap_trace::{LockId, NONE, ObjectKind, Relations, Trace};

/// The strongly connected parts of the lock graph.
pub(super) struct LockGraph {
    /// The part of each lock, or [`NONE`] for a lock that is on no cycle.
    part: Vec<u32>,
}

impl LockGraph {
    /// The lock graph of a trace.
    pub(super) fn new(trace: &Trace, relations: &Relations) -> Self {
        let locks = trace.tables().locks.len();
        let part = cyclic_parts(locks, &edges(trace, relations));
        LockGraph { part }
    }

    /// Whether a cycle may lead from the lock held to the one wanted and back.
    pub(super) fn on_cycle(&self, held: LockId, wanted: LockId) -> bool {
        let part = self.part[held.index()];
        part != NONE && part == self.part[wanted.index()]
    }
}

/// The edges, sorted, each once. Tries are included: a lock acquired by one leads on to those that are acquired after it.
fn edges(trace: &Trace, relations: &Relations) -> Vec<(u32, u32)> {
    let mut stacks: Vec<Vec<LockId>> = vec![Vec::new(); trace.tables().threads.len()];
    let mut edges = Vec::new();
    for (id, event) in trace.events_of(|op| op.names() == ObjectKind::Lock) {
        let Some(lock) = event.lock().filter(|_| relations.is_relevant(id)) else { continue };
        let stack = &mut stacks[event.thread.index()];
        if event.op.is_acquire() {
            let held = relations.locksets().get(relations.held(id));
            if held.len() == stack.len() {
                edges.extend(stack.last().map(|top| (top.cell(), lock.cell())));
            } else {
                edges.extend(held.iter().map(|(held, _)| (held.cell(), lock.cell())));
            }
            stack.push(lock);
        } else if event.op.is_release()
            && let Some(at) = stack.iter().rposition(|&l| l == lock)
        {
            stack.remove(at);
        }
        // Repeated edges are dropped before they can fill the memory.
        if edges.len() > 1 << 20 && edges.len() == edges.capacity() {
            edges.sort_unstable();
            edges.dedup();
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The strongly connected part of each node that is on a cycle, by Tarjan's algorithm with a stack of its own.
fn cyclic_parts(nodes: usize, edges: &[(u32, u32)]) -> Vec<u32> {
    let mut walk = Walk {
        edges,
        number: vec![NONE; nodes],
        lowest: vec![0; nodes],
        open: Vec::new(),
        is_open: vec![false; nodes],
        part: vec![NONE; nodes],
        parts: 0,
    };
    let mut count = 0;
    for root in 0..nodes as u32 {
        if walk.number[root as usize] != NONE {
            continue;
        }
        let mut calls = vec![(root, walk.enter(root, &mut count))];
        while let Some((node, next)) = calls.last_mut() {
            let node = *node;
            let edge = edges.get(*next).filter(|e| e.0 == node);
            *next += 1;
            match edge {
                Some(&(_, to)) if walk.number[to as usize] == NONE => calls.push((to, walk.enter(to, &mut count))),
                Some(&(_, to)) if walk.is_open[to as usize] => walk.lower(node, walk.number[to as usize]),
                Some(_) => {}
                None => {
                    walk.leave(node);
                    calls.pop();
                    if let Some(&(above, _)) = calls.last() {
                        walk.lower(above, walk.lowest[node as usize]);
                    }
                }
            }
        }
    }
    walk.part
}

struct Walk<'e> {
    edges: &'e [(u32, u32)],
    /// The order in which nodes were entered.
    number: Vec<u32>,
    /// The least number that a node reaches.
    lowest: Vec<u32>,
    /// The nodes whose part is not known yet.
    open: Vec<u32>,
    is_open: Vec<bool>,
    part: Vec<u32>,
    parts: u32,
}

impl Walk<'_> {
    /// Enters a node and returns the position of its first edge.
    fn enter(&mut self, node: u32, count: &mut u32) -> usize {
        self.number[node as usize] = *count;
        self.lowest[node as usize] = *count;
        *count += 1;
        self.open.push(node);
        self.is_open[node as usize] = true;
        self.edges.partition_point(|e| e.0 < node)
    }

    fn lower(&mut self, node: u32, to: u32) {
        let lowest = &mut self.lowest[node as usize];
        *lowest = (*lowest).min(to);
    }

    /// Closes the part of which the node was entered first. A part of one node is a cycle only if an edge leads back to it: two
    /// readers that both want to write.
    fn leave(&mut self, node: u32) {
        if self.lowest[node as usize] != self.number[node as usize] {
            return;
        }
        let from = self.open.iter().rposition(|&n| n == node).unwrap_or(0);
        let members = self.open.split_off(from);
        let cyclic = members.len() > 1 || self.edges.binary_search(&(node, node)).is_ok();
        for &member in &members {
            self.is_open[member as usize] = false;
            if cyclic {
                self.part[member as usize] = self.parts;
            }
        }
        self.parts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nodes_on_cycles_have_a_part() {
        let parts = cyclic_parts(7, &[(0, 1), (1, 2), (2, 1), (3, 4), (4, 5), (5, 3), (6, 6)]);
        assert_eq!(parts[0], NONE);
        assert_ne!(parts[6], NONE);
        assert_eq!(parts[1], parts[2]);
        assert_eq!(parts[3], parts[5]);
        assert_ne!(parts[1], parts[3]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let chain: Vec<(u32, u32)> = (0..200_000).map(|i| (i, i + 1)).collect();
        assert!(cyclic_parts(200_001, &chain).iter().all(|&p| p == NONE));
    }
}
