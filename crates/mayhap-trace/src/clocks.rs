//! Must-order clocks that share what they have in common.
//!
//! A clock says, for each thread, how many of its events come before. Clocks only change where threads meet, and then in
//! few places, so they are kept as persistent trees of 16-entry nodes: a join copies only the paths that change, and a
//! lookup takes one step a level (one for up to 16 threads, four for 65,536).
//!
//! Hand-written: published vector-clock crates store one flat vector a clock.

const FAN: usize = 16;
const BITS: u32 = 4;

/// A clock in a [`ClockArena`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock(u32);

/// All clocks of one trace.
#[derive(Clone, Debug)]
pub struct ClockArena {
    /// Leaves hold counts, inner nodes hold node numbers; node 0 is all zero at every level.
    nodes: Vec<[u32; FAN]>,
    levels: u32,
}

impl ClockArena {
    /// Clocks over this many threads.
    pub fn new(threads: usize) -> Self {
        let mut levels = 1;
        while threads > FAN.pow(levels) {
            levels += 1;
        }
        ClockArena { nodes: vec![[0; FAN]], levels }
    }

    /// The clock before which nothing comes.
    pub const ZERO: Clock = Clock(0);

    /// How many events of `thread` come before.
    #[inline]
    pub fn get(&self, clock: Clock, thread: usize) -> u32 {
        let mut node = clock.0;
        for level in (0..self.levels).rev() {
            node = self.nodes[node as usize][(thread >> (level * BITS)) & (FAN - 1)];
        }
        node
    }

    /// The clock with at least `count` events of `thread` before.
    pub fn raise(&mut self, clock: Clock, thread: usize, count: u32) -> Clock {
        if self.get(clock, thread) >= count {
            return clock;
        }
        Clock(self.raise_at(clock.0, self.levels - 1, thread, count))
    }

    fn raise_at(&mut self, node: u32, level: u32, thread: usize, count: u32) -> u32 {
        let slot = (thread >> (level * BITS)) & (FAN - 1);
        let mut copy = self.nodes[node as usize];
        copy[slot] = if level == 0 { count } else { self.raise_at(copy[slot], level - 1, thread, count) };
        self.push(copy)
    }

    /// Returns the least clock above both; `a` or `b` itself where one is above the other.
    pub fn join(&mut self, a: Clock, b: Clock) -> Clock {
        Clock(self.join_at(a.0, b.0, self.levels - 1))
    }

    fn join_at(&mut self, a: u32, b: u32, level: u32) -> u32 {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        let (left, right) = (self.nodes[a as usize], self.nodes[b as usize]);
        let mut merged = [0; FAN];
        for slot in 0..FAN {
            merged[slot] =
                if level == 0 { left[slot].max(right[slot]) } else { self.join_at(left[slot], right[slot], level - 1) };
        }
        if merged == left {
            a
        } else if merged == right {
            b
        } else {
            self.push(merged)
        }
    }

    fn push(&mut self, node: [u32; FAN]) -> u32 {
        let index = u32::try_from(self.nodes.len()).expect("fewer clock nodes than 2^32 x 64 bytes of memory");
        self.nodes.push(node);
        index
    }

    /// Bytes of memory that all clocks take.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<[u32; FAN]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_take_the_larger_count_of_each_thread() {
        for threads in [3, 16, 17, 300, 5000] {
            let mut arena = ClockArena::new(threads);
            let a = arena.raise(ClockArena::ZERO, 0, 5);
            let a = arena.raise(a, threads - 1, 2);
            let b = arena.raise(ClockArena::ZERO, threads - 1, 7);
            let b = arena.raise(b, threads / 2, 1);
            let c = arena.join(a, b);
            let counts: Vec<u32> = [0, threads / 2, threads - 1].iter().map(|&t| arena.get(c, t)).collect();
            assert_eq!(counts, [5, 1, 7]);
            assert_eq!(arena.join(c, a), c);
            assert_eq!(arena.join(b, c), c);
            assert_eq!(arena.get(a, threads - 1), 2);
        }
    }
}
