//! What the searches counted.

use super::checks::Check;
use crate::EngineCounters;

/// Sums over all questions of one engine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IpaCounters {
    /// Pairs of events asked about.
    pub questions: u64,
    /// Answered by must-order of the two events.
    pub by_must_order: u64,
    /// Answered by a common lock.
    pub by_lockset: u64,
    /// Answered by a pair that an earlier search had reached, or an equal earlier target: no call.
    pub by_memory: u64,
    /// Calls of `do_search`, by the check that applied.
    pub by_check: [u64; 17],
    /// Calls that a caller made, not the search itself: start pairs and stored pairs.
    pub roots: u64,
    /// Recursive calls: moves from one pair to the next.
    pub moves: u64,
    /// Pairs visited.
    pub visited: u64,
    /// Default pairs where both branches were taken.
    pub both_branches: u64,
    /// Moves that a search of the whole grid between start and target would make, summed over the searches.
    pub potential_moves: u64,
    /// Searches that were also made from scratch, to compare.
    pub compared: u64,
    /// Calls that these took with what earlier searches left.
    pub compared_calls: u64,
    /// Calls that they took from scratch.
    pub fresh_calls: u64,
    /// Moves that they took from scratch.
    pub fresh_moves: u64,
    /// Successes that the kernel accepted.
    pub witnesses: u64,
    /// Successes for which no schedule was found.
    pub without_witness: u64,
}

impl IpaCounters {
    /// All calls of `do_search`.
    pub fn calls(&self) -> u64 {
        self.by_check.iter().sum()
    }

    pub(crate) fn count(&mut self, check: Check) {
        self.by_check[check as usize] += 1;
    }

    /// As named figures.
    pub fn figures(&self) -> EngineCounters {
        let mut figures = vec![
            ("questions", self.questions),
            ("by_must_order", self.by_must_order),
            ("by_lockset", self.by_lockset),
            ("by_memory", self.by_memory),
            ("calls.total", self.calls()),
        ];
        figures.extend(Check::ALL.map(|check| (check.counter(), self.by_check[check as usize])));
        figures.extend([
            ("roots", self.roots),
            ("moves", self.moves),
            ("visited_pairs", self.visited),
            ("both_branches", self.both_branches),
            ("potential_moves", self.potential_moves),
            ("compared.searches", self.compared),
            ("compared.incremental_calls", self.compared_calls),
            ("compared.non_incremental_calls", self.fresh_calls),
            ("compared.non_incremental_moves", self.fresh_moves),
            ("witnesses", self.witnesses),
            ("without_witness", self.without_witness),
        ]);
        EngineCounters { figures }
    }
}
