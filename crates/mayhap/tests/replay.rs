//! Bugs that an ordinary run does not show, proven from one recorded run and then made to happen.

mod common;

use std::path::{Path, PathBuf};

use serde_json::Value;

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay").join(format!("{name}.c"))
}

/// The main job on a program: its report.
fn run(name: &str, options: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = program(name);
    let mut arguments = vec!["run", "--explore", "0", "--format", "json", "--patience", "3"];
    arguments.extend(options);
    arguments.push(file.to_str().unwrap());
    let run = common::mayhap_in(folder.path(), &arguments);
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{name}: {}", run.stderr));
    (run.code, report)
}

/// [`run`] until its kind of bug is in question. Which thread comes first is chance: where the other finds nothing left to take, it is not.
fn asked(name: &str, options: &[&str]) -> (Option<i32>, Value) {
    let runs = ["0", "1", "2", "3", "4", "5", "6", "7"].map(|seed| [options, &["--seed", seed]].concat());
    let mut runs = runs.iter().map(|options| run(name, options));
    let is_asked = |report: &Value| {
        let found = report["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == name);
        found || report["summary"]["unknown"] != 0
    };
    runs.find(|(_, report)| is_asked(report)).expect("a run with a question")
}

/// The one finding of a kind: its verdict, how often it was confirmed of how many runs, and its effect.
fn finding(report: &Value, kind: &str) -> (String, u64, u64, String) {
    let all: Vec<&Value> = report["findings"].as_array().unwrap().iter().filter(|f| f["kind"] == kind).collect();
    assert_eq!(all.len(), 1, "{kind} in {report:#}");
    let replay = &all[0]["replay"];
    (
        all[0]["verdict"].as_str().unwrap().to_string(),
        replay["confirmed"].as_u64().unwrap(),
        replay["runs"].as_u64().unwrap(),
        replay["effect"].as_str().unwrap_or_default().to_string(),
    )
}

#[test]
fn a_hidden_race_happens_every_time_in_both_orders() {
    let (code, report) = run("race", &["--replays", "5"]);
    assert_eq!(code, Some(1));
    let (verdict, confirmed, runs, effect) = finding(&report, "race");
    assert_eq!((verdict.as_str(), confirmed, runs), ("confirmed", 10, 10));
    assert_eq!(effect, "different output: 8 0");
}

#[test]
fn a_deadlock_of_three_happens() {
    let (_, report) = run("deadlock", &["--replays", "3"]);
    let (verdict, confirmed, runs, effect) = finding(&report, "deadlock");
    assert_eq!((verdict.as_str(), confirmed, runs), ("confirmed", 3, 3));
    assert!(effect.starts_with("deadlock"), "{effect}");
}

#[test]
fn a_violation_of_atomicity_fails_the_assertion() {
    let (_, report) = asked("atomicity", &["--replays", "3"]);
    let (verdict, confirmed, runs, effect) = finding(&report, "atomicity");
    assert_eq!((verdict.as_str(), confirmed, runs), ("confirmed", 3, 3));
    assert!(effect.contains("SIGABRT") && effect.contains("balance >= 0"), "{effect}");
}

#[test]
fn what_the_budget_leaves_open_is_told_and_not_replayed() {
    let (code, report) = asked("atomicity", &["--kinds", "atomicity", "--budget-region", "0"]);
    assert_eq!((code, &report["summary"]["unknown"]), (Some(3), &1.into()), "{report:#}");
    assert_eq!(report["findings"], Value::Array(Vec::new()));
    let why = report["summary"]["first_unknown"].as_str().unwrap_or_default();
    assert!(why.starts_with("more than 0 events, the budget, would have to be taken out"), "{why}");
}

#[test]
fn a_use_before_initialisation_crashes_and_failed_attempts_fail_again() {
    let (_, report) = run("order", &["--replays", "3"]);
    let (verdict, confirmed, runs, effect) = finding(&report, "null-dereference");
    assert_eq!((verdict.as_str(), confirmed, runs), ("confirmed", 3, 3));
    assert!(effect.starts_with("null dereference: main.2 at use() order.c:24 uses a null pointer"), "{effect}");
}

#[test]
fn a_run_that_goes_elsewhere_is_told_where() {
    let (_, report) = run("clock", &["--no-record-inputs"]);
    let found = report["findings"].as_array().unwrap().iter().find(|f| f["kind"] == "race").unwrap();
    let diverged = found["replay"]["diverged"].as_str().unwrap();
    assert!(diverged.starts_with("diverged at step "), "{diverged}");
    assert!(diverged.contains("lock of") && diverged.contains("clock.c:1"), "{diverged}");
    assert!(diverged.contains("the clock, a nondeterministic input"), "{diverged}");
}

#[test]
fn a_run_that_gets_the_same_inputs_goes_the_same_way() {
    let (_, report) = run("clock", &[]);
    let (verdict, confirmed, runs, effect) = finding(&report, "race");
    assert_eq!((verdict.as_str(), confirmed, runs), ("confirmed", 2, 2));
    assert_eq!(effect, "different output: 0");
}

#[test]
fn a_witness_file_is_replayed_with_the_program_it_was_recorded_from() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let file = program("race");
    let build = common::mayhap_in(here, &["cc", "-O1", "-g", "-pthread", file.to_str().unwrap(), "-o", "race"]);
    assert_eq!(build.code, Some(0), "{}", build.stderr);
    common::mayhap_in(here, &["record", "-o", "race.mhp", "--", "./race"]);
    common::mayhap_in(here, &["predict", "race.mhp", "--kinds", "race", "--witnesses", "found"]);
    let witness = std::fs::read_dir(here.join("found")).unwrap().next().unwrap().unwrap().path();
    let replay = common::mayhap_in(here, &["replay", witness.to_str().unwrap(), "--order", "second", "--", "./race"]);
    assert_eq!(replay.code, Some(1), "{}", replay.stderr);
    assert!(replay.stdout.contains("confirmed race"), "{}", replay.stdout);
    assert!(replay.stdout.contains("is paused just before it writes `total` at teller"), "{}", replay.stdout);
    assert!(replay.stdout.contains("which is 0"), "{}", replay.stdout);
    // Not the recorded program, but one that records nothing.
    let other = common::mayhap_in(here, &["replay", witness.to_str().unwrap(), "--", "true"]);
    assert_eq!(other.code, Some(0));
    assert!(other.stdout.contains("not built for recording"), "{}", other.stdout);
}

#[test]
fn a_program_that_is_not_instrumented_says_how_to_build_it() {
    let run = common::mayhap_in(Path::new("."), &["run", "--", "true"]);
    assert_eq!(run.code, Some(4));
    assert!(run.stderr.contains("mayhap cc"), "{}", run.stderr);
}
