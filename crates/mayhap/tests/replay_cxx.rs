//! C++ programs that use much of the standard library, each with one known race on `tally`: proven from one run, and confirmed by every
//! replay, although streams, locales, exceptions, clocks, random numbers and addresses are on the way there.
//!
//! Normally every fifth program and two replays each (one for each order of the accesses).
//!
//! - `MAYHAP_ATTEMPTS=10`: all programs, with this many replays for each order
//! - `MAYHAP_PROGRAM=NAME`: only those whose names start so

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What the programs may read.
const INPUT: &str = "one line\nand another\nthird\n";

fn programs() -> Vec<PathBuf> {
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay_cxx");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_wanted = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().starts_with(&wanted);
    let mut all: Vec<PathBuf> = files.filter(is_wanted).collect();
    all.sort();
    all
}

/// Replays that confirmed the race on `tally`, all replays, and why others failed.
fn replayed(file: &Path, attempts: u64) -> (u64, u64, String) {
    let folder = tempfile::tempdir().unwrap();
    let attempts = attempts.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(["run", "--rounds", "1", "--patience", "5", "--kinds", "race", "--format", "json"]);
    command.args(["--replays", &attempts]).arg(file).current_dir(folder.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may end without reading all of it.
    let _ = child.stdin.take().unwrap().write_all(INPUT.as_bytes());
    let run: common::Run = child.wait_with_output().unwrap().into();
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}: {}", file.display(), run.stderr));
    let is_known = |finding: &&Value| finding["events"].as_array().unwrap().iter().any(|e| e["object"] == "tally");
    let found = report["findings"].as_array().unwrap().iter().filter(is_known);
    found.fold((0, 0, String::new()), |(confirmed, runs, why), finding| {
        let replay = &finding["replay"];
        let count = |key: &str| replay[key].as_u64().unwrap_or(0);
        let also = replay["diverged"].as_str().unwrap_or_default();
        (confirmed + count("confirmed"), runs + count("runs"), if also.is_empty() { why } else { also.to_string() })
    })
}

#[test]
fn known_races_are_confirmed_by_every_replay() {
    let asked = std::env::var("MAYHAP_ATTEMPTS").ok().and_then(|text| text.parse().ok());
    let every = if asked.is_some() || std::env::var_os("MAYHAP_PROGRAM").is_some() { 1 } else { 5 };
    let all = programs();
    assert!(all.len() >= 50 || every == 1, "the programs are gone");
    let mut wrong = Vec::new();
    for file in all.iter().step_by(every) {
        let name = file.file_stem().unwrap().to_string_lossy();
        let (confirmed, runs, why) = replayed(file, asked.unwrap_or(1));
        println!("{name:<24} {confirmed:>3}/{runs:<3} {why}");
        if runs == 0 || confirmed != runs {
            wrong.push(format!("{name}: {confirmed} of {runs}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
