//! Programs whose threads order each other by something else than locks: pipes, signals, processes, libraries without hooks, inline
//! assembly, what the languages' libraries do. `mayhap run` must find no error in correct ones (`NAME_norace`), and prove and confirm the bug in
//! the others. The comments at the top of a program say, besides those of `record_programs.rs`:
//!
//! - `// proven: NAME`: a race on a variable whose name starts so is an error, or a use after free that it leads to
//! - `// deadlock: A B`: a deadlock of these is an error
//! - `// hangs: WHY`: the library that it uses can make it hang, which is no mistake of the program
//! - `// doubt: TEXT`: a finding is suspected, and its reason has this in it
//! - `// needs: libc++`: without LLVM's C++ library it is skipped, but not where `CI` is set
//! - `// compiler: clang`, `// standard: c++20`, `// flags: …`: how it is compiled
//!
//! Every ninth program is run, all of them with `MAYHAP_CASES=N`, which then replays each finding N times. `MAYHAP_PROGRAM=NAME` takes those
//! whose names start so. With `MAYHAP_CASES` the programs in `channels/rust` are built and run, too, which needs crates from the network.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::expect::facts;
use mayhap_testkit::needs;
use serde_json::Value;

/// How the names of programs of the recorder's suite begin that are about channels.
const OTHERS: [&str; 12] = [
    "asm_",
    "channel_",
    "file_lock_",
    "futex_",
    "library_",
    "load_",
    "mapping_",
    "queue_",
    "semaphore_sysv",
    "signal_",
    "stream_lock",
    "cxx_",
];

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).canonicalize().unwrap();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|e| e == "c" || e == "cpp")).collect()
}

/// The programs that are to be run.
fn programs() -> Vec<PathBuf> {
    let mut all = files("tests/channels");
    let about_channels = |file: &PathBuf| OTHERS.iter().any(|begin| stem(file).starts_with(begin));
    all.extend(files("../mayhap-rt/tests/programs").into_iter().filter(about_channels));
    all.sort_by_key(|file| stem(file));
    let (wanted, every) = (std::env::var("MAYHAP_PROGRAM").ok(), std::env::var_os("MAYHAP_CASES").is_some());
    let mut number = 0;
    all.retain(|file| {
        number += 1;
        wanted.as_ref().map_or(every || number % 9 == 0, |wanted| stem(file).starts_with(wanted))
    });
    all
}

fn run(command: &mut Command, folder: &Path) -> common::Run {
    command.current_dir(folder).output().unwrap().into()
}

fn compile(file: &Path, text: &str, folder: &Path) -> Result<(), String> {
    let clang = facts(text, "compiler").contains(&"clang");
    let [c, cxx] = if clang { ["clang", "clang++"] } else { ["gcc", "g++"] };
    let is_c = file.extension().unwrap() == "c";
    for (key, plain) in [("plain library", true), ("library", false)] {
        for name in facts(text, key) {
            let source = file.with_file_name(format!("libraries/{name}.c"));
            let mut command = Command::new(if plain { c } else { env!("CARGO_BIN_EXE_mayhap") });
            command.args(if plain { &[][..] } else { &["cc"] }).args(["-O1", "-fPIC", "-shared"]).arg(source);
            let built = run(command.args(["-o", &format!("{name}.so")]).env("MAYHAP_CC", c), folder);
            if built.code != Some(0) {
                return Err(built.stderr);
            }
        }
    }
    let standard = facts(text, "standard").first().copied().unwrap_or(if is_c { "gnu11" } else { "c++17" });
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args([if is_c { "cc" } else { "c++" }, &format!("-std={standard}"), "-g", "-O1", "-pthread"]).arg(file);
    command.args(["-o", "program"]).args(facts(text, "flags").iter().flat_map(|flags| flags.split(' ')));
    let built = run(command.env("MAYHAP_CC", c).env("MAYHAP_CXX", cxx), folder);
    if built.code == Some(0) { Ok(()) } else { Err(built.stderr) }
}

/// What `mayhap run` finds under a schedule.
fn findings_under(folder: &Path, program: &str, schedule: &[&str]) -> Result<Vec<Value>, String> {
    let replays = std::env::var("MAYHAP_CASES").unwrap_or("1".into());
    let options = ["--format", "json", "--rounds", "1", "--timeout", "10", "--replays", &replays];
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    let run = run(command.arg("run").args(options).args(schedule).args(["--", program]), folder);
    let report: Value = serde_json::from_str(&run.stdout).map_err(|_| run.stderr)?;
    Ok(report["findings"].as_array().unwrap().clone())
}

/// What `mayhap run` finds. In correct programs nothing may be wrong under any schedule.
fn findings(folder: &Path, is_correct: bool) -> Result<Vec<Value>, String> {
    let mut found = findings_under(folder, "./program", &[])?;
    if is_correct && std::env::var_os("MAYHAP_CASES").is_some() {
        for (schedule, seed) in [("random", "1"), ("random", "2"), ("pct", "3"), ("pct", "4")] {
            let options = ["--schedule", schedule, "--seed", seed, "--explore", "0"];
            found.extend(findings_under(folder, "./program", &options)?);
        }
    }
    Ok(found)
}

fn is_about(finding: &Value, object: &str) -> bool {
    let events = finding["events"].as_array().unwrap();
    // A block is named in the title by the variable that points to it.
    events.iter().any(|event| event["object"].as_str().unwrap_or_default().starts_with(object))
        || finding["title"].as_str().unwrap_or_default().contains(&format!("`{object}"))
}

