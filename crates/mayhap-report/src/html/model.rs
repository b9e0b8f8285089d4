//! The data of the page: the report with its names in tables, and all schedules over one table of steps.
//!
//! The findings of one trace share most of their steps, so each step is stored once, in recorded order. Schedules and stories
//! are lists of positions in that table.

use std::collections::HashMap;

use serde::Serialize;

use super::encode::{Bytes, Runs};
use super::excerpts::Excerpts;
use super::sides::{PageMoment, PageSide};
use crate::describe::words::bare_verb as does;
use crate::places::{brief, lock_name};
use crate::{Finding, Kind, Report, Row, Schedules, Side};

#[derive(Serialize)]
pub(super) struct Page<'r> {
    tool: &'r crate::Tool,
    trace: &'r crate::TraceInfo,
    model: &'r str,
    program: &'r [String],
    summary: Figures,
    notes: &'r [String],
    exploration: Option<&'r crate::Exploration>,
    names: Names<'r>,
    steps: Columns,
    excerpts: Excerpts<'r>,
    findings: Vec<PageFinding<'r>>,
    refutation: Option<PageRefutation<'r>>,
}

/// A question that was refuted.
#[derive(Serialize)]
struct PageRefutation<'r> {
    kind: &'static str,
    reason: &'r str,
    events: Vec<PageSide<'r>>,
    cycle: &'r [crate::Needed],
    premises: &'r [crate::Premise],
}

#[derive(Serialize)]
struct Figures {
    candidates: u64,
    proven: u64,
    refuted: u64,
    unknown: u64,
}

#[derive(Serialize)]
struct PageFinding<'r> {
    id: &'r str,
    kind: &'static str,
    verdict: &'static str,
    severity: &'static str,
    title: &'r str,
    message: &'r str,
    why: &'r str,
    certainty: &'r str,
    life: Vec<PageMoment<'r>>,
    fix: &'static str,
    tests: &'r [String],
    engine: &'r str,
    model: &'r str,
    occurrences: u64,
    distance: u64,
    fingerprint: &'r str,
    replay_command: &'r Option<String>,
    witness_file: &'r Option<String>,
    replay: &'r Option<crate::Replay>,
    suppressed_by: &'r Option<String>,
    baseline: Option<crate::Baseline>,
    events: Vec<PageSide<'r>>,
    #[serde(flatten)]
    schedules: Option<PageSchedules>,
}

#[derive(Serialize)]
struct PageSchedules {
    observed: Runs,
    possible: Option<Runs>,
    /// The finding's events that are next when `possible` has run.
    next: Vec<u32>,
    targets: Vec<u32>,
    /// What each target does, in the words of the finding.
    does: Vec<&'static str>,
    /// Steps that matter.
    story: Runs,
    /// Reads that see another write in `possible`.
    changed: Vec<u32>,
}

impl<'r> Page<'r> {
    pub(super) fn of(report: &'r Report) -> Self {
        let shown: Vec<&Finding> = report.shown().collect();
        let table = Table::of(shown.iter().filter_map(|f| f.schedules.as_ref()));
        let mut excerpts = Excerpts::of(report);
        let refutation = report.refutation.as_ref().map(|r| PageRefutation {
            kind: r.kind.name(),
            reason: &r.reason,
            events: r.events.iter().map(|side| PageSide::of(side, &mut excerpts)).collect(),
            cycle: &r.cycle,
            premises: &r.premises,
        });
        let findings = shown.iter().map(|f| PageFinding::of(f, &table, &mut excerpts)).collect();
        let s = &report.summary;
        Page {
            tool: &report.tool,
            trace: &report.trace,
            model: &report.model,
            program: &report.program,
            summary: Figures { candidates: s.candidates, proven: s.proven, refuted: s.refuted, unknown: s.unknown },
            notes: &report.notes,
            exploration: report.exploration.as_ref(),
            steps: table.columns(),
            names: table.names,
            excerpts,
            findings,
            refutation,
        }
    }
}

impl<'r> PageFinding<'r> {
    fn of(finding: &'r Finding, table: &Table<'_>, excerpts: &mut Excerpts<'r>) -> Self {
        PageFinding {
            id: &finding.id,
            kind: finding.kind.name(),
            verdict: finding.verdict.name(),
            severity: finding.severity.name(),
            title: &finding.title,
            message: &finding.message,
            why: &finding.why,
            certainty: &finding.certainty,
            life: finding.life.iter().map(PageMoment::of).collect(),
            fix: finding.kind.rule().help,
            tests: &finding.tests,
            engine: &finding.engine,
            model: &finding.model,
            occurrences: finding.occurrences,
            distance: finding.distance,
            fingerprint: &finding.fingerprint,
            replay_command: &finding.replay_command,
            witness_file: &finding.witness_file,
            replay: &finding.replay,
            suppressed_by: &finding.suppressed_by,
            baseline: finding.baseline,
            events: finding.events.iter().map(|side| PageSide::of(side, excerpts)).collect(),
            schedules: finding.schedules.as_ref().map(|s| PageSchedules::of(finding, s, table)),
        }
    }
}

