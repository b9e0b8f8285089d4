//! Programs that synchronise by atomics of their own: spin, ticket, sequence and reader-writer locks, reference counts, flags,
//! double-checked initialisation, a work-stealing deque, ring buffers. Each has a bug, outside or inside of the lock; its
//! correct twin is the same file compiled with `FIXED`, or for Rust the same program with the argument `fixed`.
//!
//! `mayhap run` must prove the bug and confirm it by every replay, and report no error of the twin. The comments at the top of
//! a program are those of `hidden_bugs`; memory that is freed too early is a race or a use after free.
//!
//! Then litmus programs: what the C11 memory model says of two accesses, with gcc and clang. Their comments say `// race: NAME`
//! or `// race: none`. Those in C++ are compiled by `mayhap cc`, which knows the language by the file's name.
//! Some are built by gcc without `mayhap cc`: of these nothing false may be proven.
//!
//! `MAYHAP_PROGRAM=NAME` takes those whose names start so; `MAYHAP_ATTEMPTS=20` replays each bug so often, once otherwise.

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Run, rust};
use mayhap_testkit::needs;
use serde_json::Value;

/// What follows `// key:` in a program's text.
fn fact(file: &Path, key: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let prefix = format!("// {key}: ");
    let found = text.lines().find_map(|line| line.strip_prefix(prefix.as_str()));
    found.unwrap_or_else(|| panic!("{} does not say its {key}", file.display())).to_owned()
}

fn name(file: &Path) -> String {
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

fn programs(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_known = |file: &PathBuf| file.extension().is_some_and(|e| extensions.contains(&e.to_str().unwrap()));
    let mut files: Vec<PathBuf> = files.filter(is_known).filter(|file| name(file).starts_with(&wanted)).collect();
    files.sort();
    files
}

const OPTIONS: [&str; 6] = ["-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread"];

/// Compiles a C or C++ program for recording.
fn compile(file: &Path, folder: &Path, compilers: [&str; 2], twin: bool) -> PathBuf {
    let command = if file.extension().unwrap() == "c" { "cc" } else { "c++" };
    compile_with(command, file, folder, compilers, twin)
}

/// Compiles a program for recording with `mayhap cc` or `mayhap c++`.
fn compile_with(command: &str, file: &Path, folder: &Path, compilers: [&str; 2], twin: bool) -> PathBuf {
    let is_c = file.extension().unwrap() == "c";
    let built = folder.join(format!("{}-{}{}", name(file), compilers[0], if twin { "-fixed" } else { "" }));
    let run: Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args([command, if is_c { "-std=gnu11" } else { "-std=c++17" }])
        .args(OPTIONS)
        .args(twin.then_some("-DFIXED"))
        .arg(file)
        .args((!is_c && command == "cc").then_some("-lstdc++"))
        .arg("-o")
        .arg(&built)
        .env("MAYHAP_CC", compilers[0])
        .env("MAYHAP_CXX", compilers[1])
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(0), "{} does not compile:\n{}", file.display(), run.stderr);
    built
}

/// What `mayhap run` makes of a program: its exit code and its errors.
fn run(program: &[&str], options: &[&str]) -> Result<(Option<i32>, Vec<Value>), String> {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [&["run", "--format", "json"], options, &["--"], program].concat();
    let run = common::mayhap_in(folder.path(), &arguments);
    let report: Value = serde_json::from_str(&run.stdout).map_err(|_| format!("no report: {}", run.stderr))?;
    let is_error = |finding: &Value| !matches!(finding["verdict"].as_str(), Some("note" | "suspected"));
    Ok((run.code, report["findings"].as_array().unwrap().iter().filter(|f| is_error(f)).cloned().collect()))
}

/// A line that says what a finding is.
fn line(finding: &Value) -> String {
    let mut line = format!("{} {}", finding["verdict"], finding["kind"]);
    for event in finding["events"].as_array().unwrap() {
        let text = |key| event[key].as_str().unwrap_or_default();
        write!(line, "; {} {} {} {}", text("thread"), text("op"), text("object"), text("location")).unwrap();
    }
    write!(line, "; {}", finding["replay"]).unwrap();
    line
}

