//! How time and memory grow with events, threads, locks, variables, nesting and candidates.

use std::path::PathBuf;

use crate::Bench;
use crate::plot::{Series, draw};
use crate::sheet::Sheet;
use crate::tool::{Run, megabytes, seconds};

const ORDERS: [&str; 5] = ["lockset", "hb", "shb", "wcp", "syncp"];
const NOTE: &str = "Generated traces in the native format, each command a process of its own on one core (`predict` with its workers). Unless \
a column varies: 8 threads, 100 locks, 10,000 variables, 1 million events, nesting 1, 20 planted races. Seconds are processor time, user and \
system. Detectors stream: their memory does not grow with events; `predict` holds the trace.";

/// What varies in one group of rows.
struct Axis {
    name: &'static str,
    option: &'static str,
    values: Vec<u64>,
    /// Whether `predict` is measured too, up to so many events.
    predict: u64,
}

/// Makes the table and its plots.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = [
        "varied",
        "value",
        "lockset s",
        "MB",
        "hb s",
        "MB",
        "shb s",
        "MB",
        "wcp s",
        "MB",
        "syncp s",
        "MB",
        "predict s",
        "MB",
    ];
    let mut sheet = Sheet::new("growth", "How cost grows", &columns, NOTE);
    let longest = if bench.quick { 1_000_000 } else { bench.longest };
    let events: Vec<u64> =
        std::iter::successors(Some(100_000), |n| Some(n * 10)).take_while(|n| *n <= longest).collect();
    let axes = [
        Axis { name: "events", option: "--events", values: events, predict: 10_000_000 },
        Axis { name: "threads", option: "--threads", values: vec![2, 8, 32, 128, 512], predict: u64::MAX },
        Axis { name: "locks", option: "--locks", values: vec![10, 100, 1_000, 10_000], predict: u64::MAX },
        Axis {
            name: "variables",
            option: "--variables",
            values: vec![1_000, 10_000, 100_000, 1_000_000],
            predict: u64::MAX,
        },
        Axis { name: "nesting", option: "--nesting", values: vec![1, 2, 4, 8], predict: u64::MAX },
        Axis { name: "races", option: "--races", values: vec![10, 100, 1_000], predict: u64::MAX },
    ];
    for axis in axes {
        measure(bench, &axis, &mut sheet)?;
    }
    bench.results.keep(&sheet)
}

fn measure(bench: &Bench, axis: &Axis, sheet: &mut Sheet) -> Result<(), String> {
    let mut times: Vec<Series> =
        ORDERS.iter().chain(&["predict"]).map(|name| Series { name: name.to_string(), points: Vec::new() }).collect();
    for &value in &axis.values {
        let trace = generate(bench, axis, value)?;
        let mut cells = vec![axis.name.to_string(), value.to_string()];
        let mut keep = |series: &mut Series, run: Option<Run>| match run {
            Some(run) => {
                cells.extend([seconds(run.cpu), megabytes(run.memory)]);
                series.points.push((value as f64, run.cpu.as_secs_f64().max(1e-4)));
            }
            None => cells.extend(["-".to_string(), String::new()]),
        };
        for (order, series) in ORDERS.iter().zip(&mut times) {
            let run = bench.tool.run(["detect".as_ref(), trace.as_os_str(), "--order".as_ref(), order.as_ref()])?;
            keep(series, Some(run));
        }
        let wanted = axis.name != "events" || value <= axis.predict;
        let kinds = ["--kinds", "race"].map(AsRef::as_ref);
        let predict = wanted
            .then(|| bench.tool.run(["predict".as_ref(), trace.as_os_str()].into_iter().chain(kinds)))
            .transpose()?;
        keep(times.last_mut().expect("predict is there"), predict);
        sheet.rows.push(cells);
        std::fs::remove_file(&trace).map_err(|e| format!("{}: {e}", trace.display()))?;
    }
    times.retain(|s| !s.points.is_empty());
    let file = bench.results.path(&format!("growth-{}.svg", axis.name));
    draw(&file, &format!("Processor time by number of {}", axis.name), axis.name, "seconds", &times)
}

fn generate(bench: &Bench, axis: &Axis, value: u64) -> Result<PathBuf, String> {
    let trace = bench.scratch.path().join("growth.mhp");
    let mut options = vec![
        ("--events", 1_000_000),
        ("--threads", 8),
        ("--locks", 100),
        ("--variables", 10_000),
        ("--nesting", 1),
        ("--races", 20),
        ("--seed", 1),
    ];
    options.retain(|(name, _)| *name != axis.option);
    options.push((axis.option, value));
    let words: Vec<String> = options.into_iter().flat_map(|(name, n)| [name.to_string(), n.to_string()]).collect();
    let args = ["generate".as_ref(), "-o".as_ref(), trace.as_os_str()];
    bench.tool.run(args.into_iter().chain(words.iter().map(AsRef::as_ref)))?;
    Ok(trace)
}
