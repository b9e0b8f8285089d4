//! Reachability over chains that grows edge by edge: which position of each other thread a position leads to.
//!
//! For every two chains `i`, `j` a sparse segment tree over the positions of `i` holds the least position of `j` that an
//! edge from there leads to. The tree is kept transitively closed, so the first position of `j` after `(i, p)` is the
//! minimum over the positions from `p` on, and the last position of `i` before `(j, q)` is the rightmost one whose value
//! is at most `q`. Nodes of a tree exist only on paths to edges: a slice of a long trace costs what it orders.
//!
//! SeqCheck, section 3.4 (the graph with `insert`, `reach`, `succ`, `pred`); the paper keeps Fenwick trees. There is no
//! matrix over events.
//!
//! Cost: O(log n) a query; O(k²·log n) an insertion for `k` chains, of which only pairs that change are written.

/// A position in a chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Place {
    pub(crate) chain: u32,
    pub(crate) at: u32,
}

/// No position.
pub(crate) const NEVER: u32 = u32::MAX;
const NIL: u32 = 0;

#[derive(Clone, Copy, Debug)]
struct Node {
    least: u32,
    children: [u32; 2],
}

/// What an insertion changed: positions `from..until` of chain `to` now come after position `at` of chain `of`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub(crate) of: u32,
    pub(crate) at: u32,
    pub(crate) to: u32,
    pub(crate) from: u32,
    pub(crate) until: u32,
}

