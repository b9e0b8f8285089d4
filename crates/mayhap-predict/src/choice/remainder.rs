//! What the decision by groups leaves open, decided exactly, one triplet at a time.
//!
//! The groups know program order, locks and what reads saw. They do not know that a changed thread passes its change on,
//! that several writes may store equal values, that a wait may be served by several notifies, or that an attempt failed
//! because a lock was held. So a schedule of theirs may not pass the kernel, and where values or waits leave a choice their
//! refutation is none. Those triplets go to the [`Solver`], which knows all of it.
//!
//! Cost: one question to the solver for each kind of such a triplet.

use std::sync::OnceLock;

use mayhap_trace::{EventId, Execution, Op, Trace};
use mayhap_witness::{Checker, Model, Schedule, Target};

use super::answers::Plan;
use crate::budget::Remaining;
use crate::context::Context;
use crate::judge::Kernel;
use crate::slice::Query;
use crate::solver::{Solved, Solver};
use crate::{Budget, Rung};

/// The tables of the solver, made when the first triplet is left open.
pub(super) struct Tables<'a> {
    trace: &'a Trace,
    execution: &'a Execution<'a>,
    model: Model,
    context: OnceLock<Context<'a>>,
    has_alternatives: OnceLock<bool>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(execution: &'a Execution<'a>, model: Model) -> Self {
        let trace = execution.trace();
        Tables { trace, execution, model, context: OnceLock::new(), has_alternatives: OnceLock::new() }
    }

    fn context(&self) -> &Context<'a> {
        self.context.get_or_init(|| Context::new(self.execution))
    }

    /// Something could be served in more than one way, so that a refutation by groups proves nothing.
    pub(super) fn has_alternatives(&self) -> bool {
        *self.has_alternatives.get_or_init(|| {
            let plain = self.trace.columns().flags.is_empty()
                && !self.trace.has_values()
                && self.trace.tables().condition_kinds.is_empty();
            let attempts = || self.trace.columns().ops.iter().any(|op| op.is_failed_attempt());
            (!plain || attempts()) && self.context().has_alternatives(self.model)
        })
    }
}

/// How a question to the solver ended.
pub(super) enum Settled {
    Plan(Plan),
    Refuted(Rung),
    Unknown,
}

/// The solver and the kernel for what is left open.
pub(super) struct Remainder<'t, 'a> {
    context: &'t Context<'a>,
    solver: Solver<'t, 'a>,
    checker: Checker<'a>,
    model: Model,
    budget: Budget,
}

impl<'t, 'a> Remainder<'t, 'a> {
    pub(super) fn new(tables: &'t Tables<'a>, budget: Budget) -> Self {
        let context = tables.context();
        let mut solver = Solver::new(context);
        solver.ladder = true;
        let checker = Checker::new(tables.execution);
        Remainder { context, solver, checker, model: tables.model, budget }
    }

    /// Kind 0: the write that the read saw runs, and the other one after it. Kind 1: it does not run.
    pub(super) fn decide(&mut self, read: EventId, other: Option<EventId>, kind: usize) -> Settled {
        let write = self.context.relations.read_from(read);
        let query = Query { next: vec![read], run: other.into_iter().collect(), ..Query::default() };
        let query = match (kind, write, other) {
            (0, Some(write), Some(other)) => Query { run: vec![write, other], edges: vec![(write, other)], ..query },
            (0, None, Some(_)) => query,
            (1, Some(write), _) => Query { displaced: Some((write, None)), ..query },
            _ => return Settled::Refuted(Rung::MustOrder),
        };
        self.solve(&query, &Target::Nondeterminism { write, read, other })
    }

    /// A schedule after which the read sees exactly this write.
    pub(super) fn sees(&mut self, read: EventId, other: EventId) -> Option<Plan> {
        let context = self.context;
        let event = context.trace.event(other);
        debug_assert_eq!(event.op, Op::Write);
        let writes = context.accesses.writes_of(event.variable()?).flat_map(|(_, writes)| writes);
        let edges = writes.filter(|&&write| write != other).map(|&write| (write, other)).collect();
        let query = Query { next: vec![read], run: vec![other], edges, ..Query::default() };
        let write = context.relations.read_from(read);
        let target = match write == Some(other) {
            true => return None,
            false => Target::Nondeterminism { write, read, other: Some(other) },
        };
        match self.solve(&query, &target) {
            Settled::Plan(plan) => Some(plan),
            _ => None,
        }
    }

    fn solve(&mut self, query: &Query, target: &Target) -> Settled {
        let Remainder { context, solver, checker, model, budget } = self;
        let mut remaining = Remaining::new(budget);
        let mut refuted = Rung::MustOrder;
        for query in query.clone().with_stops(context) {
            let mut kernel = Kernel { checker: &mut *checker, target, model: *model, accepted: None };
            match solver.solve(&query, *model, &mut remaining, &mut kernel) {
                Solved::Schedule(schedule, rung) => return Settled::Plan(plan(context, &schedule, rung)),
                Solved::Refuted(refutation) => refuted = refuted.max(refutation.rung),
                Solved::Spent(_) | Solved::Rejected(_) => return Settled::Unknown,
            }
        }
        Settled::Refuted(refuted)
    }
}

/// Returns a schedule as a plan: as long as it follows the observed order, it is a set.
fn plan(context: &Context, schedule: &Schedule, rung: Rung) -> Plan {
    let mut ideal = vec![0; context.relations.threads()];
    let mut tail = Vec::new();
    let mut last: Option<EventId> = None;
    for event in schedule.iter() {
        if tail.is_empty() && last < Some(event) {
            ideal[context.thread(event)] += 1;
            last = Some(event);
        } else {
            tail.push(event);
        }
    }
    Plan { ideal, tail, rung }
}
