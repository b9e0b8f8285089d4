//! The pages and commands in reports: every command writes them, and the printed commands work.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Run, mayhap_in};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The data that a page carries.
fn page(file: &Path) -> Value {
    let page = fs::read_to_string(file).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("Content-Security-Policy"), "{}", file.display());
    let json = page.split_once("id=\"report\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(json).unwrap()
}

fn findings(page: &Value) -> &[Value] {
    page["findings"].as_array().unwrap()
}

/// Builds the bank of the examples with recording and records it, in `folder`.
fn record_bank(folder: &Path) {
    let source = root().join("docs/examples/bank.c");
    let built = mayhap_in(folder, &["cc", "-O1", "-g", "-pthread", "-o", "bank", source.to_str().unwrap()]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let recorded = mayhap_in(folder, &["record", "-o", "bank.mhp", "--", "./bank"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
}

/// Types what a report says to type.
fn typed(folder: &Path, command: &str) -> Run {
    let words = command.strip_prefix("mayhap ").unwrap().split(' ');
    mayhap_in(folder, &words.collect::<Vec<_>>())
}

#[test]
fn every_reporting_command_writes_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let trace = root().join("docs/examples/bank.std");
    let trace = trace.to_str().unwrap();
    for (arguments, shown, possible) in [
        (&["predict", trace, "--save", "saved.json"][..], 2, true),
        (&["detect", trace, "--order", "wcp"], 1, false),
        (&["check", trace, "--race", "6,18"], 1, true),
        (&["report", "saved.json"], 2, true),
    ] {
        let run = mayhap_in(here, &[arguments, &["--html", "page.html"]].concat());
        assert_eq!(run.code, Some(1), "{arguments:?}: {}", run.stderr);
        let page = page(&here.join("page.html"));
        assert_eq!(findings(&page).len(), shown, "{arguments:?}");
        for finding in findings(&page) {
            assert_eq!(finding["possible"].is_object(), possible, "{arguments:?}");
            assert!(finding["observed"]["count"].as_u64().unwrap() > 0, "{arguments:?}");
        }
        fs::remove_file(here.join("page.html")).unwrap();
    }
}

#[test]
fn a_refuted_question_has_its_cycle_on_the_page_and_in_the_saved_report() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let trace = root().join("corpus/traces/bubblesort.std");
    let asked = ["check", trace.to_str().unwrap(), "--race", "1032,1442"];
    let run = mayhap_in(here, &[&asked[..], &["--html", "page.html", "--save", "saved.json"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let refutation = &page(&here.join("page.html"))["refutation"];
    assert_eq!((refutation["kind"].as_str(), refutation["cycle"].as_array().unwrap().len()), (Some("race"), 4));
    assert_eq!(refutation["premises"][0]["given"].as_str().map(str::is_empty), Some(false));
    let shown = mayhap_in(here, &["report", "saved.json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for reason in ["they form a cycle:", "  4. T27 reads V20ee188a[10]", "  [A] lock L2a06eec4fb orders"] {
        assert!(shown.stdout.contains(reason) && run.stdout.contains(reason), "{reason}: {}", shown.stdout);
    }
    let narrow = Command::new(env!("CARGO_BIN_EXE_mayhap")).args(asked).env("COLUMNS", "60").output().unwrap();
    let narrow = Run::from(narrow).stdout;
    let (_, reasons) = narrow.split_once("It would need").unwrap();
    assert!(reasons.lines().all(|line| line.chars().count() <= 60), "{narrow}");
}

#[test]
fn run_writes_a_page_of_whole_schedules() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // More steps before the race than a report keeps without a page.
    let source = "#include <pthread.h>\nint filler, shared;\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static void *work(void *a) {\n    for (int i = 0; i < 600; i++) {\n        pthread_mutex_lock(&m);\n\
        filler++;\n        pthread_mutex_unlock(&m);\n    }\n    shared++;\n    return a;\n}\n\
        int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, work, 0);\n    work(0);\n\
        pthread_join(t, 0);\n    return 0;\n}\n";
    fs::write(here.join("long.c"), source).unwrap();
    let run = mayhap_in(here, &["run", "--explore", "0", "--html", "page.html", "--rounds", "1", "long.c"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let page = page(&here.join("page.html"));
    let race = &findings(&page)[0];
    assert!(race["possible"]["count"].as_u64().unwrap() > 2_000, "{}", race["possible"]);
    assert!(race["possible"]["left_out"].is_null() && race["observed"]["left_out"].is_null(), "{race}");
    assert_eq!(race["replay_command"], "mayhap run --keep DIR -- long.c");
    assert!(run.stdout.contains("  again    mayhap run --keep DIR -- long.c"), "{}", run.stdout);
}

#[test]
fn the_replay_command_of_a_finding_replays_it() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    record_bank(here);
    let kinds = ["--kinds", "race,deadlock"];
    let predicted = mayhap_in(here, &[&["predict", "bank.mhp", "--format", "json"][..], &kinds].concat());
    let report: Value = serde_json::from_str(&predicted.stdout).unwrap();
    let mut seen = Vec::new();
    for finding in report["findings"].as_array().unwrap() {
        let command = finding["replay_command"].as_str().unwrap();
        assert!(command.starts_with("mayhap replay bank.mhp --"), "{command}");
        let replayed = typed(here, command);
        assert_eq!(replayed.code, Some(1), "{command}: {}{}", replayed.stdout, replayed.stderr);
        seen.push(finding["kind"].as_str().unwrap());
    }
    assert_eq!(seen, ["race", "deadlock"]);
    let saved =
        mayhap_in(here, &[&["predict", "bank.mhp", "--witnesses", "w", "--format", "json"][..], &kinds].concat());
    let report: Value = serde_json::from_str(&saved.stdout).unwrap();
    let witness = report["findings"][0]["witness_file"].as_str().unwrap();
    let verified = mayhap_in(here, &["verify", "bank.mhp", witness]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let replayed = mayhap_in(here, &["replay", witness]);
    assert_eq!(replayed.code, Some(1), "{}{}", replayed.stdout, replayed.stderr);
    // A refuted question is not replayed, and an invalid question is an error.
    let refuted = mayhap_in(here, &["replay", "bank.mhp", "--race", "1,2"]);
    assert_eq!(refuted.code, Some(2), "{}{}", refuted.stdout, refuted.stderr);
    let both = mayhap_in(here, &["replay", witness, "--race", "1,2", "--trace", "bank.mhp"]);
    assert_eq!(both.code, Some(2), "{}", both.stdout);
}
