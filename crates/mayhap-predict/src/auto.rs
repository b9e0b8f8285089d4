//! The ladder: cheapest sufficient evidence first, exact at the end.
//!
//! 1. Must-order orders the events, or a common lock keeps their threads apart: refuted in constant time.
//! 2. The slice, from demand clocks: a target event among what must run before refutes it.
//! 3. The synchronisation-preserving ideal: if it stops short of the target, it is a witness in observed order.
//! 4. The reorderable region, its polygraph and saturation: a cycle refutes, a run close to the observed order proves.
//! 5. Search with backtracking, to its end or that of the budget.
//!
//! Rungs 2, 4 and 5 are the [`Solver`]; this engine answers what [`crate::exact`] answers, sooner. The synchronisation-preserving
//! ideal (Mathur, Pavlogiannis, Viswanathan, POPL 2021) only ever proves: its failure means the next rung.
//!
//! Cost: O(threads²) for what rungs 1 to 3 settle, beside the length of the witness where they prove.

use mayhap_witness::{Checker, Model, Target};

use crate::context::Context;
use crate::counters::EngineCounters;
use crate::deciding::{decide, invalid_target};
use crate::solver::Solver;
use crate::verdict::{Budget, Engine, Refutation, Rung, Step, Verdict, Why};

/// The engine `auto`.
pub struct Auto<'c, 'a> {
    solver: Solver<'c, 'a>,
    checker: Checker<'a>,
}

impl<'c, 'a> Auto<'c, 'a> {
    /// Creates an engine for a trace.
    pub fn new(context: &'c Context<'a>) -> Self {
        let mut solver = Solver::new(context);
        solver.ladder = true;
        Auto { solver, checker: Checker::new(context.execution) }
    }

    /// Looks for contradictions near the target where more events than these would have to be reordered. A matter of speed alone;
    /// tests take few.
    pub fn refuting_nearby(mut self, events: u32) -> Self {
        self.solver.small = events;
        self
    }

    /// Searches over states once so many ways to serve events were tried. A matter of speed alone; tests take few.
    pub fn searching_states_after(mut self, ways: u64) -> Self {
        self.solver.ways = ways;
        self
    }
}

/// What must-order and locksets say against a race.
fn refute_race(context: &Context, target: &Target) -> Option<Refutation> {
    let Target::Race(a, b) = *target else { return None };
    let (trace, relations) = context.execution.parts();
    let (first, second) = (a.min(b), a.max(b));
    if relations.ordered(trace, first, second) {
        let reason = format!("program order, fork, join or notify order event {first} before event {second}");
        let cycle = vec![
            Step { before: first, after: second, why: Why::Demand },
            Step { before: second, after: first, why: Why::Target },
        ];
        return Some(Refutation { rung: Rung::MustOrder, reason, cycle, premises: Vec::new() });
    }
    let lock = relations.locksets().common(relations.held(a), relations.held(b))?;
    let reason = format!("both threads hold lock {}", trace.tables().locks.get(lock.index()));
    Some(Refutation { rung: Rung::Lockset, reason, cycle: Vec::new(), premises: Vec::new() })
}

impl Engine for Auto<'_, '_> {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        let context = self.solver.context;
        if let Some(verdict) = invalid_target(context, target) {
            return verdict;
        }
        match refute_race(context, target) {
            Some(refutation) => Verdict::Refuted(refutation),
            None => decide(&mut self.solver, &mut self.checker, target, model, budget),
        }
    }

    fn explain(&mut self) {
        self.solver.explain = true;
    }

    fn counters(&self) -> EngineCounters {
        self.solver.counters()
    }

    fn work(&self) -> u64 {
        self.solver.counts.work
    }
}
