//! Vector clocks that share what they have in common.
//!
//! Up to 16 threads a clock is one node of 16 entries. Beyond that it is a tree: leaves of 256 entries, and above them inner
//! nodes of 16. Nodes are reference counted: sharing a clock (a release passes its thread's clock to the lock) takes constant
//! time, and changing one copies only the nodes on the path that are still shared. A clock is only as deep as the largest
//! thread that it knows requires, and threads that it does not know cost nothing: even with 65,535 threads, only the touched
//! nodes exist.
//!
//! Published alternatives: flat vectors (copying is linear in the threads, 256 KB a clock for 65,535 of them) and tree
//! clocks (Mathur, Pavlogiannis, Tunç, Viswanathan, ASPLOS'22: joins visit only what changed, copies do too). The nodes
//! here get the second advantage from sharing: a subtree that both sides share is skipped, and so is a join whose epoch
//! is known (see [`crate::hb`]). Why leaves are wide: while all threads run, two clocks differ in nearly every group of 16
//! threads, and then one sweep over a flat vector beats visiting many small nodes: HB with 512 threads takes half the time. So up
//! to 256 threads a clock is a flat vector that is shared until it changes, and larger clocks are built from such vectors.
//!
//! Invariants: node 0 is the zero clock of every depth and is never changed; every other node counts the clocks and nodes
//! that refer to it and is freed at zero; a clock of depth `d` knows threads below 16^(d+1). A leaf of a clock deeper than
//! 0 is 16 nodes in a row, known by the first: levels 1 and 0 of a tree with 16 branches everywhere, stored as one.
//!
//! Cost: `get` one step a level; `share` and `release` constant unless the last reference goes; `join` the nodes that
//! differ.

const FAN: usize = 16;
const BITS: u32 = 4;
/// The upper bits of a clock hold its depth: 0 for a single leaf.
const DEPTH_SHIFT: u32 = 30;
const NODE_MASK: u32 = (1 << DEPTH_SHIFT) - 1;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
struct Node([u32; FAN]);

const ZERO_NODE: Node = Node([0; FAN]);

impl Node {
    /// Raises each entry to that of another node.
    #[inline]
    fn raise(&mut self, other: &Node) {
        for slot in 0..FAN {
            self.0[slot] = self.0[slot].max(other.0[slot]);
        }
    }

    /// Some entry is larger here, and some entry is larger there. Without branches.
    #[inline]
    fn compared(&self, other: &Node) -> (bool, bool) {
        let (mut more, mut less) = (0, 0);
        for slot in 0..FAN {
            more |= u32::from(self.0[slot] > other.0[slot]).wrapping_neg();
            less |= u32::from(self.0[slot] < other.0[slot]).wrapping_neg();
        }
        (more != 0, less != 0)
    }
}

/// One reference to a clock in [`Clocks`]. Return it with [`Clocks::release`], or its nodes are never freed.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Clock(u32);

impl Clock {
    /// The clock that knows nothing.
    pub const ZERO: Clock = Clock(0);

    /// The clock that knows nothing.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Whether the clock takes one leaf at most: about 1 KB.
    #[inline]
    pub fn is_small(&self) -> bool {
        self.depth() <= 1
    }

    #[inline]
    fn depth(&self) -> u32 {
        self.0 >> DEPTH_SHIFT
    }

    #[inline]
    fn node(&self) -> u32 {
        self.0 & NODE_MASK
    }

    #[inline]
    fn new(node: u32, depth: u32) -> Clock {
        Clock(node | depth << DEPTH_SHIFT)
    }

    /// The reference as plain bits, to be kept in a packed field.
    #[inline]
    pub fn into_bits(self) -> u32 {
        self.0
    }

    /// The reference that [`Self::into_bits`] gave.
    #[inline]
    pub fn from_bits(bits: u32) -> Clock {
        Clock(bits)
    }

    /// A second name for the same reference; the caller sees to it that only one of them is kept.
    #[inline]
    fn alias(&self) -> Clock {
        Clock(self.0)
    }
}

/// All clocks of one detector.
pub struct Clocks {
    nodes: Vec<Node>,
    /// References to each node.
    references: Vec<u32>,
    free: Vec<u32>,
    /// Free rows of 16 nodes.
    free_leaves: Vec<u32>,
}

