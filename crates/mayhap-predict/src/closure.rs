//! A transitively closed order over chains, grown edge by edge, with undo.
//!
//! Nodes stand in chains (threads); a chain's nodes have consecutive numbers. Each node has a row: for each chain, how many
//! of its nodes are at or before the node. So `a` reaches `b` iff the row of `b` counts past `a`: one comparison. An edge
//! updates the rows it changes and nothing else, and logs the old cells, so that a search can take it back. Rows are
//! nodes × chains; there is no node × node matrix.
//!
//! Cost: O(1) a query, O(changed cells + edges out of changed nodes) an insertion, O(changed cells) an undo.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::verdict::Why;

/// A node of the order.
pub type Node = u32;
const NIL: u32 = u32::MAX;

/// An edge with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The earlier node.
    pub from: Node,
    /// The later node.
    pub to: Node,
    /// The reason.
    pub why: Why,
}

/// Where an undo leads back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    cells: usize,
    edges: usize,
}

impl Mark {
    /// How many edges there were.
    pub fn edges(&self) -> usize {
        self.edges
    }
}

/// The closed order.
#[derive(Clone, Debug, Default)]
pub struct Closure {
    chains: usize,
    /// First node of each chain, and one past the last.
    starts: Vec<u32>,
    chain_of: Vec<u32>,
    rows: Vec<u32>,
    edges: Vec<Edge>,
    /// Edges out of a node: a list through `next_edge`.
    first_edge: Vec<u32>,
    next_edge: Vec<u32>,
    log: Vec<(u32, u32)>,
    stack: Vec<Node>,
}

impl Closure {
    /// Chains of these lengths, ordered by nothing else.
    pub fn reset(&mut self, lengths: &[u32]) {
        self.chains = lengths.len();
        self.starts.clear();
        self.starts.push(0);
        self.chain_of.clear();
        for (chain, &length) in lengths.iter().enumerate() {
            self.starts.push(self.starts[chain] + length);
            self.chain_of.resize(self.starts[chain + 1] as usize, chain as u32);
        }
        let nodes = self.chain_of.len();
        self.rows.clear();
        self.rows.resize(nodes * self.chains, 0);
        for node in 0..nodes {
            let chain = self.chain_of[node] as usize;
            self.rows[node * self.chains + chain] = node as u32 - self.starts[chain] + 1;
        }
        self.edges.clear();
        self.next_edge.clear();
        self.first_edge.clear();
        self.first_edge.resize(nodes, NIL);
        self.log.clear();
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.chain_of.len()
    }

    /// How many chains there are.
    pub fn chains(&self) -> usize {
        self.chains
    }

    /// Returns the nodes of a chain.
    pub fn chain(&self, chain: usize) -> std::ops::Range<Node> {
        self.starts[chain]..self.starts[chain + 1]
    }

    /// Returns the chain of a node.
    #[inline]
    pub fn chain_of(&self, node: Node) -> usize {
        self.chain_of[node as usize] as usize
    }

    /// Returns the place of a node in its chain.
    #[inline]
    pub fn place(&self, node: Node) -> u32 {
        node - self.starts[self.chain_of(node)]
    }

    /// How many nodes of each chain are at or before `node`.
    #[inline]
    pub fn row(&self, node: Node) -> &[u32] {
        &self.rows[node as usize * self.chains..(node as usize + 1) * self.chains]
    }

    /// `a` is `b` or comes before it.
    #[inline]
    pub fn reaches(&self, a: Node, b: Node) -> bool {
        self.row(b)[self.chain_of(a)] > self.place(a)
    }

    /// All edges in the order of insertion.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Edges that are inserted before the order is closed. `order` lists all nodes such that these edges lead forward.
    pub fn close_initial(&mut self, edges: &[Edge], order: &[Node]) {
        for &edge in edges {
            self.link(edge);
        }
        for &node in order {
            if node + 1 < self.starts[self.chain_of(node) + 1] {
                self.join(node, node + 1, false);
            }
            let mut edge = self.first_edge[node as usize];
            while edge != NIL {
                self.join(node, self.edges[edge as usize].to, false);
                edge = self.next_edge[edge as usize];
            }
        }
    }

