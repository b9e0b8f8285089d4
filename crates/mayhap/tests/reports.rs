//! Reports as users ask for them: files, saved reports, suppressions, baselines, exit codes, the environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

const BANK: &str = "docs/examples/bank.std";

struct Run {
    code: i32,
    out: String,
    err: String,
}

fn run_with(environment: &[(&str, &str)], arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "MAYHAP_OPTIONS", "COLUMNS"] {
        command.env_remove(name);
    }
    let Output { status, stdout, stderr } =
        command.args(arguments).envs(environment.iter().copied()).current_dir(root()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

fn run(arguments: &[&str]) -> Run {
    run_with(&[], arguments)
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn json(file: &str) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn every_form_is_written_and_a_saved_report_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let forms = ["html", "sarif", "junit", "perfetto"];
    let file = |turn: &str, form: &str| path(&folder, &format!("{turn}.{form}"));
    let saved = path(&folder, "report.json");
    let write = |turn: &str, start: &[&str]| {
        let files: Vec<String> = forms.iter().flat_map(|f| [format!("--{f}"), file(turn, f)]).collect();
        let arguments: Vec<&str> = start.iter().copied().chain(files.iter().map(String::as_str)).collect();
        run(&arguments)
    };
    let first = write("first", &["predict", BANK, "--save", &saved]);
    assert_eq!(first.code, 1, "{}", first.err);
    let again = write("again", &["report", &saved]);
    assert_eq!((again.code, &again.out), (1, &first.out), "{}", again.err);
    for form in forms {
        let (one, two) = (fs::read(file("first", form)).unwrap(), fs::read(file("again", form)).unwrap());
        assert!(one.len() > 500 && one == two, "{form}");
    }
    let whole = run(&["predict", BANK, "--format", "json"]);
    let (mut printed, mut kept) = (serde_json::from_str::<Value>(&whole.out).unwrap(), json(&saved));
    for report in [&mut printed, &mut kept] {
        report["summary"]["seconds"] = 0.into();
    }
    assert_eq!(printed, kept);
}

#[test]
fn detect_and_check_have_the_same_forms() {
    let folder = tempfile::tempdir().unwrap();
    let sarif = path(&folder, "a.sarif");
    let found = run(&["detect", BANK, "--order", "wcp", "--sarif", &sarif]);
    assert_eq!(found.code, 1, "{}", found.err);
    let result = &json(&sarif)["runs"][0]["results"][0];
    assert_eq!((&result["level"], &result["properties"]["verdict"]), (&"warning".into(), &"suspected".into()));
    assert!(found.out.contains("Suspected, not proven: wcp leaves the two accesses unordered"), "{}", found.out);
    assert_eq!(run(&["detect", BANK, "--order", "wcp", "--fail-on", "proven"]).code, 0);

    let proven = run(&["check", BANK, "--race", "6,18", "--sarif", &sarif]);
    assert_eq!(proven.code, 1, "{}", proven.err);
    assert_eq!(json(&sarif)["runs"][0]["results"][0]["properties"]["verdict"], "proven");
    assert!(proven.out.contains("Data race on `balance`") && proven.out.contains("The schedule:"), "{}", proven.out);
    let refuted = run(&["check", "corpus/traces/bubblesort.std", "--race", "1032,1442", "--sarif", &sarif]);
    assert_eq!(refuted.code, 0, "{}", refuted.err);
    assert_eq!(json(&sarif)["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn a_refutation_is_a_cycle_whose_derived_steps_are_derived() {
    let run = run(&["check", "corpus/traces/bubblesort.std", "--race", "1032,1442", "--format", "json"]);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    let cycle = answer["cycle"].as_array().unwrap();
    assert!(cycle.len() > 1, "{answer}");
    for (i, step) in cycle.iter().enumerate() {
        assert_eq!(step["after"], cycle[(i + 1) % cycle.len()]["before"], "each step begins where the last one ends");
    }
    let premises = answer["premises"].as_array().unwrap();
    let derived = |step: &Value| step["why"] == "lock" || step["why"] == "interference";
    for (place, premise) in premises.iter().enumerate() {
        let because = premise["because"].as_array().unwrap();
        for pair in because.windows(2) {
            assert_eq!(pair[0]["after"], pair[1]["before"], "{premise}");
        }
        for step in because.iter().filter(|s| derived(s)) {
            assert!(
                step["premise"].as_u64().is_some_and(|p| (p as usize) < place),
                "derived before it is used: {step}"
            );
        }
    }
    for step in cycle.iter().filter(|s| derived(s)) {
        assert!(step["premise"].is_u64(), "{step}");
    }
}

#[test]
fn suppressions_hide_and_say_when_they_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let (rules, sarif) = (path(&folder, "supp"), path(&folder, "a.sarif"));
    fs::write(&rules, "# known\nrace:^deposit$\nrace:nowhere\nmutex:x\n").unwrap();
    let hidden = run(&["predict", BANK, "--suppressions", &rules, "--sarif", &sarif]);
    assert_eq!(hidden.code, 1, "the deadlock is left");
    assert!(
        !hidden.out.contains("Data race") && hidden.out.contains("1 finding hidden by suppressions"),
        "{}",
        hidden.out
    );
    let unused = format!("suppression `race:nowhere` ({rules}:3) matched no finding");
    let words = hidden.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&unused) && words.contains("mayhap has no reports of that type"), "{}", hidden.out);
    let results = &json(&sarif)["runs"][0]["results"];
    let suppressed = results.as_array().unwrap().iter().filter(|r| r["suppressions"].is_array()).count();
    assert_eq!(suppressed, 1, "SARIF keeps what is hidden, marked");
    fs::write(&rules, "race:deposit\ndeadlock:^audit$\n").unwrap();
    let all = run(&["predict", BANK, "--suppressions", &rules]);
    assert_eq!((all.code, all.out.contains("nothing new")), (0, true), "{}", all.out);
    fs::write(&rules, "race:a\nbad line\n").unwrap();
    let bad = run(&["predict", BANK, "--suppressions", &rules]);
    assert_eq!(bad.code, 2);
    assert!(bad.err.contains("supp: line 2: `bad line` is not a suppression"), "{}", bad.err);
}