impl Default for Clocks {
    fn default() -> Self {
        Clocks { nodes: vec![ZERO_NODE; FAN], references: vec![1; FAN], free: Vec::new(), free_leaves: Vec::new() }
    }
}

impl Clocks {
    /// What `clock` knows of `thread`.
    #[inline]
    pub fn get(&self, clock: &Clock, thread: usize) -> u32 {
        if clock.depth() == 0 {
            return if thread < FAN { self.nodes[clock.node() as usize].0[thread] } else { 0 };
        }
        self.get_deep(clock, thread)
    }

    fn get_deep(&self, clock: &Clock, thread: usize) -> u32 {
        let depth = clock.depth();
        if thread >> (BITS * (depth + 1)) != 0 {
            return 0;
        }
        let mut node = clock.node();
        for level in (2..=depth).rev() {
            node = self.nodes[node as usize].0[(thread >> (level * BITS)) & (FAN - 1)];
        }
        self.nodes[node as usize + ((thread >> BITS) & (FAN - 1))].0[thread & (FAN - 1)]
    }

    /// Another reference to the same clock.
    #[inline]
    pub fn share(&mut self, clock: &Clock) -> Clock {
        self.refer(clock.node());
        clock.alias()
    }

    /// Gives a reference back.
    #[inline]
    pub fn release(&mut self, clock: Clock) {
        self.drop_node(clock.node(), clock.depth());
    }

    /// `to` becomes another reference to `from`.
    #[inline]
    pub fn assign(&mut self, to: &mut Clock, from: &Clock) {
        let shared = self.share(from);
        self.release(std::mem::replace(to, shared));
    }

    /// Raises what `clock` knows of `thread` to at least `count`.
    #[inline]
    pub fn raise(&mut self, clock: &mut Clock, thread: usize, count: u32) {
        if self.get(clock, thread) >= count {
            return;
        }
        while thread >> (BITS * (clock.depth() + 1)) != 0 {
            self.deepen(clock);
        }
        let depth = clock.depth();
        let node = self.raise_at(clock.node(), depth, thread, count);
        *clock = Clock::new(node, depth);
    }

    fn raise_at(&mut self, node: u32, level: u32, thread: usize, count: u32) -> u32 {
        let node = self.own(node, level);
        let slot = (thread >> (level * BITS)) & (FAN - 1);
        match level {
            0 => self.nodes[node as usize].0[slot] = count,
            1 => self.nodes[node as usize + slot].0[thread & (FAN - 1)] = count,
            _ => {
                let below = self.nodes[node as usize].0[slot];
                let value = self.raise_at(below, level - 1, thread, count);
                self.nodes[node as usize].0[slot] = value;
            }
        }
        node
    }

    /// `to` becomes the least clock above both.
    #[inline]
    pub fn join(&mut self, to: &mut Clock, from: &Clock) {
        if to.0 == from.0 || from.is_zero() {
            return;
        }
        if to.depth() | from.depth() == 0 {
            *to = Clock::new(self.join_leaf(to.node(), from.node()), 0);
            return;
        }
        self.join_deep(to, from);
    }

    fn join_deep(&mut self, to: &mut Clock, from: &Clock) {
        let depth = to.depth();
        if depth == from.depth() {
            let joined = self.join_at(to.node(), from.node(), depth, true);
            if joined != to.node() {
                self.drop_node(to.node(), depth);
                *to = Clock::new(joined, depth);
            }
            return;
        }
        // Nodes are copied on the way down, so look first whether there is any need.
        if depth.max(from.depth()) > 1 && !self.exceeds(from, to, usize::MAX) {
            return;
        }
        while to.depth() < from.depth() {
            self.deepen(to);
        }
        let depth = to.depth();
        *to = Clock::new(self.join_below(to.node(), depth, from.node(), from.depth()), depth);
    }