impl PageSchedules {
    fn of(finding: &Finding, schedules: &Schedules, table: &Table<'_>) -> Self {
        let places: Vec<u32> = schedules.rows.iter().filter_map(|row| table.place(row.event)).collect();
        let witness: Vec<u32> = schedules.witness.iter().filter_map(|&row| places.get(row as usize).copied()).collect();
        let proven = finding.verdict.is_certain();
        let ran: std::collections::HashSet<u32> = witness.iter().copied().collect();
        let is_next = |side: &&Side| match finding.kind {
            Kind::Race | Kind::Deadlock => true,
            Kind::Atomicity | Kind::Crash | Kind::Hang => false,
            Kind::Order | Kind::Nondeterminism => side.op == "r",
            _ => side.role == "use",
        };
        let place = |side: &Side| table.place(side.event);
        let targets: Vec<(u32, &'static str)> =
            finding.events.iter().filter_map(|side| Some((place(side)?, does(side)))).collect();
        let next = finding.events.iter().filter(is_next).filter_map(place).filter(|step| !ran.contains(step));
        let next: Vec<u32> = if proven { next.collect() } else { Vec::new() };
        let steps = finding.story.iter().flat_map(|s| s.observed.iter().chain(&s.possible));
        let mut story: Vec<u32> = steps.filter_map(|step| table.place(step.event)).collect();
        story.sort_unstable();
        story.dedup();
        let skipped = schedules.witness_skipped;
        PageSchedules {
            observed: Runs::of(&places, schedules.observed_total.saturating_sub(places.len() as u64)),
            possible: proven.then(|| Runs::of(&witness, skipped)),
            next,
            targets: targets.iter().map(|(step, _)| *step).collect(),
            does: targets.iter().map(|(_, does)| *does).collect(),
            story: Runs::of(&story, 0),
            changed: schedules.changed.iter().filter_map(|c| table.place(c.event)).collect(),
        }
    }
}

/// Names by number.
#[derive(Default, Serialize)]
struct Names<'r> {
    threads: Vec<&'r str>,
    objects: Vec<String>,
    locations: Vec<&'r str>,
}

/// The columns of the steps in base64.
#[derive(Serialize)]
struct Columns {
    count: usize,
    event: String,
    thread: String,
    op: String,
    object: String,
    location: String,
}

/// A step. An optional field is stored as 0 if missing, otherwise as its value plus one.
#[derive(Clone, Copy)]
struct Step {
    event: u64,
    thread: u32,
    op: u8,
    object: u32,
    location: u32,
}

/// All steps that any finding shows, by event number.
struct Table<'r> {
    steps: Vec<Step>,
    names: Names<'r>,
}

/// Names, numbered in order of appearance.
#[derive(Default)]
struct Interner<'r, K>(HashMap<(K, &'r str), u32>);

impl<'r, K: std::hash::Hash + Eq> Interner<'r, K> {
    fn number<N>(&mut self, key: K, name: &'r str, names: &mut Vec<N>, shown: impl FnOnce(&'r str) -> N) -> u32 {
        *self.0.entry((key, name)).or_insert_with(|| {
            names.push(shown(name));
            names.len() as u32 - 1
        })
    }
}

impl<'r> Table<'r> {
    fn of(schedules: impl Iterator<Item = &'r Schedules>) -> Self {
        let mut names = Names::default();
        let (mut threads, mut objects, mut locations) = (Interner::default(), Interner::default(), Interner::default());
        let mut steps: Vec<Step> = Vec::new();
        for schedule in schedules {
            let name = |names: &'r [String], at: u32| names.get(at as usize).map_or("", String::as_str);
            for row in &schedule.rows {
                let op = code(row);
                let is_lock = mayhap_trace::Op::from_code(op).is_some_and(mayhap_trace::Op::is_lock);
                let shown = if is_lock { lock_name } else { brief };
                let object = row
                    .object
                    .map(|o| objects.number(class(op), name(&schedule.objects, o), &mut names.objects, shown) + 1);
                let location = row
                    .location
                    .map(|l| locations.number((), name(&schedule.locations, l), &mut names.locations, |l| l) + 1);
                steps.push(Step {
                    event: row.event,
                    thread: threads
                        .number((), name(&schedule.threads, row.thread), &mut names.threads, |thread| thread),
                    op,
                    object: object.unwrap_or(0),
                    location: location.unwrap_or(0),
                });
            }
        }
        steps.sort_by_key(|step| step.event);
        steps.dedup_by_key(|step| step.event);
        Table { steps, names }
    }

    /// Returns the position of an event in the table.
    fn place(&self, event: u64) -> Option<u32> {
        self.steps.binary_search_by_key(&event, |step| step.event).ok().map(|at| at as u32)
    }

    fn columns(&self) -> Columns {
        let column = |cell: &dyn Fn(&Step) -> u64| {
            let mut bytes = Bytes::default();
            self.steps.iter().for_each(|step| bytes.number(cell(step)));
            bytes.text()
        };
        let mut events = Bytes::default();
        let mut last = 0;
        for step in &self.steps {
            events.number(step.event - last);
            last = step.event;
        }
        Columns {
            count: self.steps.len(),
            event: events.text(),
            thread: column(&|step| step.thread.into()),
            op: column(&|step| step.op.into()),
            object: column(&|step| step.object.into()),
            location: column(&|step| step.location.into()),
        }
    }
}

/// The operation's code in the native format; an unknown word becomes a branch, which has no object.
fn code(row: &Row) -> u8 {
    mayhap_trace::Op::from_word(row.op.as_bytes()).unwrap_or(mayhap_trace::Op::Branch) as u8
}

/// The kind of object that an operation names: a lock and a variable with the same name are different objects.
fn class(op: u8) -> u8 {
    mayhap_trace::Op::from_code(op).map_or(0, |op| op.names() as u8)
}
