//! What is proven in a window is proven of the whole trace: the kernel accepts the recorded run up to the window and the
//! window's schedule after it.

mod common;

use std::collections::BTreeSet;

use mayhap_analyse::engines::EngineName;
use mayhap_analyse::{Gauges, Options, predict};
use mayhap_detect::candidates::Limits;
use mayhap_predict::Budget;
use mayhap_report::Finding;
use mayhap_report::prediction::in_windows;
use mayhap_testkit::{Generator, Profile, cases};
use mayhap_trace::attachments::Doubts;
use mayhap_trace::{EventId, Execution, Relations, Trace, format};
use mayhap_witness::{Checker, Kind, Model, Target, Witness};

fn options(model: Model) -> Options {
    Options {
        kinds: vec![Kind::Race, Kind::Deadlock, Kind::Atomicity],
        engine: EngineName::Auto,
        literal: false,
        model,
        limits: Limits { all_patterns: true, ..Limits::default() },
        all_instances: false,
        effort: None,
        budget: Budget::default(),
        threads: 1,
        halt: None,
        gauges: Gauges::default(),
    }
}

fn target(finding: &Finding) -> Target {
    let events: Vec<EventId> = finding.events.iter().map(|side| EventId::from_number(side.event).unwrap()).collect();
    match (finding.kind, &events[..]) {
        // A race by happens-before has run both accesses.
        (mayhap_report::Kind::Race, &[a, b]) if [a, b].iter().all(|e| finding.witness.iter().any(|w| w == *e)) => {
            Target::UnorderedRace(a, b)
        }
        (mayhap_report::Kind::Race, &[a, b]) => Target::Race(a, b),
        // A reader of a third thread is stated as a read that sees another write.
        (mayhap_report::Kind::Atomicity, &[write, read, other]) if finding.events[1].role == "read" => {
            Target::Nondeterminism { write: Some(write), read, other: Some(other) }
        }
        (mayhap_report::Kind::Atomicity, &[first, remote, second]) => Target::Atomicity { first, remote, second },
        _ => Target::Deadlock(events),
    }
}

/// The recorded run up to the window, then the window's schedule.
fn whole(relations: &Relations, finding: &Finding) -> Witness {
    let before = (1..=finding.witness_after.unwrap()).map(|n| EventId::from_number(n).unwrap());
    let before = before.filter(|&event| relations.is_relevant(event));
    Witness { schedule: before.chain(finding.witness.iter()).collect() }
}

#[test]
fn the_kernel_accepts_every_schedule_of_a_window_in_the_whole_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (mut proven, mut with_locks, mut later) = (0, 0, 0);
    for (name, profile) in Profile::every() {
        let profile = profile.sized(4, 60);
        for seed in 0..cases(30) as u64 {
            let trace = Generator::trace(&profile, seed);
            if trace.is_empty() {
                continue;
            }
            let execution = Execution::derive(&trace).unwrap();
            let relations = execution.relations();
            let path = folder.path().join("trace.std");
            format::write(&path, &trace).unwrap();
            for (size, model) in [(7, Model::Data), (13, Model::Branch), (25, Model::Sync)] {
                let report =
                    in_windows(&path, format::open(&path).unwrap(), &Doubts::default(), size, &|_| options(model))
                        .unwrap()
                        .unwrap();
                assert_eq!(report.trace.events, trace.len() as u64);
                for finding in report.findings.iter().filter(|f| f.verdict == mayhap_report::Verdict::Proven) {
                    let (target, witness) = (target(finding), whole(relations, finding));
                    let checked = Checker::new(&execution).check(&target, model, witness);
                    assert!(checked.is_ok(), "{name} {seed}, windows of {size}: {target:?}: {}", checked.unwrap_err());
                    let sides = &finding.events;
                    assert!(sides.iter().all(|side| side.event > 0 && side.locks.iter().all(|lock| lock.event > 0)));
                    proven += 1;
                    later += u32::from(finding.witness_after > Some(0));
                    with_locks += u32::from(
                        sides.iter().flat_map(|s| &s.locks).any(|l| l.event <= finding.witness_after.unwrap()),
                    );
                }
            }
        }
    }
    assert!(
        proven > 300 && later > 100 && with_locks > 10,
        "{proven} proven, {later} later, {with_locks} with old locks"
    );
}

/// A lock that is held when a window begins keeps others out until it is released, though its acquire lies before.
#[test]
fn locks_that_are_held_when_a_window_begins_stay_held() {
    let text = "T1|fork(T2)|1\nT1|acq(m)|2\nT1|r(y)|3\nT1|w(x)|4\nT1|rel(m)|5\nT2|acq(m)|6\nT2|w(x)|7\nT2|rel(m)|8\nT2|w(z)|9\nT1|w(z)|10\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.std");
    std::fs::write(&path, text).unwrap();
    let trace: Trace = mayhap_trace::format::parse_std(text).unwrap();
    let execution = Execution::derive(&trace).unwrap();
    let found = |report: &[Finding]| report.iter().map(|f| target(f).events()).collect::<BTreeSet<_>>();
    let all = predict(&execution, &options(Model::Sync)).unwrap();
    assert_eq!(all.findings.len(), 1, "only z races");
    for size in [3, 4, 6] {
        let report =
            in_windows(&path, format::open(&path).unwrap(), &Doubts::default(), size, &|_| options(Model::Sync))
                .unwrap()
                .unwrap();
        let z: BTreeSet<_> = [vec![EventId::at(8), EventId::at(9)]].into();
        assert!(found(&report.findings).is_subset(&z), "windows of {size}: {:?}", found(&report.findings));
        assert_eq!((report.summary.unknown, report.notes.len()), (1, 1), "the gap is counted");
    }
}

#[test]
fn the_command_says_what_it_did_not_look_for() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let made =
        common::mayhap_in(here, &["generate", "--events", "200k", "--races", "12", "--seed", "3", "-o", "t.mhp"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let run = common::mayhap_in(here, &["predict", "t.mhp", "--kinds", "race", "--window", "50k", "--quiet"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("findings: ") && run.stdout.contains("1 unknown"), "{}", run.stdout);
    let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("were not looked for (4 windows of 50,000 events)"), "{}", run.stdout);
    let refused = common::mayhap_in(here, &["predict", "t.mhp", "--kinds", "order", "--window", "50k"]);
    assert_eq!((refused.code, refused.stderr.contains("need the whole trace")), (Some(2), true));
    let refused = common::mayhap_in(here, &["predict", "t.mhp", "--window", "50k", "--witnesses", "w"]);
    assert_eq!((refused.code, refused.stderr.contains("witness files describe whole traces")), (Some(2), true));
}
