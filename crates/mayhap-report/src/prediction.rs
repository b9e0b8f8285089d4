//! From a prediction to the report that is shown of it.

use std::path::Path;

use mayhap_analyse::doubts::{self, Part};
use mayhap_analyse::lifetimes::is_certain;
use mayhap_analyse::windows::{self, Predicted, Share};
use mayhap_analyse::{Error, Finding, Options, Prediction, Rung, distance};
use mayhap_trace::attachments::doubts::Doubt;
use mayhap_trace::attachments::{Doubts, Run, stacks::attached};
use mayhap_trace::{EventId, Execution, Source, Trace};
use mayhap_witness::{Checked, Target};
use serde::{Deserialize, Serialize};

use crate::describe::NO_REPLAY_DECIDES;
use crate::life::ANOTHER_LIFE;
use crate::{Describer, Evidence, Report, Side, Summary, TraceInfo, counted, fingerprint, grouped, stacks};

/// The command that asks about a target of a trace again; whether the trace was recorded decides if it can be replayed.
pub type Suggest<'a> = &'a dyn Fn(&Target, bool) -> String;

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
    (execution, doubts): (&Execution<'_>, &Doubts),
    options: &Options,
    prediction: &Prediction,
    steps: Option<usize>,
    suggest: Suggest<'_>,
) -> Report {
    let trace = execution.trace();
    let steps = steps.unwrap_or_else(|| fitting_steps(prediction.findings.len()));
    let stacks = stacks::of(path, execution, prediction.findings.iter().map(|f| &f.target));
    let describer = Describer::new(execution, steps).with_stacks(stacks);
    let doubt = |proof: &Checked| doubt(doubts, execution, proof);
    described(path, trace, options, prediction, &describer, (Run::load(path).is_some(), &doubt), suggest)
}

/// What is to be said against a proof, if one of the trace's doubts bears on it.
pub fn doubt(doubts: &Doubts, execution: &Execution<'_>, proof: &Checked) -> Option<String> {
    let (relations, events) = (execution.relations(), execution.trace().len());
    let part = Part { relations, events, after: 0, whole: &|event| event.number() };
    doubts::bearing(doubts, &part, proof).map(|doubt| reason(doubt, proof))
}

/// What a doubt says against a proof.
fn reason(doubt: &Doubt, proof: &Checked) -> String {
    match proof.target() {
        Target::UnorderedRace(..) => {
            format!(
                "nothing that was recorded orders the two accesses, but {} may; {NO_REPLAY_DECIDES}",
                doubt.subject()
            )
        }
        _ => doubt.reason(),
    }
}

/// Says why a proof is in doubt, if it is.
type Doubting<'d> = &'d dyn Fn(&Checked) -> Option<String>;

/// The same with what else is known of the trace: how to describe its findings, and the run that it is of.
fn described(
    path: &Path,
    trace: &Trace,
    options: &Options,
    prediction: &Prediction,
    describer: &Describer<'_>,
    (recorded, doubt): (bool, Doubting<'_>),
    suggest: Suggest<'_>,
) -> Report {
    let mut report = Report::new(env!("CARGO_PKG_VERSION"), trace_info(path, trace), options.model.name());
    let engine = options.engine.name();
    let finding = |f: &Finding| {
        let mut finding = describer.finding(&Evidence {
            kind: f.kind.into(),
            target: &f.target,
            proof: f.proof.as_ref(),
            suspicion: f.suspicion.as_deref(),
            engine,
            model: options.model,
            occurrences: f.occurrences,
            distance: distance(&f.target).into(),
        });
        finding.replay_command = f.proof.as_ref().map(|_| suggest(&f.target, recorded));
        if f.alike > 0 {
            finding.why += &alike(f);
        }
        if let Some(why) = f.proof.as_ref().and_then(doubt) {
            finding.doubted(&why);
        }
        if let Some(doubt) = finding.unseen_doubt().filter(|_| recorded) {
            finding.doubted(doubt);
        }
        if recorded && f.proof.as_ref().is_some_and(|proof| !is_certain(trace, proof)) {
            finding.doubted(ANOTHER_LIFE);
        }
        finding
    };
    report.findings = prediction.findings.iter().map(finding).collect();
    report.summary = summary(prediction);
    let is_doubted = |finding: &&crate::Finding| finding.witness_is_doubted();
    let doubted = report.findings.iter().filter(is_doubted).count() as u64;
    report.summary.proven = report.summary.proven.saturating_sub(doubted);
    report.summary.suspected += doubted;
    if let Some(left) = prediction.halted {
        let left = counted(left, "further candidate");
        report
            .notes
            .push(format!("halt_on_error: stopped at the first error; {left} candidates of its kind were not decided"));
    }
    let alike: u64 = prediction.findings.iter().map(|finding| finding.alike).sum();
    if alike > 0 {
        let more = counted(alike, "further proven finding");
        report.notes.push(format!("{more} not listed: each has the kind and the object of one that is"));
    }
    report.arrange();
    report
}

/// Says how many findings about the same object are not listed.
fn alike(finding: &Finding) -> String {
    let more = grouped(finding.alike);
    match finding.kind {
        mayhap_witness::Kind::Deadlock => {
            format!(" {more} further cycles through the same lock are proven and not listed.")
        }
        _ => format!(" {more} further groups of places that do the same to this variable are proven and not listed."),
    }
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
        repaired: 0,
    }
}

