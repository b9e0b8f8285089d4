//! A partial order on events, kept closed while edges come in, with everything undoable.
//!
//! Each event has a row: for each thread, how many of its events come before. Program order makes the successors of an
//! event a suffix of every thread, so an insertion raises one suffix a thread and stops at the first row that is above
//! the source already. This is the vector-clock closure that the nondeterminism paper recommends (Sinha, Malik, Gupta,
//! section III.C); we add the log, so that "per witness insert and undo" costs what the witness changed.
//!
//! Invariants: rows are closed transitively; along a thread they only grow; a thread's own entry is the event's rank.
//! Cost: a question O(1); an insertion O(threads x rows changed + threads x log events); undo O(cells changed).

/// An event by its thread and its rank in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    pub(super) thread: usize,
    pub(super) rank: u32,
}

/// Rows of one thread, from `first` up to but without `end`, that an insertion raised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) thread: usize,
    pub(super) first: u32,
    pub(super) end: u32,
}

/// One undoable step.
enum Change {
    Cell { thread: u32, cell: u32, old: u32 },
    Grown { thread: u32 },
}

/// A point in the log to come back to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark(usize);

/// The closed order.
pub(super) struct Order {
    threads: usize,
    /// The rank of each thread's first row.
    low: Vec<u32>,
    rows: Vec<Vec<u32>>,
    log: Vec<Change>,
    /// The source's row while an insertion runs.
    source: Vec<u32>,
    spans: Vec<Span>,
}

impl Order {
    /// An order without events over threads whose rows begin at the ranks `low`.
    pub(super) fn new(low: Vec<u32>) -> Self {
        let threads = low.len();
        Order {
            threads,
            low,
            rows: vec![Vec::new(); threads],
            log: Vec::new(),
            source: vec![0; threads],
            spans: Vec::new(),
        }
    }

    /// Forgets all events and the log, and starts anew at the ranks `low`, keeping the memory.
    pub(super) fn reset(&mut self, low: &[u32]) {
        self.low.copy_from_slice(low);
        self.rows.iter_mut().for_each(Vec::clear);
        self.log.clear();
    }

