//! What the commands print for real traces, and that it is true.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::{mayhap_in, traces};
use serde_json::Value;

fn stats(name: &str) -> Value {
    let run = mayhap_in(&traces(), &["stats", "--format", "json", name]);
    assert_eq!((run.code, run.stderr.contains("error")), (Some(0), false), "{name}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn stats_of_every_trace_of_the_corpus() {
    let mut seen = 0;
    for folder in ["", "deadlock/"] {
        for entry in fs::read_dir(traces().join(folder)).unwrap() {
            let name = format!("{folder}{}", entry.unwrap().file_name().to_string_lossy());
            if name.contains(".std") || name.contains(".data") {
                assert!(stats(&name)["events"].as_u64().unwrap() > 0, "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 17, "only {seen} traces");
}

/// Counts again, straight from the lines of an STD file without re-entrant locks in the way.
fn recount(text: &str) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    let (mut threads, mut locks, mut variables) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::<_, BTreeSet<_>>::new());
    let mut locations = BTreeSet::new();
    for line in text.lines() {
        let (thread, rest) = line.split_once('|').unwrap();
        let (call, location) = rest.rsplit_once('|').unwrap();
        let (op, object) = call.trim_end_matches(')').split_once('(').unwrap_or((call, ""));
        *counts.entry("events").or_default() += 1;
        threads.insert(thread);
        locations.insert(location);
        match op {
            "r" | "w" => {
                *counts.entry(if op == "r" { "r" } else { "w" }).or_default() += 1;
                variables.entry(object).or_default().insert(thread);
            }
            "acq" | "rel" => {
                *counts.entry(if op == "acq" { "acq" } else { "rel" }).or_default() += 1;
                locks.insert(object);
            }
            "fork" | "join" => drop(threads.insert(object)),
            _ => {}
        }
    }
    counts.insert("threads", threads.len() as u64);
    counts.insert("locks", locks.len() as u64);
    counts.insert("locations", locations.len() as u64);
    counts.insert("variables", variables.len() as u64);
    counts.insert("shared_variables", variables.values().filter(|threads| threads.len() > 1).count() as u64);
    counts
}

#[test]
fn stats_agree_with_a_second_count() {
    for name in ["bufwriter.std", "ftpserver.std", "deadlock/Dbcp1.std", "deadlock/DiningPhil.std"] {
        let (stats, recount) = (stats(name), recount(&fs::read_to_string(traces().join(name)).unwrap()));
        for (what, count) in recount {
            let found = match what {
                "r" | "w" | "acq" | "rel" => {
                    let kinds = stats["kinds"].as_array().unwrap();
                    kinds.iter().find(|k| k["op"] == what).map_or(0, |k| k["events"].as_u64().unwrap())
                }
                _ => stats[what].as_u64().unwrap(),
            };
            assert_eq!(found, count, "{name}: {what}");
        }
        let threads = stats["per_thread"].as_array().unwrap();
        assert_eq!(threads.iter().map(|t| t["events"].as_u64().unwrap()).sum::<u64>(), stats["events"], "{name}");
    }
}

#[test]
fn stats_as_programs_see_them() {
    for name in ["mergesort.std", "deadlock/StringBuffer.std"] {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_suffix(name.replace('/', "-"));
        settings.bind(|| insta::assert_snapshot!(mayhap_in(&traces(), &["stats", "--format", "json", name]).stdout));
    }
}

#[test]
fn stats_as_people_see_them() {
    for name in ["account.std", "derby.std.gz", "deadlock/Dbcp1.data", "deadlock/DiningPhil.std"] {
        let run = mayhap_in(&traces(), &["stats", name]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 80, "{name}: wider than a terminal: {line}");
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_suffix(name.replace('/', "-"));
        settings.bind(|| insta::assert_snapshot!(run.stdout + &run.stderr));
    }
}

#[test]
fn help_texts() {
    for command in ["", "predict", "check", "detect", "stats", "convert", "generate", "verify"] {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|a| !a.is_empty()).collect();
        let run = mayhap_in(&traces(), &args);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        assert!(run.stdout.contains("Usage: mayhap"), "{}", run.stdout);
        let wide = run.stdout.lines().find(|line| line.chars().count() > 100 && !line.starts_with("Usage:"));
        assert_eq!(wide, None);
    }
}

#[test]
fn conversion_keeps_every_event_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let whole =
        ["generate", "--events", "200k", "--threads", "20", "--races", "9", "--branches", "0.1", "--readers", "0.2"];
    assert_eq!(mayhap_in(here, &[&whole[..], &["--signals", "0.01", "-o", "a.std"]].concat()).code, Some(0));
    let chain = ["a.std", "b.mhp", "c.std.gz", "d.std.zst", "e.mhp", "f.std"];
    for pair in chain.windows(2) {
        let run = mayhap_in(here, &["convert", pair[0], pair[1]]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""), "{pair:?}");
    }
    let [first, last] = ["a.std", "f.std"].map(|name| fs::read(here.join(name)).unwrap());
    assert!(first == last, "std to native to std changed the bytes");
    // Over itself.
    assert_eq!(mayhap_in(here, &["convert", "f.std", "f.std"]).code, Some(0));
    assert!(fs::read(here.join("f.std")).unwrap() == first);
}

