//! Programs with known hidden bugs, from a passing run to a bug that happens: a table of what was proven and how often a
//! replay confirmed it.
//!
//! The programs are those of `tests/replay` and, where it is there, `tests/hidden_bugs`; `// kind: race|deadlock|atomicity|order` in
//! a program's text says what is wrong with it. Normally every fifth program and two replays each.
//!
//! - `MAYHAP_ATTEMPTS=20`: all programs, with this many replays each
//! - `MAYHAP_PLAIN=1000`: also this many plain runs of each, and what libtsan and Helgrind report
//! - `MAYHAP_PROGRAM=NAME`: only those whose names start so

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The part of replays that must confirm a proven bug.
const ENOUGH: f64 = 0.95;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// All programs with the kind of their bug.
fn programs() -> Vec<(PathBuf, String)> {
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let mut all = Vec::new();
    for folder in ["tests/replay", "tests/hidden_bugs"] {
        let Ok(entries) = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) else { continue };
        for file in entries.map(|entry| entry.unwrap().path()) {
            let known = file.extension().is_some_and(|e| e == "c" || e == "cpp");
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            if !known || name.ends_with("_fixed") || !name.starts_with(&wanted) {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            if let Some(kind) = text.lines().find_map(|line| line.strip_prefix("// kind: ")) {
                all.push((file, kind.trim().to_string()));
            }
        }
    }
    all.sort();
    all
}

/// What `mayhap run` reports for a program's bug: proven or not, confirmed replays and all replays, and why others failed.
fn replayed(file: &Path, kind: &str, attempts: u64) -> (bool, u64, u64, String) {
    let folder = tempfile::tempdir().unwrap();
    let attempts = attempts.to_string();
    let arguments =
        ["run", "--explore", "0", "--rounds", "1", "--patience", "3", "--format", "json", "--replays", &attempts];
    let mut arguments = arguments.to_vec();
    arguments.push(file.to_str().unwrap());
    let run = common::mayhap_in(folder.path(), &arguments);
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}: {}", file.display(), run.stderr));
    let findings = report["findings"].as_array().unwrap().iter().filter(|f| f["kind"] == kind);
    let counts = findings.map(|f| {
        let replay = &f["replay"];
        let count = |key: &str| replay[key].as_u64().unwrap_or(0);
        (count("confirmed"), count("runs"), replay["diverged"].as_str().unwrap_or_default().to_string())
    });
    counts.fold((false, 0, 0, String::new()), |(_, confirmed, runs, why), (more, of, also)| {
        (true, confirmed + more, runs + of, if also.is_empty() { why } else { also })
    })
}

/// How a plain program ended: its exit code, if it ended.
fn ended(program: &mut Command, limit: Duration) -> Option<i32> {
    let mut child = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// How often plain runs fail, and what other tools report.
fn plainly(file: &Path, runs: u64) -> String {
    let folder = tempfile::tempdir().unwrap();
    let compiler = if file.extension().unwrap() == "c" { "gcc" } else { "g++" };
    let build = |name: &str, options: &[&str]| {
        let built = folder.path().join(name);
        let mut command = Command::new(compiler);
        command.args(["-O1", "-g", "-pthread"]).args(options).arg(file).arg("-o").arg(&built);
        command.status().is_ok_and(|status| status.success()).then_some(built)
    };
    let Some(plain) = build("plain", &[]) else { return "does not compile".into() };
    let bad = |_: &u64| ended(&mut Command::new(&plain), Duration::from_secs(3)) != Some(0);
    let failed = (0..runs).filter(bad).count();
    let says = |code: Option<i32>, quiet: i32| match code {
        Some(code) if code == quiet => "nothing",
        Some(_) => "reports",
        None => "hangs",
    };
    let tsan = build("tsan", &["-fsanitize=thread"]).map_or("-", |built| {
        says(ended(Command::new(built).env("TSAN_OPTIONS", "exitcode=66"), Duration::from_secs(30)), 0)
    });
    let mut helgrind = Command::new("valgrind");
    helgrind.args(["-q", "--tool=helgrind", "--error-exitcode=66"]).arg(&plain);
    let helgrind = says(ended(&mut helgrind, Duration::from_secs(60)), 0);
    format!("{failed:>4} of {runs} plain runs fail, libtsan {tsan:<7}, Helgrind {helgrind}")
}

#[test]
fn what_is_proven_can_be_made_to_happen() {
    let asked = number("MAYHAP_ATTEMPTS");
    let every = if asked.is_some() || std::env::var_os("MAYHAP_PROGRAM").is_some() { 1 } else { 5 };
    let mut wrong = Vec::new();
    let all = programs();
    assert!(all.len() >= 4, "the programs are gone");
    for (file, kind) in all.iter().step_by(every) {
        let name = file.file_stem().unwrap().to_string_lossy();
        let (proven, confirmed, runs, why) = replayed(file, kind, asked.unwrap_or(2));
        let plain = number("MAYHAP_PLAIN").map_or(String::new(), |runs| plainly(file, runs));
        let word = if proven { "proven" } else { "-" };
        println!("{name:<28} {kind:<10} {word:<7} {confirmed:>3}/{runs:<3} {plain}");
        if proven && (confirmed as f64) < ENOUGH * runs as f64 {
            wrong.push(format!("{name}: {confirmed} of {runs}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
