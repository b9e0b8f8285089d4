//! The same tasks on a Ray cluster of this machine, some of whose workers are killed. `./test` installs Ray where it can.

mod common;
#[path = "common/python.rs"]
mod python;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{Run, mayhap_in};

/// A variable that tells the processes of a test from all others.
const MARK: &str = "MAYHAP_TEST_OF_RAY";

fn mayhap(python: &Path, folder: &Path, mark: &str, args: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(args).current_dir(folder).env("MAYHAP_PYTHON", python).env(MARK, mark).output().unwrap().into()
}

/// Ray's workers of a test that are at work.
fn at_work(mark: &str) -> Vec<i32> {
    let mark = format!("{MARK}={mark}");
    let process = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read(entry.path().join("cmdline")).ok()?;
        let variables = fs::read(entry.path().join("environ")).ok()?;
        let is_ours = variables.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes());
        (name.starts_with(b"ray::perform") && is_ours).then_some(pid)
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| process(entry.ok()?)).collect()
}

/// Kills two of a test's workers while they work. Says how many it killed.
fn kill_two(mark: &str) -> usize {
    let began = Instant::now();
    let mut killed = Vec::new();
    while killed.len() < 2 && began.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(20));
        for pid in at_work(mark).into_iter().filter(|pid| !killed.contains(pid)).collect::<Vec<_>>() {
            if killed.len() < 2 && Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success() {
                killed.push(pid);
            }
        }
    }
    killed.len()
}

#[test]
fn killed_workers_change_nothing() {
    let Some(python) = python::with("ray") else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("traces")).unwrap();
    for n in 0..24 {
        let (name, races, seed) = (format!("traces/t{n:02}.mhp"), (n % 4).to_string(), n.to_string());
        let shape = ["--events", "60k", "--threads", "6", "--races", &races, "--seed", &seed];
        let run = mayhap_in(folder.path(), &[&["generate", "-o", &name], &shape[..]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    fs::write(folder.path().join("traces/damaged.std"), "this is no trace\n").unwrap();
    let alone = mayhap_in(folder.path(), &["corpus", "traces", "-j", "1", "--no-store", "--save", "alone.json"]);
    assert_eq!(alone.code, Some(1), "{}", alone.stderr);
    let mark = format!("corpus-{}", std::process::id());
    let asked = ["corpus", "traces", "--ray", "local", "-j", "4", "--store", "store", "--save", "ray.json"];
    let (run, killed) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill_two(&mark));
        (mayhap(&python, folder.path(), &mark, &asked), killer.join().unwrap())
    });
    assert_eq!((run.code, killed), (Some(1), 2), "{}", run.stderr);
    assert_eq!(run.stdout, alone.stdout);
    let report = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(report("ray.json") == report("alone.json"));
    // What the cluster did is in the store.
    let again = mayhap_in(folder.path(), &["corpus", "traces", "--store", "store", "--save", "again.json"]);
    assert!(again.stderr.contains("25 results taken from store, 0 traces analysed"), "{}", again.stderr);
    assert!(report("again.json") == report("alone.json"));
}

#[test]
fn an_exploration_whose_workers_are_killed_is_the_same() {
    let Some(python) = python::with("ray") else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <pthread.h>\n#include <stdlib.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static int x, y;\nstatic void *f(void *a) {\n  for (int i = 0; i < 2; i++) {\n    pthread_mutex_lock(&m); x += a != 0;\n\
        y = 2 * y + (a != 0); pthread_mutex_unlock(&m);\n  }\n  return 0;\n}\nint main(void) {\n  pthread_t t[3];\n\
        for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, f, (void *)(i % 2));\n\
        for (int i = 0; i < 3; i++) pthread_join(t[i], 0);\n  if (y == 18) abort();\n  return 0;\n}\n";
    fs::write(folder.path().join("p.c"), source).unwrap();
    let built = mayhap_in(folder.path(), &["cc", "-g", "-pthread", "p.c", "-o", "p"]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let mark = format!("explore-{}", std::process::id());
    let asked = |more: &[&str]| {
        let all = [&["explore", "--strategy", "rf", "--no-predict", "--minutes", "3"], more, &["--", "./p"]].concat();
        let run = mayhap(&python, folder.path(), &mark, &all);
        let timeless = |line: &str| line.split(';').next().unwrap_or_default().to_string();
        let text: Vec<String> = run.stdout.lines().map(timeless).filter(|line| !line.contains("again")).collect();
        (run.code, text.join("\n"), run.stderr)
    };
    let here = asked(&["--save", "here.json"]);
    let report = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.path().join(name)).unwrap()).unwrap()
    };
    let names = |report: &serde_json::Value| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["fingerprint"].to_string()).collect::<Vec<_>>()
    };
    let alone = report("here.json");
    for kills in [false, true] {
        let (there, killed) = std::thread::scope(|scope| {
            let killer = kills.then(|| scope.spawn(|| kill_two(&mark)));
            let there = asked(&["--ray", "local", "-j", "4", "--save", "there.json"]);
            (there, killer.map(|killer| killer.join().unwrap()))
        });
        assert_eq!(killed, kills.then_some(2), "{}", there.2);
        assert_eq!(there.0, here.0, "{}\n{}", there.1, there.2);
        let there = report("there.json");
        for field in ["schedules", "executions", "open", "complete", "failures"] {
            assert_eq!(there["exploration"][field], alone["exploration"][field], "{field}: {there}");
        }
        assert_eq!(names(&there), names(&alone));
        // After a kill, runs may be made here instead.
        assert!(kills || !there["notes"].to_string().contains("differ"), "{}", there["notes"]);
    }
}
