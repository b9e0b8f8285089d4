//! The recorded order is the order of what happened: every read of a racy program saw the write that the trace says.
//!
//! The program logs each value that it writes, which is unique, and each value that it reads. `MAYHAP_CASES=N`
//! makes the threads take N steps in all; 15 of 16 are reads.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use mayhap_testkit::needs;
use mayhap_trace::{EventId, Op, Relations, Trace, format};

/// What a thread logged: write or read, variable, value.
type Entry = (bool, u64, u64);

fn logs(path: &Path) -> Vec<Vec<Entry>> {
    let bytes = std::fs::read(path).unwrap();
    let mut words = bytes.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word));
    let mut logs = Vec::new();
    while let Some(count) = words.next() {
        let entries = words.by_ref().take(count as usize);
        logs.push(entries.map(|w| (w >> 63 == 1, w >> 56 & 0x7f, w & ((1 << 56) - 1))).collect());
    }
    logs
}

/// The number of the `shared` variable with this name.
fn variable(name: &str) -> Option<u64> {
    // In Java the array is known by where it was allocated.
    let allocated = || name.split_once("@ExactReads.java:")?.1.split_once(':').map(|(_, index)| index);
    let index = name.strip_prefix("shared").or(name.strip_prefix("SHARED.0")).or_else(allocated)?;
    index.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Compares trace and logs; how many reads were compared, and how many saw another value than the trace says.
fn compare(trace: &Trace, logs: &[Vec<Entry>]) -> (u64, u64) {
    let relations = Relations::derive(trace).unwrap();
    let tables = trace.tables();
    let threads: HashMap<&str, usize> = (0..logs.len())
        .map(|i| (tables.threads.find(&format!("main.{}", i + 1)).unwrap(), i))
        .map(|(id, i)| (tables.threads.get(id), i))
        .collect();
    let mut positions = vec![0; logs.len()];
    let mut written: HashMap<EventId, u64> = HashMap::new();
    let (mut reads, mut wrong) = (0, 0);
    for (id, event) in trace.events() {
        let (Some(&thread), true) = (threads.get(tables.thread(event.thread)), event.op.is_access()) else { continue };
        let Some(variable) = variable(tables.object(event.op, event.object)) else { continue };
        let (is_write, logged, value) = logs[thread][positions[thread]];
        positions[thread] += 1;
        assert_eq!((is_write, logged), (event.op == Op::Write, variable), "event {id} is not what the thread logged");
        if is_write {
            written.insert(id, value);
        } else {
            reads += 1;
            let expected = relations.read_from(id).map_or(0, |write| written[&write]);
            wrong += u64::from(expected != value);
        }
    }
    for (thread, log) in logs.iter().enumerate() {
        assert_eq!(positions[thread], log.len(), "the trace has all accesses of thread {}", thread + 1);
    }
    (reads, wrong)
}

/// Records the program, which gets log, threads and steps as its last arguments, under several schedules.
fn check(folder: &Path, program: &[&str]) {
    let steps: u64 = std::env::var("MAYHAP_CASES").map_or(120_000, |n| n.parse().unwrap());
    let schedules: [&[&str]; 4] = [
        &[],
        &["--slice", "50", "--seed", "1"],
        &["--schedule", "random", "--seed", "2"],
        &["--schedule", "pct", "--slice", "300", "--seed", "3"],
    ];
    for (schedule, threads) in schedules.into_iter().zip([2u64, 3, 4, 3]) {
        let each = (steps / threads / 4).to_string();
        let (threads, mut arguments) = (threads.to_string(), vec!["record", "--finish", "-o", "t.mhp"]);
        arguments.extend(schedule);
        arguments.push("--");
        arguments.extend(program);
        arguments.extend(["log", &threads, &each]);
        let run = common::mayhap_in(folder, &arguments);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let trace = format::read(folder.join("t.mhp")).unwrap().trace;
        let (reads, wrong) = compare(&trace, &logs(&folder.join("log")));
        println!("{schedule:?}, {threads} threads: {reads} racy reads, {wrong} wrong");
        assert!(reads > 0);
        assert_eq!(wrong, 0, "of {reads} reads under {schedule:?}");
    }
}

/// Compiles the program in C with this compiler and checks it.
fn check_compiled(compiler: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-rt/tests/exact/reads.c").canonicalize().unwrap();
    let compiled: common::Run = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["cc", "-O2", "-pthread", source.to_str().unwrap(), "-o", "reads"])
        .env("MAYHAP_CC", compiler)
        .current_dir(folder.path())
        .output()
        .unwrap()
        .into();
    assert_eq!(compiled.code, Some(0), "{}", compiled.stderr);
    check(folder.path(), &["./reads"]);
}

#[test]
fn every_read_saw_the_write_that_the_trace_says() {
    check_compiled("gcc");
}

#[test]
fn every_read_saw_the_write_that_the_trace_says_by_clang() {
    if needs::tool("clang", "clang") {
        check_compiled("clang");
    }
}

#[test]
fn every_read_of_a_rust_program_saw_the_write_that_the_trace_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::rust::build();
    check(folder.path(), &[program.to_str().unwrap(), "reads"]);
}

#[test]
fn every_read_of_a_java_program_saw_the_write_that_the_trace_says() {
    if !needs::tool("javac", "default-jdk-headless") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-jvm/tests/programs/ExactReads.java");
    let status = Command::new("javac").args(["-g", "-d", "."]).arg(source).current_dir(folder.path()).status().unwrap();
    assert!(status.success());
    check(folder.path(), &["java", "-cp", ".", "ExactReads"]);
}
