//! `mayhap record`: run a program once and save its trace.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mayhap_wire::ring::{Schedule, TURNS_ENVIRONMENT};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::files::Contents;
use crate::notes::note;
use crate::{Exit, Failure};
use mayhap_instrument::runtime;
use mayhap_job::suggest::shell_word;
use mayhap_job::{KEPT, Stdin};
use mayhap_record::{self as record, Limits, Options};
use mayhap_replay::fixed_addresses;

/// Run a program once and save its trace
///
/// The program must be built with `mayhap cc`, `mayhap c++`, `mayhap cargo` or plain -fsanitize=thread. Its input, output
/// and exit code are its own (the exit code is 128 plus the signal number if a signal ended it).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Trace to write; the extension selects the format: .mhp .std .std.gz .std.zst
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,

    /// Seed of the scheduler; another seed gives another interleaving
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// How threads take turns: first come first served, randomly and often, or by random priorities
    #[arg(long, value_name = "HOW", default_value = "free")]
    schedule: How,

    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help = slice_help())]
    slice: Option<u32>,

    /// Run step by step as this file of turns says, which `mayhap run --keep` and `mayhap explore --keep` save
    #[arg(long, value_name = "FILE", conflicts_with_all = ["schedule", "slice", "seed"])]
    turns: Option<PathBuf>,

    #[command(flatten)]
    inputs: InputArgs,

    /// Do not record what plain accesses read and write
    #[arg(long)]
    no_values: bool,

    #[command(flatten)]
    linger: LingerArgs,

    /// Leave out accesses in functions or files that match; `*` matches any text (repeatable)
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Keep only accesses in functions or files that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Stop recording when the file reaches this size: a number of bytes, optionally followed by K, M or G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,

    /// Keep only the last N steps of the program
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    last: Option<u64>,

    /// Build the trace now instead of on first use; the binaries are then no longer needed
    #[arg(long)]
    finish: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROG")]
    program: Vec<OsString>,
}

/// How long threads may go on after the end of `main`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct LingerArgs {
    /// Seconds that other threads get to finish when `main` returns; the wait ends early once all of them have ended or are blocked
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    linger: f64,
}

impl LingerArgs {
    pub(super) fn time(self) -> Duration {
        Duration::from_secs_f64(self.linger)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.0..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("between 0 and 3600".to_owned()) }
}

/// The help of `--slice`, with the defaults of each schedule.
fn slice_help() -> String {
    let defaults = slices().map(|(name, slice)| format!("{slice} for {name}"));
    format!("Mean number of steps per turn [default: {}]", defaults.collect::<Vec<_>>().join(", "))
}

/// The schedules by name, with the default slice of each.
fn slices() -> impl Iterator<Item = (String, u32)> {
    let name =
        |how: &How| clap::ValueEnum::to_possible_value(how).map_or(String::new(), |value| value.get_name().into());
    <How as clap::ValueEnum>::value_variants().iter().map(move |how| (name(how), record::usual_slice((*how).into())))
}

/// Whether to record nondeterministic inputs.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct InputArgs {
    /// Record nondeterministic inputs (clock, random numbers, data read), so that replays get the same ones
    #[arg(long)]
    record_inputs: bool,

    /// The older spelling of --record-inputs: `--inputs record`
    #[arg(long, value_name = "WHAT", default_value = "none", hide = true)]
    inputs: Inputs,
}

impl InputArgs {
    /// Whether either spelling asks for it.
    pub(super) fn recorded(self) -> bool {
        self.record_inputs || self.inputs == Inputs::Record
    }
}

/// The values of the older option `--inputs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Inputs {
    /// Do not record nondeterministic inputs.
    None,
    /// Record them.
    Record,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum How {
    Free,
    Random,
    Pct,
    Pos,
}

impl From<How> for Schedule {
    fn from(how: How) -> Self {
        match how {
            How::Free => Schedule::Free,
            How::Random => Schedule::Random,
            How::Pct => Schedule::Pct,
            How::Pos => Schedule::Pos,
        }
    }
}

impl How {
    pub(super) fn named(name: &str) -> Option<How> {
        <How as clap::ValueEnum>::from_str(name, false).ok()
    }