    /// Appends closed rows to an order without edges of its own; this is not undone. Each row is raised to `floor`, which
    /// leaves it closed because everything below is before everything.
    pub(super) fn fill(&mut self, thread: usize, rows: &[u32], floor: Option<&[u32]>) {
        let begin = self.rows[thread].len();
        self.rows[thread].extend_from_slice(rows);
        if let Some(floor) = floor {
            for row in self.rows[thread][begin..].chunks_exact_mut(self.threads) {
                row.iter_mut().zip(floor).for_each(|(cell, &low)| *cell = (*cell).max(low));
            }
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the rank after the last row of a thread.
    #[inline]
    pub(super) fn end(&self, thread: usize) -> u32 {
        self.low[thread] + (self.rows[thread].len() / self.threads) as u32
    }

    /// How many events of each thread come before.
    #[inline]
    pub(super) fn row(&self, point: Point) -> &[u32] {
        let at = (point.rank - self.low[point.thread]) as usize * self.threads;
        &self.rows[point.thread][at..at + self.threads]
    }

    /// `a` comes before `b`, which must have a row.
    #[inline]
    pub(super) fn before(&self, a: Point, b: Point) -> bool {
        self.row(b)[a.thread] > a.rank
    }

    /// Appends the next event of a thread; `row` says what is known to come before it, closed but for program order.
    pub(super) fn grow(&mut self, thread: usize, row: &[u32]) {
        let rank = self.end(thread);
        let last = self.rows[thread].len().checked_sub(self.threads);
        for (t, &count) in row.iter().enumerate() {
            let before = last.map_or(0, |at| self.rows[thread][at + t]);
            let count = if t == thread { rank } else { count.max(before) };
            self.rows[thread].push(count);
        }
        self.log.push(Change::Grown { thread: thread as u32 });
    }

    /// The rank of the first event of `thread` that comes after `point`; [`Self::end`] where there is none.
    pub(super) fn first_after(&self, point: Point, thread: usize) -> u32 {
        if thread == point.thread {
            return point.rank + 1;
        }
        let (rows, k) = (&self.rows[thread], self.threads);
        let (mut low, mut high) = (0, rows.len() / k);
        while low < high {
            let middle = (low + high) / 2;
            if rows[middle * k + point.thread] > point.rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.low[thread] + low as u32
    }

    /// Puts `a` before `b`, both with rows. `false`, and nothing done, if that closes a cycle.
    pub(super) fn insert(&mut self, a: Point, b: Point) -> bool {
        self.spans.clear();
        if a == b || self.before(b, a) {
            return false;
        }
        if self.before(a, b) {
            return true;
        }
        let mut source = std::mem::take(&mut self.source);
        source.copy_from_slice(self.row(a));
        source[a.thread] = a.rank + 1;
        for thread in 0..self.threads {
            let first = if thread == b.thread { b.rank } else { self.first_after(b, thread) };
            self.raise(thread, first, &source);
        }
        self.source = source;
        true
    }

    /// Returns what the last insertion raised.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    fn raise(&mut self, thread: usize, first: u32, source: &[u32]) {
        let k = self.threads;
        let start = (first - self.low[thread]) as usize * k;
        let rows = &mut self.rows[thread];
        let mut at = start;
        while at < rows.len() {
            let mut changed = false;
            for (t, &count) in source.iter().enumerate() {
                if count > rows[at + t] {
                    debug_assert_ne!(t, thread, "an event may not come before itself");
                    let (thread, cell) = (thread as u32, (at + t) as u32);
                    self.log.push(Change::Cell { thread, cell, old: rows[at + t] });
                    rows[at + t] = count;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
            at += k;
        }
        if at > start {
            self.spans.push(Span { thread, first, end: self.low[thread] + (at / k) as u32 });
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Takes back everything since `mark`.
    pub(super) fn undo(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            match self.log.pop() {
                Some(Change::Cell { thread, cell, old }) => self.rows[thread as usize][cell as usize] = old,
                Some(Change::Grown { thread }) => {
                    let rows = &mut self.rows[thread as usize];
                    rows.truncate(rows.len() - self.threads);
                }
                None => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mayhap_testkit::Random;

    use super::*;

    /// The same order as an adjacency matrix, closed anew for each question.
    fn reachable(edges: &[(usize, usize)], n: usize) -> Vec<Vec<bool>> {
        let mut reach = vec![vec![false; n]; n];
        edges.iter().for_each(|&(a, b)| reach[a][b] = true);
        for middle in 0..n {
            for a in 0..n {
                for b in 0..n {
                    reach[a][b] |= reach[a][middle] && reach[middle][b];
                }
            }
        }
        reach
    }

    #[test]
    fn insertions_and_undos_equal_a_closure_from_scratch() {
        let (threads, length) = (3, 5);
        let n = threads * length;
        let point = |e: usize| Point { thread: e / length, rank: (e % length) as u32 };
        let program: Vec<(usize, usize)> = (0..n).filter(|e| e % length > 0).map(|e| (e - 1, e)).collect();
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let mut order = Order::new(vec![0; threads]);
            (0..threads).for_each(|t| (0..length).for_each(|_| order.grow(t, &vec![0; threads])));
            let mut edges = program.clone();
            let mut marks = Vec::new();
            for _ in 0..20 {
                if random.percent(25)
                    && let Some((mark, count)) = marks.pop()
                {
                    order.undo(mark);
                    edges.truncate(count);
                } else {
                    marks.push((order.mark(), edges.len()));
                    let (a, b) = (random.below(n), random.below(n));
                    let cyclic = a == b || reachable(&edges, n)[b][a];
                    assert_eq!(order.insert(point(a), point(b)), !cyclic, "seed {seed}");
                    if !cyclic {
                        edges.push((a, b));
                    }
                }
                let reach = reachable(&edges, n);
                for (a, row) in reach.iter().enumerate() {
                    for (b, &path) in row.iter().enumerate() {
                        assert_eq!(order.before(point(a), point(b)), path, "seed {seed}: {a} before {b}");
                    }
                }
            }
        }
    }
}
