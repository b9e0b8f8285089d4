//! `mayhap run`: record, predict, prove, replay and report in one command.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mayhap_detect::candidates::Limits;
use mayhap_report::Report;
use mayhap_trace::Trace;
use mayhap_wire::ring::Schedule;
use mayhap_witness::Kind;

use super::arguments::{compiler_of, misplaced, unknown_option};
use super::check::EngineArgs;
use super::predict::KindName;
use super::record::{How, InputArgs, LingerArgs};
use super::ruled_out;
use crate::files::Contents;
use crate::notes::note;
use crate::options::Environment;
use crate::output::Format;
use crate::reporting::ReportArgs;
use crate::table::grouped;
use crate::{Exit, Failure};
use mayhap_analyse as predict;
use mayhap_job::suggest::{self, shell_word};
use mayhap_job::{Explored, Exploring, Job, Stage};
use mayhap_replay::session::effect_and_outcome;

/// Record a program, find bugs that another thread timing would trigger, prove and reproduce them
///
/// The program must be built with `mayhap cc`, `mayhap c++`, `mayhap cargo` or -fsanitize=thread; a single C or C++ file
/// is compiled first. The program's output goes to standard error, the report to standard output.
///
/// After a source file, options are mayhap's and other words are the program's until a `--`:
/// `mayhap run prog.c --html report.html 3 -- --verbose`. After a program, all words are its own.
///
/// Exit codes: 0 nothing found, 1 something observed, confirmed or proven, 2 bad usage or bad input, 3 undecided and nothing proven, 4 the program
/// could not be run as asked, or the job was interrupted, and nothing found.
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

    /// Do not record nondeterministic inputs (clock, random numbers, data read); replays may then get different ones
    #[arg(long)]
    no_record_inputs: bool,

    #[command(flatten)]
    inputs: InputArgs,

    /// Do not record what plain accesses read and write
    #[arg(long)]
    no_values: bool,

    #[command(flatten)]
    linger: LingerArgs,

    /// Rounds of analysis; from the second round on, replays that reached new code are analysed too
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Prove findings without replaying them
    #[arg(long)]
    no_replay: bool,

    /// Number of replays per finding (for a race: per order of its two accesses)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replays: u32,

    /// Seconds to spend on runs under other schedules, looking for deadlocks, hangs, crashes and other exit codes; 0: none
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    explore: f64,

    /// The test that the program is, if it is one of a suite
    #[arg(long, value_name = "NAME", hide = true)]
    test_name: Option<String>,

    /// The folder that paths of source files are shown from
    #[arg(long, value_name = "DIR", hide = true)]
    path_base: Option<PathBuf>,

    /// Keep traces and witnesses in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Time limit for the whole job, such as 60s or 5m; when it is reached, the report shows what was found so far
    #[arg(long, value_name = "TIME", value_parser = span)]
    budget: Option<Duration>,

    /// Time limit for one run of the program, in seconds
    #[arg(long, value_name = "S", default_value_t = super::TIMEOUT)]
    timeout: f64,

    /// Seconds without progress before a run counts as hung
    #[arg(long, value_name = "S", default_value_t = super::PATIENCE)]
    patience: f64,

    /// Kinds of bugs to look for
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND",
        default_values_t = [KindName::UseAfterFree, KindName::DoubleFree, KindName::Race, KindName::Deadlock, KindName::Atomicity, KindName::Order])]
    kinds: Vec<KindName>,

    /// Report all atomicity and order violations, including probably benign ones
    #[arg(long = "no-intent-filter", alias = "all-patterns")]
    no_intent_filter: bool,

    #[command(flatten)]
    engine: EngineArgs,

    /// Also list what the recorded runs do not imply, each with the reason
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    report: ReportArgs,

    /// The program and its arguments, or a C or C++ file and the arguments of the compiled program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let environment = Environment::read()?;
        self.report.prepare(&environment)?;
        let compiler = compiler_of(&self.program[0]);
        if compiler.is_none() {
            runnable("run", &self.program)?;
        }
        let temporary = temporary_folder()?;
        let folder = self.keep.clone().unwrap_or_else(|| temporary.path().to_path_buf());
        std::fs::create_dir_all(&folder).map_err(|error| Failure::at(&folder, error))?;
        let program = match compiler {
            Some(compiler) => compile(compiler, &self.program, &folder, &[])?,
            None => self.program.clone(),
        };
        let (kinds, engine) = (self.kinds.clone(), self.engine.clone());
        let halt = self.report.halt(&folder, &environment)?;
        let job = Job {
            program,
            runs: self.runs,
            seed: self.seed,
            schedule: self.schedule.map(Schedule::from),
            inputs: !self.no_record_inputs || self.inputs.recorded(),
            values: !self.no_values,
            linger: self.linger.time(),
            rounds: if self.no_replay { 1 } else { self.rounds },
            replays: if self.no_replay { 0 } else { self.replays },
            predict: Box::new(move |trace: &Trace| predict::Options {
                halt: halt.clone(),
                limits: Limits { all_patterns: self.no_intent_filter, ..Limits::default() },
                ..search(trace, &kinds, &engine)
            }),
            folder,
            keep: self.keep.is_some(),
            again: Some(again("run", &self.program)),
            page: self.report.html.is_some(),
            timeout: Duration::from_secs_f64(self.timeout.clamp(0.1, 1e6)),
            patience: Duration::from_secs_f64(self.patience.clamp(0.1, 1e6)),
            budget: self.budget,
            root: self.path_base.clone(),
            show_output: true,
            explore: Exploring::for_seconds(self.explore, !self.no_replay && self.rounds > 1),
        };
        let terminal = std::io::stderr().is_terminal();
        let mut explained = Vec::new();
        let done = job.run(&mut |stage| {
            if terminal {
                progress(&stage);
            }
            if let Stage::Predicted { trace, path, prediction, .. } = stage {
                let model = self.engine.model(trace);
                let see = |target: &_| self.keep.is_some().then(|| suggest::question(path, target, model, false));
                // Memory takes all that is written.
                let _ = ruled_out::print(&mut explained, trace, prediction, &see);
            }
        });
        if terminal {
            progress_ends();
        }
        let mut done = done?;
        if self.keep.is_none() {
            hide_folder(&mut done.report, &job.folder);
        }
        if compiler.is_some() {
            done.report.program = self.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        }
        if let Some(test) = &self.test_name {
            done.report.of_test(test);
        }
        let exit = self.report.finish(out, done.report, done.undecided)?;
        if self.explain && self.report.format == Format::Text {
            out.write_all(&explained)?;
        }
        Ok(if done.interrupted && exit != Exit::Found { Exit::Interrupted } else { exit })
    }
}

