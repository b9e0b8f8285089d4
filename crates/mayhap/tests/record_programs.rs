//! Small programs, one behaviour each, compiled with `mayhap cc` or `mayhap c++`, recorded, and their traces held to
//! what the comments at the top of each program say (`common/expect.rs`), and:
//!
//! - `// level: FLAG`: how it is compiled, `-O1` unless given
//! - `// library: NAME`: `libraries/NAME.c` becomes `NAME.so` next to the program; `// plain library: NAME`: without recording
//! - `// not under: SCHEDULE`: it is not checked under this schedule
//!
//! `MAYHAP_PROGRAM=NAME` runs those whose names start so.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::expect::{self, facts};
use mayhap_testkit::needs;

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

/// Compiles the shared libraries that a program opens.
fn compile_libraries(file: &Path, folder: &Path, compiler: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).unwrap();
    let recorded = facts(&text, "library").into_iter().map(|name| (name, true));
    for (name, recorded) in recorded.chain(facts(&text, "plain library").into_iter().map(|name| (name, false))) {
        let source = file.with_file_name(format!("libraries/{name}.c"));
        let mut command = Command::new(if recorded { env!("CARGO_BIN_EXE_mayhap") } else { compiler });
        command.args(if recorded { &["cc"][..] } else { &[] }).args(["-O1", "-fPIC", "-shared"]).arg(source);
        // Another program may have the library open.
        let new = format!("{name}.{}.so", stem(file));
        command.args(["-o", &new]).env("MAYHAP_CC", compiler).current_dir(folder);
        let run: common::Run = command.output().unwrap().into();
        if run.code != Some(0) {
            return Err(format!("library {name} does not compile:\n{}", run.stderr));
        }
        std::fs::rename(folder.join(new), folder.join(format!("{name}.so"))).unwrap();
    }
    Ok(())
}

/// Compiles with the C and the C++ compiler of these names.
fn compile(file: &Path, folder: &Path, compilers: [&str; 2]) -> Result<(), String> {
    let (language, standard) =
        if file.extension().unwrap() == "c" { ("cc", "-std=gnu11") } else { ("c++", "-std=c++17") };
    compile_libraries(file, folder, compilers[0])?;
    let text = std::fs::read_to_string(file).unwrap();
    let level = facts(&text, "level").first().copied().unwrap_or("-O1");
    let run: common::Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args([language, standard, level, "-pthread", file.to_str().unwrap(), "-o", &stem(file)])
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
    let (name, program) = (stem(file), folder.join(stem(file)));
    let trace = folder.join(format!("{name}.mhp"));
    expect::check(&name, &text, &[program.to_str().unwrap()], &trace, schedule).map(|_| ())
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
    let text = std::fs::read_to_string(file).unwrap();
    let unfit = facts(&text, "not under");
    let fits = |schedule: &&&[&str]| !schedule.iter().any(|word| unfit.contains(word));
    schedules.iter().filter(fits).filter_map(failed).collect()
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
    if needs::tool("clang++", "clang") {
        check_all(["clang", "clang++"], &[&["--seed", "1"]]);
    }
}
