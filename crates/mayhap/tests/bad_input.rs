//! Bad input: exit code 2, one message with the position, nothing on standard output, no panic, no memory blow-up.

mod common;

use std::fs::{self, File};
use std::path::Path;

use common::{mayhap_in, mayhap_within};

/// Enough for the program, far too little for what the bad inputs promise.
const MEGABYTES: u32 = 400;

/// Files that no command may accept.
fn bad_files(directory: &Path) -> Vec<&'static str> {
    let put = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes).unwrap();
    put("empty.std", b"");
    put("comments_only.std", b"# nothing\n");
    let junk: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    for name in ["junk.std", "junk.std.gz", "junk.std.zst", "junk.mhp", "junk.data"] {
        put(name, &junk);
    }
    for name in ["long_line.std", "zeros.mhp", "zeros.data"] {
        File::create(directory.join(name)).unwrap().set_len(1 << 30).unwrap();
    }
    let mut huge_header = vec![0, 3, 0, 0, 0, 5, 0, 0, 0, 9];
    huge_header.extend_from_slice(&1_000_000_000_000u64.to_be_bytes());
    put("huge_header.data", &huge_header);
    put("short_header.data", &huge_header[..7]);
    put("unknown_operation.std", b"T1|r(x)|1\nT1|lock(x)|2\n");
    put("missing_field.std", b"T1|r(x)|1\nT1\n");
    put("missing_object.std", b"T1|r(x)|1\nT1|w|2\n");
    put("blank_line.std", b"T1|r(x)|1\n\nT1|r(x)|2\n");
    put("wrong_utf8.std", b"T1|r(x)|1\nT1|r(y\xff)|2\n");
    put("released_twice.std", b"T1|acq(l)|1\nT1|rel(l)|2\nT1|rel(l)|3\n");
    put("acquired_twice.std", b"T1|acq(l)|1\nT2|acq(l)|2\n");
    put("joined_twice.std", b"T1|fork(T2)|1\nT2|r(x)|2\nT1|join(T2)|3\nT1|join(T2)|4\n");
    put("join_of_running.std", b"T1|fork(T2)|1\nT1|join(T2)|2\nT2|r(x)|3\n");
    put("forked_twice.std", b"T1|fork(T2)|1\nT1|fork(T2)|2\n");
    put("wait_alone.std", b"T1|wait(c)|1\n");
    put("no_extension", b"T1|r(x)|1\n");
    fs::create_dir(directory.join("directory.std")).unwrap();
    vec![
        "absent.std",
        "acquired_twice.std",
        "blank_line.std",
        "comments_only.std",
        "directory.std",
        "empty.std",
        "forked_twice.std",
        "huge_header.data",
        "join_of_running.std",
        "joined_twice.std",
        "junk.data",
        "junk.mhp",
        "junk.std",
        "junk.std.gz",
        "junk.std.zst",
        "long_line.std",
        "missing_field.std",
        "missing_object.std",
        "no_extension",
        "released_twice.std",
        "short_header.data",
        "unknown_operation.std",
        "wait_alone.std",
        "wrong_utf8.std",
        "zeros.data",
        "zeros.mhp",
    ]
}

/// Files whose only fault is that their events break a rule: they can be converted.
fn is_only_ill_formed(name: &str) -> bool {
    let broken_rules =
        ["released_twice", "acquired_twice", "joined_twice", "join_of_running", "forked_twice", "wait_alone"];
    broken_rules.iter().any(|rule| name.starts_with(rule))
}

