//! Programs whose bug an ordinary run does not show, each with a correct twin (`NAME_fixed`). From one passing run of
//! each, the bug must be proven, and nothing at all be found in the twin. The comments at the top of a program say:
//!
//! - `// kind: race|deadlock|atomicity|order`: the kind of the finding
//! - `// bug: …`: what is wrong
//! - `// expect: NAME …`: a variable or lock of the finding has a name with one of these in it
//!
//! `MAYHAP_PROGRAM=NAME` takes those whose names start so; `MAYHAP_CASES=N` also replays each bug N times, of which 95 of a
//! hundred must show it.

mod common;

use common::rust;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const SUFFIX: &str = "_fixed";

/// A program with a bug. Its twin is in the same folder.
struct Program {
    file: PathBuf,
    kind: String,
    expect: Vec<String>,
}

impl Program {
    fn name(&self) -> &str {
        self.file.file_stem().unwrap().to_str().unwrap()
    }

    fn twin(&self) -> PathBuf {
        let extension = self.file.extension().unwrap().to_str().unwrap();
        self.file.with_file_name(format!("{}{SUFFIX}.{extension}", self.name()))
    }
}

/// What follows `// key:` in a program's text.
fn fact<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let prefix = format!("// {key}: ");
    text.lines().find_map(|line| line.strip_prefix(prefix.as_str()))
}

fn programs(extensions: &[&str]) -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hidden_bugs");
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let known = file.extension().is_some_and(|e| extensions.contains(&e.to_str().unwrap()));
        if !known || name.ends_with(SUFFIX) || !name.starts_with(&wanted) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let fact = |key| fact(&text, key).unwrap_or_else(|| panic!("{} does not say its {key}", file.display()));
        let (kind, expect) = (fact("kind").to_owned(), fact("expect").split_whitespace().map(str::to_owned).collect());
        assert!(!fact("bug").is_empty());
        programs.push(Program { file, kind, expect });
    }
    programs.sort_by(|a, b| a.file.cmp(&b.file));
    programs
}

/// Compiles a C or C++ program for recording.
fn compile(file: &Path, folder: &Path) -> Result<PathBuf, String> {
    let (language, standard) =
        if file.extension().unwrap() == "c" { ("cc", "-std=gnu11") } else { ("c++", "-std=c++17") };
    let name = file.file_stem().unwrap().to_str().unwrap();
    let arguments =
        [language, standard, "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread", file.to_str().unwrap()];
    let run: common::Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(arguments)
        .args(["-o", name])
        .current_dir(folder)
        .output()
        .unwrap()
        .into();
    if run.code == Some(0) { Ok(folder.join(name)) } else { Err(format!("does not compile:\n{}", run.stderr)) }
}

/// The findings of one recorded run, which must pass.
fn findings(program: &Path) -> Result<Vec<serde_json::Value>, String> {
    let folder = program.parent().unwrap();
    let trace = program.with_extension("mhp");
    let (trace, program) = (trace.to_str().unwrap(), program.to_str().unwrap());
    let run = common::mayhap_in(folder, &["record", "-o", trace, "--", program]);
    if run.code != Some(0) {
        return Err(format!("the run fails: {:?}\n{}{}", run.code, run.stdout, run.stderr));
    }
    let kinds = ["predict", trace, "--kinds", "race,deadlock,atomicity,order", "--format", "json"];
    let run = common::mayhap_in(folder, &[&kinds[..], &["--witnesses", "witnesses"]].concat());
    let document: serde_json::Value = serde_json::from_str(&run.stdout).map_err(|_| run.stderr)?;
    if document["summary"]["unknown"] != 0 {
        return Err(format!("something stays unknown: {}", document["summary"]));
    }
    Ok(document["findings"].as_array().unwrap().clone())
}

/// A line that says what a finding is.
fn line(finding: &serde_json::Value) -> String {
    let mut line = finding["kind"].as_str().unwrap().to_owned();
    for event in finding["events"].as_array().unwrap() {
        let text = |key| event[key].as_str().unwrap_or_default();
        write!(line, "; {} {} {} {}", text("thread"), text("op"), text("object"), text("location")).unwrap();
    }
    line
}

