//! `mayhap detect`: find suspected races with one-pass detectors.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Instant;

use mayhap_detect::candidates;
use mayhap_detect::{Detection, Options, Order, Race, detect};
use mayhap_report::{Describer, Evidence, Kind, Report, Summary, text};
use mayhap_trace::validate::Repaired;
use mayhap_trace::{Columns, Error, Event, EventId, Missing, Source, Tables, format};
use mayhap_witness::{Model, Target};
use serde::Serialize;

use super::generate::count;
use crate::input::{MissingJson, Opened, RepairedJson, TraceArgs};
use crate::options::Environment;
use crate::output::{Format, json};
use crate::reporting::{FailOn, ReportArgs};
use crate::table::{grouped, shortened};
use crate::{Exit, Failure};
use mayhap_report::prediction::{self as report, trace_info};
use mayhap_report::stacks;

/// Find suspected races in one pass: conflicting accesses that a partial order leaves unordered
///
/// Detectors prove nothing: a suspected race may be impossible. `mayhap predict` decides that and shows a schedule for
/// each proof. An event is racy if an earlier conflicting access is unordered with it. For each pair of source locations,
/// the first unordered instance is listed.
///
/// lockset: variables that no single lock protects. hb: happens-before. shb: schedulable happens-before; each of its races
/// can happen. cp, wcp: causal and weak causal precedence, which find races that locks hide; the first one is a race or
/// there is a deadlock. syncp: the races that can happen while each lock's critical sections keep their recorded order.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    /// Order to use: lockset, hb, shb, cp, wcp or syncp
    #[arg(long, value_name = "ORDER")]
    order: Order,

    /// Stop at the first racy event
    #[arg(long)]
    first: bool,

    /// Print how many events lie at least between the two accesses of each race, and the maximum and mean
    #[arg(long)]
    distance: bool,

    /// With cp: window size in events; accesses in different windows are not compared [default: 10M]
    #[arg(long, value_name = "EVENTS", value_parser = count::<u64>)]
    window: Option<u64>,

    /// With lockset: use Eraser's state machine, which ignores accesses by the first thread and pure reading
    #[arg(long)]
    eraser: bool,

    #[command(flatten)]
    report: ReportArgs,
}

/// What a pass over a file leaves to be reported.
#[derive(Default)]
struct End {
    missing: Option<Missing>,
    notes: Vec<String>,
}

/// A source of events that stores its final state when it ends.
struct Watched {
    inner: Opened,
    end: Rc<RefCell<End>>,
}

