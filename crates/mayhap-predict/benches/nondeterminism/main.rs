//! Nondeterministic reads: triplets a second and the columns of the paper's Table A1, for the corrected and the paper's
//! decision, on generated traces of the paper's shapes and on the corpus.
//!
//! `cargo bench -p mayhap-predict --bench nondeterminism [-- NAME..]`; one thread, best of several runs.

mod shapes;

use std::time::{Duration, Instant};

use mayhap_predict::Budget;
use mayhap_predict::choice::{Literal, Survey, Table, Triplets};
use mayhap_trace::{Execution, Trace, format};
use mayhap_witness::Model;
use shapes::{DAISY, Shape, THRIFT3};

const CORPUS: [&str; 9] =
    ["account", "mergesort", "twostage", "bubblesort", "lang", "ftpserver", "bufwriter", "moldyn", "derby"];

/// Choice graphs for one witness of the paper's decision.
const LIMIT: u64 = 1000;

fn corrected(execution: &Execution<'_>) -> Table {
    let triplets = Triplets::of(execution);
    let survey = Survey::new(execution, Model::Data);
    let mut session = survey.session(&Budget { nodes: 10_000, ..Budget::default() });
    for read in triplets.reads() {
        session.read(&triplets, read);
    }
    session.table().clone()
}

fn literal(execution: &Execution<'_>) -> Table {
    let triplets = Triplets::of(execution);
    let mut table = Table::default();
    Literal::new(execution, LIMIT).survey(&triplets, &mut |_, outcomes| table.add_outcomes(outcomes));
    table
}

/// Runs until two seconds have passed, and takes the fastest.
fn best<T>(mut run: impl FnMut() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let mut best: Option<(T, Duration)> = None;
    while best.is_none() || begin.elapsed() < Duration::from_secs(2) {
        let start = Instant::now();
        let value = run();
        let took = start.elapsed();
        if best.as_ref().is_none_or(|(_, fastest)| took < *fastest) {
            best = Some((value, took));
        }
    }
    best.expect("it ran")
}

fn row(name: &str, decision: &str, table: &Table, took: Duration) {
    let percent = |part: u64| 100.0 * part as f64 / table.witnesses.max(1) as f64;
    let possible = format!("2^{:.1}", table.pairs_per_choice());
    println!(
        "{name:<14} {decision:<9} {:>9} {:>9} {:>9} ({:>4.1}) {:>8} ({:>4.1}) {:>7} ({:>4.1}) {possible:>9} {:>8.2} {:>9.3} {:>8} {:>9} {:>7} {:>7.3} {:>11.0}",
        table.triplets,
        table.witnesses,
        table.cyclic,
        percent(table.cyclic),
        table.without_choices,
        percent(table.without_choices),
        table.with_choices,
        percent(table.with_choices),
        table.explored_per_choice(),
        took.as_secs_f64(),
        table.feasible,
        table.infeasible,
        table.undecided,
        table.graphs_per_witness(),
        table.triplets as f64 / took.as_secs_f64(),
    );
}

fn measure(name: &str, trace: &Trace) {
    let execution = Execution::derive(trace).expect("a well-formed trace");
    let (table, took) = best(|| corrected(&execution));
    row(name, "corrected", &table, took);
    // The paper's decision takes minutes for millions of triplets.
    if table.triplets <= 1_000_000 {
        let (table, took) = best(|| literal(&execution));
        row(name, "literal", &table, took);
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let want = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    println!(
        "{:<14} {:<9} {:>9} {:>9} {:>16} {:>15} {:>14} {:>9} {:>8} {:>9} {:>8} {:>9} {:>7} {:>7} {:>11}",
        "trace",
        "decision",
        "triplets",
        "witnesses",
        "cyclic (%)",
        "no choice (%)",
        "choices (%)",
        "possible",
        "explored",
        "seconds",
        "feasible",
        "infeas.",
        "unknown",
        "graphs",
        "triplets/s"
    );
    for shape in [&DAISY, &THRIFT3] {
        if want(shape.name) {
            let trace = shape.trace(1);
            describe(shape, &trace);
            measure(shape.name, &trace);
        }
    }
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/traces");
    for name in CORPUS.into_iter().filter(|name| want(name)) {
        let suffix = if name == "derby" { ".gz" } else { "" };
        let trace = format::open(format!("{corpus}/{name}.std{suffix}")).and_then(Trace::from_source);
        match trace {
            Ok(trace) => measure(name, &trace),
            Err(error) => eprintln!("{name}: {error}"),
        }
    }
}

fn describe(shape: &Shape, trace: &Trace) {
    let count = |what: fn(mayhap_trace::Op) -> bool| trace.events().filter(|(_, e)| what(e.op)).count();
    println!(
        "# {}: {} threads, {} events, {} lock events on {} locks, {} accesses to {} variables, {} waits and notifies; the paper: {} witnesses in {} s",
        shape.name,
        trace.tables().threads.len(),
        trace.len(),
        count(|op| op.is_lock()),
        trace.tables().locks.len(),
        count(|op| op.is_access()),
        trace.tables().variables.len(),
        count(|op| op.is_notify() || op == mayhap_trace::Op::Wait),
        shape.triplets,
        shape.paper_seconds,
    );
}