fn is_expected(program: &Program, finding: &serde_json::Value) -> bool {
    let mut objects = finding["events"].as_array().unwrap().iter().map(|e| e["object"].as_str().unwrap_or_default());
    finding["kind"] == program.kind.as_str()
        && finding["verdict"] == "proven"
        && objects.any(|object| program.expect.iter().any(|name| object.contains(name.as_str())))
}

/// Replays a finding; returns how many runs showed it, of how many, and what came of it.
fn replay(program: &Path, finding: &serde_json::Value, attempts: usize) -> Result<(usize, usize, String), String> {
    let witness = format!("witnesses/{}.json", finding["id"].as_str().unwrap());
    let attempts = attempts.to_string();
    let arguments = ["replay", &witness, "--repeat", &attempts, "--format", "json", "--", program.to_str().unwrap()];
    let run = common::mayhap_in(program.parent().unwrap(), &arguments);
    let document: serde_json::Value =
        serde_json::from_str(&run.stdout).map_err(|_| format!("no replay: {}", run.stderr))?;
    let runs = document["runs"].as_array().unwrap();
    let confirmed = document["confirmed"].as_u64().unwrap() as usize;
    if confirmed * 100 < runs.len() * 95 {
        return Err(format!("replayed in only {confirmed} of {} runs: {document:#}", runs.len()));
    }
    let effects = runs.iter().map(|run| run["effect"].as_str().unwrap());
    let effect = effects.max_by_key(|&effect| effect != "no visible effect").unwrap();
    Ok((confirmed, runs.len(), effect.to_owned()))
}

/// Holds a program and its twin to what they are there for; returns a line of the table.
fn check(program: &Program, [bug, twin]: [&Path; 2], attempts: usize) -> Result<String, String> {
    let found = findings(bug)?;
    let Some(finding) = found.iter().find(|finding| is_expected(program, finding)) else {
        let found: Vec<String> = found.iter().map(line).collect();
        return Err(format!("no {} on {:?}, but {found:#?}", program.kind, program.expect));
    };
    let (confirmed, runs, effect) = match attempts {
        0 => (0, 0, "not replayed".to_owned()),
        _ => replay(bug, finding, attempts)?,
    };
    let others = findings(twin).map_err(|why| format!("its twin: {why}"))?;
    if !others.is_empty() {
        return Err(format!("its twin has {:#?}", others.iter().map(line).collect::<Vec<_>>()));
    }
    let effect = effect.find("Assertion").map_or(&*effect, |at| &effect[at..]);
    Ok(format!("| {} | {} | proven | {confirmed}/{runs} | {effect} | clean |", program.name(), program.kind))
}

/// Checks all programs, two at a time; `compiled` builds an executable from a source file, in a separate folder.
fn check_all(programs: &[Program], compiled: impl Fn(&Path, &Path) -> Result<PathBuf, String> + Sync) {
    let chosen = std::env::var_os("MAYHAP_PROGRAM").is_some();
    assert!(chosen || !programs.is_empty(), "no program to check");
    let folder = tempfile::tempdir().unwrap();
    let attempts = std::env::var("MAYHAP_CASES").map_or(0, |n| n.parse().unwrap());
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let compiled = |file: &Path| compiled(file, folder.path());
                    let result = compiled(&program.file)
                        .and_then(|bug| Ok((bug, compiled(&program.twin())?)))
                        .and_then(|(bug, twin)| check(program, [&bug, &twin], attempts));
                    results.lock().unwrap().push((program.name(), result));
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
fn hidden_bugs_of_c_and_cxx_programs_are_proven_and_their_twins_are_clean() {
    check_all(&programs(&["c", "cpp"]), compile);
}

#[test]
fn hidden_bugs_of_rust_programs_are_proven_and_their_twins_are_clean() {
    let programs = programs(&["rs"]);
    if programs.is_empty() {
        return;
    }
    let built = rust::build_hidden_bugs();
    check_all(&programs, |file, folder| {
        let name = file.file_stem().unwrap();
        let program = folder.join(name);
        std::fs::copy(built.join(name), &program).map_err(|error| format!("not in its package: {error}"))?;
        Ok(program)
    });
}
