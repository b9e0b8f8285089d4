//! The kernel against the oracle and a second opinion, over generated traces.
//!
//! Every oracle witness of every target is accepted, in its model and in the more lenient ones. Of every single-step
//! mutation of a witness (two neighbours swapped, an event dropped, repeated, a foreign one put in or in its place) the
//! kernel agrees with [`Judge`], which is written independently. There is one test per profile, so that they run in parallel.

use mayhap_testkit::shrink::keep;
use mayhap_testkit::{Generator, Judge, Oracle, Profile, Random, cases, golden, targets};
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::{Checker, Kind, Model, Target, Witness};

#[derive(Default, Debug)]
struct Tally {
    traces: usize,
    /// Witnesses by kind of target.
    witnesses: [usize; Kind::ALL.len()],
    /// Witnesses of races by happens-before, and among them those whose accesses cannot both be next.
    unordered: [usize; 2],
    mutants: usize,
    /// Mutants that are correct reorderings reaching the target after all.
    alive: usize,
}

struct Bench<'a> {
    trace: &'a Trace,
    checker: Checker<'a>,
    judge: Judge,
}

/// All witnesses of all targets are accepted; one witness of each kind, in each model in turn, is mutated.
fn judge(trace: &Trace, random: &mut Random, tally: &mut Tally) -> Result<(), String> {
    let execution = Execution::derive(trace).map_err(|e| e.to_string())?;
    let mut bench = Bench { trace, checker: Checker::new(&execution), judge: Judge::new(trace) };
    let kinds = Kind::ALL.map(|kind| (kind, targets(trace, kind)));
    tally.traces += 1;
    for model in Model::ALL {
        let oracle = Oracle::new(trace, model).expect("generated traces are small");
        for (kind, targets) in &kinds {
            let mut witnesses = Vec::new();
            for target in targets {
                if let Some(witness) = oracle.decide(target).expect("generated traces are small") {
                    bench.accept(target, model, &witness)?;
                    if let Target::UnorderedRace(a, b) = *target {
                        tally.unordered[usize::from(oracle.both_next(a, b).is_none())] += 1;
                    }
                    witnesses.push((target, witness));
                }
            }
            tally.witnesses[*kind as usize] += witnesses.len();
            let turn = (tally.traces + *kind as usize) % Model::ALL.len() == model as usize;
            if turn && !witnesses.is_empty() {
                let (target, witness) = random.pick(&witnesses);
                bench.mutate(target, model, &witness.schedule.iter().collect::<Vec<_>>(), tally)?;
            }
        }
    }
    Ok(())
}

impl Bench<'_> {
    fn accept(&mut self, target: &Target, model: Model, witness: &Witness) -> Result<(), String> {
        let about = |what: String| format!("{model} {target:?} {witness:?}: {what}");
        if !self.judge.accepts(target, model, &witness.schedule.iter().collect::<Vec<_>>()) {
            return Err(about("the second opinion is no".to_string()));
        }
        for lenient in Model::ALL.into_iter().filter(|&m| model.implies(m)) {
            let checked = self.checker.check(target, lenient, witness.clone());
            checked.map_err(|e| about(format!("rejected in {lenient}: {e}")))?;
        }
        Ok(())
    }

    fn mutate(&mut self, target: &Target, model: Model, schedule: &[EventId], tally: &mut Tally) -> Result<(), String> {
        for mutant in mutants(schedule, self.trace.len()) {
            let expected = self.judge.accepts(target, model, &mutant);
            let witness = Witness { schedule: mutant.into() };
            let said = self.checker.check(target, model, witness.clone());
            if said.is_ok() != expected {
                return Err(format!("{model} {target:?} {witness:?}: {said:?}, not {expected}"));
            }
            tally.mutants += 1;
            tally.alive += usize::from(expected);
        }
        Ok(())
    }
}

/// All single-step mutations. The event past the end stands for those that the trace does not have.
fn mutants(schedule: &[EventId], events: usize) -> Vec<Vec<EventId>> {
    let n = schedule.len();
    let mut mutants = Vec::new();
    let mut edit = |change: &dyn Fn(&mut Vec<EventId>)| {
        let mut mutant = schedule.to_vec();
        change(&mut mutant);
        mutants.push(mutant);
    };
    (1..n).for_each(|i| edit(&|s| s.swap(i - 1, i)));
    (0..n).for_each(|i| edit(&|s| _ = s.remove(i)));
    for event in (0..=events).map(EventId::at) {
        // An event of the schedule put in is a duplicate, any other a foreign one.
        (0..=n).for_each(|i| edit(&|s| s.insert(i, event)));
        (0..n).filter(|&i| schedule[i] != event).for_each(|i| edit(&|s| s[i] = event));
    }
    mutants
}

/// The profile's share of the cases.
fn campaign(name: &str, profile: Profile) {
    let mut tally = Tally::default();
    let mut random = Random::new(7);
    let share = cases(3000).div_ceil(Profile::every().len());
    for (seed, trace) in Generator::new(profile, 1_000_000).take(share) {
        if let Err(why) = judge(&trace, &mut random, &mut tally) {
            let fails = |t: &Trace| (0..9).any(|s| judge(t, &mut Random::new(s), &mut Tally::default()).is_err());
            let why = format!("kernel, {name} {seed}: {why}");
            panic!("{}", keep(&format!("kernel_{name}_{seed}"), &why, &trace, fails));
        }
    }
    println!("{name}: {tally:?}");
    assert!(tally.mutants > 1000 && tally.alive > 0 && tally.alive < tally.mutants, "{tally:?}");
    let accesses = [Kind::Race, Kind::Atomicity, Kind::Order, Kind::Nondeterminism];
    assert!(accesses.iter().all(|&kind| tally.witnesses[kind as usize] > 0), "{tally:?}");
    assert!(name != "values" || tally.witnesses[Kind::UseAfterFree as usize] > 0, "{tally:?}");
    assert!(name != "atomics" || tally.unordered[1] > 0, "{tally:?}");
    assert!(name != "deadlocks" || tally.witnesses[Kind::Deadlock as usize] > 0, "{tally:?}");
}

macro_rules! campaigns {
    ($($profile:ident)*) => {
        $(#[test]
        fn $profile() {
            campaign(stringify!($profile), Profile::$profile());
        })*

        #[test]
        fn no_profile_is_left_out() {
            let names: Vec<&str> = Profile::every().iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($profile)),*]);
        }
    };
}

campaigns! {
    races nested deadlocks non_nested reentrant readers fork_join conditions branches everything
    values atomics attempts waits programs
}

#[test]
fn regressions_and_golden_cases() {
    let mut tally = Tally::default();
    let golden = golden::cases().into_iter().filter(|case| case.trace.len() <= 12).map(|case| (case.name, case.trace));
    for (name, trace) in golden::regressions().into_iter().chain(golden) {
        judge(&trace, &mut Random::new(7), &mut tally).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    // None of these traces frees memory.
    let asked = Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::UseAfterFree | Kind::DoubleFree));
    assert!(tally.traces > 20 && asked.into_iter().all(|&kind| tally.witnesses[kind as usize] > 0), "{tally:?}");
}
