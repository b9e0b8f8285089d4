//! `mayhap predict`: find bugs in other interleavings of the recorded run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mayhap_detect::candidates::Limits;
use mayhap_predict::Rung;
use mayhap_report::Report;
use mayhap_trace::validate::Repaired;
use mayhap_trace::{Trace, format};
use mayhap_witness::Kind;

use super::check::EngineArgs;
use super::generate::count;
use super::nondeterminism::{self, ReadsJson};
use super::ruled_out;
use crate::input::{Loaded, TraceArgs, doubts};
use crate::options::Environment;
use crate::output::Format;
use crate::reporting::ReportArgs;
use crate::table::Align::{Left, Right};
use crate::table::{Table, grouped};
use crate::{Exit, Failure, notes};
use mayhap_analyse::{Options, Prediction, predict};
use mayhap_job::suggest::{self, replay_command};
use mayhap_replay::witness_file::WitnessFile;
use mayhap_report::prediction::{self as report, in_windows};

/// Find bugs that a different thread timing would have triggered, and prove each with a schedule
///
/// Candidates are grouped by the source locations of their events; the instances of a group are tried, nearest first,
/// until one is proven. A proof is a schedule that the proof checker (kernel) accepted. Races without a proof that weak
/// causal precedence leaves unordered are listed separately as suspected.
///
/// Exit codes: 0 nothing found, 1 something proven, 2 bad usage or bad input, 3 undecided and nothing proven.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    search: SearchArgs,

    /// Number of worker threads [default: the number of processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Analyse the trace in windows of N events to bound memory; bugs that span two windows count as unknown
    ///
    /// 0 analyses the whole trace at once. By default, windows are used only for a native trace that does not fit into memory.
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    window: Option<usize>,

    /// Save a witness file for each proven finding in this folder
    #[arg(long, value_name = "DIR")]
    witnesses: Option<PathBuf>,

    /// Also list the candidates that this run does not imply, each with the reason and the command that shows it step by step
    #[arg(long)]
    explain: bool,

    /// Also print how many candidates each stage decided
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    report: ReportArgs,
}

/// What to look for, and how.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// Kinds of bugs to look for
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [KindName::UseAfterFree, KindName::Race, KindName::Deadlock])]
    pub(super) kinds: Vec<KindName>,

    #[command(flatten)]
    pub(super) engine: EngineArgs,

    /// Decide every pair of accesses instead of some per pair of locations (races only)
    #[arg(long)]
    pub(super) all_instances: bool,

    /// Maximum amount of search per kind of bug, in events and graph nodes looked at
    ///
    /// Candidates are searched in rounds, the cheap ones first; those that are still open when this is spent count as unknown. The
    /// default grows with the trace; with --all-instances there is no limit for races.
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    pub(super) budget_total: Option<u64>,

    /// Maximum number of instances to try per group of candidates
    #[arg(long, value_name = "N", default_value_t = Limits::default().instances)]
    pub(super) instances: usize,

    /// Maximum number of events of the same thread between two accesses that count as one atomic step (atomicity)
    #[arg(long, value_name = "N", default_value_t = Limits::default().distance)]
    pub(super) distance: usize,

    /// Maximum number of threads in a deadlock [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(super) cycle: Option<u32>,

    /// Report all atomicity and order violations, including probably benign ones
    #[arg(long = "no-intent-filter", alias = "all-patterns")]
    pub(super) no_intent_filter: bool,
}

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum KindName {
    /// An access to memory that was freed.
    UseAfterFree,
    /// A read of a pointer or flag that another thread resets only after it has freed memory.
    DoubleFree,
    /// Two conflicting accesses at the same time.
    Race,
    /// Threads that wait for each other's locks.
    Deadlock,
    /// An access between two that appear intended to be atomic.
    Atomicity,
    /// A read that can happen before the first write.
    Order,
    /// A read that can see a different write.
    Nondeterminism,
}

