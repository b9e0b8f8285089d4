//! Small programs, one behaviour each, compiled with `mayhap cc` or `mayhap c++`, recorded, and their traces held to
//! what the comments at the top of each program say:
//!
//! - `// race: NAME`: happens-before leaves conflicting accesses to a variable unordered whose name starts so
//! - the file's name ends in `_norace`: there is none
//! - `// counts: OP=N OP>=N`: events of each operation
//! - `// names: NAME`: a thread, lock or variable whose name starts so
//! - `// status: N`: the exit code, 0 unless given
//! - `// note: TEXT`: what `mayhap record` says
//! - `// seconds: N`: the longest the recording may take, 60 unless given
//! - `// library: NAME`: `libraries/NAME.c` becomes `NAME.so` beside the program; `// plain library: NAME`: without recording
//!
//! `MAYHAP_PROGRAM=NAME` runs those whose names start so.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mayhap_detect::{Options, Order, detect};
use mayhap_trace::{Op, Relations, Trace, format};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-rt/tests/programs").canonicalize().unwrap();
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| stem(file).starts_with(&wanted) && file.extension().is_some_and(|e| e == "c" || e == "cpp"));
    files.sort();
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

/// The words behind `// key:` in a program's text.
fn facts<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let prefix = format!("// {key}: ");
    text.lines().filter_map(|line| line.strip_prefix(prefix.as_str())).collect()
}

/// Compiles the shared libraries that a program opens.
fn compile_libraries(file: &Path, folder: &Path, compiler: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).unwrap();
    let recorded = facts(&text, "library").into_iter().map(|name| (name, true));
    for (name, recorded) in recorded.chain(facts(&text, "plain library").into_iter().map(|name| (name, false))) {
        let source = file.with_file_name(format!("libraries/{name}.c"));
        let mut command = Command::new(if recorded { env!("CARGO_BIN_EXE_mayhap") } else { compiler });
        command.args(if recorded { &["cc"][..] } else { &[] }).args(["-O1", "-fPIC", "-shared"]).arg(source);
        command.args(["-o", &format!("{name}.so")]).env("MAYHAP_CC", compiler).current_dir(folder);
        let run: common::Run = command.output().unwrap().into();
        if run.code != Some(0) {
            return Err(format!("library {name} does not compile:\n{}", run.stderr));
        }
    }
    Ok(())
}

/// Compiles with the C and the C++ compiler of these names.
fn compile(file: &Path, folder: &Path, compilers: [&str; 2]) -> Result<(), String> {
    let (language, standard) =
        if file.extension().unwrap() == "c" { ("cc", "-std=gnu11") } else { ("c++", "-std=c++17") };
    compile_libraries(file, folder, compilers[0])?;
    let run: common::Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args([language, standard, "-O1", "-pthread", file.to_str().unwrap(), "-o", &stem(file)])
        .env("MAYHAP_CC", compilers[0])
        .env("MAYHAP_CXX", compilers[1])
        .current_dir(folder)
        .output()
        .unwrap()
        .into();
    if run.code == Some(0) { Ok(()) } else { Err(format!("does not compile:\n{}", run.stderr)) }
}

/// Records and checks one compiled program under one schedule.
fn check(file: &Path, folder: &Path, schedule: &[&str]) -> Result<(), String> {
    let text = std::fs::read_to_string(file).unwrap();
    let program = folder.join(stem(file));
    let trace = folder.join(format!("{}.mhp", stem(file)));
    let mut arguments = vec!["record", "-o", trace.to_str().unwrap()];
    arguments.extend(schedule);
    arguments.extend(["--", program.to_str().unwrap()]);
    let started = Instant::now();
    let run = common::mayhap_in(folder, &arguments);
    let seconds = facts(&text, "seconds").first().map_or(60, |n| n.parse().unwrap());
    if started.elapsed() > Duration::from_secs(seconds) {
        return Err(format!("took {:?}", started.elapsed()));
    }
    let status = facts(&text, "status").first().map_or(0, |n| n.parse().unwrap());
    if run.code != Some(status) {
        return Err(format!("exit code {:?}, not {status}\n{}{}", run.code, run.stdout, run.stderr));
    }
    for note in facts(&text, "note") {
        if !run.stderr.contains(note) {
            return Err(format!("does not say `{note}` but:\n{}", run.stderr));
        }
    }
    if run.stderr.contains("broke a rule") {
        return Err(run.stderr);
    }
    let loaded = format::read(&trace).map_err(|error| error.to_string())?;
    Relations::derive(&loaded.trace).map_err(|error| error.to_string())?;
    check_counts(&loaded.trace, &text)?;
    check_names(&loaded.trace, &text)?;
    check_races(&loaded.trace, &text, stem(file).ends_with("_norace"))
}

