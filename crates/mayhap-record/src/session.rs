//! Records a program: runs it, keeps what it records, and makes the trace at once or when it is first read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use mayhap_symbols::{Module, Symbols};
use mayhap_trace::Trace;
use mayhap_trace::format::{self, TraceWriter};
use mayhap_wire::ring::state;

use crate::Error;
use crate::capture::ending::Ending;
use crate::capture::file::{self, Kept, Opened, build_of};
use crate::capture::process::Start;
use crate::capture::program::{Monitor, Unwatched, command, drive};
use crate::capture::recorder::Recorder;
use crate::capture::repeats;
use crate::capture::store::Store;
use crate::limits::Limits;
use crate::lower::finish::{Finished, Made, make};
use crate::options::Options;
use crate::sharing::ahead::Ahead;
use crate::sharing::first_pass::Begun;
use crate::turn_steps::{self, TurnStep};
use crate::unordered::{UnorderedPair, unordered};
use mayhap_trace::attachments::Run;

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
    let root = options.root.clone();
    let build = program.first().and_then(|program| build_of(program));
    let ended = |status| Run { stdin: input(), build, root, ..Run::new(program, status, started.elapsed()) };
    if !options.finish
        && let Some(mut file) = file::Writer::create(output, options.limits.max_size)?
    {
        let (status, ring) = drive(Start::New(command), options, &mut Unwatched, &mut |units| file.take(units))?;
        let run = ended(status);
        return match file.complete(&ring, status, &run, &options.limits, output)? {
            Kept::InFile(events, ending) => Ok(Recording { status, events, notes: ending.notes() }),
            Kept::NoRoom(store, ending) => {
                let writer = format::create(output).map_err(|error| Error::at(output, error))?;
                let finished = Finished::new(store, &run, &ending, options.limits.clone());
                Ok(finish_now(writer, output, finished)?.0)
            }
        };
    }
    // An unwritable place is an error before the program runs, not after.
    let writer = format::create(output).map_err(|error| Error::at(output, error))?;
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let capture = execute_for_trace(command, options, folder, &mut Unwatched)?;
    let run = ended(capture.status);
    capture.write(writer, output, &run)
}

/// Runs a program and takes what it records; `folder` is for what is kept until the trace is made.
pub fn execute(
    start: Start<'_>,
    options: &Options,
    folder: &Path,
    monitor: &mut dyn Monitor,
) -> Result<Capture, Error> {
    capture(start, options, folder, monitor, None)
}

/// The same where a trace will be made: that begins while the program runs.
pub fn execute_for_trace(
    command: Command,
    options: &Options,
    folder: &Path,
    monitor: &mut dyn Monitor,
) -> Result<Capture, Error> {
    capture(Start::New(command), options, folder, monitor, Some(Ahead::start()))
}

fn capture(
    start: Start<'_>,
    options: &Options,
    folder: &Path,
    monitor: &mut dyn Monitor,
    ahead: Option<Ahead>,
) -> Result<Capture, Error> {
    let mut recorder = Recorder::temporary(folder, options.limits.max_size);
    let mut look = |block: &[u32], runs: &[repeats::Run]| ahead.iter().for_each(|ahead| ahead.take(block, runs));
    let (status, ring) = drive(start, options, monitor, &mut |units| recorder.take_and(units, &mut look))?;
    recorder.finish(&mut look);
    let begun = ahead.and_then(Ahead::finish);
    let ending = Ending::of(status, &ring, recorder.store());
    let (modules, locks_taken) = (recorder.modules().to_vec(), recorder.locks_taken());
    let (units, limits) = (recorder.units(), options.limits.clone());
    Ok(Capture { status, ending, store: recorder.into_store(), modules, locks_taken, units, limits, begun })
}

