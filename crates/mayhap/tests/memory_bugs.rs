//! Programs that use memory, or an object in it, after its end in another order of their threads, each with its fix
//! (`-DFIXED`). From one passing run of each the bug must be found with its kind and shown by every replay, and nothing be found in
//! the fix. Programs named `clean_…` are correct and look dangerous. The comments at the top of a program say:
//!
//! - `// kind: use-after-free|double-free|null-dereference|heap-overflow|uninitialised|mismatched-free`: the kind of the finding
//! - `// effect: …`: how the effect of its replays begins
//! - `// bug: …` or `// clean: …`: what is wrong, or why nothing is
//! - `// findings: N`: the bug is that many findings at most
//! - `// explored: …`: the bug is found by running the program under other schedules
//! - `// also: clang -O2`: it is compiled and checked once more by that compiler
//! - `// library: …`: with `-DPLUGIN` the same file is a library, which the program finds at `LIBRARY`
//!
//! They are compiled by `gcc -O1`, or as `MAYHAP_BUILD` says. Normally a few programs with two replays each. `MAYHAP_CASES=N` takes all, with N replays of each finding, and gives programs more
//! time to start, for machines that do other things meanwhile; `MAYHAP_PROGRAM=NAME` takes those whose names start so. The table that is
//! printed says how many of the N replays showed the effect, and how many replays one of each finding would have been.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// The programs that are always run.
const ALWAYS: [&str; 30] = [
    "clean_blocks",
    "clean_blocks_in_turn",
    "clean_descriptors",
    "clean_hazard_pointer",
    "clean_lives_again",
    "clean_map_under_lock",
    "clean_mutex_refcount",
    "clean_objects_on_stack",
    "clean_shared_ptr",
    "connection_teardown",
    "cxx_handlers_grown",
    "cxx_scope_task",
    "cxx_shared_lock_grows",
    "cxx_virtual_after_delete",
    "descriptor_closed_writer",
    "descriptor_double_close",
    "double_free_close",
    "kref_lookup",
    "library_taken_then_called",
    "mutex_destroyed",
    "mutex_in_freed_block",
    "null_before_set",
    "null_under_lock",
    "name_copied",
    "realloc_during_read",
    "refcount_without_lock",
    "scope_request",
    "thread_local_of_ended_thread",
    "uninitialised_published",
    "uninitialised_block",
];

/// The most replays that a program may need, one of each finding.
const MOST_REPLAYS: u64 = 40;

fn programs() -> Vec<PathBuf> {
    let wanted = std::env::var("MAYHAP_PROGRAM").ok();
    let all = std::env::var_os("MAYHAP_CASES").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memory_bugs");
    let is_wanted = |file: &PathBuf| {
        let name = name(file);
        match &wanted {
            Some(wanted) => name.starts_with(wanted.as_str()),
            None => all || ALWAYS.contains(&name),
        }
    };
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.retain(is_wanted);
    programs.sort();
    programs
}

fn name(file: &Path) -> &str {
    file.file_stem().unwrap().to_str().unwrap()
}

/// What follows `// key:` in a program's text.
fn fact(file: &Path, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let prefix = format!("// {key}: ");
    text.lines().find_map(|line| line.strip_prefix(prefix.as_str())).map(str::to_owned)
}

/// How programs are compiled: a C compiler, and how it optimises.
fn usual_build() -> String {
    std::env::var("MAYHAP_BUILD").unwrap_or("gcc -O1".into())
}