/// The same command with `--keep`, which saves what replays need.
pub(super) fn again(command: &str, program: &[OsString]) -> String {
    let words = program.iter().map(|word| shell_word(Path::new(word)));
    format!("mayhap {command} --keep DIR -- {}", words.collect::<Vec<_>>().join(" "))
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
        effort: None,
        budget: engine.budget_of_many(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        halt: None,
        gauges: crate::notes::gauges(),
    }
}

/// Prints progress to the terminal.
pub(super) fn progress(stage: &Stage<'_>) {
    let line = match stage {
        Stage::Recording { run, of } => format!("recording run {run} of {of}"),
        Stage::Recorded { trace, .. } => {
            let threads = trace.tables().threads.len() as u64;
            format!("recorded {} events of {} threads", grouped(trace.len() as u64), grouped(threads))
        }
        Stage::Predicting => "looking for bugs in other interleavings".into(),
        Stage::Predicted { prediction, new, .. } => {
            format!("{} candidates, {} new findings", grouped(prediction.tally.candidates), new.len())
        }
        Stage::Replaying { finding } => format!("replaying: {}", finding.title),
        Stage::Replayed { last, .. } => effect_and_outcome(last),
        Stage::Exploring(explored) => how_far(explored),
    };
    // How far exploring is changes in its place.
    let end = if matches!(stage, Stage::Exploring(_)) { "" } else { "\n" };
    // Ignore a closed standard error: there is no other place to report to.
    let _ = write!(std::io::stderr(), "{BLANK}mayhap: {line}{end}");
}

/// What empties the terminal's current line.
const BLANK: &str = "\r\x1b[2K";

/// Takes the last line of progress away if it is one that changes in its place.
pub(super) fn progress_ends() {
    let _ = write!(std::io::stderr(), "{BLANK}");
}

