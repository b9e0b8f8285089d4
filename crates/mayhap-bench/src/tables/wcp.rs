//! WCP's Table 1: WCP and HB against a maximal prover that looks at windows of the trace, as the paper's peer does.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use mayhap_detect::candidates::{Limits, place, races};
use mayhap_predict::{Budget, Context, Engine, Exact, Verdict};
use mayhap_trace::{Columns, Event, EventId, Op, Relations, Trace, format};
use mayhap_witness::Model;

use crate::Bench;
use crate::programs::{corpus, record_all};
use crate::sheet::Sheet;
use crate::tool::{number, seconds};

const NOTE: &str = "Pairs of locations. HB and WCP go over the whole trace in one pass; `exact` proves within windows only, as \
RVPredict does, so that it misses what lies further apart, and `predict` proves over the whole trace without windows. WCP above \
`predict` is what WCP reports without being able to prove it. The queue column is the largest total length of WCP's queues, as a part of \
the events. The published Java tool's times for the same kind of traces are seconds to minutes; ours include starting the process.";

/// Makes the table.
pub(crate) fn make(bench: &mut Bench) -> Result<(), String> {
    let columns = [
        "trace",
        "events",
        "threads",
        "locks",
        "wcp",
        "hb",
        "exact 1k",
        "exact 10k",
        "predict",
        "queue %",
        "wcp s",
        "hb s",
        "1k s",
        "10k s",
        "predict s",
    ];
    let mut sheet = Sheet::new("wcp", "WCP, HB and windowed proof (WCP paper, Table 1)", &columns, NOTE);
    let mut traces: Vec<(String, std::path::PathBuf)> =
        corpus(bench).into_iter().map(|(name, path)| (name.to_string(), path)).collect();
    traces.extend(record_all(bench)?.into_iter().map(|r| (r.name, r.trace)));
    for (name, path) in traces {
        let detect =
            |order: &str| bench.tool.json(["detect".as_ref(), path.as_os_str(), "--order".as_ref(), order.as_ref()]);
        let (wcp, wcp_run) = detect("wcp")?;
        let (hb, hb_run) = detect("hb")?;
        let args = ["predict".as_ref(), path.as_os_str(), "--kinds".as_ref(), "race".as_ref()];
        let (all, predict_run) = bench.tool.json(args)?;
        let (small, small_time) = windowed(&path, 1_000)?;
        let (large, large_time) = windowed(&path, 10_000)?;
        let events = number(&all, "/trace/events");
        let queue = number(&wcp, "/queues/longest");
        sheet.row([
            name,
            events.to_string(),
            number(&all, "/trace/threads").to_string(),
            number(&all, "/trace/locks").to_string(),
            number(&wcp, "/racy_location_pairs").to_string(),
            number(&hb, "/racy_location_pairs").to_string(),
            small.to_string(),
            large.to_string(),
            number(&all, "/summary/proven").to_string(),
            format!("{:.1}", 100.0 * queue as f64 / events.max(1) as f64),
            seconds(wcp_run.wall),
            seconds(hb_run.wall),
            seconds(small_time),
            seconds(large_time),
            seconds(predict_run.wall),
        ]);
    }
    bench.results.keep(&sheet)
}

/// The pairs of locations proven by `exact` in windows of so many events, each taken for itself.
fn windowed(path: &Path, size: usize) -> Result<(usize, Duration), String> {
    let trace = format::open(path).and_then(Trace::from_source).map_err(|e| e.to_string())?;
    let relations = Relations::derive(&trace).map_err(|e| e.to_string())?;
    let started = Instant::now();
    let model = if trace.events().any(|(_, e)| e.op == Op::Branch) { Model::Branch } else { Model::Data };
    let mut pairs = BTreeSet::new();
    for start in (0..trace.len()).step_by(size) {
        let window = window(&trace, &relations, start..trace.len().min(start + size));
        let relations = Relations::derive(&window).map_err(|e| format!("window at {start}: {e}"))?;
        let context = Context::new(&window, &relations);
        let mut exact = Exact::new(&context);
        for group in races(&window, &relations, &Limits::default()).groups {
            let proven = group
                .targets
                .iter()
                .find(|target| matches!(exact.decide(target, model, &Budget::default()), Verdict::Proven(..)));
            if let Some(target) = proven {
                let name = |e: EventId| location(&window, e);
                let mut names: Vec<String> = target.events().into_iter().map(name).collect();
                names.sort();
                pairs.insert(names);
            }
        }
    }
    Ok((pairs.len(), started.elapsed()))
}

fn location(trace: &Trace, event: EventId) -> String {
    let name = trace.tables().location(trace.event(event).location);
    name.map_or_else(|| format!("{:x}", place(trace, event)), String::from)
}

/// The events of a range as a trace of its own: locks that are held when it begins are taken first, in the order in which
/// they were taken, and waits whose notify lies before it are left out.
fn window(trace: &Trace, relations: &Relations, range: std::ops::Range<usize>) -> Trace {
    let id = |index: usize| EventId::new(index).expect("events of the trace have ids");
    let mut columns = Columns::default();
    let mut open: Vec<Event> = Vec::new();
    for index in 0..range.start {
        let event = trace.event(id(index));
        if !relations.is_relevant(id(index)) {
            continue;
        }
        if event.op.is_acquire() {
            open.push(event);
        } else if event.op.is_release() {
            let held = open.iter().rposition(|e| e.thread == event.thread && e.object == event.object);
            held.map(|at| open.remove(at));
        }
    }
    open.into_iter().for_each(|event| columns.push(event));
    for index in range.clone() {
        let event = trace.event(id(index));
        let notify = relations.partner(id(index)).map(EventId::index);
        let orphaned = event.op == Op::Wait && notify.is_none_or(|n| n < range.start);
        if relations.is_relevant(id(index)) && !orphaned {
            columns.push(event);
        }
    }
    Trace::from_parts(columns, trace.tables().clone())
}