/// Compiles a program into a folder. `build`: the C compiler, and how it optimises.
fn compile(file: &Path, folder: &Path, fixed: bool, build: &str) -> Result<PathBuf, String> {
    let (language, standard) =
        if file.extension().unwrap() == "c" { ("cc", "-std=gnu11") } else { ("c++", "-std=c++17") };
    let (compiler, level) = build.split_once(' ').unwrap();
    let cxx = if compiler == "gcc" { "g++" } else { "clang++" };
    let suffix = if fixed { "_fixed" } else { "" };
    let program = folder.join(format!("{}{suffix}", name(file)));
    let make = |output: &Path, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
        command.args([language, standard, "-Wall", "-Wextra", "-g", level, "-pthread"]).arg(file);
        command.env("MAYHAP_CC", compiler).env("MAYHAP_CXX", cxx);
        command.args(fixed.then_some("-DFIXED")).args(arguments).arg("-o").arg(output).current_dir(folder);
        let run: common::Run = command.output().unwrap().into();
        if run.code == Some(0) { Ok(()) } else { Err(format!("compilation failed:\n{}", run.stderr)) }
    };
    let library = folder.join(format!("{}{suffix}.so", name(file)));
    if fact(file, "library").is_some() {
        make(&library, &["-DPLUGIN", "-shared", "-fPIC"])?;
    }
    make(&program, &[&format!("-DLIBRARY=\"{}\"", library.display())])?;
    Ok(program)
}

/// The findings of `mayhap run`.
fn findings(program: &Path, replays: usize) -> Result<Vec<Value>, String> {
    let patience = if std::env::var_os("MAYHAP_CASES").is_some() { "30" } else { "3" };
    let replays = replays.to_string();
    let arguments = ["run", "--rounds", "1", "--patience", patience, "--replays", &replays, "--format", "json"];
    let run = common::mayhap_in(program.parent().unwrap(), &[&arguments[..], &[program.to_str().unwrap()]].concat());
    let document: Value = serde_json::from_str(&run.stdout).map_err(|_| run.stderr)?;
    // Patterns that did no harm are no findings to anybody.
    let all = document["findings"].as_array().unwrap();
    Ok(all.iter().filter(|finding| finding["verdict"] != "note").cloned().collect())
}

fn titles(findings: &[Value]) -> String {
    let title = |finding: &Value| {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let replay = &finding["replay"];
        format!("{} {}: {} ({} {})", text("verdict"), text("kind"), text("title"), replay["effect"], replay["diverged"])
    };
    findings.iter().map(title).collect::<Vec<_>>().join("\n  ")
}

/// Holds a program to a bug that runs under other schedules show, and its fix to have none; returns a line of the table.
fn check_explored(file: &Path, folder: &Path, build: &str) -> Result<String, String> {
    let kind = fact(file, "kind").ok_or("it does not say its kind")?;
    let found = findings(&compile(file, folder, false, build)?, 1)?;
    let is_expected = |finding: &Value| finding["kind"] == kind.as_str() && finding["verdict"] == "confirmed";
    if !found.iter().any(is_expected) {
        return Err(format!("no {kind}, but\n  {}", titles(&found)));
    }
    let fixed = findings(&compile(file, folder, true, build)?, 1)?;
    if !fixed.is_empty() {
        return Err(format!("its fix has {}", titles(&fixed)));
    }
    Ok(format!("| {} | {kind} | explored | – | – | clean |", name(file)))
}

