//! `mayhap run`: the main job.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mayhap_detect::candidates::Limits;
use mayhap_trace::Trace;
use mayhap_wire::ring::Schedule;
use mayhap_witness::Kind;

use super::check::EngineArgs;
use super::predict::KindName;
use super::record::{How, Inputs};
use crate::job::{Job, Stage};
use crate::options::Environment;
use crate::reporting::ReportArgs;
use crate::suggest::shell_word;
use crate::table::grouped;
use crate::{Exit, Failure};
use mayhap_analyse as predict;
use mayhap_replay::describe::effect_and_outcome;

/// Record a program, predict what other interleavings contain, prove it and make it happen
///
/// The program is one built with `mayhap cc`, `mayhap c++`, `mayhap cargo` or -fsanitize=thread; a single C or C++ file is
/// compiled first. What the program prints goes to standard error.
///
/// Exit codes: 0 nothing found, 1 something proven, 2 bad usage or bad input, 3 undecided and nothing proven.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Runs to record, each with another interleaving
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Seed of the first run's scheduler; the others count up from it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// How threads take turns [default: free in the first run, random in the others]
    #[arg(long, value_name = "HOW")]
    schedule: Option<How>,

    /// Record what differs from run to run by itself (clock, random numbers, what is read), so that replays get the same
    #[arg(long, value_name = "WHAT", default_value = "none")]
    inputs: Inputs,

    /// Rounds of analysis: from the second on, replays that took a new path are analysed
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Prove, but do not replay
    #[arg(long)]
    no_replay: bool,

    /// Replays of each finding (of each order of a race)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replays: u32,

    /// Keep traces and witnesses in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Seconds that one run of the program may take
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    timeout: f64,

    /// Seconds without progress before a replay is given up, or the program is taken to hang
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    patience: f64,

    /// What to look for
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND",
        default_values_t = [KindName::Race, KindName::Deadlock, KindName::Atomicity, KindName::Order])]
    kinds: Vec<KindName>,

    /// Report every pattern of atomicity and order violations, also where the program does not look as if it minded
    #[arg(long)]
    all_patterns: bool,

    #[command(flatten)]
    engine: EngineArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// The program and its arguments, or a C or C++ file and the arguments for the program made of it
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let temporary = tempfile::Builder::new().prefix("mayhap-").tempdir();
        let temporary = temporary.map_err(|error| Failure::new(format_args!("no temporary folder: {error}")))?;
        let folder = self.keep.clone().unwrap_or_else(|| temporary.path().to_path_buf());
        std::fs::create_dir_all(&folder).map_err(|error| Failure::at(&folder, error))?;
        let program = match language(&self.program[0]) {
            Some(language) => compile(language, &self.program, &folder, &[])?,
            None => self.program.clone(),
        };
        let (kinds, engine) = (self.kinds.clone(), self.engine.clone());
        let halt = self.report.halt(&folder, &Environment::read()?)?;
        let job = Job {
            program,
            runs: self.runs,
            seed: self.seed,
            schedule: self.schedule.map(Schedule::from),
            inputs: self.inputs == Inputs::Record,
            rounds: if self.no_replay { 1 } else { self.rounds },
            replays: if self.no_replay { 0 } else { self.replays },
            predict: Box::new(move |trace: &Trace| predict::Options {
                halt: halt.clone(),
                limits: Limits { all_patterns: self.all_patterns, ..Limits::default() },
                ..search(trace, &kinds, &engine)
            }),
            folder,
            keep: self.keep.is_some(),
            again: Some(self.again()),
            page: self.report.html.is_some(),
            timeout: Duration::from_secs_f64(self.timeout.clamp(0.1, 1e6)),
            patience: Duration::from_secs_f64(self.patience.clamp(0.1, 1e6)),
            show_output: true,
        };
        let terminal = std::io::stderr().is_terminal();
        let done = job.run(&mut |stage| {
            if terminal {
                progress(&stage);
            }
        })?;
        self.report.finish(out, done.report, done.undecided)
    }

    /// The command that does the same and keeps what is needed to replay it.
    fn again(&self) -> String {
        let words = self.program.iter().map(|word| shell_word(Path::new(word)));
        format!("mayhap run --keep DIR -- {}", words.collect::<Vec<_>>().join(" "))
    }
}

/// How a trace is searched.
pub(super) fn search(trace: &Trace, kinds: &[KindName], engine: &EngineArgs) -> predict::Options {
    let mut kinds: Vec<Kind> = kinds.iter().map(|kind| kind.kind()).collect();
    // Races come first: what they cover is not reported again.
    kinds.sort();
    kinds.dedup();
    predict::Options {
        kinds,
        engine: engine.engine,
        literal: engine.literal,
        model: engine.model(trace),
        limits: Limits::default(),
        all_instances: false,
        budget: engine.budget_of_many(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        halt: None,
        gauges: crate::notes::gauges(),
    }
}

/// Says on the terminal what is going on.
fn progress(stage: &Stage<'_>) {
    let line = match stage {
        Stage::Recording { run, of } => format!("recording run {run} of {of}"),
        Stage::Recorded { trace, .. } => {
            let threads = trace.tables().threads.len() as u64;
            format!("recorded {} events of {} threads", grouped(trace.len() as u64), grouped(threads))
        }
        Stage::Predicting => "looking for what other interleavings contain".into(),
        Stage::Predicted { prediction, new } => {
            format!("{} candidates, {} new findings", grouped(prediction.tally.candidates), new.len())
        }
        Stage::Replaying { finding } => format!("replaying: {}", finding.title),
        Stage::Replayed { last, .. } => effect_and_outcome(last),
    };
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "mayhap: {line}");
}

/// The subcommand that compiles a file, if it is one to be compiled.
fn language(file: &OsString) -> Option<&'static str> {
    match Path::new(file).extension()?.to_str()? {
        "c" => Some("cc"),
        "cc" | "cpp" | "cxx" | "C" => Some("c++"),
        _ => None,
    }
}

/// Compiles a single file with these further options, and puts the program in its place.
pub(super) fn compile(
    language: &str,
    program: &[OsString],
    folder: &Path,
    options: &[OsString],
) -> Result<Vec<OsString>, Failure> {
    let file = Path::new(&program[0]);
    if !file.is_file() {
        return Err(Failure::at(file, "there is no such file to compile"));
    }
    let own = std::env::current_exe().map_err(|error| Failure::new(format_args!("this executable: {error}")))?;
    let built = std::path::absolute(folder.join(file.file_stem().unwrap_or_default()))
        .map_err(|error| Failure::at(folder, error))?;
    let status = std::process::Command::new(own)
        .arg(language)
        .args(["-O1", "-g", "-pthread"])
        .args(options)
        .arg("-o")
        .arg(&built)
        .arg(file)
        .stdout(std::io::stderr())
        .status()
        .map_err(|error| Failure::at(file, error))?;
    if !status.success() {
        return Err(Failure::at(file, "it does not compile"));
    }
    Ok(std::iter::once(built.into_os_string()).chain(program[1..].iter().cloned()).collect())
}
