//! The default engine against programs: what it says of one recorded run must be true of the program.
//!
//! For each generated program one random run is recorded as the recorder would lower it. Every `proven` must be shown by an
//! execution of the program. Nothing may be `refuted` in `causal` that is reached by an execution which the run shows to be
//! possible. With a mistake in the recording both must be noticed. How many of the program's bugs one run suffices to
//! prove is printed.

mod common;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mayhap_predict::{Auto, Budget, Context, Engine, Exact, Verdict};
use mayhap_testkit::program::{
    Claim, Facts, Failed, Lowered, Machine, Mistake, Profile, Program, ProgramJudge, Recording, Rules, explore,
    generate, lower, print_c, shrink,
};
use mayhap_testkit::{Random, cases};
use mayhap_trace::{EventId, Execution, Op};
use mayhap_witness::{Model, Target};

/// States that an exploration may visit.
const LIMIT: usize = 60_000;
/// The models that speak of programs.
const MODELS: [Model; 4] = [Model::Data, Model::Value, Model::Branch, Model::Causal];

/// Seeds of programs of which something wrong was once said.
const ONCE_WRONG: [u64; 1] = [79_831];

/// What came of the questions about some programs.
#[derive(Default, Debug)]
struct Tally {
    programs: usize,
    too_big: usize,
    questions: usize,
    proven: usize,
    refuted: usize,
    unknown: usize,
    /// Unknown in `causal` though reached by an execution which the run shows to be possible.
    missed: usize,
    /// Refuted in `causal` though reached by an execution in which every value that a thread decides by happens to be the
    /// recorded one. Another program with the same trace would decide otherwise.
    lucky: usize,
    /// Verdicts that are not true of the program.
    wrong: Vec<Wrong>,
    /// Bugs of the programs: races, deadlocks, nondeterministic reads.
    bugs: [usize; 3],
    /// Those that were proven, by model.
    found: [[usize; 3]; MODELS.len()],
}

/// In which way a verdict is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    /// Proven, but no execution shows it.
    FalseProof,
    /// Proven, and an execution shows it, but the program cannot run the schedule.
    WrongSchedule,
    /// Refuted, but an execution reaches it that the run shows to be possible.
    FalseRefutation,
    /// The engine panicked.
    Panic,
}

/// A wrong verdict.
#[derive(Clone, Debug)]
struct Wrong {
    seed: u64,
    sort: Sort,
    what: String,
}

/// Bugs by the statements that they are made of.
type Bugs = [BTreeSet<Vec<usize>>; 3];

