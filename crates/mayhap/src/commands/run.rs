//! `mayhap run`: record, predict, prove, replay and report in one command.

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
use super::record::{How, InputArgs};
use crate::job::{Job, Stage};
use crate::options::Environment;
use crate::reporting::ReportArgs;
use crate::suggest::shell_word;
use crate::table::grouped;
use crate::{Exit, Failure};
use mayhap_analyse as predict;
use mayhap_replay::session::effect_and_outcome;

/// Record a program, find bugs that another thread timing would trigger, prove and reproduce them
///
/// The program must be built with `mayhap cc`, `mayhap c++`, `mayhap cargo` or -fsanitize=thread; a single C or C++ file
/// is compiled first. The program's output goes to standard error, the report to standard output.
///
/// Exit codes: 0 nothing found, 1 something proven, 2 bad usage or bad input, 3 undecided and nothing proven.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of runs to record, each with a different interleaving
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Seed of the scheduler in the first run; it is increased by one for each further run
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// How threads take turns [default: free in the first run, random in the others]
    #[arg(long, value_name = "HOW")]
    schedule: Option<How>,

    #[command(flatten)]
    inputs: InputArgs,

    /// Rounds of analysis; from the second round on, replays that reached new code are analysed too
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Prove findings without replaying them
    #[arg(long)]
    no_replay: bool,

    /// Number of replays per finding (for a race: per order of its two accesses)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replays: u32,

    /// Keep traces and witnesses in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Time limit for one run of the program, in seconds
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    timeout: f64,

    /// Seconds without progress before a run counts as hung
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    patience: f64,

    /// Kinds of bugs to look for
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND",
        default_values_t = [KindName::Race, KindName::Deadlock, KindName::Atomicity, KindName::Order])]
    kinds: Vec<KindName>,

    /// Report all atomicity and order violations, including probably benign ones
    #[arg(long = "no-intent-filter", alias = "all-patterns")]
    no_intent_filter: bool,

    #[command(flatten)]
    engine: EngineArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// The program and its arguments, or a C or C++ file and the arguments of the compiled program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let temporary = tempfile::Builder::new().prefix("mayhap-").tempdir();
        let temporary =
            temporary.map_err(|error| Failure::new(format_args!("cannot create a temporary folder: {error}")))?;
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
            inputs: self.inputs.recorded(),
            rounds: if self.no_replay { 1 } else { self.rounds },
            replays: if self.no_replay { 0 } else { self.replays },
            predict: Box::new(move |trace: &Trace| predict::Options {
                halt: halt.clone(),
                limits: Limits { all_patterns: self.no_intent_filter, ..Limits::default() },
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

    /// The same command with `--keep`, which saves what replays need.
    fn again(&self) -> String {
        let words = self.program.iter().map(|word| shell_word(Path::new(word)));
        format!("mayhap run --keep DIR -- {}", words.collect::<Vec<_>>().join(" "))
    }
}

/// The options for analysing a trace.
pub(super) fn search(trace: &Trace, kinds: &[KindName], engine: &EngineArgs) -> predict::Options {
    let mut kinds: Vec<Kind> = kinds.iter().map(|kind| kind.kind()).collect();
    // Races come first: what they cover is not reported again.
    kinds.sort();
    kinds.dedup();
    predict::Options {
        kinds,
        engine: engine.engine,
        literal: engine.as_published,
        model: engine.model(trace),
        limits: Limits::default(),
        all_instances: false,
        budget: engine.budget_of_many(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        halt: None,
        gauges: crate::notes::gauges(),
    }
}

/// Prints progress to the terminal.
fn progress(stage: &Stage<'_>) {
    let line = match stage {
        Stage::Recording { run, of } => format!("recording run {run} of {of}"),
        Stage::Recorded { trace, .. } => {
            let threads = trace.tables().threads.len() as u64;
            format!("recorded {} events of {} threads", grouped(trace.len() as u64), grouped(threads))
        }
        Stage::Predicting => "looking for bugs in other interleavings".into(),
        Stage::Predicted { prediction, new } => {
            format!("{} candidates, {} new findings", grouped(prediction.tally.candidates), new.len())
        }
        Stage::Replaying { finding } => format!("replaying: {}", finding.title),
        Stage::Replayed { last, .. } => effect_and_outcome(last),
    };
    // Ignore a closed standard error: there is no other place to report to.
    let _ = writeln!(std::io::stderr(), "mayhap: {line}");
}

/// The subcommand that compiles a file, if it is C or C++ source.
fn language(file: &OsString) -> Option<&'static str> {
    match Path::new(file).extension()?.to_str()? {
        "c" => Some("cc"),
        "cc" | "cpp" | "cxx" | "C" => Some("c++"),
        _ => None,
    }
}

/// Compiles a single file with these further options; returns the command line with the program in place of the file.
pub(super) fn compile(
    language: &str,
    program: &[OsString],
    folder: &Path,
    options: &[OsString],
) -> Result<Vec<OsString>, Failure> {
    let file = Path::new(&program[0]);
    if !file.is_file() {
        return Err(Failure::at(file, "no such file"));
    }
    let own =
        std::env::current_exe().map_err(|error| Failure::new(format_args!("cannot find this executable: {error}")))?;
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
        return Err(Failure::at(file, "compilation failed"));
    }
    Ok(std::iter::once(built.into_os_string()).chain(program[1..].iter().cloned()).collect())
}
