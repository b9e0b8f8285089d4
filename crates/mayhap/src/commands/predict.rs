//! `mayhap predict`: what other interleavings of the run contain.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mayhap_detect::candidates::{self, Limits};
use mayhap_predict::Rung;
use mayhap_trace::{EventId, Trace};
use mayhap_witness::{Kind, Model, Target};
use serde::Serialize;

use super::check::EngineArgs;
use super::nondeterminism::{self, ReadsJson};
use crate::events::{EventJson, print_events};
use crate::input::TraceArgs;
use crate::output::{Format, FormatArgs, json};
use crate::predict::{Finding, Options, Prediction, predict};
use crate::table::Align::{Left, Right};
use crate::table::{Table, grouped};
use crate::witness_file::WitnessFile;
use crate::{Exit, Failure};

/// Find what other interleavings of the recorded run contain, and prove each finding with a schedule
///
/// Candidates are grouped by the locations of their events; the instances of a group are tried nearest first until one is
/// proven. Every proof is a schedule that the kernel accepted. What only weak causal precedence points to is listed as
/// suspected, apart from what is proven.
///
/// Exit codes: 0 nothing found, 1 something proven, 2 bad usage or bad input, 3 undecided and nothing proven.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    /// What to look for
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [KindName::Race, KindName::Deadlock])]
    kinds: Vec<KindName>,

    #[command(flatten)]
    engine: EngineArgs,

    /// Decide every pair of accesses, not some of each pair of locations (races only)
    #[arg(long)]
    all_instances: bool,

    /// Instances of each group of candidates that are tried at most
    #[arg(long, value_name = "N", default_value_t = Limits::default().instances)]
    instances: usize,

    /// Events of its thread that may lie between two accesses which are taken to be meant as one (atomicity)
    #[arg(long, value_name = "N", default_value_t = Limits::default().distance)]
    distance: usize,

    /// Threads of a deadlock at most
    #[arg(long, value_name = "N", default_value_t = Limits::default().cycle)]
    cycle: usize,

    /// Worker threads [default: as many as the machine runs at once]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Save a witness file of each proven finding in this directory
    #[arg(long, value_name = "DIR")]
    witnesses: Option<PathBuf>,

    /// Also print which stage settled how many candidates
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum KindName {
    /// Two conflicting accesses at once.
    Race,
    /// Threads that wait for each other.
    Deadlock,
    /// An access between two that look meant as one.
    Atomicity,
    /// A read that can run before the first write.
    Order,
    /// A read that can see another write.
    Nondeterminism,
}

impl KindName {
    fn kind(self) -> Kind {
        match self {
            KindName::Race => Kind::Race,
            KindName::Deadlock => Kind::Deadlock,
            KindName::Atomicity => Kind::Atomicity,
            KindName::Order => Kind::Order,
            KindName::Nondeterminism => Kind::Nondeterminism,
        }
    }
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let loaded = self.trace.load()?;
        let options = self.options(&loaded.trace);
        let prediction = predict(&loaded.trace, &loaded.relations, &options)?;
        if let Some(folder) = &self.witnesses {
            save_witnesses(folder, &loaded.trace, &prediction)?;
        }
        match self.format.format {
            Format::Json => json(out, &Document::new(&self.trace.trace, &loaded.trace, &options, &prediction))?,
            Format::Text => print(out, &loaded.trace, &options, &prediction, self.stats)?,
        }
        let tally = &prediction.tally;
        Ok(match (prediction.findings.iter().any(|f| f.proof.is_some()), tally.unknown) {
            (true, _) => Exit::Found,
            (false, 0) => Exit::Nothing,
            (false, _) => Exit::Undecided,
        })
    }

    fn options(&self, trace: &Trace) -> Options {
        let mut kinds: Vec<Kind> = self.kinds.iter().map(|k| k.kind()).collect();
        // Races come first: what they cover is not reported again.
        kinds.sort();
        kinds.dedup();
        let limits = Limits { instances: self.instances.max(1), distance: self.distance, cycle: self.cycle };
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        Options {
            kinds,
            engine: self.engine.engine,
            literal: self.engine.literal,
            model: self.engine.model(trace),
            limits,
            all_instances: self.all_instances,
            budget: self.engine.budget(),
            threads: self.threads.unwrap_or_else(available),
        }
    }
}

fn save_witnesses(folder: &Path, trace: &Trace, prediction: &Prediction) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::at(folder, e))?;
    for finding in &prediction.findings {
        if let Some(checked) = &finding.proof {
            WitnessFile::of(trace, checked).save(&folder.join(format!("{}.json", id(trace, finding))))?;
        }
    }
    Ok(())
}

