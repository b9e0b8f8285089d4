//! The incremental checker, going back and forth at random, against the checker on the same schedule from the start.

use mayhap_testkit::{Generator, Oracle, Profile, Random, cases};
use mayhap_trace::{EventId, Execution};
use mayhap_witness::{Checker, IncrementalChecker, Model, Target, Witness};

#[test]
fn incremental_equals_checking_from_the_start() {
    let (mut accepted, mut rejected) = (0, 0);
    for (name, profile) in Profile::every() {
        for (seed, trace) in Generator::new(profile, 0).take(cases(1000) / 15) {
            let execution = Execution::derive(&trace).unwrap();
            let model = Model::ALL[seed as usize % 5];
            let Ok(oracle) = Oracle::explore(&trace, Model::Sync, 20_000) else { continue };
            let mut targets: Vec<Target> = oracle.all_races().into_iter().map(|(a, b)| Target::Race(a, b)).collect();
            let unordered: Vec<Target> =
                targets.iter().map(|t| Target::UnorderedRace(t.events()[0], t.events()[1])).collect();
            targets.extend(unordered);
            targets.extend(oracle.all_deadlocks().into_iter().map(Target::Deadlock));
            let triplets = oracle.triplets().into_iter();
            targets.extend(triplets.map(|(write, read, other)| Target::Nondeterminism { write, read, other }));
            let mut random = Random::new(seed);
            let mut incremental = IncrementalChecker::new(&execution, model);
            let mut checker = Checker::new(&execution);
            for _ in 0..60 {
                if random.percent(15) {
                    incremental.rewind(random.below(incremental.schedule().len() + 1));
                }
                let event = EventId::at(random.below(trace.len() + 1));
                let mut schedule = incremental.schedule().to_vec();
                let ran = incremental.run(event);
                schedule.push(event);
                // A target that the schedule has anyway: only its steps are judged.
                let whole = Target::Sequence { events: vec![schedule[0]], adjacent: Vec::new() };
                let fresh = checker.check(&whole, model, Witness { schedule: schedule.into() });
                assert_eq!(ran.is_ok(), fresh.is_ok(), "{name} seed {seed}: {ran:?}, from the start {fresh:?}");
                match ran {
                    Ok(()) => accepted += 1,
                    Err(_) => rejected += 1,
                }
                for target in &targets {
                    let witness = Witness { schedule: incremental.schedule().into() };
                    let fresh = checker.check(target, model, witness);
                    assert_eq!(incremental.checked(target), fresh, "{name} seed {seed}");
                }
            }
        }
    }
    assert!(accepted > 1000 && rejected > 1000, "{accepted} accepted, {rejected} rejected");
}
