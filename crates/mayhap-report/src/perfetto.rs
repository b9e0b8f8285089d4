//! The recorded and possible schedules in the Chrome trace event format, which ui.perfetto.dev and chrome://tracing open.
//!
//! Each finding is two processes, its recorded and its possible run, with the program's threads as tracks. Time is the position in
//! the schedule, not a clock. Steps are slices, critical sections are asynchronous spans (they need not nest), and arrows lead from
//! writes to the reads that see them.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::data::Report;
use crate::describe::words::verb;
use crate::finding::{Finding, Side};
use crate::schedules::{Row, Schedules};

/// The length of a step, and of its slice, in microseconds.
const STEP: u64 = 10;
const SLICE: u64 = 8;

/// Builds the trace of all findings that are shown.
pub fn document(report: &Report) -> Value {
    let mut events = Vec::new();
    for (i, finding) in report.shown().enumerate() {
        let Some(schedules) = &finding.schedules else { continue };
        let observed: Vec<&Row> = schedules.rows.iter().collect();
        lane(&mut events, finding, schedules, 2 * i as u64 + 1, "recorded run", &observed, 0);
        if !schedules.witness.is_empty() || finding.steps() > 0 {
            let ran: Vec<&Row> = schedules.witness.iter().filter_map(|&i| schedules.rows.get(i as usize)).collect();
            lane(&mut events, finding, schedules, 2 * i as u64 + 2, "possible run", &ran, schedules.witness_skipped);
        }
    }
    json!({
        "displayTimeUnit": "ms",
        "otherData": {"tool": report.tool.name, "version": report.tool.version, "trace": report.trace.path,
                      "time": "10 us per step; positions in the schedule, not clock time"},
        "traceEvents": events,
    })
}

/// Adds one process: the rows in this order and, for a possible run, the target's events that have not run after them.
fn lane(
    events: &mut Vec<Value>,
    finding: &Finding,
    schedules: &Schedules,
    pid: u64,
    name: &str,
    rows: &[&Row],
    skipped: u64,
) {
    let left_out = if skipped > 0 { format!(" (after {skipped} steps)") } else { String::new() };
    let process = format!("{}: {name}{left_out}", finding.title);
    events.push(json!({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": process}}));
    events.push(json!({"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}));
    for (tid, thread) in (1u64..).zip(&schedules.threads) {
        events.push(json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}}));
    }
    let ran: Vec<u64> = rows.iter().map(|row| row.event).collect();
    let targets: Vec<u64> = finding.events.iter().map(|s| s.event).collect();
    let waiting = |row: &&Row| targets.contains(&row.event) && !ran.contains(&row.event);
    let next: Vec<&Row> = schedules.rows.iter().filter(waiting).collect();
    let mut writes: HashMap<u32, (u64, u32)> = HashMap::new();
    for (at, row) in (0u64..).zip(rows.iter().copied()) {
        slice(events, schedules, pid, at, row, targets.contains(&row.event), false);
        section(events, schedules, pid, at, row);
        reads_from(events, pid, at, row, &mut writes);
    }
    for row in next {
        slice(events, schedules, pid, rows.len() as u64, row, true, true);
    }
}

fn name(names: &[String], index: Option<u32>) -> &str {
    index.and_then(|i| names.get(i as usize)).map_or("", String::as_str)
}

fn slice(events: &mut Vec<Value>, schedules: &Schedules, pid: u64, at: u64, row: &Row, target: bool, next: bool) {
    let object = name(&schedules.objects, row.object).to_string();
    let text = verb(&Side { op: row.op.clone(), object, ..Side::default() });
    let args = json!({"event": row.event, "location": name(&schedules.locations, row.location)});
    events.push(json!({
        "ph": "X", "pid": pid, "tid": row.thread + 1, "ts": at * STEP, "dur": SLICE,
        "name": if next { format!("next: {text}") } else { text },
        "cat": if target { "target" } else { "step" }, "args": args,
    }));
}

/// The start or end of a critical section. Its number is that of its acquire.
fn section(events: &mut Vec<Value>, schedules: &Schedules, pid: u64, at: u64, row: &Row) {
    let (phase, acquire, ts) = match (row.op.as_str(), row.partner) {
        ("acq" | "racq", Some(_)) => ("b", row.event, at * STEP),
        ("rel" | "rrel", Some(acquire)) => ("e", acquire, at * STEP + SLICE),
        _ => return,
    };
    events.push(json!({
        "ph": phase, "cat": "section", "id": format!("{pid}.{acquire}"), "pid": pid, "tid": row.thread + 1, "ts": ts,
        "name": format!("holds {}", name(&schedules.objects, row.object)),
    }));
}

/// An arrow from the last write of the variable to a read of it by another thread.
fn reads_from(events: &mut Vec<Value>, pid: u64, at: u64, row: &Row, writes: &mut HashMap<u32, (u64, u32)>) {
    let Some(object) = row.object else { return };
    match row.op.as_str() {
        "w" => drop(writes.insert(object, (at, row.thread))),
        "r" => {
            if let Some(&(write, thread)) = writes.get(&object).filter(|(_, thread)| *thread != row.thread) {
                let arrow = |phase: &str, at: u64, thread: u32| {
                    json!({"ph": phase, "bp": "e", "cat": "reads-from", "name": "reads from", "pid": pid,
                           "id": format!("{pid}.{write}.{}", row.event), "tid": thread + 1, "ts": at * STEP + SLICE / 2})
                };
                events.push(arrow("s", write, thread));
                events.push(arrow("f", at, row.thread));
            }
        }
        _ => {}
    }
}
