//! Decides the queries that a target consists of, and passes what is found to the kernel.

use mayhap_witness::{Checker, Model, Target, Witness};

use crate::budget::Remaining;
use crate::judge::Kernel;
use crate::slice::Query;
use crate::solver::{Solved, Solver};
use crate::verdict::{Undecided, Verdict};

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
    let mut kernel = Kernel { checker: &mut *checker, target, model, accepted: None };
    let solved = solver.solve(query, model, remaining, &mut kernel);
    let rejection = match (solved, kernel.accepted) {
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
    Verdict::Unknown(Undecided { reason, suspected: false, short: None })
}