/// A name that is the same for the same bug in other runs: kind and locations.
pub(super) fn id(trace: &Trace, finding: &Finding) -> String {
    let name = |&e: &EventId| {
        let event = trace.event(e);
        let location = trace.tables().location(event.location);
        location.unwrap_or_else(|| trace.tables().object(event.op, event.object)).to_string()
    };
    let mut names: Vec<String> = finding.target.events().iter().map(name).collect();
    if matches!(finding.kind, Kind::Race | Kind::Deadlock) {
        names.sort();
    }
    let hash = xxhash_rust::xxh3::xxh3_64(names.join("\n").as_bytes());
    format!("{}-{hash:016x}", finding.kind.name())
}

#[derive(Serialize)]
struct Document {
    tool: ToolJson,
    trace: TraceJson,
    model: &'static str,
    findings: Vec<FindingJson>,
    /// By read location, if nondeterministic reads were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    nondeterminism: Option<ReadsJson>,
    summary: SummaryJson,
}

#[derive(Serialize)]
struct ToolJson {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct TraceJson {
    path: String,
    events: usize,
    threads: usize,
    locks: usize,
    variables: usize,
}

#[derive(Serialize)]
struct FindingJson {
    id: String,
    kind: &'static str,
    verdict: &'static str,
    engine: String,
    model: &'static str,
    occurrences: u64,
    distance: u32,
    events: Vec<EventJson>,
    witness: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct SummaryJson {
    candidates: u64,
    proven: u64,
    refuted: u64,
    unknown: u64,
    suspected: u64,
    seconds: f64,
    decisions: u64,
    instances_left_out: u64,
    covered_by_races: u64,
    proven_by: Vec<RungJson>,
    refuted_by: Vec<RungJson>,
    counters: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    racy_events: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    racy_locations: Option<u64>,
}

#[derive(Serialize)]
struct RungJson {
    rung: &'static str,
    candidates: u64,
}

impl Document {
    fn new(path: &Path, trace: &Trace, options: &Options, prediction: &Prediction) -> Self {
        let tables = trace.tables();
        let engine = clap_name(options.engine);
        let finding = |f: &Finding| FindingJson {
            id: id(trace, f),
            kind: f.kind.name(),
            verdict: if f.proof.is_some() { "proven" } else { "suspected" },
            engine: engine.clone(),
            model: options.model.name(),
            occurrences: f.occurrences,
            distance: candidates::distance(&f.target),
            events: f.target.events().iter().map(|&e| EventJson::of(trace, e)).collect(),
            witness: f.proof.iter().flat_map(|c| c.witness().schedule.iter().map(|e| e.number())).collect(),
            reason: f.suspicion.clone(),
        };
        Document {
            tool: ToolJson { name: "mayhap", version: env!("CARGO_PKG_VERSION") },
            trace: TraceJson {
                path: path.display().to_string(),
                events: trace.len(),
                threads: tables.threads.len(),
                locks: tables.locks.len(),
                variables: tables.variables.len(),
            },
            model: options.model.name(),
            findings: prediction.findings.iter().map(finding).collect(),
            nondeterminism: prediction.reads.as_ref().map(|reads| ReadsJson::new(trace, prediction, reads)),
            summary: SummaryJson::new(prediction),
        }
    }
}

fn clap_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |v| v.get_name().to_string())
}

impl SummaryJson {
    fn new(prediction: &Prediction) -> Self {
        let tally = &prediction.tally;
        let rungs = |counts: &std::collections::BTreeMap<Rung, u64>| {
            counts.iter().map(|(r, &n)| RungJson { rung: r.name(), candidates: n }).collect()
        };
        let counters = &prediction.counters.figures;
        SummaryJson {
            candidates: tally.candidates,
            proven: tally.all_proven(),
            refuted: tally.all_refuted(),
            unknown: tally.unknown,
            suspected: tally.suspected,
            seconds: prediction.seconds,
            decisions: tally.decisions,
            instances_left_out: tally.left_out,
            covered_by_races: prediction.covered,
            proven_by: rungs(&tally.proven),
            refuted_by: rungs(&tally.refuted),
            counters: counters.iter().map(|&(name, value)| (name.to_string(), value.into())).collect(),
            racy_events: prediction.racy_events,
            racy_locations: prediction.racy_locations,
        }
    }
}

