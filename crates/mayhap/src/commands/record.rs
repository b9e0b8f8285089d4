//! `mayhap record`: run a program once, keep the trace.

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

/// Run a program once and keep its trace
///
/// The program is one built with `mayhap cc`, `mayhap c++` or plain -fsanitize=thread. It runs as it would by itself;
/// the exit code is the program's own (128 and the signal's number if a signal ended it).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The trace to write; its extension decides the format: .mhp .std .std.gz .std.zst
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,

    /// Seed of the scheduler: other seeds, other interleavings
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// How threads take turns: in order of arrival, at random and often, or by random priorities
    #[arg(long, value_name = "HOW", default_value = "free")]
    schedule: How,

    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help = slice_help())]
    slice: Option<u32>,

    /// Record what differs from run to run by itself (clock, random numbers, what is read), for replays
    #[arg(long, value_name = "WHAT", default_value = "none")]
    inputs: Inputs,

    /// Leave out accesses in functions or files that match; `*` stands for any text (may be repeated)
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Keep only accesses in functions or files that match (may be repeated)
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Record no more once the recording takes this much on the disk: bytes, or with K, M or G behind the number
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,

    /// Keep only the last N steps of the program
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    last: Option<u64>,

    /// Make the trace at once, not when it is first read: it then needs the program's files no more
    #[arg(long)]
    finish: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROG")]
    program: Vec<OsString>,
}

/// The help of `--slice`, with the defaults of each schedule.
fn slice_help() -> String {
    let [free, random, pct] = [How::Free, How::Random, How::Pct].map(|how| record::usual_slice(how.into()));
    format!(
        "Mean number of steps that a thread takes in a turn (default: {free} for free, {random} for random, {pct} for pct)"
    )
}

/// What is done about what differs from run to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Inputs {
    /// Nothing.
    None,
    /// It is recorded, and replays get the same.
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

    /// Options with this schedule, and its own slice unless one is given.
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
        options.inputs = self.inputs == Inputs::Record;
        options.finish = self.finish;
        options.limits = Limits { exclude: self.exclude, only: self.only, max_size: self.max_size, last: self.last };
        let folder = tempfile::tempdir().map_err(|error| Failure::new(format_args!("no temporary folder: {error}")))?;
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
            note(format_args!("standard input: its first {} MiB are kept, and replays get no more", KEPT >> 20));
        }
        if let Some(hint) = recording.is_empty().then(|| of_cargo(&self.program)).flatten() {
            note(hint);
        }
        Ok(Exit::Program(code(recording.status)))
    }
}

/// What to do instead where the program is cargo, which starts the programs that were meant.
fn of_cargo(program: &[OsString]) -> Option<String> {
    let is_cargo = Path::new(&program[0]).file_name().is_some_and(|name| name == "cargo");
    let command = program.get(1).map_or("test".into(), |command| command.to_string_lossy());
    let output = if command == "run" { "TRACE.mhp" } else { "FOLDER" };
    is_cargo.then(|| {
        format!("cargo itself is not built for recording: mayhap cargo {command} -o {output} builds and records")
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
    let number: u64 = digits.parse().map_err(|_| "a size is a number of bytes, or one with K, M or G behind it")?;
    number.checked_mul(1 << unit).ok_or_else(|| "that is too much".into())
}
