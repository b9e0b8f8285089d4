//! Workers that crash, hang, die without a word or are killed: each ends one task at most. The workers are shell scripts.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use mayhap_corpus::merge::merged;
use mayhap_corpus::pool::Hands;
use mayhap_corpus::{Job, Limits, Program, Progress, Settings, Shard, Store, run};

struct Seen(Mutex<Vec<(u64, u64)>>);

impl Progress for Seen {
    fn set(&self, done: u64, of: u64, _findings: u64) {
        self.0.lock().unwrap().push((done, of));
    }
}

fn settings() -> Settings {
    serde_json::from_str(
        r#"{"kinds":["race"],"engine":"auto","as_published":false,"model":null,"instances":1,"distance":1,"cycle":null,
        "all_patterns":false,"all_instances":false,"nodes":1,"seconds":null,"region":1,"window":0,"repair":false,
        "source_roots":[]}"#,
    )
    .unwrap()
}

/// Runs a script as the worker of three traces, and returns the notes of the report and what was seen.
fn reported(script: &str, seconds: f64) -> (Vec<String>, Vec<(u64, u64)>) {
    let folder = tempfile::tempdir().unwrap();
    let traces: Vec<PathBuf> = ["a", "b", "c"].map(|name| folder.path().join(name).with_extension("std")).into();
    traces.iter().for_each(|path| fs::write(path, path.to_str().unwrap()).unwrap());
    let store = Store::create(&folder.path().join("store")).unwrap();
    let seen = Seen(Mutex::default());
    let hands = Hands::Processes(Program { path: "sh".into(), arguments: vec!["-c".to_string(), script.to_string()] });
    let job = Job {
        inputs: &traces,
        settings: settings(),
        shard: Shard::WHOLE,
        store: &store,
        workers: 2,
        threads: 1,
        limits: Limits { memory: 1 << 30, time: Duration::from_secs_f64(seconds) },
        retry: false,
        hands: &hands,
        tool: "0".to_string(),
        build: "0".to_string(),
        stop: &|| false,
        progress: &seen,
    };
    let ran = run(&job).unwrap();
    let notes = merged(&[(store, ran.manifest)], 1).unwrap().report.notes;
    let place = format!("{}/", folder.path().display());
    (notes.into_iter().map(|note| note.replace(&place, "")).collect(), seen.0.into_inner().unwrap())
}

const HOUR: f64 = 3600.0;

#[test]
fn a_crash_is_a_line_for_each_trace() {
    let (notes, seen) = reported("read start; read task; kill -SEGV $$", HOUR);
    assert_eq!(notes[0], "3 traces: 0 analysed, 0 with findings; 3 could not be analysed");
    assert_eq!(notes[1], "not analysed: a.std: the analysis crashed: signal 11");
    assert_eq!(seen.last(), Some(&(3, 3)));
    let (notes, _) = reported("exit 7", HOUR);
    assert_eq!(notes[3], "not analysed: c.std: the analysis crashed: exit code 7");
    let panic = "read start; read task; echo \"thread 'main' ($$) panicked at x.rs:1:\" >&2; echo oops >&2; exit 101";
    let (notes, _) = reported(panic, HOUR);
    assert_eq!(notes[2], "not analysed: b.std: the analysis crashed: panicked at x.rs:1: oops");
}

#[test]
fn an_allocation_that_fails_is_out_of_memory() {
    let (notes, _) =
        reported("read start; read task; echo memory allocation of 9 bytes failed >&2; kill -ABRT $$", HOUR);
    assert!(notes[1].starts_with("not analysed: a.std: it needs more memory"), "{notes:?}");
}

#[test]
fn a_worker_that_hangs_is_killed() {
    let (notes, _) = reported("read start; read task; exec sleep 1000", 0.3);
    assert_eq!(notes[1], "not analysed: a.std: it took longer than 0.3 s (--timeout)");
}

#[test]
fn a_worker_that_talks_nonsense_has_crashed() {
    let (notes, _) = reported("read start; while read task; do echo what; done", HOUR);
    assert!(notes[1].starts_with("not analysed: a.std: the analysis crashed"), "{notes:?}");
}