/// One recorded run of a program.
struct Case {
    seed: u64,
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
        Ok(Case { seed, machine, recording, lowered, facts })
    }

    fn bugs(&self) -> Bugs {
        let race = |pair: &((u32, bool), (u32, bool))| sites([pair.0.0, pair.1.0]);
        let races = self.facts.both_next.iter().chain(&self.facts.unordered).map(race).collect();
        let deadlocks = self.facts.deadlocks.iter().map(|set| sites(set.iter().copied())).collect();
        let reads = self.facts.values.iter().filter(|(_, values)| values.len() > 1).map(|(read, _)| sites([*read]));
        [races, deadlocks, reads.collect()]
    }

    /// The kind of bug and the statements of a target.
    fn sites(&self, lowered: &Lowered, target: &Target) -> Option<(usize, Vec<usize>)> {
        let site = |event: &EventId| {
            let step = lowered.origins[event.index()].step().expect("targets name no branches");
            self.recording.steps[step as usize].site as u32
        };
        match target {
            Target::Race(a, b) | Target::UnorderedRace(a, b) => Some((0, sites([site(a), site(b)]))),
            Target::Deadlock(requests) => Some((1, sites(requests.iter().map(site)))),
            Target::Nondeterminism { read, .. } => Some((2, sites([site(read)]))),
            Target::UseAfterFree { .. } | Target::Atomicity { .. } | Target::Sequence { .. } => None,
        }
    }

    /// Asks everything about the run, as a recorder with the mistake would have written it, and adds to the tally.
    fn ask(&self, mistake: Option<Mistake>, tally: &mut Tally) -> Result<(), Failed> {
        let judge = ProgramJudge::new(&self.machine, &self.recording, &self.lowered, LIMIT)?;
        let lowered = mistake.map_or_else(|| self.lowered.clone(), |mistake| mistake.make(&self.lowered));
        let judge = judge.of_trace(&lowered);
        let execution = Execution::derive(&lowered.trace).expect("recorded runs are well-formed");
        let context = Context::new(&execution);
        // Most questions go to the default engine, some to the ones that it ends in.
        let mut engine: Box<dyn Engine + '_> = match self.seed % 4 {
            3 => Box::new(Exact::new(&context)),
            2 => Box::new(Auto::new(&context).searching_states_after(1)),
            _ => Box::new(Auto::new(&context)),
        };
        let mut found: [Bugs; MODELS.len()] = Default::default();
        for target in targets(&execution, &mut Random::new(self.seed)) {
            for (place, model) in MODELS.into_iter().enumerate() {
                tally.questions += 1;
                match engine.decide(&target, model, &Budget::default()) {
                    Verdict::Proven(checked, _) => {
                        tally.proven += 1;
                        let claim = judge.proven(&target, checked.witness().schedule.iter());
                        let sort = match claim {
                            Claim::False(_) => Some(Sort::FalseProof),
                            Claim::OtherSchedule(_) => Some(Sort::WrongSchedule),
                            Claim::Shown | Claim::TooBig => None,
                        };
                        let what = || {
                            let schedule = checked.witness().schedule.iter().map(|e| e.to_string()).collect::<Vec<_>>();
                            format!("{} is proven in {model} by {}: {claim:?}", name(&target), schedule.join(" "))
                        };
                        tally.wrong.extend(sort.map(|sort| Wrong { seed: self.seed, sort, what: what() }));
                        if let Some((kind, sites)) = self.sites(&lowered, &target) {
                            found[place][kind].insert(sites);
                        }
                    }
                    Verdict::Refuted(why) => {
                        tally.refuted += 1;
                        if model == Model::Causal && !judge.refuted(&target) {
                            let what = format!("{} is refuted in {model}, but possible: {why}", name(&target));
                            tally.wrong.push(Wrong { seed: self.seed, sort: Sort::FalseRefutation, what });
                        } else if model == Model::Causal && judge.is_lucky(&target) == Some(true) {
                            tally.lucky += 1;
                        }
                    }
                    Verdict::Unknown(_) => {
                        tally.unknown += 1;
                        tally.missed += usize::from(model == Model::Causal && !judge.refuted(&target));
                    }
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

/// A target with the numbers that events have in a trace file.
fn name(target: &Target) -> String {
    let events: Vec<String> = target.events().iter().map(ToString::to_string).collect();
    let sort = if matches!(target, Target::UnorderedRace(..)) { "unordered race" } else { target.kind().name() };
    format!("{sort} {}", events.join(","))
}

fn sites(names: impl IntoIterator<Item = u32>) -> Vec<usize> {
    let mut sites: Vec<usize> = names.into_iter().map(|name| name as usize).collect();
    sites.sort_unstable();
    sites
}

/// Every race, deadlock of two or three and nondeterministic read that can be asked about, and some violations of atomicity
/// and order.
fn targets(execution: &Execution<'_>, random: &mut Random) -> Vec<Target> {
    let (trace, relations) = execution.parts();
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
    for _ in 0..if accesses.is_empty() { 0 } else { 6 } {
        let mut pick = || *random.pick(&accesses);
        targets.push(Target::Atomicity { first: pick(), remote: pick(), second: pick() });
        targets.push(Target::Sequence { events: vec![pick(), pick()], adjacent: Vec::new() });
    }
    targets.retain(|target| target.validate(execution).is_ok());
    targets
}

/// Asks about one run of a program. None if the program is not valid or too big.
fn ask(program: &Program, seed: u64, mistake: Option<Mistake>) -> Option<Tally> {
    let case = match Case::new(program, seed) {
        Ok(case) => case,
        Err(Failed::TooBig | Failed::Misuse(_)) => return None,
        Err(Failed::Undecided(site)) => panic!("statement {site} decides without a branch\n{}", print_c(program)),
    };
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let mut tally = Tally::default();
        case.ask(mistake, &mut tally).map(|()| tally)
    }));
    match asked {
        Ok(Ok(tally)) => Some(tally),
        Ok(Err(Failed::TooBig | Failed::Misuse(_))) => None,
        Ok(Err(Failed::Undecided(site))) => panic!("statement {site} decides without a branch\n{}", print_c(program)),
        Err(panic) => {
            let what = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            Some(Tally { wrong: vec![Wrong { seed, sort: Sort::Panic, what }], ..Tally::default() })
        }
    }
}

/// The program with this seed; all profiles take turns.
fn program(seed: u64) -> Program {
    generate(Profile::ALL[(seed % Profile::ALL.len() as u64) as usize], seed)
}