/// Holds a program and its twin to what they are there for; returns a line of the table.
fn check(file: &Path, bug: &[&str], twin: &[&str]) -> Result<String, String> {
    let attempts = std::env::var("MAYHAP_ATTEMPTS").unwrap_or("1".to_owned());
    let (kind, expect) = (fact(file, "kind"), fact(file, "expect"));
    let (_, found) = run(bug, &["--rounds", "1", "--explore", "0", "--replays", &attempts])?;
    let is_expected = |finding: &&Value| {
        let mut objects = finding["events"].as_array().unwrap().iter().filter_map(|e| e["object"].as_str());
        kind.split(' ').any(|kind| finding["kind"] == kind)
            && objects.any(|object| expect.split(' ').any(|name| object.contains(name)))
    };
    let all = || found.iter().map(line).collect::<Vec<_>>();
    let Some(finding) = found.iter().find(is_expected) else {
        return Err(format!("no {kind} on {expect}, but {:#?}", all()));
    };
    let count = |key: &str| finding["replay"][key].as_u64().unwrap_or(0);
    if finding["verdict"] != "confirmed" || count("confirmed") == 0 || count("confirmed") != count("runs") {
        return Err(format!("not confirmed: {:#?}", all()));
    }
    let (code, errors) = run(twin, &[]).map_err(|why| format!("its twin: {why}"))?;
    if code != Some(0) || !errors.is_empty() {
        return Err(format!("its twin: exit {code:?}, {:#?}", errors.iter().map(line).collect::<Vec<_>>()));
    }
    Ok(format!("| {} | {kind} | {}/{} | clean |", name(file), count("confirmed"), count("runs")))
}

/// Does work on all files, two at a time, and fails with all that was wrong.
fn on_all(files: &[PathBuf], work: impl Fn(&Path) -> Result<String, String> + Sync) {
    assert!(std::env::var_os("MAYHAP_PROGRAM").is_some() || !files.is_empty(), "no program to check");
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(file);
                    results.lock().unwrap().push((name(file), result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort();
    let mut failures = String::new();
    for (name, result) in results {
        match result {
            Ok(line) => println!("{line}"),
            Err(why) => writeln!(failures, "{name}: {why}").unwrap(),
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn bugs_of_home_made_synchronisation_are_confirmed_and_their_twins_are_clean() {
    let folder = tempfile::tempdir().unwrap();
    on_all(&programs("home_made", &["c", "cpp"]), |file| {
        let [bug, twin] = [false, true].map(|twin| compile(file, folder.path(), ["gcc", "g++"], twin));
        check(file, &[bug.to_str().unwrap()], &[twin.to_str().unwrap()])
    });
}

#[test]
fn the_same_in_rust() {
    let files = programs("home_made", &["rs"]);
    if files.is_empty() {
        return;
    }
    let built = rust::build_hidden_bugs();
    on_all(&files, |file| {
        let program = built.join(name(file));
        let program = program.to_str().unwrap();
        check(file, &[program], &[program, "fixed"])
    });
}

#[test]
fn litmus_programs_are_judged_as_c11_says() {
    let folder = tempfile::tempdir().unwrap();
    let gcc = ["gcc", "g++"];
    let both = [gcc, ["clang", "clang++"]];
    let compilers = if needs::tool("clang", "clang") { &both[..] } else { &both[..1] };
    on_all(&programs("litmus", &["c", "cpp"]), |file| {
        let race = fact(file, "race");
        assert!(!fact(file, "why").is_empty());
        for &compilers in compilers {
            let program = compile_with("cc", file, folder.path(), compilers, false);
            let (code, errors) = run(&[program.to_str().unwrap()], &["--kinds", "race"])?;
            let on_data = |finding: &Value| finding["events"][0]["object"] == race.as_str();
            let (expected, is_right) = match race.as_str() {
                "none" => (Some(0), errors.is_empty()),
                _ => (Some(1), !errors.is_empty() && errors.iter().all(on_data)),
            };
            if code != expected || !is_right {
                let errors: Vec<String> = errors.iter().map(line).collect();
                return Err(format!("with {}: exit {code:?}, {errors:#?}", compilers[0]));
            }
        }
        Ok(format!("| {} | {race} |", name(file)))
    });
}

/// gcc alone leaves copies and comparisons of memory and fences without hooks, so that what it built is only suspected of what they prevent;
/// races that happen in a replay are errors all the same.
#[test]
fn nothing_false_is_proven_of_what_gcc_built_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = ["guarded_by_built_ins", "guarded_by_text", "fences", "fence_seq_cst", "few_bytes"];
    let files = programs("litmus", &["c"]).into_iter().filter(|file| wanted.contains(&name(file).as_str()));
    on_all(&files.collect::<Vec<_>>(), |file| {
        let built = folder.path().join(name(file));
        let mut gcc = Command::new("gcc");
        gcc.args(["-fsanitize=thread", "-Wno-tsan"]).args(OPTIONS).arg(file).arg("-o").arg(&built);
        let compiled: Run = gcc.output().unwrap().into();
        assert_eq!(compiled.code, Some(0), "{} does not compile:\n{}", file.display(), compiled.stderr);
        let (_, errors) = run(&[built.to_str().unwrap()], &["--kinds", "race"])?;
        let is_wrong = |finding: &&Value| fact(file, "race") == "none" || finding["verdict"] != "confirmed";
        match errors.iter().find(is_wrong) {
            Some(error) => Err(format!("with gcc alone: {}", line(error))),
            None => Ok(format!("| {} | gcc alone | {} |", name(file), errors.len())),
        }
    });
}
