//! The exact engine: complete for all targets in all models. It is the [`Solver`] as it is, without shortcuts.
//!
//! What an answer proves: Refuted is a proof; Proven has passed the kernel; Unknown means that the budget ran out, or that
//! two accesses can both run but no schedule was found in which happens-before leaves them unordered.

use mayhap_witness::{Checker, Model, Target};

use crate::context::Context;
use crate::counters::EngineCounters;
use crate::deciding::{decide, invalid_target};
use crate::solver::Solver;
use crate::verdict::{Budget, Engine, Verdict};

/// The engine `exact`.
pub struct Exact<'c, 'a> {
    solver: Solver<'c, 'a>,
    checker: Checker<'a>,
}

impl<'c, 'a> Exact<'c, 'a> {
    /// Creates an engine for a trace.
    pub fn new(context: &'c Context<'a>) -> Self {
        Exact { solver: Solver::new(context), checker: Checker::new(context.execution) }
    }
}

impl Engine for Exact<'_, '_> {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        invalid_target(self.solver.context, target)
            .unwrap_or_else(|| decide(&mut self.solver, &mut self.checker, target, model, budget))
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
