//! The default engine against programs: what it says of one recorded run must be true of the program.
//!
//! For each generated program one random run is recorded as the recorder would lower it. Every `proven` must be shown by an
//! execution of the program. Nothing may be `refuted` in `causal` that is reached by an execution which the run shows to be
//! possible. With a mistake in the recording both must be noticed. How many of the program's bugs one run suffices to
//! prove is printed.

mod common;

use std::collections::BTreeSet;

use mayhap_predict::{Auto, Budget, Context, Engine, Verdict};
use mayhap_testkit::program::{
    Claim, Facts, Failed, Lowered, Machine, Mistake, Profile, Program, ProgramJudge, Recording, Rules, explore,
    generate, lower, print_c, shrink,
};
use mayhap_testkit::{Random, cases};
use mayhap_trace::{EventId, Op, Relations, Trace};
use mayhap_witness::{Model, Target};

/// States that an exploration may visit.
const LIMIT: usize = 60_000;
/// The models that speak of programs.
const MODELS: [Model; 4] = [Model::Data, Model::Value, Model::Branch, Model::Causal];

/// What came of the questions about some programs.
#[derive(Default, Debug)]
struct Tally {
    programs: usize,
    too_big: usize,
    questions: usize,
    proven: usize,
    refuted: usize,
    unknown: usize,
    /// Verdicts that are not true of the program.
    wrong: Vec<String>,
    /// Bugs of the programs: races, deadlocks, nondeterministic reads.
    bugs: [usize; 3],
    /// Those that were proven, by model.
    found: [[usize; 3]; MODELS.len()],
}

/// Bugs by the statements that they are made of.
type Bugs = [BTreeSet<Vec<usize>>; 3];

/// One recorded run of a program.
struct Case {
    machine: Machine,
    recording: Recording,
    lowered: Lowered,
    /// What is true of the program.
    facts: Facts,
}

impl Case {
    /// Records a run and explores the program. None if it is too big.
    fn new(program: &Program, seed: u64) -> Result<Case, Failed> {
        let machine = Machine::new(program);
        let recording = Recording::random(&machine, &mut Random::new(seed)).map_err(Failed::Misuse)?;
        let lowered = lower(&machine, &recording);
        let facts = explore(&machine, Rules::Free, true, LIMIT)?;
        Ok(Case { machine, recording, lowered, facts })
    }

    fn bugs(&self) -> Bugs {
        let race = |pair: &((u32, bool), (u32, bool))| sites([pair.0.0, pair.1.0]);
        let races = self.facts.both_next.iter().chain(&self.facts.unordered).map(race).collect();
        let deadlocks = self.facts.deadlocks.iter().map(|set| sites(set.iter().copied())).collect();
        let reads = self.facts.values.iter().filter(|(_, values)| values.len() > 1).map(|(read, _)| sites([*read]));
        [races, deadlocks, reads.collect()]
    }

    /// The statements of a target.
    fn sites(&self, lowered: &Lowered, target: &Target) -> (usize, Vec<usize>) {
        let site = |event: &EventId| {
            let step = lowered.origins[event.index()].step().expect("targets name no branches");
            self.recording.steps[step as usize].site as u32
        };
        match target {
            Target::Deadlock(requests) => (1, sites(requests.iter().map(site))),
            Target::Nondeterminism { read, .. } => (2, sites([site(read)])),
            other => (0, sites(other.events().iter().map(site))),
        }
    }

    /// Asks everything about the run, as a recorder with the mistake would have written it, and adds to the tally.
    fn ask(&self, mistake: Option<Mistake>, tally: &mut Tally) -> Result<(), Failed> {
        let judge = ProgramJudge::new(&self.machine, &self.recording, &self.lowered, LIMIT)?;
        let lowered = mistake.map_or_else(|| self.lowered.clone(), |mistake| mistake.make(&self.lowered));
        let judge = judge.of_trace(&lowered);
        let relations = Relations::derive(&lowered.trace).expect("recorded runs are well-formed");
        let context = Context::new(&lowered.trace, &relations);
        let mut engine = Auto::new(&context);
        let mut found: [Bugs; MODELS.len()] = Default::default();
        for target in targets(&lowered.trace, &relations) {
            for (place, model) in MODELS.into_iter().enumerate() {
                tally.questions += 1;
                match engine.decide(&target, model, &Budget::default()) {
                    Verdict::Proven(checked, _) => {
                        tally.proven += 1;
                        let claim = judge.proven(&target, checked.witness().schedule.iter());
                        if matches!(claim, Claim::False(_) | Claim::OtherSchedule(_)) {
                            tally.wrong.push(format!(
                                "{target:?} is proven in {model} by {:?}: {claim:?}",
                                checked.witness().schedule
                            ));
                        }
                        let (kind, sites) = self.sites(&lowered, &target);
                        found[place][kind].insert(sites);
                    }
                    Verdict::Refuted(why) => {
                        tally.refuted += 1;
                        if model == Model::Causal && !judge.refuted(&target) {
                            tally.wrong.push(format!("{target:?} is refuted in {model} ({why}) but possible"));
                        }
                    }
                    Verdict::Unknown(_) => tally.unknown += 1,
                }
            }
        }
        let bugs = self.bugs();
        for kind in 0..3 {
            tally.bugs[kind] += bugs[kind].len();
            for (place, found) in found.iter().enumerate() {
                tally.found[place][kind] += found[kind].intersection(&bugs[kind]).count();
            }
        }
        Ok(())
    }
}

fn sites(names: impl IntoIterator<Item = u32>) -> Vec<usize> {
    let mut sites: Vec<usize> = names.into_iter().map(|name| name as usize).collect();
    sites.sort_unstable();
    sites
}

