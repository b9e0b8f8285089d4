//! Programs that fork, exec, fail, hang or need a terminal, in `mayhap run` and `mayhap replay`.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mayhap_testkit::needs;
use serde_json::Value;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay").join(format!("{name}.c"))
}

/// The main job on a program, with these options: exit code and report.
fn run(name: &str, options: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = source(name);
    let all = [
        &["run", "--explore", "0", "--format", "json", "--patience", "2", "--kinds", "race"],
        options,
        &[file.to_str().unwrap()],
    ];
    let run = common::mayhap_in(folder.path(), &all.concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{name}: {}", run.stderr));
    (run.code, report)
}

/// The title of what went wrong in the recorded run itself.
fn observed(report: &Value) -> String {
    let findings = report["findings"].as_array().unwrap().iter();
    let titles = findings.filter(|finding| finding["verdict"] == "observed").map(|finding| finding["title"].as_str());
    titles.flatten().collect::<Vec<_>>().join("; ")
}

fn notes(report: &Value) -> String {
    report["notes"]
        .as_array()
        .map_or(String::new(), |notes| notes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
}

/// What replaying the race on a variable came to: runs, those that confirmed it, effect.
fn replayed(report: &Value, variable: &str) -> (u64, u64, String) {
    let findings = report["findings"].as_array().unwrap();
    let of = |f: &&Value| f["events"].as_array().unwrap().iter().any(|e| e["object"] == variable);
    let found = findings.iter().find(of).unwrap_or_else(|| panic!("no race on {variable} in {report:#}"));
    let replay = &found["replay"];
    let count = |key: &str| replay[key].as_u64().unwrap();
    (count("runs"), count("confirmed"), replay["effect"].as_str().unwrap_or_default().to_string())
}

/// A compiled program, its recording and the witness of its race, in a folder.
struct Recorded {
    folder: tempfile::TempDir,
    witness: PathBuf,
}

/// Compiles and records a program that is given `input` to read.
fn recorded(name: &str, input: &str, wrap: Option<&str>) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let built =
        common::mayhap_in(here, &["cc", "-O1", "-g", "-pthread", source(name).to_str().unwrap(), "-o", "program"]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let mayhap = env!("CARGO_BIN_EXE_mayhap");
    let mut command = wrap.map_or_else(
        || Command::new(mayhap),
        |wrap| {
            let mut command = Command::new(wrap);
            command.args(["-R", mayhap]);
            command
        },
    );
    command.args(["record", "-o", "program.mhp", "--", "./program"]).current_dir(here);
    let run = fed(&mut command, input);
    assert!(run.stdout.contains('7'), "{}{}", run.stdout, run.stderr);
    common::mayhap_in(here, &["predict", "program.mhp", "--kinds", "race", "--witnesses", "found"]);
    let witness = std::fs::read_dir(here.join("found")).unwrap().next().unwrap().unwrap().path();
    Recorded { folder, witness }
}

/// Runs a command that is given `input` to read.
fn fed(command: &mut Command, input: &str) -> common::Run {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may end without reading all of it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap().into()
}

fn replay(of: &Recorded, options: &[&str]) -> common::Run {
    let all = [&["replay", of.witness.to_str().unwrap(), "--patience", "2"], options].concat();
    common::mayhap_in(of.folder.path(), &all)
}

#[test]
fn a_program_that_forks_is_replayed_without_its_children() {
    let (code, report) = run("forks", &[]);
    assert_eq!((code, replayed(&report, "total")), (Some(1), (2, 2, "different output: 0".into())));
    assert!(notes(&report).contains("the program forked; its child processes are not recorded"), "{report:#}");
    shows_its_effect("forks");
}

/// `mayhap replay` of a program whose auditor reads too early if the witness is followed.
fn shows_its_effect(name: &str) {
    let run = replay(&recorded(name, "", None), &["--order", "second", "--repeat", "2"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("confirmed race"), "{}", run.stdout);
    assert!(run.stdout.contains("2 of 2"), "{}", run.stdout);
}

#[test]
fn a_free_is_called_one() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-rt/tests/programs/heap_free_race.c");
    let folder = tempfile::tempdir().unwrap();
    let options =
        ["run", "--explore", "0", "--format", "json", "--kinds", "race", "--no-replay", program.to_str().unwrap()];
    let run = common::mayhap_in(folder.path(), &options);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let finding = &report["findings"][0];
    assert!(finding["title"].as_str().unwrap().contains("second() frees"), "{finding:#}");
    let events = finding["events"].as_array().unwrap();
    let freeing: Vec<&Value> = events.iter().filter(|event| event["frees"] == true).collect();
    assert!(matches!(freeing[..], [event] if event["op"] == "w"), "{finding:#}");
    assert!(!finding.to_string().contains("[free]"), "{finding:#}");
}

#[test]
fn patterns_that_nothing_minds_are_found_if_asked_for() {
    let all = |options: &[&str]| run("unminded", &[&["--kinds", "atomicity"], options].concat());
    let (code, report) = all(&[]);
    assert_eq!((code, report["findings"].as_array().unwrap().len()), (Some(0), 0), "{report:#}");
    let (_, report) = all(&["--no-intent-filter"]);
    let findings = report["findings"].as_array().unwrap();
    // Replays show the patterns, and nothing goes wrong in them.
    let harmless = |finding: &Value| finding["verdict"] == "note" && finding["replay"]["confirmed"] != 0;
    assert!(!findings.is_empty() && findings.iter().all(harmless), "{report:#}");
}

#[test]
fn a_program_that_another_one_takes_over_from_is_compared_to_its_end() {
    let (code, report) = run("execs", &[]);
    assert_eq!((code, replayed(&report, "total")), (Some(1), (2, 2, "different output: 0".into())));
    assert!(notes(&report).contains("replaced itself by exec"), "{report:#}");
    shows_its_effect("execs");
}

#[test]
fn what_the_recorded_run_did_too_is_no_effect() {
    let (code, report) = run("fails", &[]);
    assert_eq!((code, replayed(&report, "total")), (Some(1), (2, 2, "different output: 0".into())));
    assert!(observed(&report).contains("ended with exit code 3"), "{report:#}");
    let (_, report) = run("aborts", &["--no-replay"]);
    assert!(observed(&report).contains("SIGABRT"), "{report:#}");
    let of = recorded("aborts", "", None);
    let text = replay(&of, &["--order", "first"]).stdout;
    assert!(text.contains("confirmed race") && text.contains("no visible effect"), "{text}");
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let (code, report) = run("hangs", &["--timeout", "3", "--replays", "1"]);
    let (runs, confirmed, effect) = replayed(&report, "total");
    assert_eq!((code, runs, confirmed), (Some(1), 2, 2));
    // The recorded run hung as well.
    assert_eq!(effect, "no visible effect");
    assert!(observed(&report).contains("did not end within 3 seconds"), "{report:#}");
}

#[test]
fn a_program_that_wants_a_terminal_says_so_and_gets_the_one_there_is() {
    let (code, report) = run("terminal", &[]);
    assert_eq!(code, Some(1));
    assert!(observed(&report).contains("ended with exit code 4"), "{report:#}");
    if !needs::tool("script", "bsdutils") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let job =
        format!("{} run --kinds race --patience 2 {}", env!("CARGO_BIN_EXE_mayhap"), source("terminal").display());
    let mut command = Command::new("script");
    command.args(["-qec", &job, "/dev/null"]).current_dir(folder.path());
    let run = fed(&mut command, "x\n");
    assert!(run.stdout.contains("replays in this job have no input"), "{}", run.stdout);
}

#[test]
fn what_was_read_is_read_again_by_replays() {
    let of = recorded("reads", "go\nmore\n", None);
    let run = replay(&of, &["--order", "second"]);
    assert!(run.stdout.contains("confirmed race"), "{}{}", run.stdout, run.stderr);
    // A copy of the trace has it too, one in another format says what it has not.
    let copied = common::mayhap_in(of.folder.path(), &["convert", "program.mhp", "copy.mhp"]);
    assert_eq!((copied.code, copied.stderr.as_str()), (Some(0), ""));
    let run = replay(&of, &["--trace", "copy.mhp", "--order", "second"]);
    assert!(run.stdout.contains("confirmed race"), "{}{}", run.stdout, run.stderr);
    let text = common::mayhap_in(of.folder.path(), &["convert", "program.mhp", "copy.std"]);
    assert!(text.stderr.contains("cannot store the steps that replays follow"), "{}", text.stderr);
}

#[test]
fn a_program_that_goes_by_its_addresses_is_told_so() {
    if !needs::tool("setarch", "util-linux") {
        return;
    }
    let of = recorded("addresses", "", None);
    // Addresses may be equal by chance, and other work on the machine may interfere.
    let told =
        (0..5).map(|_| replay(&of, &["--repeat", "4"]).stdout).find(|text| text.contains("where its memory lies"));
    assert!(told.is_some_and(|text| text.contains("diverged at step")));
    let fixed = recorded("addresses", "", Some("setarch"));
    let mut command = Command::new("setarch");
    command.args(["-R", env!("CARGO_BIN_EXE_mayhap"), "replay"]).arg(&fixed.witness).current_dir(fixed.folder.path());
    let run = fed(&mut command, "");
    assert!(run.stdout.contains("reproduced in 2 of 2 replays"), "{}", run.stdout);
}

#[test]
fn a_second_round_finds_what_only_the_first_ones_replays_came_to() {
    let (_, once) = run("second_path", &["--rounds", "1"]);
    let has_note = |report: &Value| {
        let findings = report["findings"].as_array().unwrap().iter();
        findings.flat_map(|f| f["events"].as_array().unwrap()).any(|event| event["object"] == "note")
    };
    assert!(!has_note(&once), "{once:#}");
    let (_, twice) = run("second_path", &["--rounds", "2"]);
    assert_eq!(replayed(&twice, "open_now").1, 2);
    assert!(has_note(&twice), "{twice:#}");
}

#[test]
fn a_core_is_not_the_programs_effect() {
    let of = recorded("fails", "", None);
    let text = replay(&of, &["--core"]).stdout;
    assert!(text.contains("confirmed race") && text.contains("effect not examined"), "{text}");
}

#[test]
fn a_debugger_stops_with_both_threads_at_their_accesses() {
    if !needs::tool("gdb", "gdb") {
        return;
    }
    let of = recorded("fails", "", None);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(["replay", of.witness.to_str().unwrap(), "--gdb"]).current_dir(of.folder.path());
    let run = fed(&mut command, "thread apply all bt\ncontinue\nquit\n");
    assert!(run.stdout.contains("mayhap_replay_reached"), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("teller (") && run.stdout.contains("auditor ("), "{}", run.stdout);
}

#[test]
fn a_debugger_goes_back_and_forth_along_the_schedule() {
    if !needs::tool("gdb", "gdb") {
        return;
    }
    let of = recorded("fails", "", None);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(["replay", of.witness.to_str().unwrap(), "--gdb"]).current_dir(of.folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    // Each gdb reads what was sent to it alone, so a command is sent when the one before has an answer.
    let mut answers = BufReader::new(from).lines();
    let mut ask = |command: &str, answer: &str| {
        writeln!(to, "{command}").unwrap();
        to.flush().unwrap();
        let found = answers.by_ref().map_while(Result::ok).find(|line| line.contains(answer));
        found.unwrap_or_else(|| panic!("no {answer:?} after {command:?}"))
    };
    let line = ask("mayhap where", "steps are done: the threads are at the bug");
    let steps: usize = line.split("all ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    ask("mayhap back 1", &format!("before step {steps} of {steps}: main."));
    ask("mayhap back 1", &format!("before step {} of {steps}", steps - 1));
    ask("info threads", "\"main\"");
    ask("mayhap schedule", &format!("=> {:5}", steps - 1));
    ask("mayhap next", &format!("before step {steps} of {steps}: main."));
    ask("mayhap goto end", "steps are done: the threads are at the bug");
    ask("info threads", "\"main.2\"");
    ask("quit", "confirmed race");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_read_that_sees_another_write_is_shown_with_both_values() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let built =
        common::mayhap_in(here, &["cc", "-O1", "-g", "-pthread", source("race").to_str().unwrap(), "-o", "race"]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    common::mayhap_in(here, &["record", "-o", "race.mhp", "--", "./race"]);
    common::mayhap_in(here, &["predict", "race.mhp", "--kinds", "nondeterminism", "--witnesses", "found"]);
    let witness = std::fs::read_dir(here.join("found")).unwrap().next().unwrap().unwrap().path();
    let run = common::mayhap_in(here, &["replay", witness.to_str().unwrap()]);
    let (here, there) = (run.stdout.find("which is "), run.stdout.find("in the recorded order it is "));
    assert!(here.is_some() && there > here, "{}{}", run.stdout, run.stderr);
}
