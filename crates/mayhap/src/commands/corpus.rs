//! `mayhap corpus`: many traces, one report.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use mayhap_corpus::merge::{Merged, merged};
use mayhap_corpus::pool::Hands;
use mayhap_corpus::ray::Cluster;
use mayhap_corpus::{Job, Limits, Manifest, Program, Settings, Shard, Store, fingerprint, worker};
use mayhap_report::counted;

use super::generate::count;
use super::predict::{KindName, SearchArgs};
use super::run::span;
use crate::notes::{Progress, note};
use crate::options::Environment;
use crate::reporting::ReportArgs;
use crate::table::grouped;
use crate::{Exit, Failure};
use mayhap_job::Interrupt;
use mayhap_job::suggest::question;

/// Analyse many traces, and report all findings together, each with the traces that contain it
///
/// Takes folders, traces, lists of traces (text files with a path in each line), and URLs of object stores (s3://, gs://, az://,
/// https://). Traces are analysed in parallel by separate
/// processes. One that is damaged, crashes the analysis, or needs too much time or memory is one line of the report. Results are
/// kept in a folder, the store, by the contents of the trace, the options and the build of mayhap: a further run does only what is
/// not done yet. The report does not depend on the number of workers, shards or runs.
///
/// Exit codes: 0 nothing found, 1 something proven, 2 bad usage or bad input, 3 undecided or not all analysed and nothing proven,
/// 4 interrupted and nothing found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders, traces, lists of traces, or URLs; with --merge: stores
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Folder or URL in which results are kept
    #[arg(long, value_name = "DIR", default_value = ".mayhap-corpus")]
    store: PathBuf,

    /// Keep no results after this run
    #[arg(long, conflicts_with_all = ["store", "shard", "merge"])]
    no_store: bool,

    /// Analyse only the I-th of N parts of the traces
    #[arg(long, value_name = "I/N", conflicts_with = "merge")]
    shard: Option<Shard>,

    /// Analyse nothing: report what is in these stores, as one process would have
    #[arg(long)]
    merge: bool,

    /// Have the work done by a Ray cluster: its address, or `auto` for one on this machine, which is started if none runs
    ///
    /// Needs Python with Ray (`pip install ray`); MAYHAP_PYTHON names another Python than `python3`.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "merge")]
    ray: Option<String>,

    /// Number of worker processes [default: the number of processors]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,

    /// Memory that all workers may use together, such as 512M or 8G [default: three quarters of what is free, or what the cluster has]
    ///
    /// Each worker gets an equal share. A trace that needs more is tried again at the end, alone and with all of it.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,

    /// Time limit for one trace, such as 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "10m")]
    timeout: Duration,

    /// Go on where an earlier run with the same store was interrupted: this is the default
    #[arg(long = "resume", conflicts_with_all = ["no_store", "merge"])]
    _resume: bool,

    /// Analyse traces that failed once more; without this option, only a larger --timeout or --memory does that
    #[arg(long)]
    retry: bool,

    /// Drop events that break a rule of locks, threads or conditions instead of rejecting the trace
    #[arg(long)]
    repair: bool,

    /// Analyse each trace in windows of N events to bound memory; bugs that span two windows count as unknown
    ///
    /// Workers share the windows of a long trace.
    #[arg(long, value_name = "N", value_parser = count::<usize>, default_value = "0")]
    window: usize,

    #[command(flatten)]
    search: SearchArgs,

    /// Number of threads of each worker
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,

    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        self.report.prepare(&Environment::read()?)?;
        if self.merge {
            let Merged { report, undecided } = merged(&self.kept()?, self.workers())?;
            return self.report.finish(out, report, undecided);
        }
        if self.window > 0
            && self.search.kinds.iter().any(|kind| matches!(kind, KindName::Order | KindName::Nondeterminism))
        {
            return Err(Failure::new("order violations and nondeterministic reads need whole traces (--window 0)"));
        }
        let temporary = self.no_store.then(super::run::temporary_folder).transpose()?;
        let store = Store::create(temporary.as_ref().map_or(self.store.as_path(), |folder| folder.path()))?;
        let interrupt = Interrupt::catch(None);
        let progress = Shown(Mutex::new(Progress::new("analysing")));
        let hands = self.hands(&|| interrupt.is_pressed())?;
        let ran = mayhap_corpus::run(&self.job(&store, &hands, &|| interrupt.is_pressed(), &progress)?)?;
        drop((progress, hands));
        if ran.kept > 0 && !self.report.quiet {
            let (kept, done) = (counted(ran.kept, "result"), counted(ran.performed, "trace"));
            note(format_args!("{kept} taken from {}, {done} analysed", store.folder().display()));
        }
        let Merged { report, undecided } = merged(&[(store, ran.manifest)], self.workers())?;
        let exit = self.report.finish(out, report, undecided)?;
        Ok(if ran.stopped && exit != Exit::Found { Exit::Interrupted } else { exit })
    }

    fn workers(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.workers.map_or_else(available, |workers| workers as usize)
    }

    /// Who does the tasks.
    fn hands(&self, stop: &dyn Fn() -> bool) -> Result<Hands, Failure> {
        let program = Program { path: own()?, arguments: vec!["corpus-worker".to_string()] };
        let Some(address) = &self.ray else { return Ok(Hands::Processes(program)) };
        let cluster = Cluster::start(address, self.workers(), &program, &[], stop).map_err(|error| {
            let failure = Failure::from(error);
            if stop() { failure.not_run() } else { failure }
        })?;
        if !self.report.quiet {
            let (processors, nodes) = (cluster.processors, cluster.nodes);
            note(format_args!("Ray: {} on {}", counted_as(processors, "processor"), counted_as(nodes, "machine")));
        }
        Ok(Hands::Cluster(cluster))
    }

    fn job<'a>(
        &'a self,
        store: &'a Store,
        hands: &'a Hands,
        stop: &'a (dyn Fn() -> bool + Sync),
        progress: &'a Shown,
    ) -> Result<Job<'a>, Failure> {
        let own = own()?;
        let workers = match hands {
            Hands::Processes(_) => self.workers(),
            Hands::Cluster(cluster) => cluster.processors,
        };
        let memory = self.memory.unwrap_or_else(|| hands.memory());
        if memory / (workers as u64) < Limits::LEAST {
            let least = Limits::LEAST >> 20;
            return Err(Failure::new(format_args!(
                "--memory is too little: each of {workers} workers needs {least}M or more"
            )));
        }
        Ok(Job {
            inputs: &self.inputs,
            settings: self.settings(),
            shard: self.shard.unwrap_or(Shard::WHOLE),
            store,
            workers,
            threads: self.threads.max(1),
            limits: Limits { memory, time: self.timeout },
            retry: self.retry,
            tool: env!("CARGO_PKG_VERSION").to_string(),
            // Two builds of one version may find different things.
            build: fingerprint(&own).map_err(|error| Failure::at(&own, error))?,
            hands,
            stop,
            progress,
        })
    }

    fn settings(&self) -> Settings {
        let SearchArgs { kinds, engine, all_instances, budget_total, instances, distance, cycle, no_intent_filter } =
            &self.search;
        let mut kinds: Vec<_> = kinds.iter().map(|kind| kind.kind()).collect();
        kinds.sort();
        kinds.dedup();
        let budget = engine.budget_of_many();
        Settings {
            kinds: kinds.into_iter().map(|kind| kind.name().to_string()).collect(),
            engine: engine.engine.name().to_string(),
            as_published: engine.as_published,
            model: engine.model.map(|model| model.name().to_string()),
            instances: *instances,
            distance: *distance,
            cycle: cycle.map(|threads| threads as usize),
            all_patterns: *no_intent_filter,
            all_instances: *all_instances,
            effort: *budget_total,
            nodes: budget.nodes,
            seconds: budget.time.map(|time| time.as_secs_f64()),
            region: budget.region,
            window: self.window,
            repair: self.repair,
            source_roots: self.report.source_root.clone(),
        }
    }

    /// The manifests of all stores.
    fn kept(&self) -> Result<Vec<(Store, Manifest)>, Failure> {
        let mut all = Vec::new();
        for folder in &self.inputs {
            let store = Store::open(folder)?;
            let manifests = store.manifests()?;
            if manifests.is_empty() {
                return Err(Failure::at(folder, "no run of `mayhap corpus` has ended with this store"));
            }
            all.extend(manifests.into_iter().map(|manifest| (store.clone(), manifest)));
        }
        Ok(all)
    }
}

