//! Explorations that are kept: interrupted ones go on and end as others do, and complete ones leave a manifest that can be checked.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::mayhap_in;
use serde_json::Value;

/// Three threads that each add without a lock; it fails if two updates are lost. All accesses are atomic.
const TALLY: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int total;
static void *add(void *p) {
    int seen = atomic_load(&total);
    atomic_store(&total, seen + 1);
    return p;
}
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, add, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    if (atomic_load(&total) == 1) abort();
    return 0;
}
"#;

fn compile(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join("source.c"), text).unwrap();
    let run = mayhap_in(folder, &["cc", "-g", "-O1", "-pthread", "-o", name, "source.c"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

const EXPLORE: [&str; 4] = ["explore", "--no-predict", "--format", "json"];

fn explore(folder: &Path, options: &[&str]) -> Value {
    let words: Vec<&str> = EXPLORE.iter().chain(options).copied().chain(["--", "./tally"]).collect();
    let run = mayhap_in(folder, &words);
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{options:?}: {}", run.stderr))
}

/// What must be the same, however it came about: counts and findings.
fn result(document: &Value) -> Value {
    let mut exploration = document["exploration"].clone();
    exploration.as_object_mut().unwrap().remove("seconds");
    let findings = document["findings"].as_array().unwrap().iter();
    let findings: Vec<Value> = findings
        .map(|finding| serde_json::json!([finding["title"], finding["fingerprint"], finding["message"]]))
        .collect();
    serde_json::json!([exploration, findings])
}

/// Ends a process that explores as soon as the journal has so many bytes, or it has ended by itself.
fn kill_when(folder: &Path, options: &[&str], bytes: u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(EXPLORE.iter().chain(options))
        .args(["--", "./tally"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = folder.join("kept/runs.journal");
    let started = Instant::now();
    while journal.metadata().map_or(0, |file| file.len()) < bytes && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(120), "no run is made");
        std::thread::sleep(Duration::from_micros(200));
    }
    // SIGKILL: nothing is left to do in order.
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn an_exploration_that_is_killed_goes_on_and_ends_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "tally", TALLY);
    for strategy in ["mixed", "rf"] {
        let undisturbed = explore(here, &["--strategy", strategy, "--resume", "whole"]);
        assert_eq!(undisturbed["exploration"]["complete"], true, "{}", undisturbed["exploration"]);
        assert!(undisturbed["exploration"]["failures"].as_u64() > Some(0), "{}", undisturbed["exploration"]);
        let length = here.join("whole/runs.journal").metadata().unwrap().len();
        let options = ["--strategy", strategy, "--resume", "kept"];
        // At moments all over the exploration, before its first run too.
        let mut part = 0x2545_f491_4f6c_dd1d_u64 ^ length;
        let mut moments = vec![0, 8];
        for _ in 0..4 {
            part = part.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            moments.push((part >> 33) % length);
        }
        moments.sort_unstable();
        for bytes in moments {
            kill_when(here, &options, bytes);
        }
        let resumed = explore(here, &options);
        let path = |text: &Value| text.to_string().replace("kept/", "").replace("whole/", "");
        assert_eq!(path(&result(&resumed)), path(&result(&undisturbed)), "{strategy}");
        // Once more: there is nothing left to do.
        assert_eq!(result(&explore(here, &options)), result(&resumed), "{strategy}");
        for kept in ["kept", "whole"] {
            std::fs::remove_dir_all(here.join(kept)).unwrap();
        }
    }
}

#[test]
fn another_program_or_other_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "tally", TALLY);
    let kept = ["--resume", "kept", "--max-schedules", "5"];
    explore(here, &kept);
    let refused = |options: &[&str], word: &str| {
        let words: Vec<&str> = EXPLORE.iter().chain(options).copied().chain(["--", "./tally"]).collect();
        let run = mayhap_in(here, &words);
        assert!(run.code == Some(2) && run.stderr.contains(word), "{options:?}: {:?} {}", run.code, run.stderr);
    };
    refused(&["--resume", "kept", "--seed", "4"], "--seed was `0`, and is `4`");
    refused(&["--resume", "kept", "--strategy", "pct"], "--strategy was `mixed`, and is `pct`");
    let journal = here.join("kept/runs.journal");
    let whole = std::fs::read(&journal).unwrap();
    let mut damaged = whole.clone();
    damaged[20] ^= 1;
    std::fs::write(&journal, damaged).unwrap();
    refused(&["--resume", "kept"], "damaged");
    std::fs::write(&journal, b"something else altogether").unwrap();
    refused(&["--resume", "kept"], "not a journal");
    std::fs::write(&journal, &whole).unwrap();
    let begun = here.join("kept/exploration.json");
    let text = std::fs::read_to_string(&begun).unwrap();
    std::fs::write(&begun, &text[..text.len() / 2]).unwrap();
    refused(&["--resume", "kept"], "exploration.json");
    std::fs::write(&begun, text).unwrap();
    compile(here, "tally", &TALLY.replace("== 1", "== 2"));
    refused(&["--resume", "kept"], "built again");
}