/// The closed order.
#[derive(Clone, Debug)]
pub(crate) struct Chains {
    lengths: Vec<u32>,
    /// Levels of the trees over each chain.
    levels: Vec<u32>,
    roots: Vec<u32>,
    nodes: Vec<Node>,
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Chains {
    /// Chains of these lengths, with nothing between them.
    pub(crate) fn new(lengths: &[u32]) -> Self {
        let k = lengths.len();
        let levels = lengths.iter().map(|&n| u32::BITS - n.max(1).saturating_sub(1).leading_zeros()).collect();
        Chains {
            lengths: lengths.to_vec(),
            levels,
            roots: vec![NIL; k * k],
            nodes: vec![Node { least: NEVER, children: [NIL; 2] }],
            before: Vec::with_capacity(k),
            after: Vec::with_capacity(k),
        }
    }

    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn root(&self, i: usize, j: usize) -> u32 {
        self.roots[i * self.len() + j]
    }

    /// The first position of `chain` at or after `place` in the order; [`NEVER`] if none is.
    pub(crate) fn after(&self, place: Place, chain: usize) -> u32 {
        let i = place.chain as usize;
        if i == chain {
            return place.at;
        }
        let mut node = self.root(i, chain);
        let mut least = NEVER;
        for level in (0..self.levels[i]).rev() {
            if node == NIL {
                return least;
            }
            let [left, right] = self.nodes[node as usize].children;
            if place.at >> level & 1 == 0 {
                least = least.min(self.nodes[right as usize].least);
                node = left;
            } else {
                node = right;
            }
        }
        least.min(self.nodes[node as usize].least)
    }

    /// How many positions of `chain` are at or before `place` in the order.
    pub(crate) fn before(&self, place: Place, chain: usize) -> u32 {
        let j = place.chain as usize;
        if j == chain {
            return place.at + 1;
        }
        let mut node = self.root(chain, j);
        if self.nodes[node as usize].least > place.at {
            return 0;
        }
        let mut at = 0;
        for level in (0..self.levels[chain]).rev() {
            let [left, right] = self.nodes[node as usize].children;
            if self.nodes[right as usize].least <= place.at {
                at |= 1 << level;
                node = right;
            } else {
                node = left;
            }
        }
        at + 1
    }

    /// `a` is `b` or comes before it.
    pub(crate) fn reaches(&self, a: Place, b: Place) -> bool {
        self.after(a, b.chain as usize) <= b.at
    }

    /// Adds `a` before `b`, which must not come before `a`, and reports each pair of chains that changed.
    pub(crate) fn insert(&mut self, a: Place, b: Place, mut report: impl FnMut(Change)) {
        let k = self.len();
        let mut before = std::mem::take(&mut self.before);
        let mut after = std::mem::take(&mut self.after);
        before.clear();
        before.extend((0..k).map(|i| self.before(a, i)));
        after.clear();
        after.extend((0..k).map(|j| self.after(b, j)));
        for (i, &count) in before.iter().enumerate() {
            for (j, &first) in after.iter().enumerate() {
                if i == j || count == 0 || first == NEVER {
                    continue;
                }
                let at = count - 1;
                let old = self.after(Place { chain: i as u32, at }, j);
                if first < old {
                    self.lower(i, j, at, first);
                    let until = old.min(self.lengths[j]);
                    report(Change { of: i as u32, at, to: j as u32, from: first, until });
                }
            }
        }
        (self.before, self.after) = (before, after);
    }

    fn lower(&mut self, i: usize, j: usize, at: u32, value: u32) {
        let slot = i * self.len() + j;
        if self.roots[slot] == NIL {
            self.roots[slot] = self.grow(value);
        }
        let mut node = self.roots[slot];
        self.touch(node, value);
        for level in (0..self.levels[i]).rev() {
            let side = (at >> level & 1) as usize;
            let mut child = self.nodes[node as usize].children[side];
            if child == NIL {
                child = self.grow(value);
                self.nodes[node as usize].children[side] = child;
            }
            self.touch(child, value);
            node = child;
        }
    }

    fn grow(&mut self, value: u32) -> u32 {
        self.nodes.push(Node { least: value, children: [NIL; 2] });
        self.nodes.len() as u32 - 1
    }

    fn touch(&mut self, node: u32, value: u32) {
        let least = &mut self.nodes[node as usize].least;
        *least = (*least).min(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(chain: u32, at: u32) -> Place {
        Place { chain, at }
    }

    #[test]
    fn edges_compose_along_chains() {
        let mut chains = Chains::new(&[4, 5, 1]);
        chains.insert(place(0, 1), place(1, 2), |_| ());
        assert!(chains.reaches(place(0, 0), place(1, 4)) && chains.reaches(place(0, 1), place(1, 2)));
        assert!(!chains.reaches(place(0, 2), place(1, 4)) && !chains.reaches(place(0, 1), place(1, 1)));
        let mut changes = Vec::new();
        chains.insert(place(1, 3), place(2, 0), |c| changes.push(c));
        assert!(chains.reaches(place(0, 1), place(2, 0)) && !chains.reaches(place(0, 2), place(2, 0)));
        assert_eq!(chains.before(place(2, 0), 0), 2);
        assert_eq!(chains.before(place(2, 0), 1), 4);
        assert_eq!(changes.len(), 2);
    }

    /// Against a matrix that is closed anew after each edge.
    #[test]
    fn random_insertions_agree_with_a_matrix() {
        let lengths = [5u32, 1, 8, 3];
        let starts = [0usize, 5, 6, 14];
        let all: Vec<Place> = (0..4).flat_map(|c| (0..lengths[c as usize]).map(move |at| place(c, at))).collect();
        let number = |p: Place| starts[p.chain as usize] + p.at as usize;
        let mut source = mayhap_testkit::Random::new(7);
        let mut random = |n: usize| source.below(n);
        for _ in 0..300 {
            let mut chains = Chains::new(&lengths);
            let mut matrix = vec![vec![false; all.len()]; all.len()];
            for (i, &a) in all.iter().enumerate() {
                for (j, &b) in all.iter().enumerate() {
                    matrix[i][j] = a.chain == b.chain && a.at <= b.at;
                }
            }
            for _ in 0..12 {
                let (a, b) = (all[random(all.len())], all[random(all.len())]);
                if matrix[number(b)][number(a)] || a.chain == b.chain {
                    continue;
                }
                chains.insert(a, b, |_| ());
                for x in 0..all.len() {
                    for y in 0..all.len() {
                        matrix[x][y] |= matrix[x][number(a)] && matrix[number(b)][y];
                    }
                }
                for &x in &all {
                    for &y in &all {
                        assert_eq!(chains.reaches(x, y), matrix[number(x)][number(y)], "{x:?} {y:?}");
                        let count = (0..lengths[x.chain as usize])
                            .filter(|&at| matrix[number(place(x.chain, at))][number(y)])
                            .count();
                        assert_eq!(chains.before(y, x.chain as usize), count as u32);
                    }
                }
            }
        }
    }
}
