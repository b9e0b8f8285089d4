//! The kernel accepts every witness of the oracle, for all five kinds of targets and all models.

use mayhap_testkit::{Generator, Oracle, Profile, cases};
use mayhap_trace::{EventId, Relations, Trace};
use mayhap_witness::{Checker, Model, Target};

/// All targets of a small trace that make sense.
fn targets(trace: &Trace, oracle: &Oracle) -> Vec<Target> {
    let accesses: Vec<EventId> = trace.events().filter(|(_, e)| e.op.is_access()).map(|(id, _)| id).collect();
    let mut targets: Vec<Target> = oracle.all_races().into_iter().map(|(a, b)| Target::Race(a, b)).collect();
    targets.extend(oracle.all_deadlocks().into_iter().map(Target::Deadlock));
    for (write, read, other) in oracle.triplets() {
        targets.push(Target::Nondeterminism { write, read, other });
    }
    for &x in &accesses {
        for &y in &accesses {
            if x != y {
                targets.push(Target::Sequence { events: vec![x, y], adjacent: vec![(x, y)] });
            }
            for &z in &accesses {
                targets.push(Target::Atomicity { first: x, remote: y, second: z });
            }
        }
    }
    targets
}

#[test]
fn oracle_witnesses_are_accepted() {
    let mut accepted = [0; 5];
    for (name, profile) in Profile::all() {
        for (seed, trace) in Generator::new(profile, 1000).take(cases(500) / 10) {
            let relations = Relations::derive(&trace).unwrap();
            let mut checker = Checker::new(&trace, &relations);
            for model in Model::ALL {
                let oracle = Oracle::new(&trace, model).unwrap();
                for target in targets(&trace, &oracle) {
                    if target.validate(&trace, &relations).is_err() {
                        continue;
                    }
                    if let Some(witness) = oracle.decide(&target).unwrap() {
                        accepted[target.kind() as usize] += 1;
                        let checked = checker.check(&target, model, witness.clone());
                        checked.unwrap_or_else(|e| panic!("{name} {seed} {model} {target:?} {witness:?}: {e}"));
                    }
                }
            }
        }
    }
    assert!(accepted.iter().all(|&n| n > 20), "{accepted:?}");
}
