//! Whole test suites: one report, with the names of the tests.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use common::{Run, mayhap_in};

const RACE: &str = "#include <pthread.h>\nint total;\nstatic void *work(void *p) { total++; return p; }\n\
int main(void) { pthread_t a, b; pthread_create(&a, 0, work, 0); pthread_create(&b, 0, work, 0);\n\
pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";

#[test]
fn the_tests_of_ctest_become_one_report() {
    if Command::new("ctest").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("race.c"), RACE).unwrap();
    fs::write(here.join("quiet.c"), "int main(void) { return 0; }\n").unwrap();
    for name in ["race", "quiet"] {
        let source = format!("{name}.c");
        assert_eq!(mayhap_in(here, &["cc", "-g", "-O1", "-pthread", &source, "-o", name]).code, Some(0));
    }
    let program = |name: &str| here.join(name).display().to_string();
    let file = format!(
        "add_test(first {})\nadd_test(again {})\nadd_test(calm {})\nadd_test(plain /bin/true)\n",
        program("race"),
        program("race"),
        program("quiet")
    );
    fs::write(here.join("CTestTestfile.cmake"), file).unwrap();
    let run = mayhap_in(here, &["test", "--no-replay", "--save", "r.json", "--", "ctest"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("test first ... 1 finding"), "{}", run.stderr);
    assert!(run.stderr.contains("test calm ... ok"), "{}", run.stderr);
    assert!(
        run.stderr.contains("test plain ... not analysed: /bin/true: the program recorded nothing"),
        "{}",
        run.stderr
    );
    let report: serde_json::Value = serde_json::from_slice(&fs::read(here.join("r.json")).unwrap()).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["tests"], serde_json::json!(["first", "again"]));
    assert!(run.stdout.contains("test first and 1 more"), "{}", run.stdout);
    assert!(run.stdout.contains("3 tests analysed, 1 of them with one thread"), "{}", run.stdout);
}

#[test]
fn cargo_test_analyses_all_tests_of_a_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let member = here.join("tally");
    fs::create_dir_all(member.join("src")).unwrap();
    fs::write(here.join("Cargo.toml"), "[workspace]\nmembers = [\"tally\"]\nresolver = \"2\"\n").unwrap();
    fs::write(member.join("Cargo.toml"), "[package]\nname = \"tally\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .unwrap();
    fs::write(member.join("src/lib.rs"), include_str!("suites/tally.rs")).unwrap();
    let run: Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cargo", "test", "--offline", "--lib", "--no-replay", "--save", "r.json"])
        .current_dir(here)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(here.join("r.json")).unwrap()).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let race = findings.iter().find(|f| f["title"].as_str().unwrap().contains("LAST")).unwrap();
    assert_eq!(race["tests"][0], "tally::tests::two_threads_add");
    // Paths begin at the workspace, and the lines are found there.
    assert_eq!(race["events"][0]["source"]["file"], "tally/src/lib.rs");
    assert!(run.stdout.contains("LAST = n;"), "{}", run.stdout);
    assert!(run.stdout.contains("2 tests analysed"), "{}", run.stdout);
}

/// A program does its work whatever it is asked: `--list` would be one more run, and one that hangs would be waited for forever.
#[test]
fn cargo_run_never_asks_a_program_for_tests() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::create_dir(here.join("src")).unwrap();
    fs::write(here.join("Cargo.toml"), "[package]\nname = \"job\"\nversion = \"0.1.0\"\nedition = \"2021\"\n").unwrap();
    let main = "fn main() {\n    let words: Vec<String> = std::env::args().skip(1).collect();\n    \
        std::fs::write(\"words\", words.join(\" \")).unwrap();\n    \
        while !words.is_empty() { std::thread::yield_now(); }\n}\n";
    fs::write(here.join("src/main.rs"), main).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cargo", "run", "--offline", "--no-replay", "--explore=0"])
        .current_dir(here)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(fs::read_to_string(here.join("words")).unwrap(), "");
}

/// The finding of a report that exploring made, by the names of its tests; the recorded run may have failed by itself.
fn failing_tests(file: &std::path::Path) -> serde_json::Value {
    let report: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let happened = |finding: &&serde_json::Value| finding["verdict"] == "confirmed" || finding["verdict"] == "observed";
    let failure = findings.iter().find(happened).unwrap_or_else(|| panic!("{report}"));
    failure["tests"].clone()
}

#[test]
fn the_tests_of_a_test_binary_are_explored_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/framework.cc");
    let built = mayhap_in(here, &["c++", "-std=c++17", "-g", "-O1", "-pthread", source, "-o", "tests"]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let run = mayhap_in(here, &["test", "--explore=6", "--save", "r.json", "--", "./tests"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("test Tally.AddsInOneStep ... ok"), "{}", run.stderr);
    assert!(run.stderr.contains("test Tally.AddsInTwoSteps ... 1 finding"), "{}", run.stderr);
    assert!(!run.stderr.contains("Later"), "{}", run.stderr);
    assert_eq!(failing_tests(&here.join("r.json")), serde_json::json!(["Tally.AddsInTwoSteps"]));
    let other = mayhap_in(here, &["test", "--", "/bin/true"]);
    assert!(other.code == Some(2) && other.stderr.contains("GoogleTest"), "{}", other.stderr);
}

/// The tests of a crate with this text that fail when each is explored for so many seconds.
fn explored_tests(text: &str, explore: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::create_dir(here.join("src")).unwrap();
    let manifest = "[package]\nname = \"tally\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(here.join("Cargo.toml"), manifest).unwrap();
    fs::write(here.join("src/lib.rs"), text).unwrap();
    let run: Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cargo", "test", "--offline", "--lib", explore, "--save", "r.json"])
        .current_dir(here)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(here.join("r.json")).unwrap()).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let happened = findings.filter(|one| one["verdict"] == "confirmed" || one["verdict"] == "observed");
    let tests = happened.flat_map(|one| one["tests"].as_array().unwrap());
    tests.map(|test| test.as_str().unwrap().to_string()).collect()
}

#[test]
fn cargo_test_explores_each_test() {
    let failing = explored_tests(include_str!("suites/lost_update.rs"), "--explore=12");
    assert_eq!(failing, BTreeSet::from(["tally::tests::nothing_is_lost".to_string()]));
}

/// An order that is too weak makes no test fail, and a test that hangs must be noticed though the harness waits for it.
#[test]
fn weak_orders_and_lost_wakeups_of_tests_are_found() {
    let failing = explored_tests(include_str!("suites/hand_over.rs"), "--explore=6");
    let expected = ["tally::tests::place_is_not_published", "tally::tests::sleeper_does_not_look_again"];
    assert_eq!(failing, BTreeSet::from(expected.map(String::from)));
}
