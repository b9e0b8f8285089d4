//! From a target to a verdict: the part that all engines built on the [`Solver`] share.

use mayhap_trace::{EventId, Mode};
use mayhap_witness::{Checker, Model, Target, Witness};

use crate::budget::Remaining;
use crate::context::Context;
use crate::slice::Query;
use crate::solver::{Solved, Solver};
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

/// Decides the queries of a target: it is refuted if all of them are.
pub(crate) fn decide_queries(
    solver: &mut Solver,
    checker: &mut Checker,
    target: &Target,
    model: Model,
    remaining: &mut Remaining,
) -> Verdict {
    let mut verdict = None;
    for query in Query::of_target(solver.context, target, model) {
        let decided = decide_query(solver, checker, &query, target, model, remaining);
        let refuted = matches!(decided, Verdict::Refuted(_));
        verdict = Some(decided);
        if !refuted {
            break;
        }
    }
    verdict.expect("a target has at least one query")
}

fn decide_query(
    solver: &mut Solver,
    checker: &mut Checker,
    query: &Query,
    target: &Target,
    model: Model,
    remaining: &mut Remaining,
) -> Verdict {
    let mut accepted = None;
    let solved = solver.solve(query, model, remaining, &mut |schedule| {
        accepted = Some(checker.check(target, model, Witness { schedule: schedule.clone() })?);
        Ok(())
    });
    let rejection = match (solved, accepted) {
        (Solved::Refuted(refutation), _) => return Verdict::Refuted(refutation),
        (Solved::Spent(spent), _) => return spent.undecided(),
        (Solved::Schedule(_, rung), Some(checked)) => return Verdict::Proven(checked, rung),
        (Solved::Schedule(schedule, rung), None) => match checker.check(target, model, Witness { schedule }) {
            Ok(checked) => return Verdict::Proven(checked, rung),
            Err(rejection) => rejection,
        },
        (Solved::Rejected(rejection), _) => rejection,
    };
    debug_assert!(false, "the kernel rejects the schedule of {target:?} in {model}: {rejection}");
    let reason = format!("the schedule that was found did not pass the kernel: {rejection}");
    Verdict::Unknown(Undecided { reason, suspected: false })
}

/// The verdict on a target that makes no sense, or that its own definition rules out.
pub(crate) fn invalid_target(context: &Context, target: &Target) -> Option<Verdict> {
    if let Err(error) = target.validate(context.trace, context.relations) {
        return Some(Verdict::Unknown(Undecided { reason: error.to_string(), suspected: false }));
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