    fn link(&mut self, edge: Edge) {
        self.next_edge.push(self.first_edge[edge.from as usize]);
        self.first_edge[edge.from as usize] = self.edges.len() as u32;
        self.edges.push(edge);
    }

    /// Raises the row of `b` to that of `a`. True if it changed.
    fn join(&mut self, a: Node, b: Node, log: bool) -> bool {
        let (a, b) = (a as usize * self.chains, b as usize * self.chains);
        let mut changed = false;
        for chain in 0..self.chains {
            let (source, cell) = (self.rows[a + chain], self.rows[b + chain]);
            if source > cell {
                if log {
                    self.log.push(((b + chain) as u32, cell));
                }
                self.rows[b + chain] = source;
                changed = true;
            }
        }
        changed
    }

    /// Inserts an edge. `Err` if it closes a cycle, in which case nothing is done; else the cells that changed are the
    /// tail of [`Self::change`].
    pub fn insert(&mut self, edge: Edge) -> Result<(), Edge> {
        if self.reaches(edge.to, edge.from) {
            return Err(edge);
        }
        if self.reaches(edge.from, edge.to) {
            return Ok(());
        }
        self.link(edge);
        self.join(edge.from, edge.to, true);
        self.stack.push(edge.to);
        while let Some(node) = self.stack.pop() {
            if node + 1 < self.starts[self.chain_of(node) + 1] && self.join(node, node + 1, true) {
                self.stack.push(node + 1);
            }
            let mut out = self.first_edge[node as usize];
            while out != NIL {
                let to = self.edges[out as usize].to;
                if self.join(node, to, true) {
                    self.stack.push(to);
                }
                out = self.next_edge[out as usize];
            }
        }
        Ok(())
    }

    /// The `i`-th change since the beginning: (node, chain). A cell may change more than once.
    pub fn change(&self, i: usize) -> (Node, usize) {
        let chains = self.chains as u32;
        (self.log[i].0 / chains, (self.log[i].0 % chains) as usize)
    }

    /// How many cells changed since the beginning.
    pub fn changed(&self) -> usize {
        self.log.len()
    }

    /// Returns the present state.
    pub fn mark(&self) -> Mark {
        Mark { cells: self.log.len(), edges: self.edges.len() }
    }

    /// Takes back all insertions after the mark.
    pub fn undo(&mut self, mark: Mark) {
        while self.log.len() > mark.cells {
            let (cell, old) = self.log.pop().expect("the log is longer than the mark");
            self.rows[cell as usize] = old;
        }
        while self.edges.len() > mark.edges {
            let edge = self.edges.pop().expect("the edge list is longer than the mark");
            self.first_edge[edge.from as usize] = self.next_edge.pop().expect("one entry an edge");
        }
    }

    /// The edges, by number, of a path from `a` to `b` among the first `limit` edges, steps along chains left out: of all
    /// such paths the one that was complete first, since what is old stays longest when a search goes back.
    pub fn oldest_path(&self, a: Node, b: Node, limit: usize, search: &mut PathSearch) -> Vec<u32> {
        search.start(self.nodes());
        search.reach(a, 0, NIL);
        while let Some(Reverse((age, node))) = search.heap.pop() {
            if node == b {
                break;
            }
            if search.age[node as usize] < age {
                continue;
            }
            let came = search.came[node as usize];
            if node + 1 < self.starts[self.chain_of(node) + 1] && self.reaches(node + 1, b) {
                search.reach(node + 1, age, came);
            }
            let mut out = self.first_edge[node as usize];
            while out != NIL {
                let to = self.edges[out as usize].to;
                if (out as usize) < limit && self.reaches(to, b) {
                    search.reach(to, age.max(out + 1), out);
                }
                out = self.next_edge[out as usize];
            }
        }
        let mut path = Vec::new();
        let mut at = search.came[b as usize];
        while at != NIL {
            path.push(at);
            at = search.came[self.edges[at as usize].from as usize];
        }
        path
    }

