//! A program killed at a random moment leaves a trace of everything it did before: what the recorder shares with it needs
//! no flushing. The program writes its progress to a file after each step; the trace must have all those steps.
//!
//! `MAYHAP_CASES=N` kills it N times.

mod common;

use std::path::Path;

use mayhap_trace::{Op, Relations, format};

#[test]
fn nothing_is_lost_when_the_program_is_killed() {
    let cases: u64 = std::env::var("MAYHAP_CASES").map_or(8, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-rt/tests/exact/killed.c").canonicalize().unwrap();
    let compiled =
        common::mayhap_in(folder.path(), &["cc", "-O1", "-pthread", source.to_str().unwrap(), "-o", "killed"]);
    assert_eq!(compiled.code, Some(0), "{}", compiled.stderr);
    let mut most = 0;
    for case in 0..cases {
        let after = (2_000 + case * 7_919 % 60_000).to_string();
        let (progress, seed) = (folder.path().join("progress"), case.to_string());
        let arguments = ["record", "--finish", "-o", "t.mhp", "--seed", &seed, "--", "./killed", "progress", &after];
        let run = common::mayhap_in(folder.path(), &arguments);
        assert_eq!(run.code, Some(128 + 9), "{}", run.stderr);
        assert!(run.stderr.contains("signal 9 ended the program"), "{}", run.stderr);
        let trace = format::read(folder.path().join("t.mhp")).unwrap().trace;
        Relations::derive(&trace).unwrap();
        let bytes: [u8; 8] = std::fs::read(progress).unwrap()[..8].try_into().unwrap();
        let done = u64::from_le_bytes(bytes);
        let tables = trace.tables();
        let steps = trace.events().filter(|(_, event)| {
            event.op == Op::Write
                && tables.object(event.op, event.object) == "steps"
                && tables.thread(event.thread) != "main"
        });
        let recorded = steps.count() as u64;
        assert!((done..=done + 2).contains(&recorded), "{done} steps done, {recorded} recorded");
        most = most.max(done);
    }
    assert!(most > 0, "the program was always killed before its first step");
}