#[test]
fn a_baseline_leaves_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = path(&folder, "old.json");
    assert_eq!(run(&["predict", BANK, "--kinds", "race", "--save", &baseline]).code, 1);
    let known = run(&["predict", BANK, "--kinds", "race", "--baseline", &baseline]);
    assert_eq!(known.code, 0, "{}", known.out);
    assert!(known.out.contains("1 finding already in the baseline, hidden"), "{}", known.out);
    let new = run(&["predict", BANK, "--kinds", "race,deadlock", "--baseline", &baseline, "--quiet"]);
    assert_eq!(new.code, 1);
    assert!(new.out.contains("Deadlock") && !new.out.contains("Data race"), "{}", new.out);
    // The same program with lines moved: the fingerprint stays.
    let moved = path(&folder, "moved.std");
    let text = fs::read_to_string(root().join(BANK)).unwrap();
    fs::write(&moved, text.replace("bank.c:16", "bank.c:21").replace("bank.c:26", "bank.c:31")).unwrap();
    let again = run(&["predict", &moved, "--kinds", "race", "--baseline", &baseline]);
    assert_eq!(again.code, 0, "{}", again.out);
    assert_eq!(run(&["predict", BANK, "--baseline", &path(&folder, "none.json")]).code, 2);
    assert_eq!(run(&["report", "Cargo.toml"]).code, 2);
}

#[test]
fn the_environment_sets_what_sanitizers_set() {
    let folder = tempfile::tempdir().unwrap();
    let with =
        |options: &str, more: &[&str]| run_with(&[("MAYHAP_OPTIONS", options)], &[&["predict", BANK], more].concat());
    assert_eq!(with("exitcode=66", &[]).code, 66);
    let logged = with(&format!("log_path={}", path(&folder, "log")), &[]);
    assert_eq!((logged.code, logged.out.as_str()), (1, ""));
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert!(fs::read_to_string(&files[0]).unwrap().contains("Data race on `balance`"));
    let bad = with("exitcde=1", &[]);
    assert_eq!(bad.code, 2);
    assert!(
        bad.err.contains("MAYHAP_OPTIONS: unknown option `exitcde`; the options are log_path, exitcode"),
        "{}",
        bad.err
    );
}