    /// Takes the reference `to`, returns one to its join with a `from` that may be shallower: it then belongs into slot 0,
    /// level after level.
    fn join_below(&mut self, to: u32, level: u32, from: u32, from_level: u32) -> u32 {
        if level == from_level {
            let joined = self.join_at(to, from, level, true);
            if joined != to {
                self.drop_node(to, level);
            }
            return joined;
        }
        if level == 1 {
            let from = self.nodes[from as usize];
            if !self.nodes[to as usize].compared(&from).1 {
                return to;
            }
            let to = self.own(to, level);
            self.nodes[to as usize].raise(&from);
            return to;
        }
        let to = self.own(to, level);
        let below = self.nodes[to as usize].0[0];
        let joined = self.join_below(below, level - 1, from, from_level);
        self.nodes[to as usize].0[0] = joined;
        to
    }

    /// The join of two nodes above level 0. Returns `to` itself if it gains nothing or can be changed in place, which requires that
    /// nothing else refers to it or, as `alone` says, to any node above it; otherwise a new reference. Nothing is copied
    /// unnecessarily.
    fn join_at(&mut self, to: u32, from: u32, level: u32, mut alone: bool) -> u32 {
        if to == from || from == 0 {
            return to;
        }
        if to == 0 {
            self.refer(from);
            return from;
        }
        alone &= self.is_own(to);
        if level == 1 {
            return self.join_leaves(to, from, alone);
        }
        let mut joined = to;
        for slot in 0..FAN {
            let (left, right) = (self.nodes[joined as usize].0[slot], self.nodes[from as usize].0[slot]);
            let below = self.join_at(left, right, level - 1, alone);
            if below == left {
                continue;
            }
            if !alone {
                let copy = self.nodes[to as usize];
                copy.0.into_iter().for_each(|child| self.refer(child));
                joined = self.push(copy);
                alone = true;
            }
            self.nodes[joined as usize].0[slot] = below;
            self.drop_node(left, level - 1);
        }
        if self.nodes[joined as usize] == self.nodes[from as usize] {
            self.refer(from);
            if joined != to {
                self.drop_node(joined, level);
            }
            return from;
        }
        joined
    }

    /// The same for leaves of 256 entries.
    fn join_leaves(&mut self, to: u32, from: u32, alone: bool) -> u32 {
        let (mut gains, mut ahead) = (false, false);
        for (left, right) in self.leaf(to).iter().zip(self.leaf(from)) {
            let (more, less) = left.compared(right);
            gains |= less;
            ahead |= more;
        }
        if !gains {
            return to;
        }
        if !ahead {
            self.refer(from);
            return from;
        }
        let joined = if alone { to } else { self.copy_leaf(to) };
        for part in 0..FAN {
            let right = self.nodes[from as usize + part];
            self.nodes[joined as usize + part].raise(&right);
        }
        joined
    }

    /// Returns the nodes of a leaf of 256 entries.
    #[inline]
    fn leaf(&self, leaf: u32) -> &[Node] {
        &self.nodes[leaf as usize..leaf as usize + FAN]
    }

    #[inline]
    fn join_leaf(&mut self, to: u32, from: u32) -> u32 {
        let (mut merged, right) = (self.nodes[to as usize], self.nodes[from as usize]);
        let (ahead, gains) = merged.compared(&right);
        if !gains {
            return to;
        }
        merged.raise(&right);
        if self.is_own(to) {
            self.nodes[to as usize] = merged;
            return to;
        }
        self.drop_node(to, 0);
        if !ahead {
            self.refer(from);
            return from;
        }
        self.push(merged)
    }

    /// Whether some thread other than `own` is further in `a` than in `b`.
    #[inline]
    pub fn exceeds(&self, a: &Clock, b: &Clock, own: usize) -> bool {
        self.exceeds_both(a, b, &Clock::ZERO, own)
    }

    /// Whether some thread other than `own` is further in `a` than in both `b` and `c`.
    #[inline]
    pub fn exceeds_both(&self, a: &Clock, b: &Clock, c: &Clock, own: usize) -> bool {
        if a.0 == b.0 || a.0 == c.0 {
            return false;
        }
        let depth = a.depth();
        let (b, c) = (self.at_depth(b, depth), self.at_depth(c, depth));
        self.exceeds_at(a.node(), b, c, depth, 0, own)
    }