#[test]
fn the_result_does_not_depend_on_how_many_runs_are_made_at_once() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "tally", TALLY);
    for strategy in ["mixed", "rf", "pos"] {
        let options = ["--strategy", strategy, "--max-schedules", "60"];
        let one = result(&explore(folder.path(), &[&options[..], &["-j", "1"]].concat()));
        for jobs in ["2", "5"] {
            let several = result(&explore(folder.path(), &[&options[..], &["-j", jobs]].concat()));
            assert_eq!(several, one, "{strategy}, -j {jobs}");
        }
    }
}

#[test]
fn a_manifest_is_checked_and_what_was_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    compile(here, "tally", TALLY);
    let document = explore(here, &["--strategy", "rf", "--manifest", "all.json"]);
    let executions = document["exploration"]["executions"].as_u64().unwrap();
    let verified = mayhap_in(here, &["verify", "all.json", "--run", "--format", "json"]);
    let answer: Value = serde_json::from_str(&verified.stdout).unwrap_or_else(|_| panic!("{}", verified.stderr));
    assert_eq!((verified.code, &answer["verdict"]), (Some(0), &Value::from("accepted")), "{answer}");
    assert_eq!(answer["executions"], executions);
    assert_eq!(answer["repeated"], answer["runs"]);
    let whole: Value = serde_json::from_slice(&std::fs::read(here.join("all.json")).unwrap()).unwrap();
    let refused = |what: &str, options: &[&str], change: &dyn Fn(&mut Value)| {
        let mut other = whole.clone();
        change(&mut other);
        std::fs::write(here.join("other.json"), other.to_string()).unwrap();
        let run = mayhap_in(here, &[&["verify", "other.json"], options].concat());
        assert!(
            run.code == Some(1) && run.stdout.starts_with("rejected: "),
            "{what}: {:?} {}{}",
            run.code,
            run.stdout,
            run.stderr
        );
    };
    let last = whole["runs"].as_array().unwrap().len() - 1;
    refused("a class is gone", &[], &|m| {
        m["classes"].as_array_mut().unwrap().pop();
        m["executions"] = Value::from(executions - 1);
    });
    refused("a run is gone", &[], &|m| _ = m["runs"].as_array_mut().unwrap().pop());
    refused("a schedule lets another thread go on", &[], &|m| {
        let step = m["runs"][last]["steps"][0].as_str().unwrap().to_string();
        let (thread, rest) = step.split_at(1);
        m["runs"][last]["steps"][0] = Value::from(format!("{}{rest}", if thread == "1" { 2 } else { 1 }));
    });
    refused("an argument names another run", &[], &|m| m["runs"][0]["reversals"][0]["run"] = Value::from(0));
    refused("an argument is gone", &[], &|m| _ = m["runs"][0]["reversals"].as_array_mut().unwrap().pop());
    // What only the program can tell: steps that never were.
    refused("steps of another program", &["--run"], &|m| {
        let first = m["runs"][0]["steps"].as_array_mut().unwrap();
        first.insert(0, Value::from("0 w7:1"));
        let shift = |value: &mut Value| *value = Value::from(value.as_u64().unwrap() + 1);
        for run in m["runs"].as_array_mut().unwrap() {
            if !run["from"].is_null() {
                shift(&mut run["from"][1]);
            }
            for reversal in run["reversals"].as_array_mut().unwrap() {
                shift(&mut reversal["earlier"]);
                shift(&mut reversal["later"]);
            }
        }
    });
}
