//! Refutes a question by the events near its target, without the rest of a long trace.
//!
//! Most questions with a large reorderable region have no answer, and the contradiction lies close to the target. The polygraph
//! of any part of the slice that is closed upwards in each thread holds constraints of the slice only: what leads out of the part
//! is dropped. So a cycle among them refutes the question, whatever the part leaves out. That it has an order says nothing.
//!
//! The parts go back from the target's first event by steps that grow. Cost: some small polygraphs where the region is large.

use mayhap_trace::EventId;

use crate::problem::Problem;
use crate::slice::{Query, Slice};
use crate::solver::{Solver, looking};
use crate::verdict::Refutation;

/// Where a part begins before the target's first event: so many events, by what part of a small region they are.
const BACK: [(usize, usize); 3] = [(1, 16), (1, 2), (4, 1)];

impl Solver<'_, '_> {
    /// A contradiction near the target of a question with a large region, if there is one. `most` bounds the parts.
    pub(crate) fn refute_nearby(
        &mut self,
        problem: &Problem,
        query: &Query,
        slice: &Slice,
        most: u32,
    ) -> Option<Refutation> {
        let small = self.small.min(most);
        if !self.local || slice.cut.iter().sum::<u32>() <= small {
            return None;
        }
        let mut slice = slice.clone();
        slice.settle(problem).ok()?;
        if self.region.find(problem, query, &slice, small) {
            return None;
        }
        self.counts.work += looking(small);
        let first = first_event(query)?.index();
        for (times, part) in BACK {
            let back = self.small as usize * times / part;
            self.region.since(problem, query, &slice, first.saturating_sub(back));
            if self.region.size(&slice) > most {
                return None;
            }
            self.build(problem, query, &slice);
            if let Err(edge) = self.graph.saturate() {
                return Some(self.impossible(Some(edge)));
            }
            if first <= back {
                return None;
            }
        }
        None
    }
}

/// The first event that a query speaks of.
fn first_event(query: &Query) -> Option<EventId> {
    let pairs = query.edges.iter().chain(&query.adjacent).flat_map(|&(x, y)| [x, y]);
    query.run.iter().chain(&query.next).chain(&query.last).copied().chain(pairs).min()
}
