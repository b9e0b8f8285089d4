//! Exploring goes through more than the order of steps: which waiter is woken, waits that end early, allocations that fail, and uses of what is gone. Every program
//! has its fix (`-DFIXED`), in which nothing may be found.
//!
//! `MAYHAP_CASES=N` takes N programs of `explore_unseen`.

mod common;

use std::path::Path;

use serde_json::Value;

/// Compiles a program, or its fix, to `./program`.
fn compile(folder: &Path, file: &str, is_fixed: bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let fixed = if is_fixed { &["-DFIXED"][..] } else { &[] };
    let compiler = if file.ends_with(".c") { "cc" } else { "c++" };
    let words = [compiler, "-g", "-O1", "-pthread", "-o", "program", path.to_str().unwrap()];
    let run = common::mayhap_in(folder, &[&words[..], fixed].concat());
    assert_eq!(run.code, Some(0), "{file}: {}", run.stderr);
}

/// What `mayhap explore` says of `./program`.
fn explore(folder: &Path, options: &[&str]) -> Value {
    let how = ["explore", "--no-predict", "--format", "json"];
    let run = common::mayhap_in(folder, &[&how[..], options, &["--", "./program"]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr))
}

fn messages(document: &Value) -> Vec<String> {
    let findings = document["findings"].as_array().unwrap();
    findings.iter().map(|finding| format!("{} {}", finding["title"], finding["message"])).collect()
}

/// Programs, what is asked for, and what is said of the failure.
const CHOICES: [(&str, &[&str], &str); 8] = [
    ("other_waiter_first.c", &[], "A notify wakes another thread than the one that has waited longest."),
    ("allocation_unchecked.c", &["--faults", "malloc"], "An allocation fails."),
    ("grown_unchecked.c", &["--faults", "malloc"], "An allocation fails."),
    ("thrown_with_lock.cpp", &["--faults", "malloc"], "An allocation fails."),
    ("handler_frees_nothing.cpp", &["--faults", "malloc"], "An allocation fails."),
    ("time_limit_ignored.c", &[], "The time limit of a wait is reached."),
    ("wait_once.c", &["--faults", "wakeup"], "A wait on a condition ends though no thread has notified it."),
    ("notified_after_the_end.c", &[], "Use after free"),
];

#[test]
fn what_else_than_the_order_decides_is_explored() {
    let folder = tempfile::tempdir().unwrap();
    for (name, asked, said) in CHOICES {
        let options = [&["--strategy", "rf", "--max-schedules", "60"], asked].concat();
        compile(folder.path(), &format!("explore_choices/{name}"), false);
        let found = messages(&explore(folder.path(), &options));
        assert!(found.iter().any(|message| message.contains(said)), "{name}: {found:?}");
        compile(folder.path(), &format!("explore_choices/{name}"), true);
        let document = explore(folder.path(), &options);
        assert_eq!(messages(&document), [] as [String; 0], "{name}: its fix");
        assert_eq!(document["exploration"]["open"], 0, "{name}: its fix");
    }
}

#[test]
fn calls_do_not_fail_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["allocation_unchecked", "wait_once"] {
        compile(folder.path(), &format!("explore_choices/{name}.c"), false);
        let document = explore(folder.path(), &["--strategy", "rf"]);
        assert_eq!(messages(&document), [] as [String; 0], "{name}");
        assert_eq!(document["exploration"]["complete"], true, "{name}");
    }
}

#[test]
fn manifests_have_all_that_can_come_of_choices() {
    let folder = tempfile::tempdir().unwrap();
    for (name, asked) in [("other_waiter_first", &[][..]), ("wait_once", &["--faults", "wakeup"])] {
        compile(folder.path(), &format!("explore_choices/{name}.c"), true);
        let options = [&["--strategy", "rf", "--manifest", "all.json"], asked].concat();
        assert_eq!(explore(folder.path(), &options)["exploration"]["complete"], true, "{name}");
        let verified = common::mayhap_in(folder.path(), &["verify", "--run", "all.json"]);
        assert_eq!(verified.code, Some(0), "{name}: {}{}", verified.stdout, verified.stderr);
        // One alternative is left out.
        let text = std::fs::read_to_string(folder.path().join("all.json")).unwrap();
        let wrong = text.replacen(":2=0", ":3=0", 1);
        assert_ne!(text, wrong);
        std::fs::write(folder.path().join("wrong.json"), wrong).unwrap();
        assert_eq!(common::mayhap_in(folder.path(), &["verify", "wrong.json"]).code, Some(1), "{name}");
    }
}

/// The order in which runs are made was not chosen by these.
#[test]
fn bugs_of_unseen_programs_are_found_and_their_fixes_are_clean() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore_unseen");
    let names = std::fs::read_dir(source).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".c")).collect();
    names.sort();
    let count = std::env::var("MAYHAP_CASES").map_or(5, |n| n.parse().unwrap());
    for name in names.iter().step_by((names.len() / count).max(1)) {
        compile(folder.path(), &format!("explore_unseen/{name}"), false);
        let document = explore(folder.path(), &["--first", "--max-schedules", "60"]);
        assert!(!messages(&document).is_empty(), "{name}: {}", document["exploration"]);
        println!("{name}: {}", document["exploration"]["schedules"]);
        compile(folder.path(), &format!("explore_unseen/{name}"), true);
        assert_eq!(messages(&explore(folder.path(), &["--max-schedules", "60"])), [] as [String; 0], "{name}: its fix");
    }
}
