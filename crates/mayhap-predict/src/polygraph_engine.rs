//! The engine `polygraph`: the flow of the polygraph paper, finished by a search.
//!
//! Slice, graph of the whole slice (`sync` is the paper's CSR, `data` its CDSR; `branch` works alike), rules 1 and 2 with
//! transitive paths, then the paper's two heuristics, then backtracking:
//! - *CP*: sections of one lock that hold conflicting accesses keep their observed order. This is rule (a) of causal
//!   precedence; what its rules (b) and (c) add, saturation derives from these edges. If a run then completes, it is a
//!   witness; if a cycle appears or the run gets stuck, the edges are taken back, since CP is no consequence.
//! - *Lookahead*: an option of an open choice is dropped if it is refuted whichever way up to `k` further choices go. The
//!   paper takes its failure for feasibility with k = threads. As printed that is wrong
//!   (`polygraph_lookahead_literal.std`: selections that are cyclic themselves must count as refuted), and for the repaired
//!   reading no proof is known, so here it only prunes, and the search decides.
//!
//! Other than `exact` and `auto` it works on the whole slice, so it costs what the slice is large.

use mayhap_witness::{Checker, Model, Target};

use crate::closure::Edge;
use crate::context::Context;
use crate::counters::EngineCounters;
use crate::deciding::{decide, invalid_target};
use crate::guide::{Guide, MOST, look_ahead_once};
use crate::slice::Query;
use crate::solver::Solver;
use crate::verdict::{Budget, Engine, Verdict};

pub use crate::guide::Reading;

/// The engine.
pub struct PolygraphEngine<'c, 'a> {
    solver: Solver<'c, 'a>,
    checker: Checker<'a>,
}

impl<'c, 'a> PolygraphEngine<'c, 'a> {
    /// Creates an engine for a trace.
    pub fn new(context: &'c Context<'a>) -> Self {
        let mut solver = Solver::new(context);
        solver.local = false;
        solver.guide = Some(Guide { lookahead: context.relations.threads().min(MOST) });
        PolygraphEngine { solver, checker: Checker::new(context.execution) }
    }
}

impl Engine for PolygraphEngine<'_, '_> {
    fn name(&self) -> &'static str {
        "polygraph"
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

/// Whether saturation, or else `k`-lookahead on top of it, finds the query's whole slice contradictory: what the paper's
/// method would answer.
pub fn lookahead_finds_cycle(context: &Context, query: &Query, model: Model, k: usize, reading: Reading) -> bool {
    let mut solver = Solver::new(context).on_whole_slice();
    let Some(mut graph) = solver.whole_graph(query, model) else { return true };
    let mut effort = u64::MAX;
    let mut run = || {
        graph.saturate()?;
        while k > 0 && look_ahead_once(&mut graph, k, reading, &mut effort)? {}
        Ok::<(), Edge>(())
    };
    run().is_err()
}
