//! Runs the program and takes what it records.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mayhap_trace::ErrorKind;
use mayhap_trace::format::TraceWriter;
use mayhap_wire::attachment;
use mayhap_wire::ring::{ENVIRONMENT, Schedule, UNITS, state};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags};
use rustix::time::Timespec;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::Error;
use crate::capture::ending::Ending;
use crate::capture::raw;
use crate::capture::ring::Ring;
use crate::capture::spool::Spool;
use crate::capture::units::Expander;
use crate::limits::Limits;
use crate::lower::Lowering;
use crate::run::Run;
use crate::sharing::survey::Survey;
use mayhap_symbols::{OpenMp, Symbols, constant_calls};

/// The most units taken at a time, so that they stay in the processor's cache between their uses.
const PIECE: u64 = 1 << 16;
/// Where fewer units are there, more are waited for: taking and keeping a few costs nearly as much as many.
const ENOUGH: usize = 1 << 14;
/// The longest the recorder sleeps when there is nothing to take.
const NAP: Duration = Duration::from_millis(2);

/// How to record.
#[derive(Clone, Debug)]
pub struct Options {
    /// The trace to write.
    pub output: PathBuf,
    /// Seed of the scheduler.
    pub seed: u64,
    /// How the token passes.
    pub schedule: Schedule,
    /// Mean number of hooks between passes.
    pub slice: u32,
    /// Record what differs from run to run by itself, for replays.
    pub inputs: bool,
    /// What is left out.
    pub limits: Limits,
    /// The trace is made at once, not when it is first read.
    pub finish: bool,
}

/// What came of a recording.
#[derive(Debug)]
pub struct Recording {
    /// How the program ended.
    pub status: ExitStatus,
    /// Events in the trace, or units in a recording that is not finished.
    pub events: u64,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Recording {
    /// The program recorded nothing at all.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }
}

/// Looks after a program while it runs.
pub trait Monitor {
    /// Called every few milliseconds, and when the program has ended; `units` counts what it has recorded so far.
    fn look(&mut self, child: &mut Child, units: u64) -> Result<(), Error>;
}

/// Lets the program run.
pub struct Unwatched;

impl Monitor for Unwatched {
    fn look(&mut self, _child: &mut Child, _units: u64) -> Result<(), Error> {
        Ok(())
    }
}

/// Runs a program once and writes its trace.
pub fn record(program: &[OsString], runtime: &Path, options: &Options) -> Result<Recording, Error> {
    record_as(command(program, runtime)?, program, options, || None)
}

/// The same where the command says more about the program, such as where its output goes; `input` says what it was given to
/// read when it has ended.
pub fn record_as(
    command: Command,
    program: &[OsString],
    options: &Options,
    input: impl FnOnce() -> Option<Vec<u8>>,
) -> Result<Recording, Error> {
    let output = &options.output;
    let started = Instant::now();
    if !options.finish
        && options.limits == Limits::default()
        && let Some(mut raw) = raw::Writer::create(output)?
    {
        let (status, ring) = drive(command, options, &mut Unwatched, &mut |units| raw.take(units))?;
        let mut run = Run::new(program, status, started.elapsed());
        run.stdin = input();
        return raw.complete(&ring, &run, status, output);
    }
    // An unwritable place is an error before the program runs, not after.
    let writer = mayhap_trace::format::create(output).map_err(|error| Error::at(output, error))?;
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let taken = execute(command, options, folder, &mut Unwatched)?;
    let mut run = Run::new(program, taken.status, started.elapsed());
    run.stdin = input();
    taken.write(writer, output, &run)
}

/// A program to be run with recording; `runtime` is the folder of the runtime library.
pub fn command(program: &[OsString], runtime: &Path) -> Result<Command, Error> {
    let Some((name, arguments)) = program.split_first() else { return Err(Error::new("no program to record")) };
    let mut command = Command::new(name);
    command.args(arguments);
    // The runtime of this version comes before the one that the program was linked with, and before libtsan.
    let mut libraries = runtime.as_os_str().to_os_string();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    command.env("LD_LIBRARY_PATH", libraries);
    Ok(command)
}

/// Runs a program and takes what it records; `folder` is for what is kept until the trace is made.
pub fn execute(command: Command, options: &Options, folder: &Path, monitor: &mut dyn Monitor) -> Result<Taken, Error> {
    let (mut spool, mut survey) = (Spool::create(folder, &options.limits), Survey::default());
    let mut expander = Expander::new();
    let mut take = |units: &[u32]| survey.take(expander.expand(units), &mut spool);
    let (status, ring) = drive(command, options, monitor, &mut take)?;
    spool.complete();
    let ending = Ending::of(status, &ring, &spool);
    Ok(Taken { status, ending, spool, survey, limits: options.limits.clone() })
}

/// Runs a program and hands on what it records.
fn drive(
    mut command: Command,
    options: &Options,
    monitor: &mut dyn Monitor,
    take: &mut dyn FnMut(&[u32]),
) -> Result<(ExitStatus, Ring), Error> {
    let mut ring = Ring::create(UNITS, options.seed, options.schedule, options.slice, options.inputs)
        .map_err(|error| Error::new(format_args!("no shared memory for the recording: {error}")))?;
    command.env(ENVIRONMENT, ring.path());
    let child = command.spawn();
    let name = PathBuf::from(command.get_program());
    // Ends of pipes that the program has are closed here with the command.
    drop(command);
    let child = child.map_err(|error| Error::at(&name, format_args!("cannot be run: {error}")))?;
    let status = drain(child, &mut ring, monitor, take)?;
    Ok((status, ring))
}

/// A program that has run, and what it recorded.
pub struct Taken {
    /// How the program ended.
    pub status: ExitStatus,
    ending: Ending,
    spool: Spool,
    survey: Survey,
    limits: Limits,
}

impl Taken {
    /// The program recorded something.
    pub fn is_recorded(&self) -> bool {
        self.ending.recorded
    }