    /// The node of `clock` that speaks of the threads below 16^(depth+1), and how many levels it lacks.
    fn at_depth(&self, clock: &Clock, depth: u32) -> (u32, u32) {
        let mut node = clock.node();
        // The first node of a leaf is the leaf itself.
        for _ in depth.max(1)..clock.depth() {
            node = self.nodes[node as usize].0[0];
        }
        (node, depth.saturating_sub(clock.depth()))
    }

    /// The child of a node that may lack levels: then it is its own child 0, and the others are zero.
    #[inline]
    fn child(&self, (node, lacking): (u32, u32), slot: usize) -> (u32, u32) {
        match (lacking, slot) {
            (0, _) => (self.nodes[node as usize].0[slot], 0),
            (_, 0) => (node, lacking - 1),
            _ => (0, 0),
        }
    }

    fn exceeds_at(&self, a: u32, b: (u32, u32), c: (u32, u32), level: u32, base: usize, own: usize) -> bool {
        if a == 0 || (a, 0) == b || (a, 0) == c {
            return false;
        }
        if level == 0 {
            return self.node_exceeds(a, b.0, c.0, base, own);
        }
        if level == 1 {
            // A leaf is a row of nodes; a clock that lacks this level has the first of them only.
            let part = |(node, lacking): (u32, u32), i: u32| match (lacking, i) {
                (0, _) => {
                    if node == 0 {
                        0
                    } else {
                        node + i
                    }
                }
                (_, 0) => node,
                _ => 0,
            };
            let base = |i: u32| base + ((i as usize) << BITS);
            return (0..FAN as u32).any(|i| self.node_exceeds(a + i, part(b, i), part(c, i), base(i), own));
        }
        let a = &self.nodes[a as usize].0;
        (0..FAN).any(|slot| {
            let base = base + (slot << (level * BITS));
            self.exceeds_at(a[slot], self.child(b, slot), self.child(c, slot), level - 1, base, own)
        })
    }

    /// Whether some thread other than `own` is further in node `a` than in both `b` and `c`; the node's first thread is `base`.
    #[inline]
    fn node_exceeds(&self, a: u32, b: u32, c: u32, base: usize, own: usize) -> bool {
        let (a, b, c) = (&self.nodes[a as usize].0, &self.nodes[b as usize].0, &self.nodes[c as usize].0);
        // Without branches first: hardly any comparison finds anything.
        let beyond = (0..FAN).fold(false, |any, slot| any | (a[slot] > b[slot].max(c[slot])));
        beyond && (0..FAN).any(|slot| a[slot] > b[slot].max(c[slot]) && base + slot != own)
    }

    /// Takes a reference and returns one that is not shared.
    fn own(&mut self, node: u32, level: u32) -> u32 {
        if self.is_own(node) {
            return node;
        }
        if level == 1 {
            let copy = self.copy_leaf(node);
            self.drop_node(node, level);
            return copy;
        }
        let copy = self.nodes[node as usize];
        if level > 1 {
            for child in copy.0 {
                self.refer(child);
            }
        }
        self.drop_node(node, level);
        self.push(copy)
    }

    #[inline]
    fn is_own(&self, node: u32) -> bool {
        node != 0 && self.references[node as usize] == 1
    }

    #[inline]
    fn refer(&mut self, node: u32) {
        // Node 0 is never freed, so its count may wrap.
        let count = &mut self.references[node as usize];
        *count = count.wrapping_add(1);
    }

    fn deepen(&mut self, clock: &mut Clock) {
        let depth = clock.depth() + 1;
        let node = if depth == 1 {
            let leaf = self.push_leaf();
            self.nodes[leaf as usize..leaf as usize + FAN].fill(ZERO_NODE);
            self.nodes[leaf as usize] = self.nodes[clock.node() as usize];
            self.drop_node(clock.node(), 0);
            leaf
        } else {
            let mut root = ZERO_NODE;
            root.0[0] = clock.node();
            self.push(root)
        };
        *clock = Clock::new(node, depth);
    }

    #[inline]
    fn drop_node(&mut self, node: u32, level: u32) {
        let count = &mut self.references[node as usize];
        *count = count.wrapping_sub(1);
        if *count == 0 && node != 0 {
            self.free_node(node, level);
        }
    }

