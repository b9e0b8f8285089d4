//! The kernel against the oracle and a second opinion, over generated traces.
//!
//! Every oracle witness of every target is accepted, in its model and in the more lenient ones. Of every single-step
//! mutation of a witness (two neighbours swapped, an event dropped, repeated, a foreign one put in or in its place) the
//! kernel says what [`Judge`] says, which is written apart from it. One test a profile, so that they run side by side.

use mayhap_testkit::{Generator, Judge, Oracle, Profile, Random, cases, golden, targets};
use mayhap_trace::{EventId, Relations, Trace};
use mayhap_witness::{Checker, Kind, Model, Target, Witness};

#[derive(Default, Debug)]
struct Tally {
    traces: usize,
    /// Witnesses by kind of target.
    witnesses: [usize; 5],
    mutants: usize,
    /// Mutants that are correct reorderings reaching the target after all.
    alive: usize,
}

struct Bench<'a> {
    name: String,
    trace: &'a Trace,
    checker: Checker<'a>,
    judge: Judge,
}

impl<'a> Bench<'a> {
    fn new(name: String, trace: &'a Trace, relations: &'a Relations) -> Self {
        Bench { name, trace, checker: Checker::new(trace, relations), judge: Judge::new(trace) }
    }

    /// All witnesses of all targets are accepted; one witness of each kind, in a model by turns, is mutated.
    fn run(&mut self, random: &mut Random, tally: &mut Tally) {
        tally.traces += 1;
        let kinds = Kind::ALL.map(|kind| (kind, targets(self.trace, kind)));
        for model in Model::ALL {
            let oracle = Oracle::new(self.trace, model).expect("generated traces are small");
            for (kind, targets) in &kinds {
                let mut witnesses = Vec::new();
                for target in targets {
                    if let Some(witness) = oracle.decide(target).expect("generated traces are small") {
                        self.accept(target, model, &witness);
                        witnesses.push((target, witness));
                    }
                }
                tally.witnesses[*kind as usize] += witnesses.len();
                let turn = (tally.traces + *kind as usize) % Model::ALL.len() == model as usize;
                if turn && !witnesses.is_empty() {
                    let (target, witness) = random.pick(&witnesses);
                    self.mutate(target, model, &witness.schedule, tally);
                }
            }
        }
    }

    fn accept(&mut self, target: &Target, model: Model, witness: &Witness) {
        let at = format!("{} {model} {target:?} {witness:?}", self.name);
        assert!(self.judge.accepts(target, model, &witness.schedule), "{at}: the second opinion is no");
        for lenient in Model::ALL.into_iter().filter(|&m| m >= model) {
            let checked = self.checker.check(target, lenient, witness.clone());
            checked.unwrap_or_else(|e| panic!("{at} rejected in {lenient}: {e}"));
        }
    }

    fn mutate(&mut self, target: &Target, model: Model, schedule: &[EventId], tally: &mut Tally) {
        for mutant in mutants(schedule, self.trace.len()) {
            let expected = self.judge.accepts(target, model, &mutant);
            let witness = Witness { schedule: mutant };
            let said = self.checker.check(target, model, witness.clone());
            assert_eq!(said.is_ok(), expected, "{} {model} {target:?} {witness:?}: {said:?}", self.name);
            tally.mutants += 1;
            tally.alive += usize::from(expected);
        }
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
    let share = cases(3000).div_ceil(Profile::all().len());
    for (seed, trace) in Generator::new(profile, 1_000_000).take(share) {
        let relations = Relations::derive(&trace).unwrap_or_else(|e| panic!("{name} {seed}: {e}"));
        Bench::new(format!("{name} {seed}"), &trace, &relations).run(&mut random, &mut tally);
    }
    println!("{name}: {tally:?}");
    assert!(tally.mutants > 1000 && tally.alive > 0 && tally.alive < tally.mutants, "{tally:?}");
    let accesses = [Kind::Race, Kind::Atomicity, Kind::Order, Kind::Nondeterminism];
    assert!(accesses.iter().all(|&kind| tally.witnesses[kind as usize] > 0), "{tally:?}");
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
            let names: Vec<&str> = Profile::all().iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($profile)),*]);
        }
    };
}

campaigns! { races nested deadlocks non_nested reentrant readers fork_join conditions branches everything }

#[test]
fn regressions_and_golden_cases() {
    let mut tally = Tally::default();
    let golden = golden::cases().into_iter().filter(|case| case.trace.len() <= 12).map(|case| (case.name, case.trace));
    for (name, trace) in golden::regressions().into_iter().chain(golden) {
        let relations = Relations::derive(&trace).unwrap_or_else(|e| panic!("{name}: {e}"));
        Bench::new(name, &trace, &relations).run(&mut Random::new(7), &mut tally);
    }
    assert!(tally.traces > 20 && tally.witnesses.iter().all(|&n| n > 0), "{tally:?}");
}
