//! From a target to a verdict: the part that all engines built on the [`Solver`] share.

use mayhap_trace::{EventId, Mode};
use mayhap_witness::{Checker, Model, Target};

use crate::budget::Remaining;
use crate::context::Context;
use crate::queries::decide_queries;
use crate::solver::Solver;
use crate::unordered;
use crate::verdict::{Budget, Refutation, Rung, Undecided, Verdict};

/// Decides a target that [`invalid_target`] has nothing against. What is proven has passed the kernel.
pub(crate) fn decide(
    solver: &mut Solver,
    checker: &mut Checker,
    target: &Target,
    model: Model,
    budget: &Budget,
) -> Verdict {
    let mut remaining = Remaining::new(budget);
    match *target {
        Target::UnorderedRace(a, b) => unordered::decide(solver, checker, [a, b], model, &mut remaining),
        _ => decide_queries(solver, checker, target, model, &mut remaining),
    }
}

/// The verdict on a target that makes no sense, or that its own definition rules out.
pub(crate) fn invalid_target(context: &Context, target: &Target) -> Option<Verdict> {
    if let Err(error) = target.validate(context.execution) {
        return Some(Verdict::Unknown(Undecided { reason: error.to_string(), suspected: false, short: None }));
    }
    let Target::Deadlock(requests) = target else { return None };
    let blocked = |request: &EventId| {
        let event = context.trace.event(*request);
        requests.iter().filter(|&&other| other != *request).any(|&other| {
            let held = context.relations.locksets().get(context.relations.held(other));
            held.iter().any(|&(lock, mode)| {
                lock.index() == event.object as usize && !(mode == Mode::Shared && event.op.is_shared())
            })
        })
    };
    let free = requests.iter().find(|r| !blocked(r))?;
    let reason = format!("no thread of the cycle holds the lock that event {free} wants");
    Some(Verdict::Refuted(Refutation { rung: Rung::Lockset, reason, cycle: Vec::new(), premises: Vec::new() }))
}