/// A line that fits into a terminal.
fn how_far(explored: &Explored) -> String {
    let Explored { schedules, failures, executions, new, open } = *explored;
    let failed = grouped(failures);
    match executions {
        0 => format!("{} schedules, {failed} failed", grouped(schedules)),
        _ => format!(
            "{} schedules, {} open (at most {} % done), {} executions (+{}), {failed} failed",
            grouped(schedules),
            grouped(open),
            explored.percent(),
            grouped(executions),
            grouped(new)
        ),
    }
}

/// A folder for what is not kept.
pub(super) fn temporary_folder() -> Result<tempfile::TempDir, Failure> {
    let folder = std::env::temp_dir();
    tempfile::Builder::new().prefix("mayhap-").tempdir_in(&folder).map_err(|error| {
        // The error itself names the folder that there is not, and its kind is not what the system calls it.
        let why = error.to_string();
        let why = why.split(" at path ").next().unwrap_or_default();
        Failure::at(&folder, format_args!("cannot create a temporary folder here: {why}; TMPDIR selects another one"))
    })
}

/// Removes the name of a folder that is gone when the report is read.
pub(super) fn hide_folder(report: &mut Report, folder: &Path) {
    if let Ok(name) = Path::new(&report.trace.path).strip_prefix(folder) {
        report.trace.path = name.display().to_string();
    }
}

/// Checks that the program is one, and names the command that takes what it is instead.
pub(super) fn runnable(command: &str, program: &[OsString]) -> Result<(), Failure> {
    let path = Path::new(&program[0]);
    if let Some(message) = unknown_option(command, &program[0]) {
        return Err(Failure::new(message));
    }
    let has_folder = program[0].as_encoded_bytes().contains(&b'/');
    // What comes after `--` was meant for the program.
    let is_divided = std::env::args_os().any(|word| word == "--");
    if let Some(word) = misplaced(program).filter(|_| !is_divided) {
        let word = word.to_string_lossy();
        note(format_args!(
            "{word} goes to the program; options of mayhap come before it: mayhap {command} {word} … -- {}",
            path.display()
        ));
    }
    let on_path = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(&program[0]).is_file())
    };
    if !has_folder && on_path() {
        return Ok(());
    }
    let may_run = |path: &Path| path.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0);
    match Contents::of(path) {
        Some(Contents::Executable | Contents::Script) if !may_run(path) => {
            let advice = format!("the file is not executable; to make it so: chmod +x {}", shell_word(path));
            Err(Failure::at(path, advice).not_run())
        }
        None if !path.exists() => Err(Failure::at(path, "no such program").not_run()),
        Some(Contents::Executable | Contents::Script) if !has_folder => {
            let here = shell_word(&Path::new(".").join(path));
            Err(Failure::at(path, format_args!("not a command; to run the file in this folder: {here}")).not_run())
        }
        None | Some(Contents::Executable | Contents::Script) => Ok(()),
        Some(other) => Err(Failure::at(path, other.advice(path))),
    }
}

/// A span of time: seconds, or a number with `s`, `m` or `h`.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a time such as 60s, 5m or 1h"))?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| format!("`{text}` is not a valid time"))
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
    has_room(folder)?;
    let standard = if language == "c++" { newest_standard(&own, folder) } else { None };
    let status = std::process::Command::new(own)
        .arg(language)
        .args(["-O1", "-g", "-pthread"])
        .args(standard)
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

/// Bytes that a compiler needs at least for a small program.
const ROOM: usize = 1 << 18;

/// Fails if there is no room for temporary files. A compiler would name one of its own files, which the user does not know.
fn has_room(folder: &Path) -> Result<(), Failure> {
    let written = tempfile::tempfile_in(folder).and_then(|mut file| file.write_all(&vec![1; ROOM]));
    written.map_err(|error| Failure::at(&std::env::temp_dir(), error))
}

/// The option for the newest C++ standard that the compiler knows; `None` if it knows none from C++20 on.
fn newest_standard(own: &Path, folder: &Path) -> Option<&'static str> {
    let empty = folder.join("empty.cpp");
    std::fs::write(&empty, "").ok()?;
    let is_known = |option: &&str| {
        let mut compiler = std::process::Command::new(own);
        compiler.args(["c++", option, "-fsyntax-only"]).arg(&empty);
        let quiet = compiler.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    let found = ["-std=gnu++23", "-std=gnu++2b", "-std=gnu++20", "-std=gnu++2a"].into_iter().find(is_known);
    // Only this function needs the file.
    let _ = std::fs::remove_file(empty);
    found
}