fn print(
    out: &mut dyn Write,
    trace: &Trace,
    options: &Options,
    prediction: &Prediction,
    stats: bool,
) -> io::Result<()> {
    let model = options.model;
    let (proven, suspected): (Vec<&Finding>, Vec<&Finding>) =
        (prediction.findings.iter()).filter(|f| !shown_by_read(prediction, f)).partition(|f| f.proof.is_some());
    for finding in &proven {
        print_finding(out, trace, finding, model)?;
    }
    if !suspected.is_empty() {
        writeln!(out, "Suspected, not proven:\n")?;
        for finding in &suspected {
            print_finding(out, trace, finding, model)?;
        }
    }
    if let Some(reads) = &prediction.reads {
        nondeterminism::print(out, trace, prediction, reads)?;
    }
    print_summary(out, prediction)?;
    if stats {
        print_stats(out, prediction)?;
        if let Some(reads) = &prediction.reads {
            nondeterminism::print_table(out, reads)?;
        }
    }
    Ok(())
}

/// Findings about reads are printed by the location of the read.
fn shown_by_read(prediction: &Prediction, finding: &Finding) -> bool {
    prediction.reads.is_some() && finding.kind == Kind::Nondeterminism
}

fn print_finding(out: &mut dyn Write, trace: &Trace, finding: &Finding, model: Model) -> io::Result<()> {
    let times = match finding.occurrences {
        0 | 1 => String::new(),
        n => format!(", {} instances", grouped(n)),
    };
    let word = if finding.proof.is_some() { "proven" } else { "suspected" };
    writeln!(out, "{word} {} [{}]: {}{times}", finding.kind.name(), id(trace, finding), headline(finding))?;
    print_events(out, trace, &finding.target.events())?;
    if let Some(reason) = &finding.suspicion {
        writeln!(out, "  {reason}")?;
    }
    if let Some(checked) = &finding.proof {
        let steps = checked.witness().schedule.len();
        writeln!(out, "  after a schedule of {} events, model {model}", grouped(steps as u64))?;
    }
    writeln!(out)
}

/// What can happen.
fn headline(finding: &Finding) -> String {
    match (&finding.target, finding.kind) {
        (Target::Race(..), _) => "both accesses can be next at once".to_string(),
        (Target::Deadlock(requests), _) => format!("{} threads can wait for each other", requests.len()),
        (Target::Atomicity { remote, .. }, _) => format!("event {remote} can run between the other two"),
        (Target::Sequence { .. }, _) => "the events can run in this order".to_string(),
        (Target::Nondeterminism { read, other: None, .. }, Kind::Order) => {
            format!("event {read} can run before the first write")
        }
        (Target::Nondeterminism { read, other, .. }, _) => {
            let other = other.map_or("the initial value".to_string(), |o| format!("event {o}"));
            format!("event {read} can see {other}")
        }
    }
}

fn print_summary(out: &mut dyn Write, prediction: &Prediction) -> io::Result<()> {
    let tally = &prediction.tally;
    let suspected = if tally.suspected > 0 { format!(" ({} suspected)", tally.suspected) } else { String::new() };
    writeln!(
        out,
        "{} candidates: {} proven, {} refuted, {} unknown{suspected}; {:.2} s",
        grouped(tally.candidates),
        grouped(tally.all_proven()),
        grouped(tally.all_refuted()),
        grouped(tally.unknown),
        prediction.seconds
    )?;
    if let (Some(events), Some(locations)) = (prediction.racy_events, prediction.racy_locations) {
        writeln!(out, "{} racy events at {} locations", grouped(events), grouped(locations))?;
    }
    if prediction.covered > 0 {
        writeln!(out, "{} further violations are covered by races above", grouped(prediction.covered))?;
    }
    if tally.left_out > 0 {
        writeln!(out, "{} far instances of refuted candidates were not tried (--instances)", grouped(tally.left_out))?;
    }
    if let Some(reason) = &tally.first_unknown {
        writeln!(out, "the first unknown one: {reason}")?;
    }
    Ok(())
}

fn print_stats(out: &mut dyn Write, prediction: &Prediction) -> io::Result<()> {
    let tally = &prediction.tally;
    let mut table = Table::new(&[("rung", Left), ("proven", Right), ("refuted", Right)]);
    let rungs: std::collections::BTreeSet<Rung> = tally.proven.keys().chain(tally.refuted.keys()).copied().collect();
    for rung in rungs {
        let count = |counts: &std::collections::BTreeMap<Rung, u64>| grouped(counts.get(&rung).copied().unwrap_or(0));
        table.row([rung.name().to_string(), count(&tally.proven), count(&tally.refuted)]);
    }
    writeln!(out, "\nSettled by")?;
    table.print(out)?;
    let mut figures = Table::new(&[("figure", Left), ("count", Right)]);
    figures.row(["decisions".to_string(), grouped(tally.decisions)]);
    for &(name, value) in &prediction.counters.figures {
        figures.row([name.to_string(), grouped(value)]);
    }
    writeln!(out)?;
    figures.print(out)
}
