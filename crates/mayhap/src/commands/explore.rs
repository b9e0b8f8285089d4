//! `mayhap explore`: run a program under one schedule after the other.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mayhap_detect::candidates::Limits;
use mayhap_explore::{Faults, Strategy};
use mayhap_trace::Trace;

use super::arguments::compiler_of;
use super::check::EngineArgs;
use super::elsewhere::Ray;
use super::predict::KindName;
use super::record::InputArgs;
use super::run::{compile, hide_folder, progress, progress_ends, runnable, search, temporary_folder};
use crate::options::Environment;
use crate::reporting::ReportArgs;
use crate::{Exit, Failure};
use mayhap_analyse as predict;
use mayhap_job::{Elsewhere, Exploring, Job};

/// Run a program under one schedule after the other: all distinguishable executions on this input, or as many as time allows
///
/// The program is recorded once, and bugs are predicted from that run and replayed. Then it runs under other schedules. Deadlocks,
/// hangs, crashes and other exit codes that happen are reported, with the command that makes the same run again. If every execution of
/// a small program has been explored, and mayhap saw all that decides between them, the report says "all".
///
/// Exit codes: 0 all executions explored and nothing found, 1 something found, 2 bad usage or bad input, 3 nothing found, but not all
/// executions explored.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How schedules are chosen
    #[arg(long, value_enum, default_value_t = How::Mixed)]
    strategy: How,

    /// Seed of the first schedule; it is increased by one for each further one
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// The most schedules to run
    #[arg(long, value_name = "N")]
    max_schedules: Option<u64>,

    /// Also explore runs in which such calls fail: allocations, waits that reach their time limit, waits on conditions that end without a notify
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    faults: Vec<Fault>,

    /// Stop at the first run that fails
    #[arg(long)]
    first: bool,

    /// The most minutes to spend
    #[arg(long, value_name = "M", default_value_t = 5.0)]
    minutes: f64,

    #[command(flatten)]
    inputs: InputArgs,

    /// Explore only: neither predict nor replay what the recorded run implies
    #[arg(long)]
    no_predict: bool,

    /// Keep traces, witnesses and turns in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Keep the exploration in this folder, and go on with the one that is there
    ///
    /// An exploration that was interrupted, by Ctrl-C, `kill -9` or a limit, goes on with the runs that were open and ends with the same findings and counts as one that
    /// was not. Program, strategy and seed must be the same; limits such as --minutes may differ. Implies --keep.
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    resume: Option<PathBuf>,

    /// If all executions were explored, write each with its schedule, and why there is no other, for `mayhap verify`
    ///
    /// With --resume it is written to manifest.json in that folder.
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,

    /// How many runs to make at the same time; the result does not depend on it
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,

    /// Have runs made by a Ray cluster, too: its address, or `auto` for one on this machine, which is started if none runs
    ///
    /// The program is sent with its libraries, but without the files that it reads. The result does not depend on it. Needs Python with Ray
    /// (`pip install ray`); MAYHAP_PYTHON names another Python than `python3`.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["resume", "manifest"])]
    ray: Option<String>,

    /// Time limit for the recorded run and each replay, in seconds
    #[arg(long, value_name = "S", default_value_t = super::TIMEOUT)]
    timeout: f64,

    /// Seconds without progress before a replay counts as hung
    #[arg(long, value_name = "S", default_value_t = super::PATIENCE)]
    patience: f64,

    #[command(flatten)]
    engine: EngineArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// The program and its arguments, or a C or C++ file and the arguments of the compiled program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROG")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum How {
    /// All of the others in turn
    Mixed,
    /// One execution after the other, until none is left
    Rf,
    /// Random priorities that change at random moments
    Pct,
    /// A random priority for every slice
    Pos,
    /// A random thread after every slice
    Random,
    /// A random thread before every step, those with more steps left more often
    Surw,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Fault {
    /// malloc, calloc, realloc and their like return no memory, new throws std::bad_alloc
    Malloc,
    /// Waits with a time limit reach it, however long it is; limits of up to 150 ms on conditions are always tried
    Timeout,
    /// Waits on conditions end without a notify
    Wakeup,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::Malloc => "malloc",
            Fault::Timeout => "timeout",
            Fault::Wakeup => "wakeup",
        }
    }
}

impl From<How> for Strategy {
    fn from(how: How) -> Self {
        match how {
            How::Mixed => Strategy::Mixed,
            How::Rf => Strategy::Systematic,
            How::Pct => Strategy::Pct,
            How::Pos => Strategy::Pos,
            How::Random => Strategy::Random,
            How::Surw => Strategy::Surw,
        }
    }
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let temporary = temporary_folder()?;
        let keep = self.resume.as_ref().or(self.keep.as_ref());
        let folder = keep.cloned().unwrap_or_else(|| temporary.path().to_path_buf());
        std::fs::create_dir_all(&folder).map_err(|error| Failure::at(&folder, error))?;
        let program = match compiler_of(&self.program[0]) {
            Some(compiler) => compile(compiler, &self.program, &folder, &[])?,
            None => {
                runnable("explore", &self.program)?;
                self.program.clone()
            }
        };
        let ray = self.ray.as_ref().map(|address| Ray::start(address, self.jobs.into(), &program)).transpose()?;
        let kinds = if self.no_predict {
            Vec::new()
        } else {
            vec![KindName::Race, KindName::Deadlock, KindName::Atomicity, KindName::Order]
        };
        let engine = self.engine.clone();
        let halt = self.report.halt(&folder, &Environment::read()?)?;
        let time = Duration::from_secs_f64((self.minutes * 60.0).clamp(0.1, 1e8));
        let job = Job {
            program,
            runs: 1,
            seed: self.seed,
            schedule: None,
            inputs: self.inputs.recorded(),
            rounds: 1,
            replays: u32::from(!self.no_predict),
            predict: Box::new(move |trace: &Trace| predict::Options {
                halt: halt.clone(),
                limits: Limits::default(),
                ..search(trace, &kinds, &engine)
            }),
            folder,
            keep: keep.is_some(),
            again: Some(super::run::again("explore", &self.program)),
            page: self.report.html.is_some(),
            timeout: Duration::from_secs_f64(self.timeout.clamp(0.1, 1e6)),
            patience: Duration::from_secs_f64(self.patience.clamp(0.1, 1e6)),
            values: true,
            linger: mayhap_record::LINGER,
            budget: None,
            root: None,
            show_output: false,
            explore: Some(Exploring {
                time,
                most: self.max_schedules.unwrap_or(u64::MAX),
                faults: self.faults.iter().fold(Faults::default(), |all, fault| all.with(fault.name()).unwrap_or(all)),
                strategy: self.strategy.into(),
                first: self.first,
                must_complete: true,
                follows: !self.no_predict,
                resume: self.resume.is_some(),
                at_once: self.jobs.into(),
                elsewhere: ray.map(|ray| Arc::new(ray) as Arc<dyn Elsewhere>),
                manifest: self.manifest.clone().or(self.resume.as_ref().map(|folder| folder.join("manifest.json"))),
            }),
        };
        let terminal = std::io::stderr().is_terminal();
        let done = job.run(&mut |stage| {
            if terminal {
                progress(&stage);
            }
        });
        if terminal {
            progress_ends();
        }
        let mut done = done?;
        if keep.is_none() {
            hide_folder(&mut done.report, &job.folder);
        }
        let exit = self.report.finish(out, done.report, done.undecided)?;
        Ok(if done.interrupted && exit != Exit::Found { Exit::Interrupted } else { exit })
    }
}