/// Whether clang finds LLVM's C++ library.
fn has_llvm_library() -> bool {
    let mut command = Command::new("clang++");
    command.args(["-stdlib=libc++", "-x", "c++", "-include", "__config", "-fsyntax-only", "/dev/null"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// Holds a program to what it says; returns a line for a table.
fn check(file: &Path) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    if facts(&text, "needs").contains(&"libc++") && std::env::var_os("CI").is_none() && !has_llvm_library() {
        return Ok(format!("| {} | | skipped: libc++ is missing (package libc++-dev) |", stem(file)));
    }
    compile(file, &text, folder.path())?;
    let mut found = findings(folder.path(), stem(file).ends_with("_norace"))?;
    if !facts(&text, "hangs").is_empty() {
        found.retain(|finding| finding["kind"] != "hang");
    }
    let lines: Vec<String> =
        found.iter().map(|f| format!("{} {} {}", f["severity"], f["verdict"], f["kind"])).collect();
    let is_error = |finding: &&Value| finding["severity"] == "error";
    let is_race = |finding: &Value| finding["kind"] == "race" || finding["kind"] == "use-after-free";
    if stem(file).ends_with("_norace") && found.iter().any(|finding| is_error(&finding)) {
        return Err(format!("{found:#?}"));
    }
    let mut shown = Vec::new();
    for wanted in facts(&text, "proven") {
        let mut races = found.iter().filter(is_error).filter(|f| is_race(f) && is_about(f, wanted));
        shown.push(replayed(&mut races).map_err(|why| format!("race on {wanted}: {why}: {lines:?}"))?);
    }
    for wanted in facts(&text, "deadlock") {
        let all = |f: &Value| wanted.split(' ').all(|object| is_about(f, object));
        let mut deadlocks = found.iter().filter(is_error).filter(|f| f["kind"] == "deadlock" && all(f));
        shown.push(replayed(&mut deadlocks).map_err(|why| format!("deadlock of {wanted}: {why}: {lines:?}"))?);
    }
    for doubt in facts(&text, "doubt") {
        let says = |f: &Value| f["verdict"] == "suspected" && f["reason"].as_str().unwrap_or_default().contains(doubt);
        if !found.iter().any(says) {
            return Err(format!("{doubt} is not in doubt: {found:#?}"));
        }
    }
    let found = if lines.is_empty() { "nothing".into() } else { lines.join(", ") };
    Ok(format!("| {} | {} | {found} |", stem(file), shown.join(", ")))
}

/// How many replays confirmed one of these findings, of how many. With `MAYHAP_CASES` every replay must.
fn replayed(findings: &mut dyn Iterator<Item = &Value>) -> Result<String, String> {
    let every = std::env::var_os("MAYHAP_CASES").is_some();
    let mut missed = None;
    for finding in findings {
        let replay = &finding["replay"];
        let [confirmed, runs] = ["confirmed", "runs"].map(|key| replay[key].as_u64().unwrap_or(0));
        if !every || confirmed > 0 && confirmed == runs {
            return Ok(format!("{confirmed}/{runs}"));
        }
        missed = Some(format!("confirmed {confirmed} of {runs}: {}", replay["diverged"]));
    }
    Err(missed.unwrap_or("not found".into()))
}

#[test]
fn what_orders_threads_besides_locks_is_respected_and_nothing_else() {
    if !needs::tool("clang", "clang") {
        return;
    }
    let programs = programs();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = check(file);
                    results.lock().unwrap().push((stem(file), result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort();
    let mut failures = Vec::new();
    for (name, result) in results {
        match result {
            Ok(line) => println!("{line}"),
            Err(why) => failures.push(format!("{name}: {why}")),
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), programs.len(), failures.join("\n"));
}

/// What the recording does not see is in doubt under schedules that announce accesses one by one, too, and what it sees there is what the program
/// does.
#[test]
fn correct_programs_have_no_errors_under_random_schedules() {
    let all = [files("tests/channels"), files("../mayhap-rt/tests/programs")].concat();
    for name in ["unknown_calls_norace.c", "own_lock_norace.c", "exit_promise_norace.cpp", "cxx_virtual_norace.cpp"] {
        let file = all.iter().find(|file| file.ends_with(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        compile(file, &std::fs::read_to_string(file).unwrap(), folder.path()).unwrap();
        for seed in ["1", "2", "3"] {
            let options = ["--schedule", "random", "--seed", seed, "--explore", "0"];
            let found = findings_under(folder.path(), "./program", &options).unwrap();
            assert!(found.iter().all(|finding| finding["severity"] != "error"), "{name}, seed {seed}: {found:#?}");
        }
    }
}

/// Rust's crates that threads hand things over with.
#[test]
fn crates_with_channels_order_what_they_order() {
    if std::env::var_os("MAYHAP_CASES").is_none() {
        return;
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/channels/rust").canonicalize().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("channel-programs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(["cargo", "build"]).env("CARGO_TARGET_DIR", &target);
    let built = run(&mut command, &package);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let folder = target.join("mayhap/x86_64-unknown-linux-gnu/debug");
    let mut failures = Vec::new();
    for file in std::fs::read_dir(package.join("src/bin")).unwrap() {
        let name = stem(&file.unwrap().path());
        let program = folder.join(&name);
        for schedule in ["free", "random", "pct"] {
            let found = findings_under(&folder, program.to_str().unwrap(), &["--schedule", schedule]).unwrap();
            let errors: Vec<&Value> = found.iter().filter(|finding| finding["severity"] == "error").collect();
            let is_right = match name.ends_with("_norace") {
                true => errors.is_empty(),
                false => errors.iter().any(|finding| finding["verdict"] == "confirmed"),
            };
            if !is_right {
                failures.push(format!("{name} under {schedule}: {found:#?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
