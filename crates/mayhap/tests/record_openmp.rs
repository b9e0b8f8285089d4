//! Programs that use OpenMP, with gcc's library and LLVM's: what its constructs order is ordered in the trace, so that nothing is
//! found in correct programs (`NAME_norace.c`), and what they do not order is found and happens when it is replayed:
//!
//! - `// proven: NAME`: a race on a variable whose name starts so is proven and confirmed
//! - `// deadlock: A B`: a deadlock of these locks is proven and confirmed
//!
//! `MAYHAP_PROGRAM=NAME` runs those whose names start so.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Run;
use common::expect::facts;
use mayhap_testkit::needs;
use serde_json::Value;

fn programs() -> Vec<PathBuf> {
    programs_in("openmp")
}

fn programs_in(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-rt/tests").join(folder).canonicalize().unwrap();
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| stem(file).starts_with(&wanted));
    files.sort();
    assert!(!files.is_empty(), "no program to check");
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

fn mayhap(folder: &Path, compiler: &str, arguments: &[&str]) -> Run {
    Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(arguments)
        .env("MAYHAP_CC", compiler)
        .env("OMP_CANCELLATION", "true")
        .current_dir(folder)
        .output()
        .unwrap()
        .into()
}

/// Whether the compiler can link programs with OpenMP.
fn has_open_mp(compiler: &str, folder: &Path) -> bool {
    std::fs::write(folder.join("empty.c"), "int main(void) { return 0; }\n").unwrap();
    let built = Command::new(compiler).args(["-fopenmp", "empty.c", "-o", "empty"]).current_dir(folder).output();
    built.is_ok_and(|built| built.status.success())
}

fn no_open_mp(compiler: &str) -> String {
    format!("{compiler} cannot build OpenMP programs (install clang and libomp-dev, or gcc's libgomp)")
}

fn compile(file: &Path, folder: &Path, compiler: &str, options: &[&str]) -> String {
    let name = stem(file);
    let all = [&["cc", "-O1", "-g", "-fopenmp", file.to_str().unwrap(), "-o", &name], options].concat();
    let built = mayhap(folder, compiler, &all);
    assert_eq!(built.code, Some(0), "{name}: {}", built.stderr);
    format!("./{name}")
}

