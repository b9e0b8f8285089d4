//! `mayhap detect` as users and scripts see it.

mod common;

use std::fs;

use common::{mayhap_in, traces};
use serde_json::Value;

fn detect(args: &[&str]) -> (i32, Value) {
    let run = mayhap_in(&traces(), &[&["detect", "--format", "json"], args].concat());
    let code = run.code.unwrap();
    assert!(code < 2, "{args:?}: {}", run.stderr);
    (code, serde_json::from_str(&run.stdout).unwrap())
}

/// The text without times.
fn text(args: &[&str]) -> String {
    let run = mayhap_in(&traces(), &[&["detect"], args].concat());
    let lines = run.stdout.lines().filter(|line| !line.starts_with("  seconds"));
    format!("exit {}\n{}\n", run.code.unwrap(), lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn text_reads_well() {
    insta::assert_snapshot!("detect_hb", text(&["account.std", "--order", "hb", "--distance"]));
    insta::assert_snapshot!("detect_wcp", text(&["twostage.std", "--order", "wcp"]));
    insta::assert_snapshot!("detect_cp_window", text(&["twostage.std", "--order", "cp", "--window", "20"]));
    insta::assert_snapshot!("detect_nothing", text(&["../golden/wcp/fig1a.std", "--order", "syncp"]));
}

#[test]
fn json_has_what_the_contract_says() {
    let (code, found) = detect(&["account.std", "--order", "hb", "--distance"]);
    assert_eq!(code, 1);
    for key in ["racy_events", "racy_locations", "racy_location_pairs", "racy_variables"] {
        assert!(found[key].as_u64().unwrap() > 0, "{key}");
    }
    assert_eq!(found["order"], "hb");
    assert_eq!(found["races"].as_array().unwrap().len() as u64, found["racy_location_pairs"].as_u64().unwrap());
    let first = &found["races"][0]["first"];
    let expected = serde_json::json!({
        "event": 6, "thread": "T20", "op": "w", "object": "V16e92358.199", "location": "374"
    });
    assert_eq!(*first, expected);
    assert!(found["seconds"].is_f64() && found["distance"]["max"].is_u64() && found["distance"]["mean"].is_f64());
    let (code, found) = detect(&["../golden/wcp/fig1a.std", "--order", "hb"]);
    assert_eq!((code, &found["races"], &found["racy_events"]), (0, &serde_json::json!([]), &serde_json::json!(0)));
    assert_eq!(found.get("window"), None);
    let (_, found) = detect(&["twostage.std", "--order", "cp", "--window", "20"]);
    assert_eq!(found["window"], 20);
    let (_, found) = detect(&["bufwriter.std", "--order", "wcp"]);
    assert!(found["queues"]["longest"].as_u64().unwrap() > 0);
}

#[test]
fn eraser_states_let_initialisation_pass() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("init.std");
    fs::write(&file, "A|w(x)\nA|fork(B)\nB|acq(l)\nB|w(x)\nB|rel(l)\nA|acq(l)\nA|r(x)\nA|rel(l)\n").unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(detect(&[path, "--order", "lockset"]).0, 1);
    assert_eq!(detect(&[path, "--order", "lockset", "--eraser"]).0, 0);
}

#[test]
fn every_format_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for order in ["lockset", "hb", "shb", "cp", "wcp", "syncp"] {
        let (_, mut text) = detect(&["ftpserver.std", "--order", order]);
        let native = folder.path().join("trace.mhp");
        let native = native.to_str().unwrap();
        assert_eq!(mayhap_in(&traces(), &["convert", "ftpserver.std", native]).code, Some(0));
        let (_, mut found) = detect(&[native, "--order", order]);
        for document in [&mut text, &mut found] {
            document["seconds"] = Value::Null;
        }
        assert_eq!(text, found, "{order}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    for (args, reason) in [
        (&["account.std"][..], "--order"),
        (&["account.std", "--order", "tso"], "lockset, hb, shb, cp, wcp, syncp"),
        (&["account.std", "--order", "hb", "--window", "5"], "--window works only with --order cp"),
        (&["account.std", "--order", "cp", "--window", "0"], "must be at least 1"),
        (&["account.std", "--order", "hb", "--eraser"], "--eraser works only with --order lockset"),
    ] {
        let run = mayhap_in(&traces(), &[&["detect"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.stderr.contains(reason), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn a_broken_trace_is_an_error_and_can_be_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.std");
    fs::write(&file, "A|w(x)\nA|rel(l)\nB|w(x)\n").unwrap();
    let path = file.to_str().unwrap();
    let run = mayhap_in(&traces(), &["detect", path, "--order", "hb"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("event 2") && run.stderr.contains("release-without-acquire"), "{}", run.stderr);
    let (code, found) = detect(&[path, "--order", "hb", "--repair"]);
    assert_eq!((code, &found["racy_events"]), (1, &serde_json::json!(1)));
    assert_eq!(found["repaired"]["release-without-acquire"], 1);
}

/// Happens-before finds the plain ones of the planted races, the other orders find all; none finds anything else.
#[test]
fn planted_races_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("planted.mhp");
    let path = path.to_str().unwrap();
    let shape = ["--events", "300k", "--races", "40", "--hidden", "0.25", "--seed", "3"];
    assert_eq!(mayhap_in(&traces(), &[&["generate", "-o", path], &shape[..]].concat()).code, Some(0));
    for (order, races) in [("hb", 30), ("shb", 30), ("cp", 40), ("wcp", 40), ("syncp", 40)] {
        let (code, found) = detect(&[path, "--order", order]);
        assert_eq!((code, found["racy_location_pairs"].as_u64()), (1, Some(races)), "{order}");
        assert_eq!(found["racy_variables"].as_u64(), Some(races), "{order}");
    }
}