fn check_counts(trace: &Trace, text: &str) -> Result<(), String> {
    for fact in facts(text, "counts").iter().flat_map(|line| line.split_whitespace()) {
        let (word, number) = fact.split_once('=').unwrap();
        let (word, least) = word.strip_suffix('>').map_or((word, false), |word| (word, true));
        let op = Op::from_word(word.as_bytes()).unwrap_or_else(|| panic!("`{word}` is no operation"));
        let (expected, found): (usize, usize) =
            (number.parse().unwrap(), trace.columns().ops.iter().filter(|&&o| o == op).count());
        if found != expected && !(least && found > expected) {
            return Err(format!("{found} events {word}, not {fact}"));
        }
    }
    Ok(())
}

fn check_names(trace: &Trace, text: &str) -> Result<(), String> {
    let tables = trace.tables();
    for name in facts(text, "names").iter().flat_map(|line| line.split_whitespace()) {
        let mut all = tables.threads.iter().chain(tables.locks.iter()).chain(tables.variables.iter());
        if !all.any(|n| n.starts_with(name)) {
            return Err(format!("nothing is named {name}"));
        }
    }
    Ok(())
}

fn check_races(trace: &Trace, text: &str, none: bool) -> Result<(), String> {
    let found = detect(&mut &*trace, Order::Hb, &Options::default()).map_err(|error| error.to_string())?;
    let name = |race: &mayhap_detect::Race| {
        let (_, event) = race.first;
        found.tables.object(event.op, event.object).to_string()
    };
    let mut names: Vec<String> = found.races.iter().map(name).collect();
    names.sort();
    names.dedup();
    if none && !names.is_empty() {
        return Err(format!("races on {names:?}"));
    }
    for wanted in facts(text, "race") {
        if !names.iter().any(|name| name.starts_with(wanted)) {
            return Err(format!("no race on {wanted}, only on {names:?}"));
        }
    }
    Ok(())
}

/// Compiles a program and checks it under each schedule: what went wrong.
fn check_program(file: &Path, folder: &Path, compilers: [&str; 2], schedules: &[&[&str]]) -> Vec<String> {
    if let Err(why) = compile(file, folder, compilers) {
        return vec![format!("{}: {why}", stem(file))];
    }
    let failed = |schedule: &&[&str]| match check(file, folder, schedule) {
        Ok(()) => None,
        Err(why) => Some(format!("{} {schedule:?}: {why}", stem(file))),
    };
    schedules.iter().filter_map(failed).collect()
}

fn check_all(compilers: [&str; 2], schedules: &[&[&str]]) {
    let folder = tempfile::tempdir().unwrap();
    let programs = programs();
    assert!(!programs.is_empty(), "no program to check");
    // Many of them mostly wait.
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(file) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let new = check_program(file, folder.path(), compilers, schedules);
                    failures.lock().unwrap().extend(new);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), programs.len(), failures.join("\n"));
}

#[test]
fn every_program_is_recorded_as_it_says() {
    let schedules: [&[&str]; 3] =
        [&[], &["--schedule", "random", "--seed", "7"], &["--schedule", "pct", "--seed", "3"]];
    check_all(["gcc", "g++"], &schedules);
}

#[test]
fn every_program_is_recorded_as_it_says_by_clang() {
    if Command::new("clang++").arg("--version").output().is_err() {
        println!("no clang here: nothing checked");
        return;
    }
    check_all(["clang", "clang++"], &[&["--seed", "1"]]);
}
