//! Traces from an object store and results back there, over connections that break.

mod common;
#[path = "objects/moto.rs"]
mod moto;
#[path = "common/python.rs"]
mod python;
#[path = "objects/server.rs"]
mod server;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use common::{Run, mayhap_in};
use server::Server;

/// How many traces there are; one more is damaged.
const TRACES: usize = 9;

/// Writes traces into a folder.
fn generate(folder: &Path) {
    fs::create_dir_all(folder.join("traces/deep")).unwrap();
    for n in 0..TRACES {
        let name = format!("traces/{}t{n}.mhp", if n % 3 == 0 { "deep/" } else { "" });
        let (races, seed) = ((n % 3).to_string(), n.to_string());
        let shape = ["--events", "800", "--threads", "3", "--races", &races, "--seed", &seed];
        let run = mayhap_in(folder, &[&["generate", "-o", &name], &shape[..]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    fs::write(folder.join("traces/damaged.std"), "this is no trace\n").unwrap();
}

/// Puts the files of a folder into the bucket.
fn upload(folder: &Path, at: &str, server: &Server) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{at}/{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => upload(&entry.path(), &name, server),
            false => {
                server.held.objects.lock().unwrap().insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
}

fn mayhap(folder: &Path, server: &Server, args: &[&str]) -> Run {
    mayhap_at(folder, &server.address, args)
}

fn mayhap_at(folder: &Path, address: &str, args: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(args).current_dir(folder);
    command.env("AWS_ENDPOINT_URL", address).env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "key");
    command.env("AWS_REGION", "us-east-1").output().unwrap().into()
}

/// A report without where its traces are.
fn placeless(path: &Path) -> String {
    fs::read_to_string(path).unwrap().replace("s3://bucket/", "")
}

#[test]
fn traces_come_and_results_go_over_connections_that_break() {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path());
    let server = Server::start(true);
    upload(&folder.path().join("traces"), "bucket/traces", &server);

    let here = mayhap(folder.path(), &server, &["corpus", "traces", "-j", "1", "--no-store", "--save", "here.json"]);
    assert_eq!(here.code, Some(1), "{}", here.stderr);
    let asked = ["corpus", "s3://bucket/traces", "-j", "4", "--store", "s3://bucket/results", "--save", "there.json"];
    let there = mayhap(folder.path(), &server, &asked);
    assert_eq!(there.code, Some(1), "{}", there.stderr);
    let report = |name: &str| placeless(&folder.path().join(name));
    assert_eq!(report("there.json"), report("here.json"));
    assert!(server.held.broken.load(Ordering::Relaxed) > 3);
    let results = server.held.objects.lock().unwrap().keys().filter(|key| key.starts_with("bucket/results/")).count();
    assert!(results > 2 * TRACES, "{results}");

    // Again from another machine: nothing is fetched, nothing is done.
    let before = server.held.fetched.load(Ordering::Relaxed);
    let again = mayhap(folder.path(), &server, &[&asked[..7], &["again.json"]].concat());
    assert!(again.stderr.contains("10 results taken from s3://bucket/results, 0 traces analysed"), "{}", again.stderr);
    assert_eq!(server.held.fetched.load(Ordering::Relaxed), before);
    assert_eq!(report("again.json"), report("here.json"));

    // One that changes is fetched again, alone.
    let other = fs::read(folder.path().join("traces/t1.mhp")).unwrap();
    server.held.objects.lock().unwrap().insert("bucket/traces/t2.mhp".to_string(), other);
    let changed = mayhap(folder.path(), &server, &asked);
    assert!(changed.stderr.contains("9 results taken"), "{}", changed.stderr);

    // Shards that were analysed elsewhere are merged from where they are.
    for part in ["1/2", "2/2"] {
        let store = format!("s3://bucket/part{}", &part[..1]);
        let run = mayhap(folder.path(), &server, &["corpus", "s3://bucket/traces", "--shard", part, "--store", &store]);
        assert!(matches!(run.code, Some(0 | 1 | 3)), "{}", run.stderr);
    }
    let asked = ["corpus", "--merge", "s3://bucket/part1", "s3://bucket/part2", "--save", "merged.json"];
    let merged = mayhap(folder.path(), &server, &asked);
    assert_eq!(merged.code, Some(1), "{}", merged.stderr);
    assert_eq!(report("merged.json"), report("there.json"));
}

/// A server that we did not write: moto, with which AWS's own library is tested. Every connection to it breaks after some kilobytes.
#[test]
fn a_server_of_another_make_gives_the_same() {
    let Some(python) = python::with("moto") else { return };
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path());
    let large = ["generate", "-o", "traces/large.mhp", "--events", "60k", "--threads", "4", "--races", "4"];
    assert_eq!(mayhap_in(folder.path(), &large).code, Some(0));
    let server = moto::Moto::start(&python, folder.path());
    fn asked<'a>(place: &'a str, store: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["corpus", place, "-j", "2", "--store", store], more].concat()
    }
    for (name, window) in [("whole", "0"), ("windows", "2k")] {
        let (here, there) = (format!("{name}-here.json"), format!("{name}-there.json"));
        let alone = mayhap_in(folder.path(), &asked("traces", name, &["--window", window, "--save", &here]));
        assert_eq!(alone.code, Some(1), "{}", alone.stderr);
        let before = server.broken();
        let args = asked("s3://bucket/traces", "s3://bucket/results", &["--window", window, "--save", &there]);
        let run = mayhap_at(folder.path(), &server.address, &args);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert_eq!(placeless(&folder.path().join(&there)), placeless(&folder.path().join(&here)));
        assert!(server.broken() > before + 3, "{}", server.broken());
        let again = mayhap_at(folder.path(), &server.address, &args);
        assert!(again.stderr.contains("11 results taken from s3://bucket/results, 0 traces"), "{}", again.stderr);
    }
}

#[test]
fn what_is_not_there_is_said_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(false);
    let run = mayhap(folder.path(), &server, &["corpus", "s3://bucket/none"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("s3://bucket/none: no traces"), "{}", run.stderr);
    let run = mayhap(folder.path(), &server, &["corpus", "ftp://host/traces"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("ftp://host/traces: "), "{}", run.stderr);
}
