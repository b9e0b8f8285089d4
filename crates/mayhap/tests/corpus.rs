//! Many traces, one report: the same however the work is divided, interrupted or repeated, whatever is wrong with some of them.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Run, mayhap_in};
use serde_json::Value;

/// A folder with small traces in several formats, some of them damaged.
struct Corpus {
    folder: tempfile::TempDir,
}

/// How many traces there are, and how many of them are damaged.
const TRACES: u64 = 24;
const DAMAGED: u64 = 4;

impl Corpus {
    fn new() -> Corpus {
        let corpus = Corpus { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(corpus.at("traces/deep")).unwrap();
        for n in 0..TRACES - DAMAGED - 1 {
            let ending = ["std", "mhp", "std.gz"][n as usize % 3];
            let name = format!("traces/{}t{n:02}.{ending}", if n % 4 == 0 { "deep/" } else { "" });
            // Several have the same shape, so that their findings are the same.
            let (races, seed) = ((n % 3).to_string(), (n / 3).to_string());
            let run = corpus.mayhap(&[
                "generate",
                "-o",
                &name,
                "--events",
                "400",
                "--threads",
                "3",
                "--races",
                &races,
                "--seed",
                &seed,
            ]);
            assert_eq!(run.code, Some(0), "{}", run.stderr);
        }
        fs::copy(corpus.at("traces/t01.mhp"), corpus.at("traces/same.mhp")).unwrap();
        fs::write(corpus.at("traces/no-trace.std"), "this is no trace\n").unwrap();
        fs::write(corpus.at("traces/empty.std"), "").unwrap();
        fs::write(corpus.at("traces/rule.std"), "T1|rel(l)|1\n").unwrap();
        let whole = fs::read(corpus.at("traces/t01.mhp")).unwrap();
        fs::write(corpus.at("traces/cut.mhp"), &whole[..20]).unwrap();
        corpus
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn mayhap(&self, args: &[&str]) -> Run {
        mayhap_in(self.folder.path(), args)
    }

    /// Runs with every form of report, and returns all of them.
    fn reports(&self, name: &str, args: &[&str]) -> (Run, Vec<Vec<u8>>) {
        let files = ["json", "html", "sarif", "xml"].map(|ending| format!("{name}.{ending}"));
        let mut all = vec!["corpus"];
        all.extend(["--save", &files[0], "--html", &files[1], "--sarif", &files[2], "--junit", &files[3]]);
        all.extend(args);
        let run = self.mayhap(&all);
        let mut forms: Vec<Vec<u8>> = files.iter().map(|file| fs::read(self.at(file)).unwrap_or_default()).collect();
        forms.push(run.stdout.clone().into_bytes());
        (run, forms)
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn the_report_is_the_same_however_the_work_is_divided() {
    let corpus = Corpus::new();
    let (one, expected) = corpus.reports("one", &["traces", "--store", "s1", "-j", "1"]);
    assert_eq!(one.code, Some(1), "{}{}", one.stdout, one.stderr);
    let (_, four) = corpus.reports("four", &["traces", "--store", "s4", "-j", "4"]);
    let (_, none) = corpus.reports("none", &["traces", "--no-store"]);
    for (part, store) in [("1/3", "a"), ("2/3", "b"), ("3/3", "b")] {
        corpus.reports("part", &["traces", "--store", store, "--shard", part]);
    }
    let (_, merged) = corpus.reports("merged", &["--merge", "b", "a"]);
    let (again, repeated) = corpus.reports("again", &["traces", "--store", "s4", "-j", "2"]);
    for (form, bytes) in expected.iter().enumerate() {
        assert!(!bytes.is_empty());
        for (how, forms) in [("workers", &four), ("no store", &none), ("shards", &merged), ("again", &repeated)] {
            assert!(forms[form] == *bytes, "{how}: form {form} differs:\n{}", String::from_utf8_lossy(&forms[form]));
        }
    }
    let done = format!("{TRACES} results taken from s4, 0 traces analysed");
    assert!(again.stderr.contains(&done), "{}", again.stderr);
    let report = json(&expected[0]);
    let summary = &report["corpus"];
    assert_eq!((summary["traces"].as_u64(), summary["analysed"].as_u64()), (Some(TRACES), Some(TRACES - DAMAGED)));
    let failed = summary["not_analysed"].as_array().unwrap();
    assert_eq!(failed.len() as u64, DAMAGED);
    assert!(failed.iter().all(|trace| trace["why"] == "damaged"), "{failed:?}");
    for line in ["not analysed: traces/no-trace.std: line 1: ", "not analysed: traces/empty.std: the file is empty"] {
        assert!(one.stdout.contains(line), "{}", one.stdout);
    }
    assert_eq!(String::from_utf8_lossy(&expected[3]).matches("<error type=\"damaged\"").count() as u64, DAMAGED);
    check_findings(&report);
}

/// Findings are of several traces, and show the shortest schedule of these.
fn check_findings(report: &Value) {
    let findings = report["findings"].as_array().unwrap();
    let tests = |finding: &Value| -> Vec<String> {
        finding["tests"].as_array().unwrap().iter().map(|test| test.as_str().unwrap().to_string()).collect()
    };
    assert!(findings.iter().any(|finding| tests(finding).len() > 1), "{findings:?}");
    for finding in findings {
        let names = tests(finding);
        assert!(names.is_sorted() && !names.is_empty());
        if let Some(command) = finding["replay_command"].as_str() {
            assert!(names.iter().any(|name| command.contains(name.as_str())), "{command}: {names:?}");
        }
    }
    let same: Vec<&Value> =
        findings.iter().filter(|finding| tests(finding).iter().any(|test| test.ends_with("same.mhp"))).collect();
    assert!(!same.is_empty() && same.iter().all(|f| tests(f).iter().any(|test| test.ends_with("t01.mhp"))));
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let corpus = Corpus::new();
    let (_, expected) = corpus.reports("whole", &["traces", "--store", "whole"]);
    let mut killed = Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(["corpus", "traces", "--store", "killed", "-j", "1"])
        .current_dir(corpus.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while killed.try_wait().unwrap().is_none() {
        if results(&corpus.at("killed")) >= 3 {
            killed.kill().unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(120), "no result appears");
        std::thread::sleep(Duration::from_millis(1));
    }
    // What was half written does no harm, nor does a result that is not what it was.
    let damaged = first_result(&corpus.at("killed"));
    fs::write(&damaged, "mayhap-result 1 00\nnothing").unwrap();
    let (run, resumed) = corpus.reports("resumed", &["traces", "--store", "killed"]);
    assert!(run.stderr.contains(" taken from killed, "), "{}", run.stderr);
    assert!(!run.stderr.contains(" 0 traces analysed"), "{}", run.stderr);
    assert!(resumed == expected, "{}{}", run.stdout, run.stderr);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut all = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "result") {
            all.push(path);
        }
    }
    all
}

fn results(store: &Path) -> usize {
    files(&store.join("results")).len()
}

fn first_result(store: &Path) -> PathBuf {
    let mut all = files(&store.join("results"));
    all.sort();
    all.remove(0)
}

#[test]
fn a_task_that_takes_too_much_is_one_line_and_is_tried_again_with_more() {
    let corpus = Corpus::new();
    let large = ["generate", "-o", "traces/large.mhp", "--events", "6000000", "--threads", "4", "--seed", "5"];
    assert_eq!(corpus.mayhap(&large).code, Some(0));
    let (small, _) = corpus.reports("small", &["traces", "--memory", "128M", "-j", "2"]);
    assert_eq!(small.code, Some(1), "{}", small.stderr);
    assert!(small.stdout.contains("not analysed: traces/large.mhp: it needs more memory"), "{}", small.stdout);
    assert!(small.stdout.contains("25 traces: 20 analysed"), "{}", small.stdout);
    let (same, _) = corpus.reports("same", &["traces", "--memory", "128M", "-j", "1"]);
    assert!(same.stderr.contains("25 results taken from .mayhap-corpus, 0 traces analysed"), "{}", same.stderr);
    let (more, _) = corpus.reports("more", &["traces", "--memory", "6G", "-j", "2"]);
    assert!(more.stderr.contains("24 results taken from .mayhap-corpus, 1 trace analysed"), "{}", more.stderr);
    assert!(more.stdout.contains("25 traces: 21 analysed"), "{}", more.stdout);
    let late = corpus.mayhap(&["corpus", "traces/large.mhp", "--store", "late", "--timeout", "0.001s"]);
    assert_eq!(late.code, Some(3), "{}", late.stderr);
    assert!(late.stdout.contains("traces/large.mhp: it took longer than 0.001 s (--timeout)"), "{}", late.stdout);
}

#[test]
fn a_recording_becomes_a_trace_and_is_analysed_once() {
    let corpus = Corpus::new();
    fs::create_dir(corpus.at("recorded")).unwrap();
    let source = "#include <pthread.h>\nint hits;\nstatic void *hit(void *a) { hits++; return a; }\nint main(void) {\n\
        pthread_t t;\n    pthread_create(&t, 0, hit, 0);\n    hit(0);\n    return pthread_join(t, 0);\n}\n";
    fs::write(corpus.at("hits.c"), source).unwrap();
    assert_eq!(corpus.mayhap(&["cc", "-g", "-pthread", "hits.c", "-o", "hits"]).code, Some(0));
    assert_eq!(corpus.mayhap(&["record", "-o", "recorded/hits.mhp", "--", "./hits"]).code, Some(0));
    let (first, expected) = corpus.reports("first", &["recorded", "traces/t01.mhp"]);
    assert!(first.stdout.contains("Data race on `hits`") && first.stdout.contains("hits++"), "{}", first.stdout);
    assert!(first.stdout.contains("mayhap replay recorded/hits.mhp --race"), "{}", first.stdout);
    let (second, again) = corpus.reports("second", &["recorded", "traces/t01.mhp"]);
    assert!(second.stderr.contains("2 results taken from .mayhap-corpus, 0 traces analysed"), "{}", second.stderr);
    assert!(again == expected);
    // What is merged elsewhere has the source lines with it.
    fs::remove_file(corpus.at("hits.c")).unwrap();
    let (_, merged) = corpus.reports("merged", &["--merge", ".mayhap-corpus"]);
    assert!(merged == expected, "{}", String::from_utf8_lossy(&merged[4]));
}

#[test]
fn what_cannot_be_merged_is_refused_and_what_is_missing_is_said() {
    let corpus = Corpus::new();
    corpus.reports("a", &["traces", "--store", "a", "--shard", "1/2", "--kinds", "deadlock"]);
    corpus.reports("b", &["traces", "--store", "b", "--shard", "2/2"]);
    let half = corpus.mayhap(&["corpus", "--merge", "a"]);
    assert_eq!(half.code, Some(3), "{}", half.stdout);
    assert!(half.stdout.contains("shard 2/2 is missing"), "{}", half.stdout);
    for (args, message) in [
        (&["corpus", "--merge", "a", "b"][..], "b: its results are of other options than those of a: kinds "),
        (&["corpus", "traces", "--resume", "--no-store"], "cannot be used with"),
        (&["corpus", "--merge", "traces"], "traces: not a store of `mayhap corpus`"),
        (&["corpus", "absent"], "absent: No such file"),
        (&["corpus", "traces", "--shard", "3/2"], "not a shard such as 2/3"),
        (&["corpus", "traces", "--memory", "1M"], "--memory is too little"),
        (&["corpus", "traces", "--window", "5", "--kinds", "order"], "need whole traces"),
    ] {
        let run = corpus.mayhap(args);
        assert_eq!(run.code, Some(2), "{args:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn a_trace_that_changed_has_no_result_under_its_old_contents() {
    let corpus = Corpus::new();
    let settings = r#"{"kinds":["race"],"engine":"auto","as_published":false,"model":null,"instances":1,"distance":1,
        "cycle":null,"all_patterns":false,"all_instances":false,"nodes":1000,"seconds":null,"region":1000,"window":0,
        "repair":false,"source_roots":[]}"#;
    let start = format!(
        r#"{{"settings":{settings},"build":"b","store":null,"memory":4000000000,"threads":1,
        "limits":{{"memory":4000000000,"time":{{"secs":60,"nanos":0}}}}}}"#
    );
    // What the trace was when it was listed, and what it is now.
    let task = r#"{"path":"traces/t01.mhp","fingerprint":"00112233445566778899aabbccddeeff"}"#;
    let mut worker = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    worker.arg("corpus-worker").current_dir(corpus.folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut worker = worker.spawn().unwrap();
    let lines = format!("{}\n{task}\n", start.replace('\n', " "));
    worker.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = worker.wait_with_output().unwrap();
    let answer = json(&output.stdout);
    let packed = answer["packed"].as_str().unwrap();
    let decoded = Command::new("base64").arg("-d").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    decoded.stdin.as_ref().unwrap().write_all(packed.as_bytes()).unwrap();
    let result = String::from_utf8_lossy(&decoded.wait_with_output().unwrap().stdout).into_owned();
    assert!(
        result.contains(r#""failed":{"how":"changed","reason":"the file changed while it was analysed"}"#),
        "{result}"
    );
}

#[test]
fn what_is_no_trace_by_its_kind_is_a_line_and_links_are_followed() {
    let corpus = Corpus::new();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, corpus.at(name)).unwrap();
    fs::create_dir(corpus.at("odd")).unwrap();
    link("nowhere.mhp", "odd/gone.mhp");
    link("..", "odd/up");
    let pipe = Command::new("mkfifo").arg(corpus.at("odd/pipe.std")).status().unwrap();
    assert!(pipe.success());
    fs::copy(corpus.at("traces/t02.std.gz"), corpus.at("odd/two\nlines 'and' \"quotes\".std.gz")).unwrap();
    let (run, forms) = corpus.reports("odd", &["./odd", "odd", "--store", "odd-store", "--resume"]);
    let of = format!("{} traces: {} analysed", TRACES + 3, TRACES - DAMAGED + 1);
    assert!(run.stdout.contains(&of), "{}", run.stdout);
    for line in
        ["odd/gone.mhp: No such file", "odd/pipe.std: not a file but a pipe", "traces/empty.std: the file is empty"]
    {
        assert!(run.stdout.contains(line), "{line}: {}", run.stdout);
    }
    assert!(corpus.reports("again", &["./odd", "odd", "--store", "odd-store", "-j", "3"]).1 == forms);
    let pipe = corpus.mayhap(&["corpus", "odd/pipe.std", "--no-store"]);
    assert_eq!(pipe.code, Some(3), "{}", pipe.stdout);
}

#[test]
fn shards_of_different_traces_are_not_taken_for_the_whole() {
    let corpus = Corpus::new();
    corpus.reports("a", &["traces", "--store", "a", "--shard", "1/2"]);
    fs::copy(corpus.at("traces/t01.mhp"), corpus.at("traces/late.mhp")).unwrap();
    corpus.reports("b", &["traces", "--store", "b", "--shard", "2/2"]);
    let merged = corpus.mayhap(&["corpus", "--merge", "a", "b"]);
    let words = format!("shards 1/2 and 2/2 saw different traces ({TRACES} and {} traces)", TRACES + 1);
    assert!(merged.stdout.contains(&words), "{}", merged.stdout);
}

#[test]
fn a_list_names_traces_and_one_that_is_gone_is_one_line() {
    let corpus = Corpus::new();
    fs::write(corpus.at("list.txt"), "# mine\ntraces/t01.mhp\ntraces/gone.mhp\n").unwrap();
    let run = corpus.mayhap(&["corpus", "list.txt", "--format", "json"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let report = json(run.stdout.as_bytes());
    assert_eq!(report["corpus"]["not_analysed"][0]["path"], "traces/gone.mhp");
    assert_eq!(report["trace"]["path"], "list.txt");
}

#[test]
fn workers_share_the_windows_of_a_long_trace() {
    let folder = tempfile::tempdir().unwrap();
    let shape =
        ["--events", "200k", "--threads", "5", "--locks", "6", "--races", "9", "--deadlocks", "2", "--seed", "3"];
    let made = mayhap_in(folder.path(), &[&["generate", "-o", "long.mhp"], &shape[..]].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let analysed = |workers: &str, store: &str| {
        let file = format!("{store}.json");
        let asked = ["corpus", "long.mhp", "--window", "7k", "-j", workers, "--store", store, "--save", &file];
        let run = mayhap_in(folder.path(), &asked);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let kept = results(&folder.path().join(store));
        (run.stdout, fs::read(folder.path().join(file)).unwrap(), kept)
    };
    let (text, report, kept) = analysed("1", "alone");
    assert_eq!(kept, 1);
    let (shared_text, shared_report, kept) = analysed("4", "shared");
    // Four shares, and what they make together.
    assert_eq!(kept, 5);
    assert!(text == shared_text && report == shared_report);
    assert!(text.contains("29 windows of 7,000 events"), "{text}");
    let again = mayhap_in(folder.path(), &["corpus", "long.mhp", "--window", "7k", "-j", "3", "--store", "shared"]);
    assert!(again.stderr.contains("1 result taken from shared, 0 traces analysed"), "{}", again.stderr);
    // A share is cut off with the trace.
    let whole = fs::read(folder.path().join("long.mhp")).unwrap();
    fs::write(folder.path().join("long.mhp"), &whole[..whole.len() / 2]).unwrap();
    let cut = |workers: &str| {
        let run = mayhap_in(folder.path(), &["corpus", "long.mhp", "--window", "7k", "-j", workers, "--no-store"]);
        (run.code, run.stdout)
    };
    assert_eq!(cut("1"), cut("4"));
}
