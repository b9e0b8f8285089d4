//! What predicting costs: `cargo bench -p mayhap --bench predict`.
//!
//! One table for the real traces of the corpus, which stage settled their candidates; one for the growth in events and
//! threads on generated traces with planted bugs; one for traces in which a part of the accesses has no lock, so that there
//! are many candidates. Each line is one run in a process of its own, with as many workers as there are cores; seconds are
//! those of all workers together where the system reports them, else wall-clock. `MAYHAP_BENCH=quick` leaves out traces of
//! 10 million events.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use mayhap_analyse::engines::EngineName;
use mayhap_analyse::{Gauges, Options, Prediction, predict};
use mayhap_detect::candidates::Limits;
use mayhap_generate::{Generator, Shape};
use mayhap_predict::{Budget, Rung};
use mayhap_trace::{Columns, Execution, Source, format};
use mayhap_witness::{Kind, Model};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "--measure") {
        return measure(&args[at + 1], Path::new(&args[at + 2]));
    }
    let quick = std::env::var("MAYHAP_BENCH").is_ok_and(|v| v == "quick");
    real_traces();
    let folder = tempfile::tempdir().expect("a folder for traces");
    let path = folder.path().join("trace.mhp");
    let longest = if quick { 1_000_000 } else { 10_000_000 };
    title("Growth: 10 races planted, half of them hidden, and 3 deadlocks", &["events", "threads"]);
    for events in [10_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|e| *e <= longest) {
        for threads in [2, 8, 32] {
            let shape = Shape { events, threads, races: 10, deadlocks: 3, ..base() };
            generate(&shape, &path);
            println!("| {events} | {threads} | {}", child("race,deadlock", &path));
        }
    }
    title("Many candidates: part of the accesses to shared variables without lock, 8 threads", &["events", "without"]);
    for events in [10_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|e| *e <= longest) {
        for protected in [0.999, 0.99] {
            generate(&Shape { events, protected, ..base() }, &path);
            println!("| {events} | {:.1} % | {}", 100.0 * (1.0 - protected), child("race", &path));
        }
    }
}

fn base() -> Shape {
    Shape { threads: 8, locks: 100, variables: 10_000, seed: 1, ..Shape::default() }
}

fn title(title: &str, columns: &[&str]) {
    println!("\n{title}\n");
    println!(
        "| {} | candidates | proven | refuted | unknown | far instances left out | seconds | elapsed | MB |",
        columns.join(" | ")
    );
    println!("|{}", "---|".repeat(columns.len() + 8));
}

fn generate(shape: &Shape, path: &Path) {
    let mut source: Box<dyn Source> = Box::new(Generator::new(shape.clone()).expect("a shape that fits together"));
    let mut out = format::create(path).expect("the folder can be written");
    let mut chunk = Columns::default();
    while source.next_chunk(&mut chunk).expect("generators do not fail") {
        out.write(&chunk, source.tables()).expect("the folder can be written");
    }
    out.finish(source.tables()).expect("the folder can be written");
}

fn run(kinds: Vec<Kind>, path: &Path) -> Prediction {
    let trace = format::read(path).expect("the trace is there").trace;
    let execution = Execution::derive(&trace).expect("the trace is well-formed");
    let options = Options {
        halt: None,
        gauges: Gauges::default(),
        kinds,
        engine: EngineName::Auto,
        literal: false,
        model: Model::Data,
        limits: Limits::default(),
        all_instances: false,
        effort: None,
        budget: Budget { region: Options::REGION, ..Budget::default() },
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    predict(&execution, &options).expect("workers can be started")
}

/// By location pair: candidates, and which stage settled how many.
fn real_traces() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/traces"));
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the corpus is there").map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|p| p.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.contains(".std")));
    paths.sort();
    println!("Real traces, `--kinds race`\n");
    println!(
        "| trace | candidates | proven by | refuted by | unknown | decisions | seconds |\n|---|---|---|---|---|---|---|"
    );
    for path in paths {
        let begin = Instant::now();
        let prediction = run(vec![Kind::Race], &path);
        let tally = &prediction.tally;
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").split('.').next().unwrap_or("");
        println!(
            "| {name} | {} | {} | {} | {} | {} | {:.3} |",
            tally.candidates,
            rungs(&tally.proven),
            rungs(&tally.refuted),
            tally.unknown,
            tally.decisions,
            begin.elapsed().as_secs_f64()
        );
    }
}

fn rungs(counts: &BTreeMap<Rung, u64>) -> String {
    let each: Vec<String> = counts.iter().map(|(rung, n)| format!("{} {n}", rung.name())).collect();
    if each.is_empty() { "–".to_string() } else { each.join(", ") }
}

fn child(kinds: &str, path: &Path) -> String {
    let own = std::env::current_exe().expect("the bench has a path");
    let output = Command::new(own).arg("--measure").arg(kinds).arg(path).output().expect("the bench can run itself");
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

/// What a child does: one run, its figures as the rest of a line of the table.
fn measure(kinds: &str, path: &Path) {
    let begin = Instant::now();
    let kinds = if kinds == "race" { vec![Kind::Race] } else { vec![Kind::Race, Kind::Deadlock] };
    let prediction = run(kinds, path);
    let tally = &prediction.tally;
    let elapsed = begin.elapsed().as_secs_f64();
    println!(
        "{} | {} | {} | {} | {} | {:.2} | {elapsed:.2} | {:.0} |",
        tally.candidates,
        tally.all_proven(),
        tally.all_refuted(),
        tally.unknown,
        tally.left_out,
        processor_seconds().unwrap_or(elapsed),
        peak_megabytes(),
    );
}

/// Seconds that all threads of this process have computed, where the system reports it.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may hold anything but ends at the last parenthesis: fields 3 and on; user time is field 14.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
}
