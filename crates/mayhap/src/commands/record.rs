//! `mayhap record`: run a program once and save its trace.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use mayhap_wire::ring::Schedule;

use crate::job::{KEPT, Stdin};
use crate::notes::note;
use crate::{Exit, Failure};
use mayhap_instrument::runtime;
use mayhap_record::{self as record, Limits, Options};

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

    #[command(flatten)]
    inputs: InputArgs,

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

/// The help of `--slice`, with the defaults of each schedule.
fn slice_help() -> String {
    let [free, random, pct] = [How::Free, How::Random, How::Pct].map(|how| record::usual_slice(how.into()));
    format!("Mean number of steps per turn [default: {free} for free, {random} for random, {pct} for pct]")
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
}

impl From<How> for Schedule {
    fn from(how: How) -> Self {
        match how {
            How::Free => Schedule::Free,
            How::Random => Schedule::Random,
            How::Pct => Schedule::Pct,
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
            limits: Limits::default(),
            finish: true,
        }
    }
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let mut options = self.schedule.options(self.output, self.seed, self.slice);
        options.inputs = self.inputs.recorded();
        options.finish = self.finish;
        options.limits = Limits { exclude: self.exclude, only: self.only, max_size: self.max_size, last: self.last };
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::new(format_args!("cannot create a temporary folder: {error}")))?;
        let stdin = Stdin::look(folder.path())?;
        let mut command = record::command(&self.program, &runtime::folder()?)?;
        command.stdin(stdin.only()?);
        let mut more = false;
        let recording = record::record_as(command, &self.program, &options, || {
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