impl Source for Watched {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        let more = self.inner.next_chunk(chunk)?;
        if !more {
            *self.end.borrow_mut() = End { missing: self.inner.missing(), notes: self.inner.notes() };
        }
        Ok(more)
    }

    fn tables(&self) -> &Tables {
        self.inner.tables()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        Box::new(self.inner).into_tables()
    }

    fn summary(&self) -> Option<&mayhap_trace::Summary> {
        self.inner.summary()
    }
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        if self.window.is_some() && self.order != Order::Cp {
            return Err(Failure::new("--window works only with --order cp; the other orders use the whole trace"));
        }
        if self.window == Some(0) {
            return Err(Failure::new("--window must be at least 1"));
        }
        if self.eraser && self.order != Order::Lockset {
            return Err(Failure::new("--eraser works only with --order lockset"));
        }
        let environment = Environment::read()?;
        self.report.prepare(&environment)?;
        let begin = Instant::now();
        // A suppression may hide the first race, so all races are needed then.
        let hides = !self.report.suppressions.is_empty()
            || !environment.suppressions.is_empty()
            || self.report.baseline.is_some();
        let first = self.first || (environment.halt_on_error && !hides);
        let (detection, missing, repaired) = self.detect(first)?;
        let seconds = begin.elapsed().as_secs_f64();
        if detection.events == 0 {
            return Err(self.trace.empty());
        }
        let report = match self.report.wants_more(&environment) {
            true => Some(self.describe(&detection, seconds, &environment)?),
            false => None,
        };
        environment.with_output(out, |out| match (self.report.format, &report) {
            (Format::Text, Some(report)) => {
                print_header(out, &self, &detection, first)?;
                print_counts(out, &detection, seconds)?;
                writeln!(out)?;
                Ok(text::write(out, report, &self.report.style(&environment))?)
            }
            (Format::Text, None) => Ok(print(out, &self, &detection, first, seconds)?),
            (Format::Json, _) => {
                let document = Document {
                    missing: missing.map(MissingJson::from),
                    repaired: repaired.map(RepairedJson::from),
                    ..Document::of(&detection, seconds)
                };
                json(out, &document)
            }
        })?;
        if let Some(report) = &report {
            out.flush()?;
            self.report.write_files(report)?;
        }
        let found = match (&report, self.report.fail_on) {
            (_, Some(FailOn::Proven)) => false,
            (Some(report), _) => report.shown().count() > 0,
            (None, _) => detection.racy_events > 0,
        };
        Ok(match found {
            true => environment.exitcode.map_or(Exit::Found, Exit::Program),
            false => Exit::Nothing,
        })
    }

    /// Builds a report of the races. Detection keeps no events in memory, but the report needs the whole trace: it says which
    /// locks the threads hold and how they were started.
    fn describe(&self, found: &Detection, seconds: f64, environment: &Environment) -> Result<Report, Failure> {
        let loaded = self.trace.load()?;
        let mut report =
            Report::new(env!("CARGO_PKG_VERSION"), trace_info(&self.trace.trace, loaded.execution.trace()), "none");
        let steps = report::fitting_steps(found.races.len());
        let targets: Vec<Target> = found.races.iter().map(|race| Target::Race(race.first.0, race.second.0)).collect();
        let stacks = stacks::of(&self.trace.trace, &loaded.execution, targets.iter());
        let describer = Describer::new(&loaded.execution, steps).with_stacks(stacks);
        for target in &targets {
            let reason = format!("{} leaves the two accesses unordered; {}", found.order, meaning(found.order));
            let mut finding = describer.finding(&Evidence {
                kind: Kind::Race,
                target,
                proof: None,
                suspicion: Some(reason.trim_end_matches('.')),
                engine: found.order.name(),
                model: Model::Data,
                occurrences: 1,
                distance: candidates::distance(target).into(),
            });
            finding.model = "none".to_string();
            report.findings.push(finding);
        }
        let races = found.races.len() as u64;
        report.summary = Summary { candidates: races, unknown: races, suspected: races, seconds, ..Summary::default() };
        report.arrange();
        self.report.complete(&mut report, environment)?;
        Ok(report)
    }

    fn detect(&self, first: bool) -> Result<(Detection, Option<Missing>, Option<Repaired>), Failure> {
        self.trace.finish()?;
        let Args { distance, eraser, window, .. } = *self;
        let options = Options { first, distance, eraser, window };
        // Input that cannot be read twice, or that must be repaired as a whole, is read into memory.
        let again = std::fs::metadata(&self.trace.trace).is_ok_and(|m| m.is_file());
        if self.trace.repair || !again {
            let loaded = self.trace.load()?;
            let found = detect(&mut loaded.execution.trace(), self.order, &options).map_err(|e| self.trace.blame(e))?;
            return Ok((found, loaded.missing, loaded.repaired));
        }
        let end = Rc::new(RefCell::new(End::default()));
        let mut open = || -> Result<Box<dyn Source>, Error> {
            let inner = Opened::new("detecting", format::open(&self.trace.trace)?);
            Ok(Box::new(Watched { inner, end: end.clone() }))
        };
        let found = detect(&mut open, self.order, &options).map_err(|e| self.trace.blame(e))?;
        let end = end.take();
        self.trace.note(end.missing.as_ref(), &end.notes);
        Ok((found, end.missing, None))
    }
}

#[derive(Serialize)]
struct Document<'a> {
    order: &'static str,
    races: Vec<RaceJson<'a>>,
    racy_events: u64,
    racy_locations: u64,
    racy_location_pairs: u64,
    racy_variables: u64,
    events: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<DistanceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<QueuesJson>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<RepairedJson>,
}

#[derive(Serialize)]
struct RaceJson<'a> {
    first: EventJson<'a>,
    second: EventJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<u64>,
}

#[derive(Serialize)]
struct EventJson<'a> {
    event: u64,
    thread: &'a str,
    op: &'static str,
    object: &'a str,
    location: Option<&'a str>,
}

#[derive(Serialize)]
struct DistanceJson {
    max: u64,
    mean: f64,
}

#[derive(Serialize)]
struct QueuesJson {
    longest: u64,
    part: f64,
}

