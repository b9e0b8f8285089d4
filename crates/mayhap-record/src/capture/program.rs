//! Runs the program and takes what it records.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mayhap_wire::ring::{ENVIRONMENT, UNITS, state};
use mayhap_wire::{fork_server, schedule};
use rustix::event::{PollFd, PollFlags};
use rustix::time::Timespec;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::Error;
use crate::capture::process::{Process, Start};
use crate::capture::ring::Ring;
use crate::options::Options;

/// The most units taken at a time, so that they stay in the processor's cache between their uses.
const PIECE: u64 = 1 << 16;
/// Where fewer units are there, more are waited for: taking and keeping a few costs nearly as much as many.
const ENOUGH: usize = 1 << 14;
/// The longest the recorder sleeps when there is nothing to take.
const NAP: Duration = Duration::from_millis(2);

/// Looks after a program while it runs.
pub trait Monitor {
    /// Called every few milliseconds, and when the program has ended; `units` counts what it has recorded so far.
    fn look(&mut self, child: &mut Process<'_>, units: u64) -> Result<(), Error>;

    /// Called before that once the runtime has found that no thread can go on.
    fn nothing_runs(&mut self) {}

    /// Called before that with the number of threads that wait for what only other threads of the program can do to a channel.
    fn waits_for_channels(&mut self, _threads: u32) {}

    /// Called before that once Ctrl-C was pressed or this process was asked to end. The program decides what becomes of it, unless the monitor ends it.
    fn interrupted(&mut self, _child: &mut Process<'_>) {}
}

/// Lets the program run.
pub struct Unwatched;

impl Monitor for Unwatched {
    fn look(&mut self, _child: &mut Process<'_>, _units: u64) -> Result<(), Error> {
        Ok(())
    }
}

/// The file name of the agent for Java virtual machines, in the folder of the runtime library.
const AGENT: &str = "libmayhap_jvm.so";

/// Programs that run the program that their arguments name.
const STARTERS: [&str; 6] = ["setarch", "env", "nice", "taskset", "timeout", "stdbuf"];

/// The position of the Java virtual machine in a command that runs one.
fn java_in(program: &[OsString]) -> Option<usize> {
    let is = |word: &OsString, name: &str| Path::new(word).file_name().is_some_and(|file| file == name);
    let starts_others = STARTERS.iter().any(|starter| is(&program[0], starter));
    program.iter().take(if starts_others { 6 } else { 1 }).position(|word| is(word, "java"))
}

/// The option by which a Java virtual machine loads the agent.
pub fn agent_option(runtime: &Path) -> OsString {
    let mut option = OsString::from("-agentpath:");
    option.push(runtime.join(AGENT));
    option
}

/// A program to be run with recording; `runtime` is the folder of the runtime library.
pub fn command(program: &[OsString], runtime: &Path) -> Result<Command, Error> {
    let Some((name, arguments)) = program.split_first() else { return Err(Error::new("no program to record")) };
    let mut command = Command::new(name);
    let mut arguments = arguments.to_vec();
    if let Some(java) = java_in(program) {
        arguments.insert(java, agent_option(runtime));
    }
    command.args(arguments);
    // The runtime of this version comes before the one that the program was linked with, and before libtsan.
    let mut libraries = runtime.as_os_str().to_os_string();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    command.env("LD_LIBRARY_PATH", libraries);
    // No schedule, in as many bytes as one takes.
    command.env(schedule::ENVIRONMENT, "/".repeat(schedule::PATH_LENGTH));
    command.env(fork_server::ENVIRONMENT, fork_server::RUNS);
    Ok(command)
}

/// Runs a program and hands on what it records.
pub(crate) fn drive(
    mut start: Start<'_>,
    options: &Options,
    monitor: &mut dyn Monitor,
    take: &mut dyn FnMut(&[u32]),
) -> Result<(ExitStatus, Ring), Error> {
    let mut ring = Ring::create(UNITS, options)
        .map_err(|error| Error::new(format_args!("cannot create shared memory for the recording: {error}")))?;
    start.command().env(ENVIRONMENT, ring.path());
    let status = drain(start.spawn()?, &mut ring, monitor, take)?;
    Ok((status, ring))
}

/// Takes units until the program has ended and all were taken.
fn drain(
    mut child: Process<'_>,
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
        if signals.forward(&child) {
            monitor.interrupted(&mut child);
        }
        let mut took = false;
        while ring.take(PIECE, &mut units).map_err(broken)? {
            take(&units);
            count += units.len() as u64;
            took = true;
            if writing && units.len() < ENOUGH {
                break;
            }
        }
        if ring.state().map_err(broken)? & state::STUCK != 0 {
            monitor.nothing_runs();
        }
        monitor.waits_for_channels(ring.channel_waits().map_err(broken)?);
        monitor.look(&mut child, count)?;
        if let (false, Some(status)) = (writing, ended) {
            return Ok(status);
        }
        nap = if took { Duration::from_micros(50) } else { (nap * 2).min(NAP) };
        match child.exit() {
            Some(exit) if ended.is_none() => wait_for(exit, nap),
            _ => std::thread::sleep(nap),
        }
    }
}

/// Waits for a process to end, so long at most.
fn wait_for(process: BorrowedFd<'_>, longest: Duration) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    // Whether it ended, or a signal came, is looked at next.
    let _ = rustix::event::poll(&mut [PollFd::from_borrowed_fd(process, PollFlags::IN)], Some(&timeout));
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
    caught: Vec<(i32, Arc<AtomicUsize>, Option<SigId>)>,
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Exploring makes many thousand runs: none may leave anything behind.
        for id in self.caught.iter().filter_map(|(.., id)| *id) {
            signal_hook::low_level::unregister(id);
        }
    }
}

impl Signals {
    fn catch() -> Signals {
        let caught = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().map(|signal| {
            let flag = Arc::new(AtomicUsize::new(0));
            // Where a signal cannot be caught the recorder ends with it, as any program would.
            let id = signal_hook::flag::register_usize(signal, Arc::clone(&flag), 1).ok();
            (signal, flag, id)
        });
        Signals { caught: caught.collect() }
    }

    /// Passes signals on that were meant for the recorder alone; those of the terminal reach the program anyway. Returns
    /// whether one of them asks for an end.
    fn forward(&self, child: &Process<'_>) -> bool {
        let mut is_asked = false;
        for (signal, flag, _) in &self.caught {
            let once = flag.swap(0, Ordering::Relaxed) != 0;
            is_asked |= once && matches!(*signal, SIGINT | SIGTERM);
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
        is_asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_java_virtual_machine_gets_the_agent() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(java_in(&words("java -cp . Main")), Some(0));
        assert_eq!(java_in(&words("setarch x86_64 -R /usr/bin/java Main")), Some(3));
        assert_eq!(java_in(&words("cat java")), None);
        let command = command(&words("env java Main"), Path::new("/folder")).unwrap();
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["java", "-agentpath:/folder/libmayhap_jvm.so", "Main"]);
    }
}