/// Holds a program and its fix to what they are there for; returns a line of the table.
fn check(file: &Path, folder: &Path, replays: usize, build: &str) -> Result<String, String> {
    let clean = |found: &[Value]| if found.is_empty() { Ok(()) } else { Err(titles(found)) };
    if fact(file, "clean").is_some() {
        let found = findings(&compile(file, folder, false, build)?, replays)?;
        clean(&found).map_err(|found| format!("it is correct, but: {found}"))?;
        return Ok(format!("| {} | – | – | – | – | clean |", name(file)));
    }
    if fact(file, "explored").is_some() {
        return check_explored(file, folder, build);
    }
    let fact = |key| fact(file, key).ok_or_else(|| format!("it does not say its {key}"));
    let (kind, effect) = (fact("kind")?, fact("effect")?);
    let found = findings(&compile(file, folder, false, build)?, replays)?;
    let is_expected = |finding: &&Value| {
        let shown = finding["replay"]["effect"].as_str().unwrap_or_default();
        finding["kind"] == kind.as_str() && finding["verdict"] == "confirmed" && shown.starts_with(effect.as_str())
    };
    let expected = found.iter().find(is_expected).ok_or_else(|| format!("no {kind}, but\n  {}", titles(&found)))?;
    let count = |key: &str| expected["replay"][key].as_u64().unwrap_or(0);
    if count("confirmed") < count("runs") {
        return Err(format!("only {} of {} replays show it", count("confirmed"), count("runs")));
    }
    let runs = |finding: &Value| finding["replay"]["runs"].as_u64().unwrap_or(0).div_ceil(replays as u64);
    let total: u64 = found.iter().map(runs).sum();
    if total > MOST_REPLAYS {
        return Err(format!("{total} replays for one of each finding"));
    }
    let most = self::fact(file, "findings")
        .map_or(Ok(usize::MAX), |most| most.parse())
        .map_err(|_| "no number of findings")?;
    if found.len() > most {
        return Err(format!("{} findings: {}", found.len(), titles(&found)));
    }
    let fixed = findings(&compile(file, folder, true, build)?, 1)?;
    clean(&fixed).map_err(|found| format!("its fix has {found}"))?;
    let shown = format!("{}/{}", count("confirmed"), count("runs"));
    Ok(format!("| {} | {kind} | {shown} | {effect} | {total} | clean |", name(file)))
}

#[test]
fn bugs_of_memory_are_found_with_their_kind_and_their_fixes_are_clean() {
    let replays = std::env::var("MAYHAP_CASES").map_or(2, |n| n.parse().unwrap());
    let programs = programs();
    let folder = tempfile::tempdir().unwrap();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for build in [Some(usual_build()), fact(file, "also")].into_iter().flatten() {
                        let result = check(file, folder.path(), replays, &build);
                        results.lock().unwrap().push((name(file), result));
                    }
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
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The weaknesses of the kinds, as the Common Weakness Enumeration counts them.
const WEAKNESSES: [(&str, u32); 6] = [
    ("use-after-free", 416),
    ("double-free", 415),
    ("null-dereference", 476),
    ("uninitialised", 908),
    ("heap-overflow", 787),
    ("mismatched-free", 762),
];

#[test]
fn reports_name_the_weakness_and_show_the_life_of_the_block_with_three_stacks() {
    let folder = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memory_bugs/cxx_observer_removal.cpp");
    let program = compile(&file, folder.path(), false, &usual_build()).unwrap();
    let options = ["run", "--rounds", "1", "--explore", "0", "--kinds", "use-after-free"];
    let reports = ["--sarif", "report.sarif", "--html", "report.html", program.to_str().unwrap()];
    let text = common::mayhap_in(folder.path(), &[&options[..], &reports].concat()).stdout;
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let sarif: Value = serde_json::from_str(&read("report.sarif")).unwrap();
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for (kind, weakness) in WEAKNESSES {
        let rule = rules.iter().find(|rule| rule["id"] == format!("mayhap/{kind}")).unwrap();
        let tags = rule["properties"]["tags"].as_array().unwrap();
        assert!(tags.contains(&format!("external/cwe/cwe-{weakness}").into()), "{kind}: {tags:?}");
        let severity: f64 = rule["properties"]["security-severity"].as_str().unwrap().parse().unwrap();
        assert!((0.1..=10.0).contains(&severity), "{kind}: {severity}");
    }
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "mayhap/use-after-free");
    let stacks = result["stacks"].as_array().unwrap();
    assert!(stacks.len() >= 3, "{stacks:?}");
    assert!(stacks.iter().all(|stack| !stack["frames"].as_array().unwrap().is_empty()), "{stacks:?}");
    let life = text.lines().find(|line| line.trim_start().starts_with("life ")).unwrap_or_else(|| panic!("{text}"));
    assert!(life.contains("allocated by main at"), "{life}");
    assert!(read("report.html").contains("\"what\":\"allocated\""));
}