    /// The edges of a path from `a` to `b`, steps along chains left out. Empty if the two are in one chain.
    pub fn path(&self, a: Node, b: Node) -> Vec<Edge> {
        self.path_before(a, b, self.edges.len()).unwrap_or_default()
    }

    /// The same by the first `limit` edges alone, `None` where these do not lead there: what was known when the next one was
    /// inserted.
    pub fn path_before(&self, a: Node, b: Node, limit: usize) -> Option<Vec<Edge>> {
        let mut came: Vec<u32> = vec![NIL; self.nodes()];
        let mut seen = vec![false; self.nodes()];
        let mut queue = std::collections::VecDeque::from([a]);
        seen[a as usize] = true;
        // `came` holds the edge a node was entered by; a node entered along its chain has the edge of its predecessor.
        while let Some(node) = queue.pop_front() {
            if node == b {
                break;
            }
            let succ = node + 1;
            if succ < self.starts[self.chain_of(node) + 1] && !seen[succ as usize] {
                seen[succ as usize] = true;
                came[succ as usize] = came[node as usize];
                queue.push_back(succ);
            }
            let mut out = self.first_edge[node as usize];
            while out != NIL {
                let to = self.edges[out as usize].to;
                if (out as usize) < limit && !seen[to as usize] {
                    seen[to as usize] = true;
                    came[to as usize] = out;
                    queue.push_back(to);
                }
                out = self.next_edge[out as usize];
            }
        }
        if !seen[b as usize] {
            return None;
        }
        let mut path = Vec::new();
        let mut at = came[b as usize];
        while at != NIL {
            path.push(self.edges[at as usize]);
            at = came[self.edges[at as usize].from as usize];
        }
        path.reverse();
        Some(path)
    }
}

/// What a search for a path keeps between searches.
#[derive(Clone, Debug, Default)]
pub struct PathSearch {
    /// Per node, one past the newest edge of the best path to it.
    age: Vec<u32>,
    /// Per node, the edge that its chain was entered by.
    came: Vec<u32>,
    touched: Vec<Node>,
    heap: BinaryHeap<Reverse<(u32, Node)>>,
}

impl PathSearch {
    fn start(&mut self, nodes: usize) {
        for node in self.touched.drain(..) {
            self.age[node as usize] = NIL;
            self.came[node as usize] = NIL;
        }
        self.age.resize(nodes.max(self.age.len()), NIL);
        self.came.resize(nodes.max(self.came.len()), NIL);
        self.heap.clear();
    }

    fn reach(&mut self, node: Node, age: u32, came: u32) {
        let best = &mut self.age[node as usize];
        if age < *best {
            *best = age;
            self.came[node as usize] = came;
            self.touched.push(node);
            self.heap.push(Reverse((age, node)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: Node, to: Node) -> Edge {
        Edge { from, to, why: Why::Target }
    }

    #[test]
    fn reachability_follows_edges_and_chains_and_is_undone() {
        let mut order = Closure::default();
        order.reset(&[3, 3, 2]);
        order.close_initial(&[edge(0, 4)], &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(order.reaches(0, 5) && !order.reaches(1, 5) && !order.reaches(0, 3));
        let mark = order.mark();
        order.insert(edge(5, 6)).unwrap();
        assert!(order.reaches(0, 7) && order.reaches(3, 6) && !order.reaches(1, 7));
        assert_eq!(order.path(0, 7).len(), 2);
        assert_eq!(order.path_before(0, 7, 1), None);
        assert_eq!(order.path_before(0, 5, 1).map(|path| path.len()), Some(1));
        assert!(order.insert(edge(7, 0)).is_err());
        order.insert(edge(2, 3)).unwrap();
        assert!(order.reaches(2, 7));
        order.undo(mark);
        assert!(!order.reaches(0, 6) && !order.reaches(2, 3) && order.reaches(0, 4));
        assert_eq!(order.edges().len(), 1);
    }
}