    /// What the program asked for that differs from run to run by itself.
    pub fn sources(&self) -> Vec<&'static str> {
        let bits = self.ending.state;
        let all = [
            (state::READS_CLOCK, "the clock"),
            (state::USES_RANDOM, "random bytes of the kernel"),
            (state::USES_RAND, "random numbers of the C library"),
            (state::USES_PROCESS_ID, "its process id"),
        ];
        all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| name).collect()
    }

    /// How many locks the program took.
    pub fn locks_taken(&self) -> u64 {
        self.survey.taken()
    }

    /// The names of the program's code.
    pub fn symbols(&self) -> Symbols {
        Symbols::load(self.survey.modules(), std::env::current_dir().ok())
    }

    /// Makes the trace.
    pub fn write(self, writer: Box<dyn TraceWriter>, output: &Path, run: &Run) -> Result<Recording, Error> {
        let notes = self.ending.notes();
        let mut recording =
            make(writer, output, run, (self.spool, self.survey, &self.ending, self.limits), &mut |_| {})?;
        recording.notes.splice(..0, notes);
        Ok(recording)
    }
}

/// Makes the trace of a run that was surveyed.
pub(crate) fn make(
    mut writer: Box<dyn TraceWriter>,
    output: &Path,
    run: &Run,
    (spool, survey, ending, limits): (Spool, Survey, &Ending, Limits),
    watch: &mut dyn FnMut(u64),
) -> Result<Recording, Error> {
    let (facts, filter) = survey.finish(ending.tells_branches());
    let mut notes = Vec::new();
    let unseen = unseen(ending.state, facts.modules.first().map(|module| module.path.as_path()));
    if let Some(unseen) = &unseen {
        notes.push(format!("{unseen} is not seen: what only that orders looks unordered, so nothing can be proven"));
    }
    let symbols = Symbols::load(&facts.modules, run.folder.clone());
    let constant = constant_calls(&symbols, &facts.pcs);
    let failed = |error| Error::at(output, error);
    let keeps_part = writer.keep_part();
    let told = Run { unseen, stdin: None, program: run.program.clone(), folder: run.folder.clone(), ..*run };
    writer.attach(attachment::RUN, &told.to_bytes()).map_err(failed)?;
    if let Some(input) = &run.stdin {
        writer.attach(attachment::STDIN, input).map_err(failed)?;
    }
    let mut lowering = Lowering::new(spool.replay(filter), facts, symbols, constant, limits);
    let mut chunks = 0;
    let count = |_: &dyn mayhap_trace::Source| {
        chunks += 1;
        watch(chunks * mayhap_trace::CHUNK as u64);
    };
    match mayhap_trace::format::copy(&mut lowering, writer, count) {
        Ok(new) => notes.extend(new),
        Err(error) if keeps_part && matches!(&error.kind, ErrorKind::Io(error) if is_full(error)) => {
            notes.push(format!("the trace ends early: {error}"))
        }
        Err(error) => return Err(failed(error)),
    }
    notes.extend(lowering.unlifted());
    if lowering.excluded() > 0 {
        let n = lowering.excluded();
        notes.push(format!("{n} accesses in functions or files that were not chosen are not in the trace"));
    }
    if lowering.dropped() > 0 {
        notes.push(format!("{} events broke a rule of locks or threads and were left out", lowering.dropped()));
    }
    Ok(Recording { status: ending.status(), events: lowering.events(), notes })
}