    /// Recording options with this schedule, and its default slice unless one is given.
    pub(super) fn options(self, output: PathBuf, seed: u64, slice: Option<u32>) -> Options {
        Options {
            output,
            seed,
            schedule: self.into(),
            slice: slice.unwrap_or_else(|| record::usual_slice(self.into())),
            inputs: false,
            values: true,
            linger: record::LINGER,
            limits: Limits::default(),
            finish: true,
            root: None,
        }
    }
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let program = Path::new(&self.program[0]);
        if let Some(Contents::C) = Contents::of(program) {
            let name = shell_word(program);
            let advice = format!(
                "this is C or C++ source; to record its program: mayhap cc -g {name} -o PROGRAM -pthread, then mayhap record \
                 -o TRACE -- ./PROGRAM; to record and analyse it at once: mayhap run {name}"
            );
            return Err(Failure::at(program, advice));
        }
        let mut options = self.schedule.options(self.output, self.seed, self.slice);
        options.inputs = self.inputs.recorded();
        options.values = !self.no_values;
        options.linger = self.linger.time();
        options.finish = self.finish;
        options.limits = Limits { exclude: self.exclude, only: self.only, max_size: self.max_size, last: self.last };
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::new(format_args!("cannot create a temporary folder: {error}")))?;
        let stdin = Stdin::look(folder.path())?;
        // Where the seed or a list decides the order, addresses are the same in every run, too.
        let fixes = options.schedule != Schedule::Free || self.turns.is_some();
        let is_there = record::program_file(&self.program[0]).is_some_and(|file| file.is_file());
        let program = match fixes && is_there && fixed_addresses::can_be_fixed() {
            true => fixed_addresses::fixed(&self.program),
            false => self.program.clone(),
        };
        let mut command = record::command(&program, &runtime::folder()?)?;
        command.stdin(stdin.only()?);
        if let Some(turns) = &self.turns {
            let turns = turns.canonicalize().map_err(|error| Failure::at(turns, error))?;
            command.env(TURNS_ENVIRONMENT, turns);
            (options.schedule, options.slice) = (Schedule::Turns, record::usual_slice(Schedule::Turns));
        }
        let mut more = false;
        let ended = interrupted_after_the_program();
        let makes_trace = options.finish || options.output.extension().is_none_or(|extension| extension != "mhp");
        let recording = record::record_as(command, &self.program, &options, || {
            ended.store(makes_trace, Ordering::Relaxed);
            let (bytes, cut) = stdin.kept()?;
            more = cut;
            Some(bytes)
        })?;
        for line in &recording.notes {
            note(line);
        }
        if more {
            note(format_args!("standard input: only the first {} MiB are saved for replays", KEPT >> 20));
        }
        if let Some(hint) = recording.is_empty().then(|| of_cargo(&self.program)).flatten() {
            note(hint);
        }
        Ok(Exit::Program(code(recording.status)))
    }
}

/// While the program runs, signals are for the program. Once it has ended and its trace is being made, which sets the flag and may take long, Ctrl-C ends
/// the recorder.
fn interrupted_after_the_program() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Where a signal cannot be caught, it ends the recorder anyway.
        let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&ended));
    }
    ended
}

/// A hint for users who record cargo itself instead of the program that it starts.
fn of_cargo(program: &[OsString]) -> Option<String> {
    let is_cargo = Path::new(&program[0]).file_name().is_some_and(|name| name == "cargo");
    let command = program.get(1).map_or("test".into(), |command| command.to_string_lossy());
    let output = if command == "run" { "TRACE.mhp" } else { "FOLDER" };
    is_cargo.then(|| {
        format!("cargo itself is not built for recording; use `mayhap cargo {command} -o {output}`, which builds and records")
    })
}

/// The exit code that a shell would show.
pub(super) fn code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128 + signal as u8,
        (None, None) => Exit::FAILURE,
    }
}

/// A number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number of bytes, optionally followed by K, M or G")?;
    number.checked_mul(1 << unit).ok_or_else(|| "the size is too large".into())
}

#[cfg(test)]
mod tests {
    use mayhap_report::grouped;

    use super::*;

    #[test]
    fn the_page_on_recording_has_the_slices_of_the_code() {
        let page = include_str!("../../../../docs/record.md");
        for (name, slice) in slices() {
            let row = page.lines().find(|line| line.starts_with(&format!("| `--schedule {name}` |")));
            let steps = format!("| {} steps on average", grouped(slice.into()));
            assert!(row.is_some_and(|row| row.contains(&steps)), "{name}: {steps}");
        }
    }
}
