//! Findings in a window of a recorded trace are the same as those in the whole trace.

mod common;

use std::path::Path;

use serde_json::Value;

/// The findings of a prediction.
fn findings(folder: &Path, window: &str) -> Vec<Value> {
    let run = common::mayhap_in(
        folder,
        &["predict", "run.mhp", "--kinds", "race", "--format", "json", "--all-instances", "--window", window],
    );
    let mut report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    match report["findings"].take() {
        Value::Array(findings) => findings,
        other => panic!("{other}"),
    }
}

#[test]
fn call_stacks_are_those_of_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/programs/elevator.c");
    let built =
        common::mayhap_in(folder.path(), &["cc", "-g", "-O1", "-pthread", "-o", "prog", source.to_str().unwrap()]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let record = ["record", "--schedule", "random", "--seed", "1", "-o", "run.mhp", "--", "./prog", "2", "40"];
    let recorded = common::mayhap_in(folder.path(), &record);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let whole = findings(folder.path(), "0");
    let sides = |finding: &Value| finding["events"].as_array().unwrap().clone();
    let known: Vec<Value> = whole.iter().flat_map(sides).collect();
    let mut later = 0;
    for window in ["100", "150", "250", "400"] {
        for finding in findings(folder.path(), window).iter().filter(|f| f["witness_after"].as_u64() > Some(0)) {
            for side in sides(finding) {
                let Some(same) = known.iter().find(|known| known["event"] == side["event"]) else { continue };
                assert!(side["stack"].as_array().is_some_and(|stack| !stack.is_empty()), "{side}");
                assert_eq!((&side["stack"], &side["created"]), (&same["stack"], &same["created"]));
                later += 1;
            }
        }
    }
    assert!(later > 0, "no finding in a later window");
}