#[test]
fn what_a_format_cannot_carry_is_noted() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("named.std"), "main|w(x.f)|Foo.java:12\nmain|acq(l)|Foo.java:13\nmain|rel(l)|Foo.java:14\n")
        .unwrap();
    let run = mayhap_in(here, &["convert", "named.std", "numbered.data"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stderr);
    let run = mayhap_in(here, &["stats", "numbered.data", "--format", "json"]);
    let stats: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&stats["events"], &stats["variables"], &stats["locks"]), (&3.into(), &1.into(), &1.into()));
}

#[test]
fn generating_twice_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for name in ["a.std", "b.std", "a.mhp", "b.mhp", "a.std.gz", "b.std.gz"] {
        let run = mayhap_in(here, &["generate", "--events", "100k", "--seed", "42", "--races", "5", "-o", name]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    }
    for extension in ["std", "mhp", "std.gz"] {
        let [a, b] = ["a", "b"].map(|name| fs::read(here.join(format!("{name}.{extension}"))).unwrap());
        assert!(a == b, "{extension}");
    }
}

#[test]
fn prediction_finds_exactly_what_was_planted() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for (seed, more) in [("1", &["--branches", "0.2"][..]), ("2", &["--readers", "0.3"]), ("3", &["--signals", "0.02"])]
    {
        let planted = ["--races", "6", "--hidden", "0.5", "--deadlocks", "2", "--seed", seed, "-o", "planted.mhp"];
        let shape = ["generate", "--events", "20k", "--threads", "5", "--locks", "9", "--variables", "200"];
        assert_eq!(mayhap_in(here, &[&shape[..], &planted, more].concat()).code, Some(0));
        let run = mayhap_in(here, &["predict", "planted.mhp", "--format", "json"]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let count = |kind: &str| {
            let findings = report["findings"].as_array().unwrap().iter();
            findings.filter(|f| f["kind"] == kind && f["verdict"] == "proven").count()
        };
        assert_eq!((count("race"), count("deadlock")), (6, 2), "seed {seed}: {}", report["summary"]);
    }
}

fn fingerprint() -> String {
    stats("account.std")["fingerprint"].as_str().unwrap().to_string()
}

/// A witness file for `account.std`.
fn witness(target: &str, model: &str, schedule: &str) -> String {
    let fingerprint = fingerprint();
    format!(
        r#"{{"format": "mayhap-witness", "version": 1, "tool": {{"name": "mayhap", "version": "0.1.0"}},
            "trace": {{"fingerprint": "{fingerprint}", "events": 15}}, "model": "{model}",
            "target": {target}, "schedule": {schedule}}}"#
    )
}

