//! One run of the program under a schedule, watched until it ends, cannot go on, or has taken too long.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mayhap_record::{self as record, Capture, Error, ForkServer, Monitor, Output, Process, Start, StuckWatch};
use mayhap_replay::MemoryError;
use mayhap_replay::memory::{Judge, Moment, Threads};
use mayhap_replay::session::Printed;
use mayhap_wire::judgement;
use mayhap_wire::ring::{Schedule, TURN_FAULTS, TURNS_ENVIRONMENT};

use crate::faults::Faults;
use crate::turns::Turn;

/// How often threads are looked at, to see whether all of them wait.
const LOOKS: Duration = Duration::from_millis(50);
/// The same once the runtime has said that no thread can go on.
const QUICK_LOOKS: Duration = Duration::from_millis(5);

/// How long paths of files with turns are.
const PATH_LENGTH: usize = 128;
/// Bytes of what a run prints that are kept.
const KEPT: usize = 1 << 20;

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
    /// Where it was when a signal ended it.
    pub crash: Option<Moment>,
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

/// What a file says that has a program follow turns and try failures.
pub fn contents(turns: &[Turn], faults: Faults) -> Vec<u8> {
    let asked = (!faults.is_none()).then_some([TURN_FAULTS, faults.bits()]);
    asked.iter().chain(turns).flatten().flat_map(|number| number.to_le_bytes()).collect()
}

/// Has the command's program follow turns and try failures. The file that says so must stay open until the run is over.
pub fn follow(command: &mut Command, turns: &[Turn], faults: Faults) -> Result<File, Error> {
    let unshared =
        |error: std::io::Error| Error::new(format_args!("cannot create shared memory for the turns: {error}"));
    let file = rustix::fs::memfd_create("mayhap-turns", rustix::fs::MemfdFlags::CLOEXEC);
    let file = File::from(file.map_err(|error| unshared(error.into()))?);
    file.write_all_at(&contents(turns, faults), 0).map_err(unshared)?;
    // In equally many bytes in every run: what the environment takes decides where the stack begins.
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    command.env(TURNS_ENVIRONMENT, format!("{path:/>PATH_LENGTH$}"));
    Ok(file)
}

/// Starts a server that forks runs of what the command would start: of the file `program`, which is linked with the runtime in this folder. `None` where that could make a difference.
pub fn serve(mut command: Command, program: &Path, runtime: &Path) -> Option<ForkServer> {
    command.env(judgement::ENVIRONMENT, "/".repeat(judgement::PATH_LENGTH));
    ForkServer::start(command, program, runtime)
}

/// Runs the program once. Standard output and standard error of the command must be pipes.
pub fn run(
    mut start: Start<'_>,
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
    start.command().env(judgement::ENVIRONMENT, judge.path());
    let mut watch = Watch::new(limit, false);
    let capture = record::execute(start, &options, folder, &mut watch)?;
    let took = watch.started.elapsed();
    let signal = capture.status.signal();
    let (mut misuse, mut crash) = (None, None);
    if signal.is_some() || judge.has_found().map_err(unshared)? {
        let (symbols, names) = (capture.symbols(), capture.thread_names()?);
        misuse = judge.found(&symbols, Threads::OfRun(&names)).map_err(unshared)?;
        let crashed = signal.map(|signal| judge.crash(signal, &symbols, Threads::OfRun(&names)));
        crash = crashed.transpose().map_err(unshared)?.flatten();
    }
    Ok(Tried { capture, misuse, crash, printed: watch.printed(), late: watch.late, is_stuck: watch.is_stuck, took })
}

/// Ends a run that takes too long or cannot go on, and keeps what it prints.
pub struct Watch {
    /// When the run began.
    pub started: Instant,
    timeout: Duration,
    show: bool,
    texts: [Text; 2],
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
            texts: Default::default(),
            late: false,
            is_stuck: false,
            stuck: StuckWatch::default(),
            looked: now,
            looks: LOOKS,
            process: 0,
        }
    }

    /// What the run printed, when it has ended.
    pub fn printed(&mut self) -> Printed {
        let [out, err] = std::mem::take(&mut self.texts).map(|text| text.kept);
        Printed { out, err, process: self.process }
    }
}

/// What a run prints to one of its streams.
#[derive(Default)]
struct Text {
    stream: Option<Output>,
    kept: Vec<u8>,
}

impl Text {
    /// Takes all that is there now, and shows it if that is wanted.
    fn take(&mut self, show: bool) {
        let mut buffer = [0; 1 << 14];
        // Where nothing is there, the next look finds more; a stream that cannot be read has ended.
        while let Some(stream) = &mut self.stream
            && let Ok(n @ 1..) = stream.read(&mut buffer)
        {
            if show {
                // Where it cannot be shown, it is kept all the same.
                let _ = std::io::stderr().write_all(&buffer[..n]);
            }
            self.kept.extend_from_slice(&buffer[..n.min(KEPT.saturating_sub(self.kept.len()))]);
        }
    }
}

impl Monitor for Watch {
    fn look(&mut self, child: &mut Process<'_>, units: u64) -> Result<(), Error> {
        self.process = child.id();
        for (text, stream) in self.texts.iter_mut().zip([&mut child.stdout, &mut child.stderr]) {
            if let Some(stream) = stream.take() {
                rustix::fs::fcntl_setfl(&stream, rustix::fs::OFlags::NONBLOCK).map_err(Error::new)?;
                text.stream = Some(stream);
            }
            text.take(self.show);
        }
        if self.late || self.is_stuck {
            return Ok(());
        }
        if self.started.elapsed() >= self.timeout {
            self.late = true;
            child.kill();
        } else if self.looked.elapsed() >= self.looks {
            self.looked = Instant::now();
            if self.stuck.is_stuck(child.id(), units) {
                self.is_stuck = true;
                child.kill();
            }
        }
        Ok(())
    }

    fn interrupted(&mut self, child: &mut Process<'_>) {
        self.late = true;
        child.kill();
    }

    fn nothing_runs(&mut self) {
        self.looks = QUICK_LOOKS;
        self.stuck.hurry();
    }

    fn waits_for_channels(&mut self, threads: u32) {
        self.stuck.waits_for_channels(threads);
    }
}