impl KindName {
    pub(super) fn kind(self) -> Kind {
        match self {
            KindName::UseAfterFree => Kind::UseAfterFree,
            KindName::DoubleFree => Kind::DoubleFree,
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
        let environment = Environment::read()?;
        self.report.prepare(&environment)?;
        let halt = self.report.halt(&self.trace.trace, &environment)?;
        if let Some(size) = self.window()? {
            let options = |trace: &Trace| Options { halt: halt.clone(), ..self.options(trace) };
            let (path, source) = (&self.trace.trace, Box::new(self.trace.open()?));
            let dropped = source.repaired.as_ref().map_or(0, Repaired::total);
            let doubts = doubts(path, source.repaired.as_ref());
            let report =
                in_windows(path, source, &doubts, size, &options).map_err(|error| Failure::in_file(path, error))?;
            let mut report = report.ok_or_else(|| self.trace.empty())?;
            report.was_repaired(dropped);
            let undecided = report.summary.unknown > 0;
            return self.report.finish(out, report, undecided);
        }
        let loaded = self.trace.load()?;
        let options = Options { halt, ..self.options(loaded.execution.trace()) };
        let prediction = predict(&loaded.execution, &options)?;
        let steps = self.report.html.as_ref().map(|_| report::page_steps(prediction.findings.len()));
        let mut report = report(&self.trace.trace, &loaded, &options, &prediction, steps)?;
        if let Some(repaired) = &loaded.repaired {
            report.was_repaired(repaired.total());
            repaired_too(&mut report);
        }
        if let Some(folder) = &self.witnesses {
            save_witnesses(folder, &loaded, &prediction, &mut report)?;
        }
        let exit = self.report.finish(out, report, prediction.tally.unknown > 0)?;
        if self.explain && self.report.format == Format::Text {
            let see = |target: &_| Some(suggest::question(&self.trace.trace, target, options.model, false));
            ruled_out::print(out, loaded.execution.trace(), &prediction, &see)?;
        }
        if self.stats && self.report.format == Format::Text {
            print_stats(out, &prediction)?;
        }
        Ok(exit)
    }

    /// The window size, if the trace is to be analysed in windows.
    fn window(&self) -> Result<Option<usize>, Failure> {
        let size = match self.window {
            Some(0) => None,
            None => {
                self.trace.finish()?;
                fitting(&self.trace.trace)
            }
            asked => asked,
        };
        let whole = self.search.kinds.iter().any(|kind| matches!(kind, KindName::Order | KindName::Nondeterminism));
        match size {
            Some(_) if whole => Err(Failure::new(
                "order violations and nondeterministic reads need the whole trace (--window 0): a window does not show \
                 whether a write is the first one or which writes a read can see",
            )),
            Some(_) if self.witnesses.is_some() => {
                Err(Failure::new("--witnesses needs the whole trace (--window 0): witness files describe whole traces"))
            }
            size => Ok(size),
        }
    }

    fn options(&self, trace: &Trace) -> Options {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.search.options(trace, self.threads.unwrap_or_else(available))
    }
}

impl SearchArgs {
    fn options(&self, trace: &Trace, threads: usize) -> Options {
        let mut kinds: Vec<Kind> = self.kinds.iter().map(|k| k.kind()).collect();
        // Races come first: what they cover is not reported again.
        kinds.sort();
        kinds.dedup();
        let limits = Limits {
            instances: self.instances.max(1),
            distance: self.distance,
            cycle: self.cycle.map_or(usize::MAX, |threads| threads as usize),
            all_patterns: self.no_intent_filter,
        };
        Options {
            kinds,
            engine: self.engine.engine,
            literal: self.engine.as_published,
            model: self.engine.model(trace),
            limits,
            all_instances: self.all_instances,
            effort: self.budget_total,
            budget: self.engine.budget_of_many(),
            threads,
            halt: None,
            gauges: notes::gauges(),
        }
    }
}

/// Memory per event while predicting, including tables and the schedules of about twenty findings.
const BYTES_AN_EVENT: u64 = 160;

/// The number of events that fit into half of the free memory, if the whole trace does not fit into all of it.
fn fitting(path: &Path) -> Option<usize> {
    let events = format::open(path).ok()?.summary()?.events;
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let free = line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024;
    (events.saturating_mul(BYTES_AN_EVENT) > free).then_some((free / 2 / BYTES_AN_EVENT) as usize)
}

/// Commands that ask again about a repaired trace must repair it, too.
fn repaired_too(report: &mut Report) {
    for command in report.findings.iter_mut().filter_map(|finding| finding.replay_command.as_mut()) {
        if command.starts_with("mayhap check ") {
            command.push_str(" --repair");
        }
    }
}

/// Saves the proofs, and enters their paths and replay commands into the report.
fn save_witnesses(folder: &Path, loaded: &Loaded, prediction: &Prediction, report: &mut Report) -> Result<(), Failure> {
    let trace = loaded.execution.trace();
    std::fs::create_dir_all(folder).map_err(|e| Failure::at(folder, e))?;
    let recorded = mayhap_trace::attachments::Run::load(Path::new(&report.trace.path)).is_some();
    let (fingerprint, place) = (trace.fingerprint(), PathBuf::from(&report.trace.path));
    for finding in &prediction.findings {
        if let Some(checked) = &finding.proof {
            let id = report::id(trace, finding);
            let path = folder.join(format!("{id}.json"));
            WitnessFile::of(trace, fingerprint, checked).with_path(&place).save(&path, &loaded.execution)?;
            if let Some(shown) = report.findings.iter_mut().find(|f| f.id == id) {
                shown.replay_command = Some(replay_command(&path, recorded));
                shown.witness_file = Some(path.display().to_string());
            }
        }
    }
    Ok(())
}

/// The report, and what is known of all reads in it.
fn report(
    path: &Path,
    loaded: &Loaded,
    options: &Options,
    prediction: &Prediction,
    steps: Option<usize>,
) -> Result<Report, Failure> {
    let doubts = doubts(path, loaded.repaired.as_ref());
    let mut report = suggest::report(path, (&loaded.execution, &doubts), options, prediction, steps);
    if let Some(reads) = &prediction.reads {
        report.summary.determinism = Some(nondeterminism::verdict(reads));
        let reads = ReadsJson::new(&loaded.execution, prediction, reads);
        report.nondeterminism = Some(serde_json::to_value(reads).map_err(Failure::new)?);
    }
    Ok(report)
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
    figures.print(out)?;
    match &prediction.reads {
        Some(reads) => nondeterminism::print_table(out, reads),
        None => Ok(()),
    }
}
