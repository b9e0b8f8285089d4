//! UCG: the universal causality graph (Kahlon, Wang, CAV 2010), as the polygraph paper uses it for comparison. Engine `ucg`.
//!
//! Computes: must-order over the events that must run, plus the lock orders that follow from it (rule 1: acquire 1 before
//! release 2 puts release 1 before acquire 2), closed transitively. A cycle refutes. No cycle means "reachable" to UCG,
//! which never searches; for three or more threads, and wherever values decide, that is a guess, so it is reported as
//! suspected and never as proven.
//!
//! Model: it looks at synchronisation alone (`sync`). What is impossible there is impossible in `branch` and `data`.
//!
//! Deviation: a section that the target leaves open may stay open or be closed; both ways must contradict.
//!
//! What an answer proves: Refuted — every way to leave sections open has a cycle. It never proves.
//!
//! Cost: O(n·k·log n) for `n` events in `k` threads plus what the rule adds.

use mayhap_trace::Execution;
use mayhap_witness::{Model, Target};

use crate::seqcheck::{Clash, Index, Outcome, Plan, Want, decide, no_cycle, refuted};
use crate::{Budget, Engine, EngineCounters, Undecided, Verdict};

/// Ways to leave sections open that are tried at most.
const CASES: u64 = 64;

/// The engine `ucg`.
pub struct Ucg<'a> {
    index: Index<'a>,
    questions: u64,
    cycles: u64,
    suspected: u64,
}

impl<'a> Ucg<'a> {
    /// Creates an engine for one trace.
    pub fn new(execution: &'a Execution<'a>) -> Self {
        Ucg { index: Index::new(execution), questions: 0, cycles: 0, suspected: 0 }
    }
}

impl Engine for Ucg<'_> {
    fn name(&self) -> &'static str {
        "ucg"
    }

    fn decide(&mut self, target: &Target, _model: Model, budget: &Budget) -> Verdict {
        self.questions += 1;
        let open = |reason: String, suspected| Verdict::Unknown(Undecided { reason, suspected, short: None });
        if let Err(error) = target.validate(self.index.execution) {
            return open(error.to_string(), false);
        }
        if let Some(refutation) = no_cycle(&self.index, target) {
            return Verdict::Refuted(refutation);
        }
        let Some(plans) = Plan::of_target(&self.index, target, Model::Sync) else {
            return open("ucg knows no values, so it has no answer about what a read sees".to_string(), false);
        };
        let mut clashes = Vec::new();
        for plan in &plans {
            let outcome = match plan.least_cut(&self.index, Model::Sync) {
                Err(overrun) => Outcome::Impossible(Clash::Overrun(overrun.event)),
                Ok(cut) => decide(&self.index, plan, cut, Want::NoContradiction, budget.nodes.min(CASES)),
            };
            if let Outcome::Impossible(clash) = outcome {
                clashes.push(clash);
            }
        }
        if clashes.len() == plans.len() {
            self.cycles += 1;
            return Verdict::Refuted(refuted(&self.index, clashes.swap_remove(0)));
        }
        self.suspected += 1;
        open("the causality graph has no cycle, which proves nothing for three or more threads".to_string(), true)
    }

    fn counters(&self) -> EngineCounters {
        let figures = vec![("questions", self.questions), ("cycles", self.cycles), ("suspected", self.suspected)];
        EngineCounters { figures }
    }
}
