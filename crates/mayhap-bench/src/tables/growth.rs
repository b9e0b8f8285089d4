//! How time and memory grow with events, threads, locks, variables, nesting and candidates.

use std::path::PathBuf;

use crate::Bench;
use crate::plot::{Series, draw};
use crate::sheet::Sheet;
use crate::tool::{Run, SLOW, megabytes, seconds};

const ORDERS: [&str; 5] = ["lockset", "hb", "shb", "wcp", "syncp"];
const NOTE: &str = "Generated traces in the native format (3.4 bytes an event), each command a process of its own on one core (`predict` with its workers). Unless a \
column varies: 8 threads, 100 locks, 10,000 variables, 1 million events, nesting 1, 20 planted races. Seconds are processor time, user and system; MB is peak memory. \
HB, SHB, WCP and lockset stream: their memory does not grow with events. SyncP keeps the critical sections that it may still drop, some 8 bytes an event, which is \
its weak point on long traces. `predict` holds the trace, some 50 bytes an event, and every finding its schedule of up to \
all events, which is most of it where there are many races; above 10 million events it is run with `--window 10M`, which bounds memory and \
leaves undecided what needs events of two windows. A dash is a run that was not made or ended for time. WCP costs a few times HB, more with many locks and threads, as its clocks do.";

/// What varies in one group of rows.
struct Axis {
    name: &'static str,
    option: &'static str,
    values: Vec<u64>,
}

/// Events of the longest trace that `predict` takes as a whole.
const WHOLE: u64 = 10_000_000;
/// In which order the columns are measured, should the time not suffice for all: HB, WCP and `predict` first.
const FIRST: [usize; 6] = [1, 3, 5, 0, 2, 4];

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
        Axis { name: "threads", option: "--threads", values: vec![2, 8, 32, 128, 512] },
        Axis { name: "locks", option: "--locks", values: vec![10, 100, 1_000, 10_000] },
        Axis { name: "variables", option: "--variables", values: vec![1_000, 10_000, 100_000, 1_000_000] },
        Axis { name: "nesting", option: "--nesting", values: vec![1, 2, 4, 8] },
        Axis { name: "races", option: "--races", values: vec![10, 100, 1_000] },
        // Last: whatever time there is left, the longest trace can use.
        Axis { name: "events", option: "--events", values: events },
    ];
    // Rows of many events take longer.
    bench.tool.limit *= 10;
    for axis in axes {
        measure(bench, &axis, &mut sheet)?;
    }
    bench.tool.limit /= 10;
    bench.results.keep(&sheet)
}

fn measure(bench: &Bench, axis: &Axis, sheet: &mut Sheet) -> Result<(), String> {
    let mut times: Vec<Series> =
        ORDERS.iter().chain(&["predict"]).map(|name| Series { name: name.to_string(), points: Vec::new() }).collect();
    for &value in &axis.values {
        if let Err(late) = bench.in_time() {
            sheet.tolerate(&format!("{} {value}", axis.name), Err(late))?;
            continue;
        }
        let trace = generate(bench, axis, value)?;
        // What is longer is taken in windows, so that memory is bounded.
        let window = if axis.name == "events" && value > WHOLE { "10M" } else { "0" };
        let mut runs: [Option<Run>; 6] = Default::default();
        for column in FIRST {
            let options = match ORDERS.get(column) {
                Some(order) => vec!["detect", "--order", order],
                None => vec!["predict", "--kinds", "race", "--quiet", "--window", window],
            };
            let args = options.into_iter().map(AsRef::as_ref).chain([trace.as_os_str()]);
            runs[column] = in_time(bench.tool.run(args))?;
        }
        let mut cells = vec![axis.name.to_string(), value.to_string()];
        for (run, series) in runs.into_iter().zip(&mut times) {
            match run {
                Some(run) => {
                    cells.extend([seconds(run.cpu), megabytes(run.memory)]);
                    series.points.push((value as f64, run.cpu.as_secs_f64().max(1e-4)));
                }
                None => cells.extend(["-".to_string(), String::new()]),
            }
        }
        sheet.rows.push(cells);
        std::fs::remove_file(&trace).map_err(|e| format!("{}: {e}", trace.display()))?;
    }
    times.retain(|s| !s.points.is_empty());
    if times.is_empty() {
        return Ok(());
    }
    let file = bench.results.path(&format!("growth-{}.svg", axis.name));
    draw(&file, &format!("Processor time by number of {}", axis.name), axis.name, "seconds", &times)
}

/// A run, if it did not take too long.
fn in_time(run: Result<Run, String>) -> Result<Option<Run>, String> {
    match run {
        Err(e) if e.starts_with(SLOW) => Ok(None),
        run => run.map(Some),
    }
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