/// This executable.
fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(format_args!("cannot find this executable: {error}")))
}

fn counted_as(count: usize, what: &str) -> String {
    counted(count as u64, what)
}

/// A worker's work: see [`worker`].
pub(super) fn work() -> Result<Exit, Failure> {
    worker::serve(&mut io::stdin().lock(), &mut io::stdout().lock(), &question)?;
    Ok(Exit::Nothing)
}

/// A number of bytes with the suffix K, M, G or T.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size such as 512M or 8G");
    let text = text.strip_suffix("iB").or_else(|| text.strip_suffix('B')).unwrap_or(text);
    let (number, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'M')) => (&text[..at], 20),
        Some((at, 'G')) => (&text[..at], 30),
        Some((at, 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift)).ok_or_else(wrong)
}

/// Progress of all workers.
struct Shown(Mutex<Progress>);

impl mayhap_corpus::Progress for Shown {
    fn set(&self, done: u64, of: u64, findings: u64) {
        let Ok(mut progress) = self.0.lock() else { return };
        let words = || format!("{} of {}, {}", grouped(done), counted(of, "trace"), counted(findings, "finding"));
        progress.say(Some((done, of)), words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes() {
        for (text, size) in [("512M", 512 << 20), ("8G", 8 << 30), ("1GiB", 1 << 30), ("100", 100), ("2k", 2048)] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for wrong in ["", "G", "-1", "1.5G", "99999999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