impl<'a> Document<'a> {
    fn of(found: &'a Detection, seconds: f64) -> Self {
        let tables = &found.tables;
        let race = |race: &Race| RaceJson {
            first: EventJson::of(race.first, tables),
            second: EventJson::of(race.second, tables),
            distance: race.distance,
        };
        let queues = |q: mayhap_detect::Queues| QueuesJson { longest: q.longest, part: part(q) };
        Document {
            order: found.order.name(),
            races: found.races.iter().map(race).collect(),
            racy_events: found.racy_events,
            racy_locations: found.racy_locations,
            racy_location_pairs: found.racy_location_pairs(),
            racy_variables: found.racy_variables,
            events: found.events,
            distance: found.distances().map(|(max, mean)| DistanceJson { max, mean }),
            window: found.window,
            queues: found.queues.map(queues),
            seconds,
            missing: None,
            repaired: None,
        }
    }
}

impl<'a> EventJson<'a> {
    fn of((id, event): (EventId, Event), tables: &'a Tables) -> Self {
        EventJson {
            event: id.number(),
            thread: tables.thread(event.thread),
            op: event.op.word(),
            object: tables.object(event.op, event.object),
            location: tables.location(event.location),
        }
    }
}

/// The queues' length as a fraction of the events.
fn part(queues: mayhap_detect::Queues) -> f64 {
    queues.longest as f64 / queues.events.max(1) as f64
}

fn print_header(out: &mut dyn Write, args: &Args, found: &Detection, first: bool) -> io::Result<()> {
    let order = match (found.order, args.eraser) {
        (Order::Lockset, true) => "lockset, Eraser's states".to_string(),
        (order, _) => order.to_string(),
    };
    writeln!(out, "{}: {} events by {order}", args.trace.trace.display(), grouped(found.events))?;
    if let Some(window) = found.window {
        writeln!(out, "in windows of {} events: races across windows are not seen", grouped(window))?;
    }
    if first && found.racy_events > 0 {
        writeln!(out, "stopped at the first race")?;
    }
    writeln!(out)
}

fn print(out: &mut dyn Write, args: &Args, found: &Detection, first: bool, seconds: f64) -> io::Result<()> {
    print_header(out, args, found, first)?;
    print_counts(out, found, seconds)?;
    for (i, race) in found.races.iter().enumerate() {
        print_race(out, i + 1, race, &found.tables)?;
    }
    if found.racy_events > 0 {
        writeln!(out, "\nSuspected, not proven: {}", meaning(found.order))?;
    }
    Ok(())
}

fn print_counts(out: &mut dyn Write, found: &Detection, seconds: f64) -> io::Result<()> {
    let mut rows = vec![
        ("racy events", grouped(found.racy_events)),
        ("their locations", grouped(found.racy_locations)),
        ("pairs of locations", grouped(found.racy_location_pairs())),
        ("racy variables", grouped(found.racy_variables)),
    ];
    if let Some((max, mean)) = found.distances() {
        rows.push(("largest distance", grouped(max)));
        rows.push(("mean distance", format!("{mean:.1}")));
    }
    if let Some(queues) = found.queues {
        rows.push((
            "longest queues",
            format!("{} ({:.2}% of the events)", grouped(queues.longest), 100.0 * part(queues)),
        ));
    }
    rows.push(("seconds", format!("{seconds:.3}")));
    for (name, value) in rows {
        writeln!(out, "  {name:<18}  {value}")?;
    }
    Ok(())
}

fn print_race(out: &mut dyn Write, number: usize, race: &Race, tables: &Tables) -> io::Result<()> {
    let indent = number.to_string().len() + 2;
    let line = |(id, event): (EventId, Event)| {
        let object = shortened(tables.object(event.op, event.object), 40);
        let location = tables.location(event.location).map_or(String::new(), |l| format!(" at {}", shortened(l, 60)));
        let thread = shortened(tables.thread(event.thread), 20);
        format!("{thread} {}({object}){location}, event {id}", event.op.word())
    };
    writeln!(out, "\n{number}. {}", line(race.first))?;
    write!(out, "{:indent$}{}", "", line(race.second))?;
    match race.distance {
        Some(distance) => writeln!(out, "; at least {} apart", grouped(distance)),
        None => writeln!(out),
    }
}

/// What a race reported by this order means.
fn meaning(order: Order) -> &'static str {
    match order {
        Order::Lockset => "no single lock protects these variables; something else may order the accesses.",
        Order::Hb => "the first race is real; later ones may depend on it.",
        Order::Shb => "each of these races has a schedule, but a detector does not compute it.",
        Order::Cp | Order::Wcp => "the first is a race or there is a deadlock; later ones may be neither.",
        Order::SyncP => "each of these races has a schedule, but a detector does not compute it.",
    }
}
