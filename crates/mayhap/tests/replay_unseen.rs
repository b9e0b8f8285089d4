//! Orders that the recording does not see, in libraries without hooks: where a replay shows one, the finding is only suspected.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay_unseen").join(format!("{name}.c"))
}

/// The main job on the program with this library: exit code and the one finding.
fn run(library: &str, options: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let plain = Command::new("gcc")
        .args(["-O1", "-g", "-shared", "-fPIC", "-o", "libplain.so"])
        .arg(source(library))
        .current_dir(here)
        .status();
    assert!(plain.unwrap().success());
    let (user, path) = (source("user"), format!("-Wl,-rpath,{}", here.display()));
    let options_of_compiler =
        ["cc", "-O1", "-g", "-pthread", user.to_str().unwrap(), "-o", "user", "-L.", "-lplain", &path];
    let built = common::mayhap_in(here, &options_of_compiler);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let all = [
        &["run", "--format", "json", "--rounds", "1", "--patience", "1", "--explore", "0", "--kinds", "race"],
        options,
        &["./user"],
    ];
    let run = common::mayhap_in(here, &all.concat());
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{library}: {}", run.stderr));
    let [finding] = &report["findings"].as_array().unwrap()[..] else { panic!("{report:#}") };
    (run.code, finding.clone())
}

/// The finding is suspected since a thread waits so, in the library's lock.
fn is_suspected(library: &str, how: &str) {
    let (code, finding) = run(library, &[]);
    assert_eq!((code, finding["verdict"].as_str()), (Some(0), Some("suspected")), "{finding:#}");
    let blocked = &finding["replay"]["blocked"];
    assert_eq!(blocked["how"], how, "{finding:#}");
    let stack = blocked["stack"].to_string();
    assert!(stack.contains(&format!("{library}.c:")) && stack.contains("work"), "{finding:#}");
    // The library is in doubt already before the replay.
    assert!(finding["reason"].as_str().unwrap().contains("libplain.so"), "{finding:#}");
}

#[test]
fn a_lock_that_spins_makes_a_race_suspected() {
    is_suspected("spins", "spins");
}

#[test]
fn a_lock_that_sleeps_makes_a_race_suspected() {
    is_suspected("sleeps", "sleeps in the system call futex");
}

#[test]
fn a_lock_that_reads_makes_a_race_suspected() {
    is_suspected("reads", "sleeps in the system call read");
    let (code, _) = run("reads", &["--fail-on", "suspected"]);
    assert_eq!(code, Some(1));
}

#[test]
fn a_lock_that_is_none_leaves_the_race_confirmed() {
    let (code, finding) = run("nothing", &[]);
    assert_eq!((code, finding["verdict"].as_str()), (Some(1), Some("confirmed")), "{finding:#}");
}