    fn free_node(&mut self, node: u32, level: u32) {
        if level == 1 {
            self.free_leaves.push(node);
            return;
        }
        if level > 1 {
            for child in self.nodes[node as usize].0 {
                self.drop_node(child, level - 1);
            }
        }
        self.free.push(node);
    }

    /// A leaf of 256 entries, to be filled.
    fn push_leaf(&mut self) -> u32 {
        if let Some(index) = self.free_leaves.pop() {
            self.references[index as usize] = 1;
            return index;
        }
        let index = self.nodes.len();
        assert!(index + FAN < NODE_MASK as usize, "clocks fill 64 GB");
        self.nodes.resize(index + FAN, ZERO_NODE);
        self.references.resize(index + FAN, 1);
        index as u32
    }

    fn copy_leaf(&mut self, leaf: u32) -> u32 {
        let copy = self.push_leaf();
        self.nodes.copy_within(leaf as usize..leaf as usize + FAN, copy as usize);
        copy
    }

    #[inline]
    fn push(&mut self, node: Node) -> u32 {
        if let Some(index) = self.free.pop() {
            self.nodes[index as usize] = node;
            self.references[index as usize] = 1;
            return index;
        }
        let index = self.nodes.len() as u32;
        assert!(index < NODE_MASK, "clocks fill 64 GB");
        self.nodes.push(node);
        self.references.push(1);
        index
    }

    /// Bytes of memory that all clocks take.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + (self.references.capacity() + self.free.capacity() + self.free_leaves.capacity()) * 4
    }
}

#[cfg(test)]
mod tests {
    use mayhap_testkit::Random;

    use super::*;

    /// Random operations on clocks and on plain vectors side by side.
    #[test]
    fn clocks_agree_with_vectors() {
        for (threads, seed) in [(3, 1), (16, 2), (17, 3), (300, 4), (5_000, 5), (65_535, 6)] {
            let mut random = Random::new(seed);
            let mut clocks = Clocks::default();
            let mut held: Vec<(Clock, Vec<u32>)> = (0..6).map(|_| (Clock::ZERO, vec![0; threads])).collect();
            for _ in 0..2_000 {
                let (i, j) = (random.below(6), random.below(6));
                let thread = if random.below(2) == 0 { random.below(threads) } else { random.below(threads.min(20)) };
                match random.below(5) {
                    0 | 1 => {
                        let count = random.below(50) as u32;
                        clocks.raise(&mut held[i].0, thread, count);
                        held[i].1[thread] = held[i].1[thread].max(count);
                    }
                    2 => {
                        let from = (clocks.share(&held[j].0), held[j].1.clone());
                        clocks.join(&mut held[i].0, &from.0);
                        held[i].1.iter_mut().zip(&from.1).for_each(|(a, b)| *a = (*a).max(*b));
                        clocks.release(from.0);
                    }
                    3 => {
                        let (shared, plain) = (clocks.share(&held[j].0), held[j].1.clone());
                        clocks.release(std::mem::replace(&mut held[i].0, shared));
                        held[i].1 = plain;
                    }
                    _ => {
                        let expected = (0..threads).any(|t| held[i].1[t] > held[j].1[t] && t != thread);
                        assert_eq!(clocks.exceeds(&held[i].0, &held[j].0, thread), expected);
                        let k = random.below(6);
                        let (b, c) = (&held[j].1, &held[k].1);
                        let expected = (0..threads).any(|t| held[i].1[t] > b[t].max(c[t]) && t != thread);
                        assert_eq!(clocks.exceeds_both(&held[i].0, &held[j].0, &held[k].0, thread), expected);
                    }
                }
                assert_eq!(clocks.get(&held[i].0, thread), held[i].1[thread]);
            }
            for (clock, plain) in held {
                (0..threads).for_each(|t| assert_eq!(clocks.get(&clock, t), plain[t]));
                clocks.release(clock);
            }
            let free = clocks.free.len() + FAN * clocks.free_leaves.len();
            assert_eq!(free, clocks.nodes.len() - FAN, "a node was leaked");
        }
    }
}
