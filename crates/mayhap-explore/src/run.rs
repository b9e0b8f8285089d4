//! One run of the program under a schedule, watched until it ends, cannot go on, or has taken too long.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mayhap_record::{self as record, Capture, Error, Monitor, StuckWatch};
use mayhap_replay::MemoryError;
use mayhap_replay::memory::Judge;
use mayhap_replay::session::{Printed, keep};
use mayhap_wire::judgement;
use mayhap_wire::ring::{Schedule, TURN_FAULTS, TURNS_ENVIRONMENT};

use crate::faults::Faults;
use crate::turns::Turn;

/// How often threads are looked at, to see whether all of them wait.
const LOOKS: Duration = Duration::from_millis(50);
/// The same once the runtime has said that no thread can go on.
const QUICK_LOOKS: Duration = Duration::from_millis(5);

/// Paths of files with turns are made as long as this, or a multiple of it.
const PATH_LENGTH: usize = 128;

/// A schedule: with the program and its input, these decide the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Attempt {
    /// Which thread comes next.
    pub schedule: Schedule,
    /// The mean number of steps between changes.
    pub slice: u32,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// A run that was made.
pub struct Tried {
    /// How it ended, and what it recorded.
    pub capture: Capture,
    /// What it printed.
    pub printed: Printed,
    /// What it did wrong to memory, and was ended for.
    pub misuse: Option<MemoryError>,
    /// It was ended because its time was up.
    pub late: bool,
    /// It was ended because none of its threads could go on.
    pub is_stuck: bool,
    /// How long it took.
    pub took: Duration,
}

/// The schedule of runs in turns: after their end, a thread goes on until it cannot.
pub const IN_TURNS: Attempt = Attempt { schedule: Schedule::Turns, slice: 1, seed: 0 };

/// Turns after whose end threads change at random, after so many steps in the mean.
pub fn then_at_random(slice: u32, seed: u64) -> Attempt {
    Attempt { schedule: Schedule::Turns, slice: slice.max(2), seed }
}

/// Has the command's program follow turns, which are kept in this file, and try failures.
pub fn follow(command: &mut Command, turns: &[Turn], faults: Faults, file: &Path) -> Result<(), Error> {
    let asked = (!faults.is_none()).then_some([TURN_FAULTS, faults.bits()]);
    let bytes: Vec<u8> = asked.iter().chain(turns).flatten().flat_map(|number| number.to_le_bytes()).collect();
    std::fs::write(file, bytes).map_err(|error| Error::at(file, error))?;
    // In equally many bytes wherever it is: what the environment takes decides where the stack begins.
    let mut path = std::path::absolute(file).map_err(|error| Error::at(file, error))?.into_os_string();
    let padding = path.len().next_multiple_of(PATH_LENGTH) - path.len();
    if padding > 0 {
        let mut padded = OsString::from("/".repeat(padding));
        padded.push(path);
        path = padded;
    }
    command.env(TURNS_ENVIRONMENT, path);
    Ok(())
}

/// Runs the program once. Standard output and standard error of the command must be pipes.
pub fn run(
    mut command: Command,
    attempt: Attempt,
    inputs: bool,
    folder: &Path,
    limit: Duration,
) -> Result<Tried, Error> {
    let options = record::Options {
        output: PathBuf::new(),
        seed: attempt.seed,
        schedule: attempt.schedule,
        slice: attempt.slice,
        inputs,
        values: true,
        linger: mayhap_record::LINGER,
        limits: record::Limits::default(),
        finish: true,
        root: None,
    };
    let unshared = |error| Error::new(format_args!("cannot create shared memory for the run: {error}"));
    let judge = Judge::create(false).map_err(unshared)?;
    command.env(judgement::ENVIRONMENT, judge.path());
    let mut watch = Watch::new(limit, false);
    let capture = record::execute(command, &options, folder, &mut watch)?;
    let took = watch.started.elapsed();
    let misuse = match judge.has_found().map_err(unshared)? {
        true => judge.found(&capture.symbols(), None).map_err(unshared)?,
        false => None,
    };
    Ok(Tried { capture, misuse, printed: watch.printed(), late: watch.late, is_stuck: watch.is_stuck, took })
}

/// Ends a run that takes too long or cannot go on, and keeps what it prints.
pub struct Watch {
    /// When the run began.
    pub started: Instant,
    timeout: Duration,
    show: bool,
    texts: Vec<JoinHandle<Vec<u8>>>,
    /// The run was ended because its time was up.
    pub late: bool,
    /// The run was ended because none of its threads could go on.
    pub is_stuck: bool,
    stuck: StuckWatch,
    looked: Instant,
    looks: Duration,
    process: u32,
}

impl Watch {
    /// For a run that begins now; `show` passes on what it prints.
    pub fn new(timeout: Duration, show: bool) -> Self {
        let now = Instant::now();
        Watch {
            started: now,
            timeout,
            show,
            texts: Vec::new(),
            late: false,
            is_stuck: false,
            stuck: StuckWatch::default(),
            looked: now,
            looks: LOOKS,
            process: 0,
        }
    }

    /// Keeps what the program prints, and shows it if that is wanted.
    fn keep(&self, stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
        if self.show { keep(stream, std::io::stderr()) } else { keep(stream, std::io::sink()) }
    }

    /// What the run printed, when it has ended.
    pub fn printed(&mut self) -> Printed {
        let mut texts = std::mem::take(&mut self.texts).into_iter().map(|text| text.join().unwrap_or_default());
        Printed { out: texts.next().unwrap_or_default(), err: texts.next().unwrap_or_default(), process: self.process }
    }

    fn end(child: &mut Child) {
        // It may have ended by itself in the meantime.
        let _ = child.kill();
    }
}

impl Monitor for Watch {
    fn look(&mut self, child: &mut Child, units: u64) -> Result<(), Error> {
        self.process = child.id();
        if let Some(out) = child.stdout.take() {
            let text = self.keep(out);
            self.texts.push(text);
        }
        if let Some(err) = child.stderr.take() {
            let text = self.keep(err);
            self.texts.push(text);
        }
        if self.late || self.is_stuck {
            return Ok(());
        }
        if self.started.elapsed() >= self.timeout {
            self.late = true;
            Self::end(child);
        } else if self.looked.elapsed() >= self.looks {
            self.looked = Instant::now();
            if self.stuck.is_stuck(child.id(), units) {
                self.is_stuck = true;
                Self::end(child);
            }
        }
        Ok(())
    }

    fn nothing_runs(&mut self) {
        self.looks = QUICK_LOOKS;
        self.stuck.hurry();
    }

    fn waits_for_channels(&mut self, threads: u32) {
        self.stuck.waits_for_channels(threads);
    }
}
