//! Targets of small traces, and the comparison of engines with the oracle.
#![allow(dead_code)]

use mayhap_predict::{Budget, Context, Engine, Verdict};
use mayhap_testkit::{Oracle, Random};
use mayhap_trace::{EventId, Execution, Op, Relations, Trace};
use mayhap_witness::{Model, Target};

/// Every race and nondeterminism target of a trace, its deadlocks and lock cycles, and some random sequences and
/// atomicity violations.
pub(crate) fn targets(execution: &Execution<'_>, random: &mut Random) -> Vec<Target> {
    let (trace, relations) = execution.parts();
    let relevant: Vec<EventId> = trace.events().map(|(id, _)| id).filter(|&e| relations.is_relevant(e)).collect();
    let mut targets = Vec::new();
    let valid = |targets: &mut Vec<Target>, target: Target| {
        if target.validate(execution).is_ok() {
            targets.push(target);
        }
    };
    let acquires: Vec<EventId> = relevant.iter().copied().filter(|&e| trace.event(e).op.is_acquire()).collect();
    for (i, &a) in relevant.iter().enumerate() {
        for &b in &relevant[i + 1..] {
            valid(&mut targets, Target::Race(a, b));
            valid(&mut targets, Target::UnorderedRace(a, b));
            valid(&mut targets, Target::UseAfterFree { free: a, access: b });
            valid(&mut targets, Target::UseAfterFree { free: b, access: a });
        }
    }
    for (i, &a) in acquires.iter().enumerate() {
        for (j, &b) in acquires.iter().enumerate().skip(i + 1) {
            valid(&mut targets, Target::Deadlock(vec![a, b]));
            for &c in &acquires[j + 1..] {
                if random.percent(30) {
                    valid(&mut targets, Target::Deadlock(vec![a, b, c]));
                }
            }
        }
    }
    for &read in relevant.iter().filter(|&&e| trace.event(e).op == Op::Read) {
        let write = relations.read_from(read);
        valid(&mut targets, Target::Nondeterminism { write, read, other: None });
        for &other in &relevant {
            valid(&mut targets, Target::Nondeterminism { write, read, other: Some(other) });
        }
    }
    for _ in 0..8 {
        let mut pick = || *random.pick(&relevant);
        let events = vec![pick(), pick(), pick()];
        valid(&mut targets, Target::Sequence { events: events[..2].to_vec(), adjacent: vec![] });
        valid(&mut targets, Target::Sequence { events: events[..2].to_vec(), adjacent: vec![(events[0], events[1])] });
        valid(&mut targets, Target::Sequence { events: events.clone(), adjacent: vec![] });
        valid(&mut targets, Target::Sequence { events: events.clone(), adjacent: vec![(events[1], events[2])] });
        let adjacent = vec![(events[0], events[1]), (events[1], events[2])];
        valid(&mut targets, Target::Sequence { events, adjacent });
    }
    let accesses: Vec<EventId> = relevant.iter().copied().filter(|&e| trace.event(e).op.is_access()).collect();
    for _ in 0..if accesses.is_empty() { 0 } else { 60 } {
        let mut pick = || *random.pick(&accesses);
        valid(&mut targets, Target::Atomicity { first: pick(), remote: pick(), second: pick() });
    }
    targets
}

/// Engines make their verdicts on one trace.
pub(crate) type MakeEngine = for<'c, 'a> fn(&'c Context<'a>) -> Box<dyn Engine + 'c>;