fn summary(prediction: &Prediction) -> Summary {
    let tally = &prediction.tally;
    let rungs = |counts: &std::collections::BTreeMap<Rung, u64>| {
        counts.iter().map(|(r, &n)| crate::Rung { rung: r.name().to_string(), candidates: n }).collect()
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

/// Predicts window by window: the report of the whole trace; `None` if it has no events.
pub fn in_windows(
    path: &Path,
    source: Box<dyn Source>,
    doubts: &Doubts,
    size: usize,
    options: &dyn Fn(&Trace) -> Options,
) -> Result<Option<Report>, Error> {
    Ok(of_windows(vec![windows_of(path, source, doubts, (size, Share::WHOLE), options)?], size))
}

/// What was found in some windows of a trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Windows {
    /// Reports with the number of the first window of each; neighbours are one report.
    reports: Vec<(u64, Report)>,
    /// How many windows the trace has.
    count: u64,
}

impl Windows {
    /// All findings, those of the same bug in several windows too.
    pub fn findings(&self) -> impl Iterator<Item = &crate::Finding> {
        self.reports.iter().flat_map(|(_, report)| &report.findings)
    }
}

/// Predicts the windows of a share.
pub fn windows_of(
    path: &Path,
    source: Box<dyn Source>,
    doubts: &Doubts,
    (size, share): (usize, Share),
    options: &dyn Fn(&Trace) -> Options,
) -> Result<Windows, Error> {
    let mut reports: Vec<(u64, Report)> = Vec::new();
    let mut last = None;
    let mut bytes: Option<Option<Vec<u8>>> = None;
    let recorded = Run::load(path).is_some();
    let mut found = |Predicted { number: nth, window, execution, options, prediction, events }: Predicted<'_>| {
        let mut describer = Describer::new(execution, fitting_steps(prediction.findings.len()));
        // The file is read for them once, however many windows there are.
        if !prediction.findings.is_empty()
            && let Some(bytes) = bytes.get_or_insert_with(|| attached(path))
        {
            let targets = prediction.findings.iter().map(|f| &f.target);
            describer = describer.with_stacks(stacks::of_window(bytes, window, execution, targets));
        }
        let nothing: Suggest<'_> = &|_, _| String::new();
        let number = |event: EventId| window.whole(event.number());
        let (events_here, after) = (window.trace.len(), window.after);
        let here = Part { relations: execution.relations(), events: events_here, after, whole: &number };
        let doubt = |proof: &Checked| doubts::bearing(doubts, &here, proof).map(|doubt| reason(doubt, proof));
        let mut part = described(path, &window.trace, options, prediction, &describer, (recorded, &doubt), nothing);
        for finding in &mut part.findings {
            finding.renumber(window.after, &|number| window.whole(number));
            finding.replay_command = None;
        }
        part.trace = trace_info(path, &window.trace);
        part.trace.events = events;
        let is_neighbour = last.replace(nth).is_some_and(|before| before + 1 == nth);
        match reports.last_mut().filter(|_| is_neighbour) {
            Some((_, sum)) => join(sum, part),
            None => reports.push((nth, part)),
        }
    };
    let count = windows::in_windows(source, size, share, options, &mut found)?;
    Ok(Windows { reports, count })
}

/// The report of the whole trace, from all shares of its windows; `None` if it has no events.
pub fn of_windows(shares: Vec<Windows>, size: usize) -> Option<Report> {
    let count = shares.first()?.count;
    let mut reports: Vec<(u64, Report)> = shares.into_iter().flat_map(|share| share.reports).collect();
    reports.sort_by_key(|(number, _)| *number);
    let mut reports = reports.into_iter().map(|(_, report)| report);
    let mut report = reports.next()?;
    reports.for_each(|part| join(&mut report, part));
    report.arrange();
    if count > 1 {
        let size = grouped(size as u64);
        let gap = format!("bugs that span two windows were not looked for ({count} windows of {size} events)");
        report.summary.unknown += 1;
        report.summary.first_unknown.get_or_insert(gap.clone());
        report.notes.push(format!("analysed in windows: {gap}"));
    }
    Some(report)
}

/// Adds the report of later windows to that of earlier ones.
fn join(sum: &mut Report, part: Report) {
    sum.summary.add(&part.summary);
    sum.findings.extend(part.findings);
    sum.notes.extend(part.notes);
    sum.trace = part.trace;
}
