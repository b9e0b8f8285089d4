//! The ladder: cheapest sufficient evidence first, exact at the end.
//!
//! 1. Must-order orders the events, or a common lock keeps their threads apart: refuted in constant time.
//! 2. The slice, from demand clocks: a target event among what must run before refutes it.
//! 3. The synchronisation-preserving ideal: if it stops short of the target, it is a witness in observed order.
//! 4. The late region, its polygraph and saturation: a cycle refutes, a run close to the observed order proves.
//! 5. Search with backtracking, to its end or that of the budget.
//!
//! Rungs 2, 4 and 5 are [`crate::exact`]; this engine answers what that one answers, sooner. The synchronisation-preserving
//! ideal (Mathur, Pavlogiannis, Viswanathan, POPL 2021) only ever proves: its failure means the next rung.
//!
//! Cost: O(threads²) for what rungs 1 to 3 settle, beside the length of the witness where they prove.

use mayhap_witness::{Checker, Model, Target};

use crate::context::Context;
use crate::counters::EngineCounters;
use crate::exact::{Purse, Solved, Solver, senseless, verdict};
use crate::slice::{Query, Slice};
use crate::verdict::{Budget, Engine, Refutation, Rung, Step, Verdict, Why};

/// The engine `auto`.
pub struct Auto<'c, 'a> {
    solver: Solver<'c, 'a>,
    checker: Checker<'a>,
}

impl<'c, 'a> Auto<'c, 'a> {
    /// An engine for a trace.
    pub fn new(context: &'c Context<'a>) -> Self {
        Auto { solver: Solver::new(context), checker: Checker::new(context.trace, context.relations) }
    }

    fn solve(&mut self, query: &Query, model: Model, purse: &mut Purse) -> Solved {
        let context = self.solver.context;
        let slice = match Slice::of_query(context, query, model) {
            Ok(slice) => slice,
            Err(overrun) => return Solved::Refuted(overrun.refutation()),
        };
        match sync_preserving(context, query, &slice, model) {
            Some(ideal) => Solved::Schedule(ideal.in_observed_order(context), Rung::SyncPreserving),
            None => self.solver.solve_slice(query, slice, model, purse),
        }
    }
}

/// The ideal of the slice, where the query asks for no order of its own.
fn sync_preserving(context: &Context, query: &Query, slice: &Slice, model: Model) -> Option<Slice> {
    if !query.edges.is_empty() || query.final_event.is_some() {
        return None;
    }
    let ideal = slice.sync_preserving(context, model)?;
    let displaced = match query.displaced {
        Some((write, other)) if ideal.has(context, write) => other.is_some_and(|other| write < other),
        _ => true,
    };
    displaced.then_some(ideal)
}

/// What must-order and locksets say against a race.
fn refute_race(context: &Context, target: &Target) -> Option<Refutation> {
    let Target::Race(a, b) = *target else { return None };
    let (trace, relations) = (context.trace, context.relations);
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
        if let Some(verdict) = senseless(context, target) {
            return verdict;
        }
        if let Some(refutation) = refute_race(context, target) {
            return Verdict::Refuted(refutation);
        }
        let mut purse = Purse::new(budget);
        let mut solved = None;
        for query in Query::of_target(context, target, model) {
            let answer = self.solve(&query, model, &mut purse);
            let settled = !matches!(answer, Solved::Refuted(_));
            solved = Some(answer);
            if settled {
                break;
            }
        }
        verdict(&mut self.checker, target, model, solved.expect("a target has at least one query"))
    }

    fn explain(&mut self) {
        self.solver.explain = true;
    }

    fn counters(&self) -> EngineCounters {
        self.solver.counters()
    }
}
