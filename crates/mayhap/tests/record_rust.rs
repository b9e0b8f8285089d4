//! Small Rust programs, one behaviour each, built with `mayhap cargo`, recorded, and their traces held to what the comments
//! at the top of each program say (`common/expect.rs`). Beyond that, for each of them:
//!
//! - every read of a shared variable saw the write that the trace says: the programs log what they wrote and read
//! - no race is proven in a `_norace` program, in any model except those after `// not:`
//!
//! `MAYHAP_PROGRAM=NAME` runs those whose names start so.

mod common;

use std::collections::HashMap;
use std::path::Path;

use common::{expect, rust};
use mayhap_trace::{EventId, Op, Relations, Trace};

/// Name and text of each program.
fn programs() -> Vec<(String, String)> {
    let wanted = std::env::var("MAYHAP_PROGRAM").unwrap_or_default();
    let files = std::fs::read_dir(rust::package().join("src/programs")).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<(String, String)> = files
        .map(|file| (file.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&file).unwrap()))
        .filter(|(name, _)| name.starts_with(&wanted))
        .collect();
    programs.sort();
    programs
}

/// What a thread logged: whether it wrote, which variable, which value.
type Entry = (bool, u64, u64);

fn logs(path: &Path) -> HashMap<String, Vec<Entry>> {
    let bytes = std::fs::read(path).unwrap();
    let mut rest = bytes.as_slice();
    let mut take = |n: usize| {
        let (taken, left) = rest.split_at(n);
        rest = left;
        taken.to_vec()
    };
    let number = |bytes: Vec<u8>| u64::from_le_bytes(bytes.try_into().unwrap());
    let (mut logs, mut used) = (HashMap::new(), 0);
    while used < bytes.len() {
        let length = number(take(8)) as usize;
        let name = String::from_utf8(take(length)).unwrap();
        let count = number(take(8)) as usize;
        let entries = (0..count).map(|_| number(take(8)));
        let entries = entries.map(|w| (w >> 63 == 1, w >> 56 & 0x7f, w & ((1 << 56) - 1))).collect();
        used += 16 + length + 8 * count;
        assert!(logs.insert(name, entries).is_none(), "a thread logged twice");
    }
    logs
}

/// The number of the shared variable with this name.
fn variable(name: &str) -> Option<u64> {
    name.strip_prefix("SHARED.0[")?.strip_suffix(']')?.parse().ok()
}

/// Holds the trace to the logs; returns how many reads were compared. Accesses to variables that one thread alone touches
/// are not in the trace.
fn compare(trace: &Trace, logs: &HashMap<String, Vec<Entry>>) -> Result<u64, String> {
    let relations = Relations::derive(trace).map_err(|error| error.to_string())?;
    let tables = trace.tables();
    let shared: Vec<u64> = tables.variables.iter().filter_map(variable).collect();
    let kept = |log: &[Entry]| log.iter().copied().filter(|(_, v, _)| shared.contains(v)).collect::<Vec<_>>();
    let mut open: HashMap<&str, std::vec::IntoIter<Entry>> =
        logs.iter().map(|(name, log)| (name.as_str(), kept(log).into_iter())).collect();
    let mut written: HashMap<EventId, u64> = HashMap::new();
    let mut reads = 0;
    for (id, event) in trace.events() {
        if !event.op.is_access() {
            continue;
        }
        let Some(variable) = variable(tables.object(event.op, event.object)) else { continue };
        let thread = tables.thread(event.thread);
        let entry = open.get_mut(thread).and_then(Iterator::next);
        let Some((is_write, logged, value)) = entry else {
            return Err(format!("event {id} of {thread} is not in its log"));
        };
        if (is_write, logged) != (event.op == Op::Write, variable) {
            return Err(format!("event {id} of {thread} is not what it logged"));
        }
        if is_write {
            written.insert(id, value);
            continue;
        }
        reads += 1;
        let expected = relations.read_from(id).map_or(0, |write| written[&write]);
        if expected != value {
            return Err(format!("event {id} of {thread} read {value:#x}; the trace says {expected:#x}"));
        }
    }
    match open.into_iter().find_map(|(thread, mut log)| log.next().map(|_| thread)) {
        Some(thread) => Err(format!("accesses of {thread} are missing")),
        None => Ok(reads),
    }
}

fn check_proofs(name: &str, text: &str, trace: &Path) -> Result<(), String> {
    if name.ends_with("_norace") {
        let exempt: Vec<&str> = expect::facts(text, "not").iter().flat_map(|line| line.split_whitespace()).collect();
        for model in ["data", "branch", "causal"].into_iter().filter(|model| !exempt.contains(model)) {
            let proven = expect::proven(trace, model)?;
            if !proven.is_empty() {
                return Err(format!("races proven under {model}: {proven:?}"));
            }
        }
    }
    for wanted in expect::facts(text, "proven") {
        let proven = expect::proven(trace, "causal")?;
        if !proven.iter().any(|name| name.starts_with(wanted)) {
            return Err(format!("no race on {wanted} is proven, only on {proven:?}"));
        }
    }
    Ok(())
}

#[test]
fn every_rust_program_is_recorded_as_it_says() {
    let binary = rust::build();
    let folder = tempfile::tempdir().unwrap();
    let schedules: [&[&str]; 2] = [&[], &["--schedule", "random", "--seed", "7"]];
    let (mut failures, mut reads) = (Vec::new(), 0);
    let programs = programs();
    assert!(!programs.is_empty(), "no program to check");
    for (name, text) in &programs {
        for schedule in schedules {
            let trace = folder.path().join(format!("{name}.mhp"));
            let _ = std::fs::remove_file(trace.with_extension("log"));
            let result = expect::check(name, text, &[binary.to_str().unwrap(), name], &trace, schedule)
                .and_then(|recorded| compare(&recorded, &logs(&trace.with_extension("log"))))
                .and_then(|compared| {
                    reads += compared;
                    check_proofs(name, text, &trace)
                });
            if let Err(why) = result {
                failures.push(format!("{name} {schedule:?}: {why}"));
            }
        }
    }
    println!("{} programs, {reads} reads compared", programs.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), programs.len(), failures.join("\n"));
}
