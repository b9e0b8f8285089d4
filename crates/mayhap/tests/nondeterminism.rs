//! `predict --kinds nondeterminism` and `check --nondeterminism` as users and scripts see them.

mod common;

use std::path::{Path, PathBuf};

use common::{Run, mayhap_in, traces};
use serde_json::Value;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").canonicalize().unwrap()
}

fn predict(trace: &str, more: &[&str]) -> Run {
    let args = [&["predict", trace, "--kinds", "race,nondeterminism"], more].concat();
    mayhap_in(&examples(), &args)
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", run.stdout, run.stderr))
}

#[test]
fn a_counter_under_a_lock_has_no_race_but_a_nondeterministic_read() {
    let run = predict("counter.std", &[]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let title = "Nondeterministic read of `n`: B can see what main writes instead of what A wrote";
    assert!(run.stdout.contains(title), "{}", run.stdout);
    assert!(run.stdout.contains("nondeterministic: 1 of 3 reads can see another write"), "{}", run.stdout);
    let document = json(&predict("counter.std", &["--format", "json"]));
    let findings = document["findings"].as_array().unwrap();
    assert!(findings.iter().all(|f| f["kind"] == "nondeterminism"), "race-free: {findings:?}");
    assert_eq!(findings[0]["witness"], serde_json::json!([[1, 3], 8]));
    assert_eq!(document["nondeterminism"]["verdict"], "nondeterministic");
    assert_eq!(document["nondeterminism"]["by_location"][0]["location"], "counter.c:6");
    assert_eq!(document["nondeterminism"]["by_location"][0]["sees"][0]["sees"]["event"], 1);
}

#[test]
fn a_fork_join_pipeline_is_deterministic_for_this_run() {
    let run = predict("pipeline.std", &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("deterministic for this run: all 11 triplets of 5 reads are refuted"),
        "{}",
        run.stdout
    );
    assert_eq!(json(&predict("pipeline.std", &["--format", "json"]))["nondeterminism"]["verdict"], "deterministic");
}

#[test]
fn what_the_paper_decides_is_never_proven_or_refuted() {
    for engine in ["auto", "choice"] {
        let run = predict("counter.std", &["--engine", engine, "--as-published", "--stats"]);
        assert_eq!(run.code, Some(3), "{engine}: {}", run.stdout);
        assert!(run.stdout.contains("as published, without proof: 1 of 3 reads"), "{}", run.stdout);
        assert!(run.stdout.contains("cycle in the witness-order graph"), "{}", run.stdout);
    }
    let check = |more: &[&str]| {
        let args = [&["check", "counter.std", "--nondeterminism", "6,9,1", "--engine", "choice"], more].concat();
        mayhap_in(&examples(), &args)
    };
    assert_eq!((check(&[]).code, check(&["--as-published"]).code), (Some(1), Some(3)));
}

#[test]
fn check_says_why_a_read_cannot_see_a_write() {
    let check = |question: &str| {
        let args = ["check", "counter.std", "--nondeterminism", question, "--engine", "choice", "--format", "json"];
        mayhap_in(&examples(), &args)
    };
    let run = check("1,5,10");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let reason = json(&run)["reason"].as_str().unwrap().to_string();
    assert_eq!(reason, "event 10 cannot run before event 5, and event 5 cannot be reached without event 1");
    let run = check("1,5,init");
    assert!(json(&run)["reason"].as_str().unwrap().starts_with("the initial value cannot come after event 1"));
    // The read saw another write, the other write is not a write, an event does not exist.
    for question in ["2,9,1", "6,9,8", "6,99,1"] {
        assert_eq!(check(question).code, Some(2), "{question}");
    }
}

#[test]
fn reports_agree_however_many_workers_there_are() {
    let one = |threads: &str| {
        let args = ["predict", "bubblesort.std", "--kinds", "nondeterminism", "--threads", threads, "--format", "json"];
        let mut document = json(&mayhap_in(&traces(), &args));
        document["summary"]["seconds"] = Value::Null;
        document["nondeterminism"]["table"]["seconds"] = Value::Null;
        document
    };
    let document = one("1");
    assert_eq!(document, one("3"));
    assert_eq!(document["nondeterminism"]["triplets"], 12_419);
    assert_eq!(document["nondeterminism"]["unknown"], 0);
    for finding in document["findings"].as_array().unwrap() {
        assert!(!finding["witness"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_read_under_locks_is_reported_by_run_if_another_value_leads_to_a_crash() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nondeterminism/mode_between.c");
    let folder = tempfile::tempdir().unwrap();
    let run = |bad: &str| {
        let bad = format!("-DBAD={bad}");
        let built =
            mayhap_in(folder.path(), &["cc", "-O1", "-g", "-pthread", &bad, source.to_str().unwrap(), "-o", "program"]);
        assert_eq!(built.code, Some(0), "{}", built.stderr);
        // The recorded run is one in which the reader comes last; what exploring comes to does not count here.
        mayhap_in(folder.path(), &["run", "--format", "json", "--rounds", "1", "--explore", "0", "--", "./program"])
    };
    let found = run("2");
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let findings = json(&found)["findings"].as_array().unwrap().clone();
    let reads = |f: &&Value| f["kind"] == "nondeterminism" && f["verdict"] == "confirmed" && f["severity"] == "error";
    assert_eq!(findings.iter().filter(reads).count(), 1, "{findings:#?}");
    // The same read may see the same values, and bears them.
    let correct = run("4");
    assert_eq!(correct.code, Some(0), "{}{}", correct.stdout, correct.stderr);
}