/// Asks about generated programs, until there are wrong verdicts on so many.
fn campaign(cases: usize, first: u64, enough: usize) -> Tally {
    let mut sum = Tally::default();
    for case in 0..cases {
        let seed = first + case as u64;
        sum.programs += 1;
        let Some(tally) = ask(&program(seed), seed, None) else {
            sum.too_big += 1;
            continue;
        };
        sum.questions += tally.questions;
        sum.proven += tally.proven;
        sum.refuted += tally.refuted;
        sum.unknown += tally.unknown;
        sum.missed += tally.missed;
        sum.lucky += tally.lucky;
        for kind in 0..3 {
            sum.bugs[kind] += tally.bugs[kind];
            (0..MODELS.len()).for_each(|model| sum.found[model][kind] += tally.found[model][kind]);
        }
        sum.wrong.extend(tally.wrong.into_iter().take(1));
        if sum.wrong.len() >= enough {
            break;
        }
    }
    sum
}

/// The smallest program, by leaving things out, of which something is said that is wrong in the same way; and its trace.
fn smallest(wrong: &Wrong) -> String {
    let program = program(wrong.seed);
    let again = |program: &Program| {
        let mut seeds = std::iter::once(wrong.seed).chain(0..20);
        seeds.find_map(|seed| ask(program, seed, None)?.wrong.into_iter().find(|found| found.sort == wrong.sort))
    };
    let small = shrink(&program, |program| again(program).is_some());
    let Some(found) = again(&small) else { return "not found again".to_string() };
    let case = Case::new(&small, found.seed).expect("it was asked about");
    format!("run {}: {}\n{}{}", found.seed, found.what, print_c(&small), common::text(&case.lowered.trace))
}

#[test]
fn verdicts_are_true_of_the_program() {
    let first = std::env::var("MAYHAP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let tally = campaign(cases(280), first, 20);
    println!(
        "{} programs ({} too big), {} questions: {} proven, {} refuted ({} possible by luck), {} unknown ({} possible); wrong of {} programs",
        tally.programs,
        tally.too_big,
        tally.questions,
        tally.proven,
        tally.refuted,
        tally.lucky,
        tally.unknown,
        tally.missed,
        tally.wrong.len()
    );
    println!("bugs of the programs (races, deadlocks, nondeterministic reads): {:?}", tally.bugs);
    for (model, found) in MODELS.iter().zip(tally.found) {
        let share = |kind: usize| 100.0 * found[kind] as f64 / tally.bugs[kind].max(1) as f64;
        println!("  {model}: {:.1} %, {:.1} %, {:.1} % proven by one run", share(0), share(1), share(2));
    }
    for (i, wrong) in tally.wrong.iter().enumerate() {
        println!("{:?}, seed {}: {}", wrong.sort, wrong.seed, wrong.what);
        if tally.wrong[..i].iter().filter(|earlier| earlier.sort == wrong.sort).count() < 2 {
            println!("smallest: {}", smallest(wrong));
        }
    }
    assert!(tally.wrong.is_empty(), "{} programs of which something wrong is said", tally.wrong.len());
    assert!(tally.proven > tally.programs && tally.refuted > tally.programs, "{tally:?}");
}

#[test]
fn verdicts_that_were_once_wrong_are_true() {
    for seed in ONCE_WRONG {
        let tally = campaign(1, seed, 1);
        assert!(tally.wrong.is_empty() && tally.too_big == 0, "{seed}: {:?}", tally.wrong);
    }
}

/// In the recording of some program each mistake makes a verdict wrong that is right without it.
#[test]
fn mistakes_of_the_recorder_are_noticed() {
    for mistake in Mistake::ALL {
        let profile = match mistake {
            Mistake::OrderedAtomics => Profile::Atomics,
            Mistake::NoTaint => Profile::Flow,
            Mistake::NoFailedAttempts => Profile::Tries,
        };
        let is_noticed = |seed: &u64| {
            let program = generate(profile, *seed);
            let wrong = |mistake| ask(&program, *seed, mistake).is_some_and(|tally| !tally.wrong.is_empty());
            wrong(Some(mistake)) && !wrong(None)
        };
        let programs = cases(280) as u64;
        let noticed = (0..programs).find(is_noticed);
        println!("{mistake:?} is noticed with seed {noticed:?}");
        assert!(noticed.is_some(), "{mistake:?} was not noticed in {programs} programs");
    }
}