#[test]
fn halting_on_an_error_decides_nothing_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "corpus/traces/bufwriter.std";
    let all = json_of(&run(&["predict", trace, "--format", "json"]));
    assert!(all["findings"].as_array().unwrap().len() > 1, "{}", all["summary"]);
    let halt = |more: &[&str]| {
        let arguments = [&["predict", trace, "--format", "json"], more].concat();
        json_of(&run_with(&[("MAYHAP_OPTIONS", "halt_on_error=1")], &arguments))
    };
    let one = halt(&[]);
    let (decided, of) =
        (one["summary"]["candidates"].as_u64().unwrap(), all["summary"]["candidates"].as_u64().unwrap());
    assert!(decided < of, "{decided} of {of} candidates decided");
    assert_eq!(one["findings"].as_array().unwrap().len(), 1);
    assert!(one["notes"][0].as_str().unwrap().starts_with("halt_on_error: stopped at the first error; "), "{one}");
    for workers in ["1", "2", "5"] {
        let again = halt(&["--threads", workers]);
        assert_eq!((&again["findings"][0]["id"], &again["notes"]), (&one["findings"][0]["id"], &one["notes"]));
    }
    // What is hidden stops nothing.
    let (rules, saved) = (path(&folder, "supp"), path(&folder, "saved.json"));
    fs::write(&rules, format!("fingerprint:{}\n", one["findings"][0]["id"].as_str().unwrap())).unwrap();
    let next = halt(&["--suppressions", &rules]);
    let shown: Vec<&Value> =
        next["findings"].as_array().unwrap().iter().filter(|f| f["suppressed_by"].is_null()).collect();
    assert_eq!(shown.len(), 1, "{next}");
    assert_ne!(shown[0]["id"], one["findings"][0]["id"]);
    // A saved report is cut there, and a pass of a detector ends there.
    assert_eq!(run(&["predict", trace, "--save", &saved]).code, 1);
    let cut = run_with(&[("MAYHAP_OPTIONS", "halt_on_error=1")], &["report", &saved, "--quiet"]);
    assert!(cut.out.contains("1 finding: 1 proven") && cut.out.contains("left out"), "{}", cut.out);
    let first = run_with(&[("MAYHAP_OPTIONS", "halt_on_error=1")], &["detect", trace, "--order", "hb"]);
    assert!(first.out.contains("stopped at the first race"), "{}", first.out);
}

fn json_of(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}{}", run.out, run.err))
}

#[test]
fn colour_and_width_are_as_asked_for() {
    let coloured = |environment: &[(&str, &str)], more: &[&str]| {
        run_with(environment, &[&["predict", BANK], more].concat()).out.contains('\x1b')
    };
    assert!(!coloured(&[], &[]), "not a terminal");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "0")], &[]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    assert!(coloured(&[("NO_COLOR", "1")], &["--color", "always"]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1")], &["--color", "never"]));
    assert!(coloured(&[("MAYHAP_OPTIONS", "color=always")], &[]));
    let narrow = run_with(&[("COLUMNS", "60")], &["predict", BANK]).out;
    assert!(narrow.lines().filter(|l| !l.contains("mayhap check")).all(|l| l.chars().count() <= 60), "{narrow}");
}

#[test]
fn shells_and_man_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = run(&["completions", shell]);
        assert!(completions.code == 0 && completions.out.contains("predict"), "{shell}: {}", completions.err);
    }
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(run(&["man", &pages.display().to_string()]).code, 0);
    let page = fs::read_to_string(pages.join("mayhap-predict.1")).unwrap();
    assert!(page.contains("suppressions") && page.contains("mayhap"), "{page}");
    assert!(pages.join("mayhap.1").is_file() && pages.join("mayhap-report.1").is_file());
}

#[test]
fn a_recorded_program_is_told_with_its_calls_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded.c");
    fs::copy(source, folder.path().join("recorded.c")).unwrap();
    let mayhap = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
        command.env_remove("MAYHAP_OPTIONS").env_remove("COLUMNS").args(arguments).current_dir(folder.path());
        command.env("NO_COLOR", "1").env("MAYHAP_CC", "gcc").output().unwrap()
    };
    for arguments in [
        &["cc", "-O1", "-g", "-pthread", "recorded.c", "-o", "recorded"][..],
        &["record", "-o", "t.mhp", "--", "./recorded"],
    ] {
        let run = mayhap(arguments);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    let run = mayhap(&["predict", "t.mhp", "--sarif", "t.sarif"]);
    let text = String::from_utf8(run.stdout).unwrap();
    // When each thread did what is its own business.
    let text: Vec<&str> = text.lines().take_while(|line| !line.contains("recorded run")).collect();
    insta::assert_snapshot!(text.join("\n"));
    let sarif = json(&folder.path().join("t.sarif").display().to_string());
    let frames = sarif["runs"][0]["results"][0]["stacks"][0]["frames"].as_array().unwrap();
    assert!(frames.len() > 2, "{frames:?}");
    for (rule, hidden) in [("race:^handle$", true), ("race:^start_all$", true), ("race:^nobody$", false)] {
        fs::write(folder.path().join("rules"), rule).unwrap();
        let run = mayhap(&["predict", "t.mhp", "--suppressions", "rules"]);
        assert_eq!(run.status.code(), Some(if hidden { 0 } else { 1 }), "{rule}");
    }
}
