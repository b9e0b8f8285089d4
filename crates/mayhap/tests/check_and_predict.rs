//! `check` and `predict` as users run them: exit codes, JSON, text, witness files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mayhap_trace::{EventId, Execution, Trace, format};
use mayhap_witness::{Checker, Model, Target, Witness};
use serde_json::Value;

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

fn mayhap(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mayhap")).args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn json(arguments: &[&str]) -> (i32, Value) {
    let output = mayhap(&[arguments, &["--format", "json"]].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (code(&output), serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}")))
}

fn golden(name: &str) -> String {
    corpus("golden").join(name).display().to_string()
}

#[test]
fn check_proves_refutes_and_says_why() {
    let trace = golden("seqcheck/fig1.std");
    let (proven, answer) = json(&["check", &trace, "--race", "2,9", "--model", "branch"]);
    assert_eq!((proven, &answer["verdict"], &answer["model"]), (1, &"proven".into(), &"branch".into()));
    assert!(answer["witness"].as_array().is_some_and(|w| !w.is_empty()));
    let (refuted, answer) = json(&["check", &trace, "--race", "2,9", "--model", "data"]);
    assert_eq!((refuted, &answer["verdict"], &answer["engine"]), (0, &"refuted".into(), &"auto".into()));
    assert!(answer["reason"].as_str().is_some_and(|r| !r.is_empty()));
    assert_eq!(answer["witness"], Value::Array(vec![]));
}

#[test]
fn every_question_has_its_form() {
    let trace = golden("counterexamples/seqcheck_deadlock_encoding.std");
    assert_eq!(code(&mayhap(&["check", &trace, "--deadlock", "2,6"])), 1);
    assert_eq!(code(&mayhap(&["check", &trace, "--sequence", "5,2,6"])), 0);
    assert_eq!(code(&mayhap(&["check", &trace, "--sequence", "1,2", "--adjacent", "1,2"])), 1);
    let trace = golden("counterexamples/nondet_whole_trace.std");
    assert_eq!(code(&mayhap(&["check", &trace, "--nondeterminism", "4,7,1"])), 1);
    for bad in [
        &["check", &trace, "--race", "1"][..],
        &["check", &trace, "--race", "1,99"],
        &["check", &trace, "--race", "1,1"],
        &["check", &trace, "--race", "0,1"],
        &["check", &trace, "--race", "init,1"],
        &["check", &trace, "--race", "1,2", "--deadlock", "1,2"],
        &["check", &trace, "--adjacent", "1,2", "--race", "1,2"],
        &["check", &trace],
        &["predict", &trace, "--kinds", "ghosts"],
    ] {
        let output = mayhap(bad);
        assert_eq!(code(&output), 2, "{bad:?}");
        assert!(!output.stderr.is_empty(), "{bad:?}");
    }
}

#[test]
fn a_saved_witness_passes_the_kernel_alone() {
    let folder = tempfile::tempdir().unwrap();
    let witness = folder.path().join("w.json").display().to_string();
    let trace = golden("counterexamples/close_third_thread.std");
    let (_, prediction) =
        json(&["predict", &trace, "--kinds", "race", "--witnesses", &folder.path().display().to_string()]);
    let finding = &prediction["findings"][0];
    let events: Vec<String> = finding["events"].as_array().unwrap().iter().map(|e| e["event"].to_string()).collect();
    assert_eq!(code(&mayhap(&["check", &trace, "--race", &events.join(","), "--witness", &witness])), 1);
    assert_eq!(code(&mayhap(&["verify", &trace, &witness])), 0);
    let saved = folder.path().join(format!("{}.json", finding["id"].as_str().unwrap()));
    assert_eq!(code(&mayhap(&["verify", &trace, &saved.display().to_string()])), 0);
}

/// The published start pair lies beyond the only way to the target; the printed table takes a third thread for absent.
#[test]
fn lock_histories_can_be_asked_as_printed() {
    let start_pair = golden("counterexamples/ipa_start_pair.std");
    let third_thread = golden("counterexamples/ipa_strategy2_terminal.std");
    let no_path = "the search as printed found no path, which proves nothing";
    for (engine, trace, race, literal, exit, verdict, reason) in [
        ("ipa1", &start_pair, "8,4", false, 1, "proven", "a schedule of"),
        ("ipa1", &start_pair, "8,4", true, 3, "unknown", no_path),
        ("ipa2", &start_pair, "8,4", true, 3, "unknown", no_path),
        ("ipa2", &third_thread, "2,11", false, 3, "unknown", "strategy II found no path beside the other threads"),
        ("ipa2", &third_thread, "2,11", true, 3, "unknown", "but no schedule with the other threads was found"),
    ] {
        let mut arguments = vec!["check", trace, "--race", race, "--model", "sync", "--engine", engine];
        arguments.extend(literal.then_some("--as-published"));
        let (code, document) = json(&arguments);
        assert_eq!((code, document["verdict"].as_str()), (exit, Some(verdict)), "{arguments:?}: {document}");
        let said = document["reason"].as_str().unwrap_or_default();
        assert!(said.contains(reason), "{arguments:?}: {said}");
        let suspected = document["suspected"].as_bool().unwrap_or_default();
        assert_eq!(suspected, reason.starts_with("but"), "{arguments:?}: {document}");
    }
}

/// Long schedules are stored from where they leave the recorded run; together with the part before, the kernel accepts them.
#[test]
fn long_schedules_are_told_from_where_they_leave_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.mhp");
    let trace = path.to_str().unwrap();
    let made = mayhap(&["generate", "--events", "60k", "--races", "12", "--seed", "1", "-o", trace]);
    assert_eq!(code(&made), 0);
    let (exit, document) = json(&["predict", trace, "--kinds", "race"]);
    assert_eq!(exit, 1);
    let trace = Trace::from_source(format::open(&path).unwrap()).unwrap();
    let execution = Execution::derive(&trace).unwrap();
    let relations = execution.relations();
    let mut checker = Checker::new(&execution);
    let event = |number: &Value| EventId::from_number(number.as_u64().unwrap()).unwrap();
    let (mut long, mut steps) = (0, 0);
    for finding in document["findings"].as_array().unwrap() {
        let after = finding["witness_after"].as_u64().unwrap_or(0) as usize;
        // A number, or the first and the last of several.
        let ends =
            |run: &Value| run.as_array().map_or([run.clone(), run.clone()], |run| [run[0].clone(), run[1].clone()]);
        let runs = finding["witness"].as_array().unwrap().iter().map(ends);
        let told: Vec<EventId> =
            runs.flat_map(|[first, last]| (event(&first).index()..=event(&last).index()).map(EventId::at)).collect();
        let before = (0..after).map(EventId::at).filter(|&e| relations.is_relevant(e));
        let witness = Witness { schedule: before.chain(told.iter().copied()).collect() };
        if let Some(all) = finding["witness_steps"].as_u64() {
            assert_eq!(witness.schedule.len() as u64, all);
            assert!(all > 10_000, "{finding}");
            long += 1;
            steps += told.len();
        } else {
            assert_eq!(after, 0);
        }
        let target = Target::Race(event(&finding["events"][0]["event"]), event(&finding["events"][1]["event"]));
        checker.check(&target, Model::Data, witness).unwrap();
    }
    assert!(long > 3 && steps / long < 10_000, "{long} long schedules, told by {steps} steps");
}

