//! Speed and memory of the detectors on generated traces in native format: `cargo bench -p mayhap --bench detect`.
//!
//! Prints a table for the bars, and tables of growth in threads, locks and events. Each figure is the best of three runs in a
//! process of its own, on one core, decoding and checking included; `MAYHAP_BENCH=full` adds traces of 100 million events,
//! `MAYHAP_BENCH=quick` divides all lengths by ten. Times are CPU times where the system reports them, else wall-clock times.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use mayhap_detect::{Options, Order, detect};
use mayhap_generate::{Generator, Shape};
use mayhap_trace::{Columns, Source, format};

/// Runs of each figure.
const RUNS: u32 = 3;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "--measure") {
        return measure(&args[at + 1], Path::new(&args[at + 2]));
    }
    let scale = std::env::var("MAYHAP_BENCH").unwrap_or_default();
    let folder = tempfile::tempdir().expect("a folder for traces");
    let bench = Bench { folder: folder.path().to_path_buf(), divisor: if scale == "quick" { 10 } else { 1 } };
    let base = Shape { events: 10_000_000, threads: 8, locks: 100, variables: 10_000, seed: 1, ..Shape::default() };
    let growth = Shape { events: 2_000_000, ..base.clone() };

    bench.title("Bars: 10 million events, 8 threads, 100 locks, 10,000 variables");
    bench.run("no races", &base, &Order::ALL);
    bench.run("100 races planted", &Shape { races: 100, ..base.clone() }, &Order::ALL);
    bench.title("2 million events, part of the accesses without lock");
    for protected in [0.999, 0.99] {
        let part = format!("{:.1}% without", 100.0 * (1.0 - protected));
        bench.run(&part, &Shape { protected, ..growth.clone() }, &Order::ALL);
    }
    bench.title("2 million events, a fifth of the sections by readers, waits and notifies");
    bench.run("readers, signals", &Shape { readers: 0.2, signals: 0.01, ..growth.clone() }, &Order::ALL);
    bench.title("Growth in threads: 2 million events");
    for threads in [8, 64, 512] {
        bench.run(&format!("{threads} threads"), &Shape { threads, races: 20, ..growth.clone() }, &Order::ALL);
    }
    bench.title("Growth in locks: 2 million events");
    for locks in [10, 100, 1_000, 10_000] {
        bench.run(&format!("{locks} locks"), &Shape { locks, races: 20, ..growth.clone() }, &Order::ALL);
    }
    bench.title("Growth in events");
    let longest = if scale == "full" { 100_000_000 } else { 10_000_000 };
    for events in [1_000_000, 10_000_000, 100_000_000].into_iter().filter(|e| *e <= longest) {
        let orders: Vec<Order> = Order::ALL.into_iter().filter(|o| *o != Order::Cp || events <= 10_000_000).collect();
        bench.run(&format!("{} million", events / 1_000_000), &Shape { events, ..base.clone() }, &orders);
    }
}

struct Bench {
    folder: PathBuf,
    divisor: u64,
}

impl Bench {
    fn title(&self, title: &str) {
        let divided = if self.divisor > 1 { format!(", lengths divided by {}", self.divisor) } else { String::new() };
        println!("\n{title}{divided}");
        println!(
            "{:>20}  {:>8}  {:>9}  {:>8}  {:>9}  {:>9}  {:>7}  more",
            "trace", "order", "M ev/s", "bar", "peak MB", "own MB", "racy"
        );
    }

    fn run(&self, name: &str, shape: &Shape, orders: &[Order]) {
        let shape = Shape { events: shape.events / self.divisor, ..shape.clone() };
        let path = self.folder.join("trace.mhp");
        let generator = Generator::new(shape.clone()).expect("a shape that fits together");
        let mut source: Box<dyn Source> = Box::new(generator);
        let mut out = format::create(&path).expect("the folder can be written");
        let mut chunk = Columns::default();
        while source.next_chunk(&mut chunk).expect("generators do not fail") {
            out.write(&chunk, source.tables()).expect("the folder can be written");
        }
        out.finish(source.tables()).expect("the folder can be written");
        let reading = child("read", &path);
        let read = shape.events as f64 / reading.seconds / 1e6;
        println!("{name:>20}  {:>8}  {read:>9.1}  {:>8}  {:>9.1}", "(read)", "", reading.peak);
        for &order in orders {
            let run = child(order.name(), &path);
            let rate = shape.events as f64 / run.seconds / 1e6;
            let bar = bar(order).map_or(String::new(), |bar| format!("{bar}"));
            let own = (run.peak - reading.peak).max(0.0);
            println!(
                "{name:>20}  {order:>8}  {rate:>9.1}  {bar:>8}  {:>9.1}  {own:>9.1}  {:>7}  {}",
                run.peak, run.racy, run.more
            );
        }
    }
}

/// Million events a second that the order must reach.
fn bar(order: Order) -> Option<u32> {
    match order {
        Order::Lockset | Order::Hb | Order::Shb => Some(25),
        Order::Wcp => Some(8),
        Order::SyncP => Some(1),
        Order::Cp => None,
    }
}

/// What a child process reports.
struct Run {
    seconds: f64,
    /// Megabytes.
    peak: f64,
    racy: u64,
    more: String,
}

fn child(what: &str, path: &Path) -> Run {
    let own = std::env::current_exe().expect("the bench has a path");
    let output = Command::new(own).arg("--measure").arg(what).arg(path).output().expect("the bench can run itself");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.trim().splitn(4, ' ');
    let mut next = || words.next().unwrap_or("");
    Run {
        seconds: next().parse().unwrap_or(f64::NAN),
        peak: next().parse().unwrap_or(f64::NAN),
        racy: next().parse().unwrap_or(0),
        more: next().to_string(),
    }
}

/// Seconds that this process has computed, or that have gone by since `begin`.
fn clock(begin: Instant) -> f64 {
    let spent = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = spent.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| begin.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// The greatest resident size so far in megabytes, where the system reports it.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
}

/// What a child does: the best of some runs, on standard output.
fn measure(what: &str, path: &Path) {
    let begin = Instant::now();
    let (mut best, mut racy, mut more) = (f64::INFINITY, 0, String::new());
    for _ in 0..RUNS {
        let start = clock(begin);
        if what == "read" {
            let mut source = format::open(path).expect("the trace is there");
            let mut chunk = Columns::default();
            while source.next_chunk(&mut chunk).expect("the trace is whole") {}
        } else {
            let order: Order = what.parse().expect("an order");
            let found =
                detect(&mut || format::open(path), order, &Options::default()).expect("the trace is well-formed");
            racy = found.racy_events;
            let queues = found.queues.map(|q| 100.0 * q.longest as f64 / q.events as f64);
            more = queues.map_or(String::new(), |part| format!("queues {part:.2}%"));
        }
        best = best.min(clock(begin) - start);
    }
    println!("{best:.6} {:.1} {racy} {more}", peak());
}