/// Compares engines with the oracle: the complete ones, which answer everything but whether happens-before leaves a pair
/// unordered, and those that may leave a question open. Returns how many targets were compared.
pub(crate) fn compare(
    trace: &Trace,
    seed: u64,
    complete: &[MakeEngine],
    others: &[MakeEngine],
) -> Result<usize, String> {
    let execution = Execution::derive(trace).map_err(|e| e.to_string())?;
    let context = Context::new(&execution);
    let mut engines: Vec<_> = complete.iter().chain(others).map(|engine| engine(&context)).collect();
    let mut compared = 0;
    for model in Model::ALL {
        let Ok(oracle) = Oracle::explore(trace, model, 200_000) else { continue };
        for target in targets(&execution, &mut Random::new(seed)) {
            let Ok(truth) = oracle.decide(&target) else { continue };
            for (i, engine) in engines.iter_mut().enumerate() {
                let verdict = engine.decide(&target, model, &Budget::default());
                let right = match &verdict {
                    Verdict::Proven(checked, _) => {
                        truth.is_some() && *checked.target() == target && checked.model() == model
                    }
                    Verdict::Refuted(_) => truth.is_none(),
                    // No engine is complete for these.
                    Verdict::Unknown(_) if matches!(target, Target::UnorderedRace(..)) => true,
                    // Where an attempt that failed could succeed unnoticed, the trace cannot say what the program does.
                    Verdict::Unknown(undecided) if undecided.reason.contains("attempt that failed may succeed") => {
                        truth.is_none() && matches!(model, Model::Branch | Model::Causal)
                    }
                    Verdict::Unknown(_) => i >= complete.len(),
                };
                if !right {
                    return Err(format!("{target:?} in {model}: oracle {truth:?}, {} {verdict:?}", engine.name()));
                }
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// Runs [`compare`] over generated traces; a disagreement is shrunk and shown as a trace.
pub(crate) fn campaign(cases: usize, first_seed: u64, engines: &[MakeEngine]) {
    use mayhap_testkit::{Generator, Profile};
    let profiles = Profile::all();
    let mut compared = 0;
    for case in 0..cases {
        let seed = first_seed + case as u64;
        let (name, profile) = &profiles[case % profiles.len()];
        let threads = 2 + (case / profiles.len()) % 3;
        let events = [10, 14, 18][(case / profiles.len() / 3) % 3];
        let trace = Generator::trace(&profile.clone().sized(threads, events), seed);
        compared += compare_or_shrink(name, trace, seed, engines, &[]);
    }
    println!("{cases} traces, {compared} questions, {} engines: no disagreement, nothing unknown", engines.len());
    assert!(compared > cases * 10, "only {compared} targets were compared");
}

/// [`compare`]; panics with a disagreement, shrunk.
pub(crate) fn compare_or_shrink(
    name: &str,
    trace: Trace,
    seed: u64,
    complete: &[MakeEngine],
    others: &[MakeEngine],
) -> usize {
    compare_caught(&trace, seed, complete, others).unwrap_or_else(|first| {
        let (trace, message) = shrink(trace, first, seed, complete, others);
        panic!("profile {name}, seed {seed}: {message}\n{}", text(&trace));
    })
}

/// [`compare`], with panics of the engine as errors.
fn compare_caught(trace: &Trace, seed: u64, complete: &[MakeEngine], others: &[MakeEngine]) -> Result<usize, String> {
    std::panic::catch_unwind(|| compare(trace, seed, complete, others)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        Err(format!("panic: {}", message.unwrap_or_else(|| "without message".to_string())))
    })
}

/// Drops events one by one as long as engine and oracle still disagree.
fn shrink(
    mut trace: Trace,
    mut message: String,
    seed: u64,
    complete: &[MakeEngine],
    others: &[MakeEngine],
) -> (Trace, String) {
    'again: loop {
        for drop in (0..trace.len()).map(EventId::at) {
            let smaller = mayhap_testkit::subtrace(&trace, |e| e != drop);
            if Relations::derive(&smaller).is_err() {
                continue;
            }
            for seed in seed..seed + 5 {
                if let Err(error) = compare_caught(&smaller, seed, complete, others) {
                    (trace, message) = (smaller, error);
                    continue 'again;
                }
            }
        }
        return (trace, message);
    }
}

/// A trace in the STD format.
pub(crate) fn text(trace: &Trace) -> String {
    let mut out = Vec::new();
    mayhap_trace::format::std_text::write_events(&mut out, trace.columns(), trace.tables()).expect("writing to memory");
    String::from_utf8(out).expect("STD is text")
}