/// What synchronises the program out of the runtime's sight: a library of OpenMP that is not known to tell, or that is a part of the
/// program itself, where nobody can stand in front of it.
fn unseen(bits: u32, program: Option<&Path>) -> Option<String> {
    let linked = program.map(OpenMp::of).unwrap_or_default();
    let hidden = linked.gcc || (linked.llvm && bits & state::OPENMP_TELLS == 0);
    ((hidden && !linked.wrapped) || bits & state::UNSEEN_ORDER != 0).then(open_mp)
}

fn open_mp() -> String {
    "synchronisation by the program's OpenMP library".into()
}

/// There is no more room on the disk.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | FileTooLarge | QuotaExceeded)
}

/// Takes units until the program has ended and all were taken.
fn drain(
    mut child: Child,
    ring: &mut Ring,
    monitor: &mut dyn Monitor,
    take: &mut dyn FnMut(&[u32]),
) -> Result<ExitStatus, Error> {
    let broken = |error| Error::new(format_args!("the recording's shared memory: {error}"));
    let signals = Signals::catch();
    let mut units = Vec::new();
    let mut nap = Duration::from_micros(50);
    let mut ended = None;
    let mut count = 0;
    // Old kernels do not tell.
    let exit = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
    loop {
        // First the state, then what was written before it.
        if ended.is_none() {
            ended = child.try_wait().map_err(|error| Error::new(format_args!("waiting for the program: {error}")))?;
        }
        let writing = match (ended, ring.writer().map_err(broken)?) {
            (None, _) => true,
            (Some(_), Some(pid)) if pid != child.id() => is_writing(pid, ring),
            _ => false,
        };
        signals.forward(&child);
        let mut took = false;
        while ring.take(PIECE, &mut units).map_err(broken)? {
            take(&units);
            count += units.len() as u64;
            took = true;
            if writing && units.len() < ENOUGH {
                break;
            }
        }
        monitor.look(&mut child, count)?;
        if let (false, Some(status)) = (writing, ended) {
            return Ok(status);
        }
        nap = if took { Duration::from_micros(50) } else { (nap * 2).min(NAP) };
        match &exit {
            Some(exit) if ended.is_none() => wait_for(exit, nap),
            _ => std::thread::sleep(nap),
        }
    }
}

/// Waits for a process to end, so long at most.
fn wait_for(process: &OwnedFd, longest: Duration) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    // Whether it ended, or a signal came, is looked at next.
    let _ = rustix::event::poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout));
}

/// Whether a process that is not the program's first one still writes. Its number may be that of another process, if the
/// program made a namespace of its own: only one that knows the ring counts.
fn is_writing(pid: u32, ring: &Ring) -> bool {
    let ended = ring.state().is_ok_and(|bits| bits & (state::EXITED | state::EXITED_AT_ONCE) != 0);
    if ended {
        return false;
    }
    match std::fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => {
            let path = ring.path();
            let path = path.as_os_str().as_encoded_bytes();
            environment.split(|&byte| byte == 0).any(|entry| entry.ends_with(path))
        }
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Signals that would end the recorder: the program decides what becomes of it, the recorder stays until then.
struct Signals {
    caught: Vec<(i32, Arc<AtomicUsize>)>,
}

impl Signals {
    fn catch() -> Signals {
        let caught = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().map(|signal| {
            let flag = Arc::new(AtomicUsize::new(0));
            // Where a signal cannot be caught the recorder ends with it, as any program would.
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(&flag), 1);
            (signal, flag)
        });
        Signals { caught: caught.collect() }
    }

    /// Passes signals on that were meant for the recorder alone; those of the terminal reach the program anyway.
    fn forward(&self, child: &Child) {
        for (signal, flag) in &self.caught {
            let once = flag.swap(0, Ordering::Relaxed) != 0;
            if once
                && matches!(*signal, SIGTERM | SIGHUP)
                && let (Some(pid), Some(signal)) = (
                    rustix::process::Pid::from_raw(child.id() as i32),
                    rustix::process::Signal::from_named_raw(*signal),
                )
            {
                // It may have ended in the meantime.
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }
}