/// A program that has run, and what it recorded.
pub struct Capture {
    /// How the program ended.
    pub status: ExitStatus,
    ending: Ending,
    store: Store,
    modules: Vec<Module>,
    locks_taken: u64,
    units: u64,
    limits: Limits,
    /// What a first pass made while the program ran has learnt.
    begun: Option<Begun>,
}

impl Capture {
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
        self.locks_taken
    }

    /// How much the program recorded: about as many steps as it made.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The steps of a run that was made in turns.
    pub fn turn_steps(&self) -> Result<Vec<TurnStep>, Error> {
        turn_steps::steps(&self.store, &self.modules)
            .map_err(|error| Error::new(format_args!("the recording: {error}")))
    }

    /// The places in the code of accesses that nothing orders.
    pub fn unordered(&self) -> Result<Vec<UnorderedPair>, Error> {
        let pairs = unordered(&self.store, self.units, &self.modules);
        pairs.map_err(|error| Error::new(format_args!("the recording: {error}")))
    }

    /// The kernel, or code without hooks, decided when a thread went on.
    pub fn kernel_decided(&self) -> bool {
        self.ending.state & state::KERNEL_DECIDED != 0
    }

    /// The names of the program's code.
    pub fn symbols(&self) -> Symbols {
        Symbols::load(&self.modules, std::env::current_dir().ok())
    }

    /// What a trace calls the threads, by their numbers in the recording.
    pub fn thread_names(&self) -> Result<BTreeMap<u32, String>, Error> {
        turn_steps::thread_names(&self.store).map_err(|error| Error::new(format_args!("the recording: {error}")))
    }

    /// Makes the trace.
    pub fn write(self, writer: Box<dyn TraceWriter>, output: &Path, run: &Run) -> Result<Recording, Error> {
        let finished = Finished::new(self.store, run, &self.ending, self.limits);
        Ok(finish_now(writer, output, Finished { begun: self.begun, ..finished })?.0)
    }

    /// Makes the trace, and returns it as well if all of it was written.
    pub fn write_and_keep(
        self,
        writer: Box<dyn TraceWriter>,
        output: &Path,
        run: &Run,
    ) -> Result<(Recording, Option<Trace>), Error> {
        let finished = Finished::new(self.store, run, &self.ending, self.limits);
        finish_now(writer, output, Finished { begun: self.begun, keep: true, ..finished })
    }
}

/// Makes the trace of a run that has just ended.
fn finish_now(
    writer: Box<dyn TraceWriter>,
    output: &Path,
    finished: Finished<'_>,
) -> Result<(Recording, Option<Trace>), Error> {
    let ending = finished.ending;
    let made = make(writer, output, finished, &mut |_| {})?;
    let mut notes = ending.notes();
    notes.extend(made.notes);
    Ok((Recording { status: ending.status(), events: made.events, notes }, made.kept))
}

/// Makes a trace of an unfinished recording, in its place.
///
/// `watch` sees the number of events now and then.
pub fn finish(path: &Path, watch: &mut dyn FnMut(u64)) -> Result<Recording, Error> {
    let Opened { store, run, ending, limits, changed } = Opened::open(path).map_err(|error| Error::at(path, error))?;
    let writer = format::create(path).map_err(|error| Error::at(path, error))?;
    let finished = Finished { changed: &changed, ..Finished::new(store, &run, &ending, limits) };
    let Made { events, mut notes, .. } = make(writer, path, finished, watch)?;
    notes.extend(changed.iter().map(|file| {
        format!(
            "{} has changed since the program ran: its functions and variables have no names in the trace",
            file.display()
        )
    }));
    Ok(Recording { status: ending.status(), events, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_of_another_version_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.mhp");
        std::fs::write(&path, b"\x89MHR\r\n\x1a\nand so on, as it was before there were units").unwrap();
        assert!(file::is_unfinished(&path));
        let refused = finish(&path, &mut |_| {}).unwrap_err().to_string();
        assert!(refused.contains("another version of mayhap"), "{refused}");
    }
}
