//! The workloads whose instructions are counted run, and a name that none has is refused.

use std::process::Command;

fn run(workload: &str) -> (Option<i32>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_mayhap-instructions")).args(["--workload", workload]).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_workload_runs() {
    for workload in ["detect lockset", "detect hb", "relations", "kernel", "engine exact"] {
        assert_eq!(run(workload), (Some(0), String::new()), "{workload}");
    }
}

#[test]
fn a_workload_that_does_not_exist_is_refused() {
    let (code, message) = run("detect nothing");
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("detect nothing"), "{message}");
}