/// The same with a schedule by turns.
fn turns(target: &str, turns: &str) -> String {
    let threads = serde_json::to_string(&["T2", "T1", "T20"]).unwrap();
    witness(target, "data", "[]")
        .replace("\"version\": 1,", "\"version\": 2,")
        .replace("\"schedule\": []", &format!("\"threads\": {threads}, \"turns\": {turns}"))
}

#[test]
fn verify_accepts_and_rejects() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::copy(traces().join("account.std"), here.join("account.std")).unwrap();
    let race = r#"{"kind": "race", "events": [6, 7]}"#;
    let fingerprint = fingerprint();
    let cases = [
        ("a race", 0, witness(race, "data", "[1, 2, 3, 4, 5]")),
        ("threads that are not forked yet", 1, witness(race, "data", "[1, 2, 5, 3, 4]")),
        ("too early", 1, witness(race, "data", "[1, 2, 3, 4]")),
        ("a changed read", 1, witness(r#"{"kind": "race", "events": [6, 8]}"#, "data", "[1, 2, 3, 4, 5, 7]")),
        ("no race", 1, witness(r#"{"kind": "race", "events": [5, 7]}"#, "data", "[1, 2, 3, 4]")),
        (
            "the same read, in a lenient model",
            0,
            witness(r#"{"kind": "race", "events": [6, 8]}"#, "sync", "[1, 2, 3, 4, 5, 7]"),
        ),
        (
            "nothing observed",
            0,
            witness(r#"{"kind": "nondeterminism", "write": 2, "read": 5, "other": 8}"#, "sync", "[1, 2, 3, 4, 7, 8]"),
        ),
        (
            "a sequence",
            0,
            witness(r#"{"kind": "order", "events": [5, 6], "adjacent": [[5, 6]]}"#, "data", "[1, 2, 3, 4, 5, 6]"),
        ),
        ("a race, by turns", 0, turns(race, "[[1, 1], [2, 3], [3, 1]]")),
        ("turns of threads that are not forked yet", 1, turns(race, "[[1, 1], [2, 1], [3, 1], [2, 2]]")),
        ("more turns than there are events", 2, turns(race, "[[1, 1], [2, 3], [3, 100]]")),
        ("no such event", 2, witness(race, "data", "[1, 2, 16]")),
        ("no such model", 2, witness(race, "guess", "[]")),
        ("no such kind", 2, witness(r#"{"kind": "livelock", "events": [1]}"#, "data", "[]")),
        ("another trace", 2, witness(race, "data", "[]").replace(&fingerprint, &"5".repeat(32))),
        ("a damaged fingerprint", 2, witness(race, "data", "[]").replace(&fingerprint, &fingerprint[1..])),
        ("half a file", 2, witness(race, "data", "[1, 2").replace('}', "")),
        ("no witness", 2, "[1, 2, 3]".to_string()),
    ];
    let mut shown = String::new();
    for (what, code, text) in cases {
        fs::write(here.join("witness.json"), text).unwrap();
        let run = mayhap_in(here, &["verify", "account.std", "witness.json"]);
        assert_eq!(run.code, Some(code), "{what}: {}{}", run.stdout, run.stderr);
        shown.push_str(&format!("# {what}\n{}{}\n", run.stdout, run.stderr));
        let run = mayhap_in(here, &["verify", "account.std", "witness.json", "--format", "json"]);
        assert_eq!(run.code, Some(code), "{what}");
        if code < 2 {
            let answer: Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!(answer["verdict"], ["accepted", "rejected"][code as usize], "{what}");
            assert_eq!(answer["reason"].is_string(), code == 1, "{what}");
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn an_endless_witness_file_is_not_read_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::copy(traces().join("account.std"), here.join("account.std")).unwrap();
    fs::File::create(here.join("endless.json")).unwrap().set_len(1 << 32).unwrap();
    let run = common::mayhap_within(400, here, &["verify", "account.std", "endless.json"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(
        run.stderr,
        "mayhap: error: endless.json: more than 66108 bytes: too long for a witness of this trace\n"
    );
}