/// What `mayhap run` finds in a program, as it runs under this seed.
fn findings(folder: &Path, compiler: &str, program: &str, seed: &str, schedule: &str) -> Vec<Value> {
    // Where the recorded run itself runs into the deadlock it does not end.
    let options =
        ["--kinds", "race,deadlock,order", "--rounds", "1", "--timeout", "10", "--seed", seed, "--schedule", schedule];
    let run = mayhap(
        folder,
        compiler,
        &[&["run", "--explore", "0", "--format", "json"], &options[..], &["--", program]].concat(),
    );
    assert!(matches!(run.code, Some(0 | 1)), "{program}: {}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(!report["notes"].to_string().contains("exit code"), "{program} fails: {}", report["notes"]);
    assert!(!report["notes"].to_string().contains("broke a rule"), "{program}: {}", report["notes"]);
    report["findings"].as_array().unwrap().clone()
}

/// Whether a finding of this kind about these objects was confirmed. Tasks are threads of their own in a trace but not in a run, so races of
/// tasks are only proven.
fn is_confirmed(findings: &[Value], of_tasks: bool, kind: &str, objects: &[&str]) -> bool {
    let about = |finding: &Value, object: &str| {
        let events = finding["events"].as_array().unwrap();
        events.iter().any(|event| event["object"].as_str().unwrap().starts_with(object))
    };
    findings.iter().any(|finding| {
        finding["kind"] == kind
            && (finding["verdict"] == "confirmed" || of_tasks && finding["verdict"] == "proven")
            && objects.iter().all(|object| about(finding, object))
    })
}

fn check(file: &Path, folder: &Path, compiler: &str, options: &[&str]) {
    let (name, text) = (stem(file), std::fs::read_to_string(file).unwrap());
    let program = compile(file, folder, compiler, options);
    if name.ends_with("_norace") {
        for (seed, schedule) in [("1", "free"), ("2", "random"), ("3", "pct")] {
            let found = findings(folder, compiler, &program, seed, schedule);
            assert!(found.is_empty(), "{compiler}: {name} under {schedule}: {found:#?}");
        }
        return;
    }
    // Which thread comes first is chance: a run may show too little, or the bug itself.
    let (mut all, of_tasks) = (Vec::new(), name.starts_with("task"));
    let is_enough = |found: &[Value]| {
        facts(&text, "proven").iter().all(|wanted| is_confirmed(found, of_tasks, "race", &[wanted]))
            && facts(&text, "deadlock").iter().all(|wanted| {
                let locks: Vec<&str> = wanted.split(' ').collect();
                is_confirmed(found, of_tasks, "deadlock", &locks)
            })
    };
    let seeds = ["2", "4", "5", "6", "7"].map(|seed| (seed, "random"));
    for (seed, schedule) in [("1", "free")].into_iter().chain(seeds) {
        all.extend(findings(folder, compiler, &program, seed, schedule));
        if is_enough(&all) {
            return;
        }
    }
    panic!("{compiler}: {name}: {all:#?}");
}

fn check_all(compiler: &str, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    if !has_open_mp(compiler, folder.path()) {
        needs::missing(&no_open_mp(compiler));
        return;
    }
    for file in programs() {
        check(&file, folder.path(), compiler, options);
    }
}

#[test]
fn gcc_s_library() {
    check_all("gcc", &[]);
}

#[test]
fn llvm_s_library() {
    check_all("clang", &[]);
}

/// Holds the wanted programs with shares of work to what they say, from one run of two threads.
fn check_shares(compiler: &str, is_wanted: impl Fn(&str) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    if !has_open_mp(compiler, folder.path()) {
        needs::missing(&no_open_mp(compiler));
        return;
    }
    let mut programs = programs_in("openmp_shares");
    programs.retain(|file| is_wanted(&stem(file)));
    let step = if std::env::var_os("MAYHAP_CASES").is_some() || programs.len() < 10 { 1 } else { 3 };
    let mut failures = Vec::new();
    for file in programs.iter().step_by(step) {
        let (name, text) = (stem(file), std::fs::read_to_string(file).unwrap());
        let program = compile(file, folder.path(), compiler, &[]);
        let found = findings(folder.path(), compiler, &program, "0", "free");
        let is_error = |finding: &&Value| finding["severity"] == "error";
        let about = |finding: &Value, name: &str| {
            let mut events = finding["events"].as_array().unwrap().iter();
            events.any(|event| event["object"].as_str().unwrap().starts_with(name))
        };
        let is_right = match facts(&text, "proven").first() {
            Some(wanted) => found.iter().filter(is_error).any(|finding| about(finding, wanted)),
            None => !found.iter().any(|finding| is_error(&finding)),
        };
        if !is_right {
            failures.push(format!("{name}: {found:#?}"));
        }
    }
    assert!(failures.is_empty(), "{compiler}: {} of {}:\n{}", failures.len(), programs.len(), failures.join("\n"));
}

/// Work that any thread of a team may do is judged so, whichever thread did it. Every third program is checked, all of them with
/// `MAYHAP_CASES`.
#[test]
fn shares_of_work_are_judged_as_if_any_thread_had_done_them() {
    check_shares("gcc", |_| true);
}

/// The same with LLVM's library, which reports chunks and the ends of waits otherwise.
#[test]
fn shares_of_work_are_spread_by_llvm_s_library() {
    check_shares("clang", |name| ["guided_two_chunks", "guided_next", "task_reduction_norace"].contains(&name));
}

#[test]
fn gcc_s_library_linked_statically() {
    let folder = tempfile::tempdir().unwrap();
    if !has_open_mp("gcc", folder.path()) {
        needs::missing(&no_open_mp("gcc"));
        return;
    }
    for file in programs().iter().filter(|file| ["tasks_norace", "hidden_race"].contains(&&*stem(file))) {
        check(file, folder.path(), "gcc", &["-static"]);
    }
}

/// If the runtime cannot intercept the library, nothing counts as proven; a replay may still confirm a finding.
#[test]
fn a_library_that_is_not_seen_leaves_suspicions() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let file = programs().into_iter().find(|file| stem(file) == "race");
    let Some(file) = file.filter(|_| has_open_mp("gcc", here)) else {
        needs::missing(&no_open_mp("gcc"));
        return;
    };
    // The library becomes a part of the program.
    let inside = ["-fsanitize=thread", "-fopenmp", "-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic", "-ldl", "-o", "race"];
    let built = Command::new("gcc").args(["-O1", "-g"]).arg(&file).args(inside).current_dir(here).output().unwrap();
    if !built.status.success() {
        needs::missing("gcc cannot link its OpenMP library statically into a program");
        return;
    }
    let recorded = mayhap(here, "gcc", &["record", "-o", "race.mhp", "--", "./race"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let predicted = mayhap(here, "gcc", &["predict", "--format", "json", "race.mhp"]);
    assert!(predicted.stderr.contains("OpenMP library is not visible"), "{}", predicted.stderr);
    let report: Value = serde_json::from_str(&predicted.stdout).unwrap();
    let found = report["findings"].as_array().unwrap();
    let object = |finding: &Value| finding["events"][0]["object"].as_str().unwrap().to_string();
    let mut objects: Vec<String> = found.iter().map(object).collect();
    objects.sort();
    assert_eq!(objects, ["count", "protected"], "both look like races there");
    assert!(found.iter().all(|finding| finding["verdict"] == "suspected"), "{found:#?}");
    assert_eq!(report["summary"]["proven"], 0);
    let numbers = |event: usize| found[0]["events"][event]["event"].as_u64().unwrap();
    let pair = format!("{},{}", numbers(0), numbers(1));
    let asked = mayhap(here, "gcc", &["check", "race.mhp", "--race", &pair]);
    assert!(asked.stdout.starts_with("suspected: "), "{}", asked.stdout);
    let run = mayhap(
        here,
        "gcc",
        &[
            "run",
            "--explore",
            "0",
            "--format",
            "json",
            "--kinds",
            "race",
            "--rounds",
            "1",
            "--patience",
            "1",
            "--",
            "./race",
        ],
    );
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    for finding in report["findings"].as_array().unwrap() {
        let expected = if object(finding) == "count" { "confirmed" } else { "suspected" };
        assert_eq!(finding["verdict"], expected, "{finding:#?}");
    }
}