/// Every race, deadlock of two or three and nondeterministic read that can be asked about.
fn targets(trace: &Trace, relations: &Relations) -> Vec<Target> {
    let events: Vec<EventId> = trace.events().map(|(id, _)| id).filter(|&id| relations.is_relevant(id)).collect();
    let mut targets = Vec::new();
    let of = |wanted: &dyn Fn(Op) -> bool| -> Vec<EventId> {
        events.iter().copied().filter(|&id| wanted(trace.event(id).op)).collect()
    };
    let (accesses, acquires) = (of(&Op::is_access), of(&Op::is_acquire));
    for (i, &a) in accesses.iter().enumerate() {
        for &b in &accesses[i + 1..] {
            targets.extend([Target::Race(a, b), Target::UnorderedRace(a, b)]);
        }
    }
    for (i, &a) in acquires.iter().enumerate() {
        for (j, &b) in acquires.iter().enumerate().skip(i + 1) {
            targets.push(Target::Deadlock(vec![a, b]));
            targets.extend(acquires[j + 1..].iter().map(|&c| Target::Deadlock(vec![a, b, c])));
        }
    }
    for read in of(&|op| op == Op::Read) {
        let write = relations.read_from(read);
        let others = of(&|op| op == Op::Write).into_iter().map(Some).chain([None]);
        targets.extend(others.map(|other| Target::Nondeterminism { write, read, other }));
    }
    targets.retain(|target| target.validate(trace, relations).is_ok());
    targets
}

/// Asks about one run of a program. None if the program is not valid or too big.
fn ask(program: &Program, seed: u64, mistake: Option<Mistake>) -> Option<Tally> {
    let mut tally = Tally::default();
    match Case::new(program, seed).and_then(|case| case.ask(mistake, &mut tally)) {
        Ok(()) => Some(tally),
        Err(Failed::TooBig | Failed::Misuse(_)) => None,
        Err(Failed::Undecided(site)) => panic!("statement {site} decides without a branch\n{}", print_c(program).text),
    }
}

/// Asks about generated programs, until so many wrong verdicts are found.
fn campaign(cases: usize, first: u64, mistake: Option<Mistake>, enough: usize) -> Tally {
    let mut sum = Tally::default();
    for case in 0..cases {
        let seed = first + case as u64;
        let program = generate(Profile::ALL[case % Profile::ALL.len()], seed);
        sum.programs += 1;
        let Some(tally) = ask(&program, seed, mistake) else {
            sum.too_big += 1;
            continue;
        };
        sum.questions += tally.questions;
        sum.proven += tally.proven;
        sum.refuted += tally.refuted;
        sum.unknown += tally.unknown;
        for kind in 0..3 {
            sum.bugs[kind] += tally.bugs[kind];
            (0..MODELS.len()).for_each(|model| sum.found[model][kind] += tally.found[model][kind]);
        }
        if !tally.wrong.is_empty() {
            sum.wrong.push(format!("seed {seed}: {}", tally.wrong.join("\n")));
        }
        if sum.wrong.len() >= enough {
            break;
        }
    }
    sum
}

/// The smallest program, by leaving things out, of which something wrong is said; what, and its trace.
fn smallest(seed: u64) -> String {
    let program = generate(Profile::ALL[(seed % Profile::ALL.len() as u64) as usize], seed);
    let wrong = |program: &Program| {
        let seeds = std::iter::once(seed).chain(0..20);
        seeds.filter_map(|seed| ask(program, seed, None).map(|t| (seed, t))).find(|(_, t)| !t.wrong.is_empty())
    };
    let small = shrink(&program, |program| wrong(program).is_some());
    let Some((run, tally)) = wrong(&small) else { return "not found again".to_string() };
    let case = Case::new(&small, run).expect("it was asked about");
    let trace = common::text(&case.lowered.trace);
    format!("run {run}: {}\n{}\n{trace}", tally.wrong.join("\n"), print_c(&small).text)
}

#[test]
fn verdicts_are_true_of_the_program() {
    let first = std::env::var("MAYHAP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let tally = campaign(cases(280), first, None, 5);
    println!(
        "{} programs ({} too big), {} questions: {} proven, {} refuted, {} unknown; wrong of {} programs",
        tally.programs,
        tally.too_big,
        tally.questions,
        tally.proven,
        tally.refuted,
        tally.unknown,
        tally.wrong.len()
    );
    println!("bugs of the programs (races, deadlocks, nondeterministic reads): {:?}", tally.bugs);
    for (model, found) in MODELS.iter().zip(tally.found) {
        let share = |kind: usize| 100.0 * found[kind] as f64 / tally.bugs[kind].max(1) as f64;
        println!("  {model}: {:.1} %, {:.1} %, {:.1} % proven by one run", share(0), share(1), share(2));
    }
    for wrong in &tally.wrong {
        println!("{wrong}");
        let seed = wrong.trim_start_matches("seed ").split(':').next().and_then(|seed| seed.parse().ok());
        println!("smallest:\n{}", seed.map(smallest).unwrap_or_default());
    }
    assert!(tally.wrong.is_empty(), "{} programs of which something wrong is said", tally.wrong.len());
    assert!(tally.proven > tally.programs && tally.refuted > tally.programs, "{tally:?}");
}

#[test]
fn mistakes_of_the_recorder_are_noticed() {
    for mistake in Mistake::ALL {
        let tally = campaign(cases(280) * 4, 0, Some(mistake), 1);
        assert!(!tally.wrong.is_empty(), "{mistake:?} was not noticed in {} programs", tally.programs);
    }
}
