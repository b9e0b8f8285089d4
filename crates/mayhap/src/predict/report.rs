//! From a prediction to the report that is shown of it.

use std::path::Path;

use clap::ValueEnum;
use mayhap_detect::candidates;
use mayhap_predict::Rung;
use mayhap_report::{Describer, Evidence, Report, Side, Summary, TraceInfo, counted, fingerprint};
use mayhap_trace::{EventId, Relations, Trace};
use mayhap_witness::{Model, Target};

use super::{Finding, Options, Prediction};
use crate::record::Run;
use crate::reporting::shell_word;
use crate::stacks;

/// Rows of schedule that all findings of a report keep together; each keeps between the two numbers that follow.
const ROWS: usize = 200_000;
const LEAST: usize = 60;
const MOST: usize = 1_000;

/// Rows of schedule that each of so many findings keeps.
pub fn fitting_steps(findings: usize) -> usize {
    (ROWS / findings.max(1)).clamp(LEAST, MOST)
}

/// Rows of schedule that all findings of a page keep together: a page shows whole schedules, as far as browsers go.
const PAGE_ROWS: usize = 2_000_000;

/// Rows of schedule that each of so many findings keeps if there is to be a page.
pub fn page_steps(findings: usize) -> usize {
    (PAGE_ROWS / findings.max(1)).max(fitting_steps(findings))
}

/// The report of a prediction, arranged. `steps`: rows of schedule that each finding keeps; `None` for what fits.
pub fn report(
    path: &Path,
    trace: &Trace,
    relations: &Relations,
    options: &Options,
    prediction: &Prediction,
    steps: Option<usize>,
) -> Report {
    let steps = steps.unwrap_or_else(|| fitting_steps(prediction.findings.len()));
    let stacks = stacks::of(path, trace, relations, prediction.findings.iter().map(|f| &f.target));
    let run = Run::load(path);
    let describer = Describer::new(trace, relations, steps).with_stacks(stacks);
    described(path, trace, options, prediction, &describer, run.as_ref())
}

/// The same with what else is known of the trace: how to describe its findings, and the run that it is of.
pub fn described(
    path: &Path,
    trace: &Trace,
    options: &Options,
    prediction: &Prediction,
    describer: &Describer<'_>,
    run: Option<&Run>,
) -> Report {
    let mut report = Report::new(env!("CARGO_PKG_VERSION"), trace_info(path, trace), options.model.name());
    let engine = clap_name(options.engine);
    let (recorded, doubt) = (run.is_some(), run.and_then(Run::doubt));
    let finding = |f: &Finding| {
        let mut finding = describer.finding(&Evidence {
            kind: f.kind.into(),
            target: &f.target,
            proof: f.proof.as_ref(),
            suspicion: f.suspicion.as_deref(),
            engine: &engine,
            model: options.model,
            occurrences: f.occurrences,
            distance: candidates::distance(&f.target).into(),
        });
        finding.replay_command = f.proof.as_ref().map(|_| question(path, &f.target, options.model, recorded));
        if let Some(doubt) = &doubt {
            finding.doubted(doubt);
        }
        finding
    };
    report.findings = prediction.findings.iter().map(finding).collect();
    report.summary = summary(prediction);
    if doubt.is_some() {
        report.summary.suspected += std::mem::take(&mut report.summary.proven);
    }
    if let Some(left) = prediction.halted {
        let left = counted(left, "further candidate");
        report.notes.push(format!("halt_on_error: stopped at the first error; {left} of its kind not decided"));
    }
    report.arrange();
    report
}

/// The command that asks about one target again, and replays its schedule if there is a program to replay.
pub fn question(path: &Path, target: &Target, model: Model, recorded: bool) -> String {
    let numbers = |events: &[EventId]| events.iter().map(EventId::to_string).collect::<Vec<_>>().join(",");
    let write = |w: &Option<EventId>| w.map_or("init".to_string(), |w| w.to_string());
    let asked = match target {
        Target::Race(..) => format!("--race {}", numbers(&target.events())),
        Target::Deadlock(requests) => format!("--deadlock {}", numbers(requests)),
        Target::Atomicity { .. } => format!("--atomicity {}", numbers(&target.events())),
        Target::Sequence { events, adjacent } => {
            let pairs = adjacent.iter().map(|(x, y)| format!(" --adjacent {x},{y}"));
            format!("--sequence {}{}", numbers(events), pairs.collect::<String>())
        }
        Target::Nondeterminism { write: w, read, other } => {
            format!("--nondeterminism {},{read},{}", write(w), write(other))
        }
    };
    let model = if model == Model::Sync { " --model sync" } else { "" };
    let command = if recorded { "replay" } else { "check" };
    format!("mayhap {command} {} {asked}{model}", shell_word(path))
}

/// The name of a value of an option.
pub fn clap_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |v| v.get_name().to_string())
}

/// The id of a finding in the report.
pub fn id(trace: &Trace, finding: &Finding) -> String {
    let side = |event: EventId| {
        let (at, tables) = (trace.event(event), trace.tables());
        let object = tables.object(at.op, at.object).to_string();
        Side { object, location: tables.location(at.location).map(str::to_string), ..Side::default() }
    };
    let sides: Vec<Side> = finding.target.events().into_iter().map(side).collect();
    fingerprint::id(finding.kind.into(), &sides)
}

/// What there is to say of a trace.
pub fn trace_info(path: &Path, trace: &Trace) -> TraceInfo {
    let tables = trace.tables();
    TraceInfo {
        path: path.display().to_string(),
        events: trace.len() as u64,
        threads: tables.threads.len() as u64,
        locks: tables.locks.len() as u64,
        variables: tables.variables.len() as u64,
    }
}

fn summary(prediction: &Prediction) -> Summary {
    let tally = &prediction.tally;
    let rungs = |counts: &std::collections::BTreeMap<Rung, u64>| {
        counts.iter().map(|(r, &n)| mayhap_report::Rung { rung: r.name().to_string(), candidates: n }).collect()
    };
    Summary {
        candidates: tally.candidates,
        proven: tally.all_proven(),
        refuted: tally.all_refuted(),
        unknown: tally.unknown,
        suspected: tally.suspected,
        seconds: prediction.seconds,
        first_unknown: tally.first_unknown.clone(),
        decisions: tally.decisions,
        instances_left_out: tally.left_out,
        covered_by_races: prediction.covered,
        proven_by: rungs(&tally.proven),
        refuted_by: rungs(&tally.refuted),
        counters: prediction.counters.figures.iter().map(|&(name, n)| (name.to_string(), n)).collect(),
        racy_events: prediction.racy_events,
        racy_locations: prediction.racy_locations,
        ..Summary::default()
    }
}
