//! What editors read: the problem matcher of `editors/vscode/tasks.json` applied to real output, and the extension for VS Code.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use mayhap_testkit::needs;
use serde_json::Value;

const PROGRAM: &str = r#"#include <pthread.h>
int hits;
static void *worker(void *a) {
    hits++;
    return a;
}
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

#[test]
fn the_tasks_of_vs_code_find_file_line_and_message() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prog.c"), PROGRAM).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode/tasks.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let tasks = file["tasks"].as_array().unwrap();
    let patterns: Vec<&Value> = tasks.iter().map(|task| &task["problemMatcher"]["pattern"]).collect();
    assert!(patterns.windows(2).all(|two| two[0] == two[1]), "all tasks read the same lines");

    // The first task, with the file's name for the editor's variable.
    assert_eq!(tasks[0]["command"], "mayhap");
    let words = tasks[0]["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut words: Vec<&str> = words.map(|word| if word == "${relativeFile}" { "prog.c" } else { word }).collect();
    words.extend(["--no-replay", "--explore", "0"]);
    let run = common::mayhap_in(folder.path(), &words);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(folder.path().join("mayhap.html").exists());

    let pattern = regex::Regex::new(patterns[0]["regexp"].as_str().unwrap()).unwrap();
    let found = run.stdout.lines().find_map(|line| pattern.captures(line)).expect("a line that matches");
    let part = |name: &str| &found[patterns[0][name].as_u64().unwrap() as usize];
    assert_eq!((part("file"), part("line"), part("severity")), ("prog.c", "4", "error"));
    assert!(part("message").starts_with("Data race on `hits`"), "{}", part("message"));
    assert!(part("code").contains("race-"), "{}", part("code"));
}

/// The extension's own tests, on a report of this build and with this build as the command that it runs.
#[test]
fn the_extension_of_vs_code_shows_reports() {
    if Command::new("node").arg("--version").output().is_err() {
        needs::missing("there is no node, so the extension for VS Code is not tested (install the package nodejs)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prog.c"), PROGRAM).unwrap();
    let words = ["run", "prog.c", "--save", "report.json", "--no-replay", "--explore", "0"];
    let run = common::mayhap_in(folder.path(), &words);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode/test");
    let files = ["report.test.js", "page.test.js", "extension.test.js"].map(|name| tests.join(name));
    let tested = Command::new("node")
        .arg("--test")
        .args(files)
        .env("MAYHAP", env!("CARGO_BIN_EXE_mayhap"))
        .env("MAYHAP_FILE", folder.path().join("prog.c"))
        .env("MAYHAP_REPORT", folder.path().join("report.json"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tested.stdout);
    assert!(tested.status.success(), "{said}{}", String::from_utf8_lossy(&tested.stderr));
    assert!(!said.contains("skipped 1") && said.contains("fail 0"), "{said}");
}