#[test]
fn predict_prints_the_documented_json() {
    let trace = corpus("traces/account.std").display().to_string();
    let (exit, document) = json(&["predict", &trace, "--kinds", "race"]);
    assert_eq!(exit, 1);
    assert_eq!(document["tool"]["name"], "mayhap");
    assert_eq!(document["trace"]["events"], 15);
    assert_eq!(document["model"], "data");
    let finding = &document["findings"][0];
    for field in ["id", "kind", "verdict", "engine", "model", "occurrences", "distance", "events", "witness"] {
        assert!(!finding[field].is_null(), "{field} is missing: {finding}");
    }
    for field in ["event", "thread", "op", "object", "location"] {
        assert!(!finding["events"][0][field].is_null(), "{field} is missing: {finding}");
    }
    assert_eq!(finding["verdict"], "proven");
    for field in ["candidates", "proven", "refuted", "unknown", "suspected", "seconds"] {
        assert!(document["summary"][field].is_number(), "{field} is missing: {document}");
    }
    let text = mayhap(&["predict", &trace, "--kinds", "race", "--stats"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("error: Data race on `V16e92358.199`: T20 writes while T21 reads")
            && text.contains("3 candidates: 1 proven, 2 not implied by this run, 0 unknown"),
        "{text}"
    );
}

#[test]
fn a_trace_without_bugs_exits_with_0() {
    let trace = tempfile::NamedTempFile::with_suffix(".std").unwrap();
    std::fs::write(trace.path(), "T1|acq(l)|1\nT1|w(x)|2\nT1|rel(l)|3\nT2|acq(l)|4\nT2|r(x)|5\nT2|rel(l)|6\n").unwrap();
    let (exit, document) = json(&["predict", &trace.path().display().to_string()]);
    assert_eq!((exit, &document["findings"]), (0, &Value::Array(vec![])));
}

/// Two deposits under one lock, each with a gap between check and act; and an initialisation that nothing enforces.
#[test]
fn atomicity_and_order_violations_are_found_and_the_noise_is_not() {
    let text = "\
T0|fork(T1)|0\nT0|fork(T2)|0
T1|acq(l)|1\nT1|r(x)|check\nT1|rel(l)|2\nT1|acq(l)|3\nT1|w(x)|act\nT1|rel(l)|4
T2|acq(l)|5\nT2|w(x)|other\nT2|rel(l)|6\n";
    let trace = tempfile::NamedTempFile::with_suffix(".std").unwrap();
    std::fs::write(trace.path(), text).unwrap();
    let path = trace.path().display().to_string();
    let (exit, document) = json(&["predict", &path, "--kinds", "race,atomicity"]);
    assert_eq!(exit, 1);
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{document}");
    assert_eq!(findings[0]["kind"], "atomicity");
    let numbers: Vec<u64> =
        findings[0]["events"].as_array().unwrap().iter().map(|e| e["event"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [4, 10, 7]);
    // The same pair, interleaved in the observed run: not meant as one.
    let seen = "T2|acq(l)|5\nT2|w(x)|other\nT2|rel(l)|6\n";
    let observed =
        format!("{text}T1|acq(l)|1\nT1|r(x)|check\nT1|rel(l)|2\n{seen}T1|acq(l)|3\nT1|w(x)|act\nT1|rel(l)|4\n");
    std::fs::write(trace.path(), observed).unwrap();
    let (_, document) = json(&["predict", &path, "--kinds", "atomicity"]);
    let pairs = document["findings"].as_array().unwrap().iter();
    assert_eq!(pairs.filter(|f| f["events"][0]["location"] == "check").count(), 0, "{document}");

    let text = "T0|fork(T1)|0\nT0|acq(l)|1\nT0|w(p)|init\nT0|rel(l)|2\nT1|acq(l)|3\nT1|r(p)|use\nT1|rel(l)|4\n";
    std::fs::write(trace.path(), text).unwrap();
    let (exit, document) = json(&["predict", &path, "--kinds", "race,order"]);
    assert_eq!((exit, &document["findings"][0]["kind"]), (1, &"order".into()), "{document}");
}

#[test]
fn a_lock_that_is_only_tried_is_in_no_deadlock() {
    let order = |marked: &str| {
        format!(
            "T0|fork(T1)|0\nT0|fork(T2)|0\nT1|acq(a)|1\n{marked}T1|acq(b)|2\nT1|rel(b)|3\nT1|rel(a)|4
T2|acq(b)|5\nT2|acq(a)|6\nT2|rel(a)|7\nT2|rel(b)|8\n"
        )
    };
    let trace = tempfile::NamedTempFile::with_suffix(".std").unwrap();
    let path = trace.path().display().to_string();
    std::fs::write(trace.path(), order("")).unwrap();
    let (exit, document) = json(&["predict", &path, "--kinds", "deadlock"]);
    assert_eq!((exit, document["findings"].as_array().unwrap().len()), (1, 1), "{document}");
    std::fs::write(trace.path(), order("T1|try|2\n")).unwrap();
    let (exit, document) = json(&["predict", &path, "--kinds", "deadlock"]);
    assert_eq!((exit, document["findings"].as_array().unwrap().len()), (0, 0), "{document}");
    let run = mayhap(&["check", &path, "--deadlock", "5,9"]);
    assert_eq!(code(&run), 2);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains("event 5 is a try or timed acquire"), "{said}");
}

#[test]
fn what_correct_programs_do_in_two_sections_is_no_atomicity_violation() {
    // Each raises a counter twice, and polls a flag: the same code, run again.
    let thread = |t: &str| {
        let one = format!("{t}|acq(l)|1\n{t}|r(n)|2\n{t}|w(n)|3\n{t}|r(f)|4\n{t}|br|5\n{t}|rel(l)|6\n");
        one.repeat(2)
    };
    let set = "T3|acq(l)|7\nT3|w(f)|8\nT3|rel(l)|9\n";
    let text = format!("T0|fork(T1)|0\nT0|fork(T2)|0\nT0|fork(T3)|0\n{}{}{set}", thread("T1"), thread("T2"));
    let trace = tempfile::NamedTempFile::with_suffix(".std").unwrap();
    let path = trace.path().display().to_string();
    std::fs::write(trace.path(), text).unwrap();
    let kinds = ["predict", &path, "--kinds", "race,deadlock,atomicity,order", "--model", "branch"];
    let (exit, document) = json(&kinds);
    assert_eq!((exit, document["findings"].as_array().unwrap().len()), (0, 0), "{document}");
    let (exit, document) = json(&[&kinds[..], &["--no-intent-filter"]].concat());
    assert_eq!(exit, 1, "{document}");
}