#[test]
fn every_command_refuses_bad_traces_with_one_message() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("witness.json"), "{}").unwrap();
    let mut messages = String::new();
    for name in bad_files(here) {
        let stats = mayhap_within(MEGABYTES, here, &["stats", name]);
        messages.push_str(&stats.stderr);
        let others: [&[&str]; 3] =
            [&["stats", "--format", "json", name], &["verify", name, "witness.json"], &["convert", name, "out.std"]];
        for args in others {
            let run = mayhap_within(MEGABYTES, here, args);
            if args[0] == "convert" && is_only_ill_formed(name) {
                assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
                fs::remove_file(here.join("out.std")).unwrap();
                continue;
            }
            assert_eq!((run.code, &run.stdout, &run.stderr), (Some(2), &String::new(), &stats.stderr), "{args:?}");
            assert!(!here.join("out.std").exists(), "{args:?} left a file");
        }
        assert_eq!((stats.code, stats.stdout.as_str()), (Some(2), ""), "{name}: {}", stats.stderr);
        assert_eq!(stats.stderr.lines().count(), 1, "{name}: {}", stats.stderr);
        assert!(stats.stderr.starts_with(&format!("mayhap: error: {name}: ")), "{name}: {}", stats.stderr);
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn repair_drops_what_breaks_rules_and_says_how_much() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut shown = String::new();
    for name in bad_files(here).into_iter().filter(|name| is_only_ill_formed(name) && *name != "wait_alone.std") {
        let run = mayhap_in(here, &["stats", "--repair", "--format", "json", name]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        let stats: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        shown.push_str(&format!("{name}: {} left, repaired {}\n{}", stats["events"], stats["repaired"], run.stderr));
        let run = mayhap_in(here, &["convert", "--repair", name, "repaired.std"]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        let run = mayhap_in(here, &["stats", "repaired.std"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name}");
    }
    // All of this trace goes.
    let run = mayhap_in(here, &["stats", "--repair", "wait_alone.std"]);
    assert_eq!(run.code, Some(2));
    shown.push_str(&run.stderr);
    insta::assert_snapshot!(shown);
}

#[test]
fn bad_usage_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut shown = String::new();
    let attempts: &[&[&str]] = &[
        &["stats"],
        &["stats", "x.std", "--format", "xml"],
        &["convert", "x.std"],
        &["generate", "--events", "many", "-o", "x.std"],
        &["generate", "--events", "5", "-o", "x.std"],
        &["generate", "--sharing", "2", "-o", "x.std"],
        &["generate", "-o", "x.txt"],
        &["generate", "-o", "no/such/directory/x.std"],
    ];
    for args in attempts {
        let run = mayhap_in(here, args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        shown.push_str(&format!("$ mayhap {}\n{}\n", args.join(" "), run.stderr));
    }
    insta::assert_snapshot!(shown);
    assert_eq!(fs::read_dir(here).unwrap().count(), 0, "nothing is left behind");
    let nothing = mayhap_in(here, &[]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(2), ""));
    assert!(nothing.stderr.contains("Usage: mayhap <COMMAND>"), "{}", nothing.stderr);
    let misspelt = mayhap_in(here, &["stat", "x.std"]);
    assert_eq!((misspelt.code, misspelt.stdout.as_str()), (Some(2), ""));
    assert!(misspelt.stderr.contains("a similar subcommand exists: 'stats'"), "{}", misspelt.stderr);
}

#[test]
fn a_truncated_native_file_yields_what_is_there_and_says_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    assert_eq!(mayhap_in(here, &["generate", "--events", "500k", "-o", "whole.mhp"]).code, Some(0));
    let bytes = fs::read(here.join("whole.mhp")).unwrap();
    fs::write(here.join("cut.mhp"), &bytes[..bytes.len() / 2]).unwrap();
    let run = mayhap_in(here, &["stats", "--format", "json", "cut.mhp"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let stats: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let events = stats["events"].as_u64().unwrap();
    assert!((50_000..450_000).contains(&events), "{events} events");
    assert_eq!(stats["missing"]["delivered"], events);
    assert!(run.stderr.starts_with("mayhap: note: cut.mhp: the file is incomplete: "), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    let run = mayhap_in(here, &["convert", "cut.mhp", "cut.std"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("the file is incomplete"), "{}", run.stderr);
    assert_eq!(fs::read(here.join("cut.std")).unwrap().iter().filter(|&&b| b == b'\n').count() as u64, events);
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let traces = common::traces();
    let script = "\"$0\" stats --top 100000 ftpserver.std --format json | head -n 1; echo \"${PIPESTATUS[0]}\"";
    let output = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_mayhap")])
        .current_dir(traces)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\n0\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
