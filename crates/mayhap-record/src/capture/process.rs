//! A process that makes a run: a new one, or one that a [`ForkServer`] forks.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, PidfdFlags, Signal};

use crate::Error;
use crate::capture::fork_server::ForkServer;

/// How a run is begun.
pub enum Start<'a> {
    /// The command starts a new process.
    New(Command),
    /// A server forks what the command would start, with this as its standard input. What it prints is kept for the monitor.
    Forked(&'a ForkServer, Command, OwnedFd),
}

impl<'a> Start<'a> {
    /// The command, which environment variables may be added to.
    pub fn command(&mut self) -> &mut Command {
        match self {
            Start::New(command) | Start::Forked(_, command, _) => command,
        }
    }

    /// Begins the run.
    pub(crate) fn spawn(self) -> Result<Process<'a>, Error> {
        match self {
            Start::New(mut command) => {
                let child = command.spawn();
                let name = PathBuf::from(command.get_program());
                // Ends of pipes that the program has are closed here with the command.
                drop(command);
                Ok(Process::of_child(child.map_err(|error| Error::cannot_run(&name, &error))?))
            }
            Start::Forked(server, command, stdin) => Process::forked(server, &command, &stdin)
                .map_err(|error| Error::new(format_args!("the fork server: {error}"))),
        }
    }
}

/// A stream of what a run prints: the end of a pipe.
pub type Output = File;

/// A process that makes a run.
pub struct Process<'a> {
    kind: Kind<'a>,
    id: u32,
    /// Becomes readable when the process ends; old kernels have none.
    pidfd: Option<OwnedFd>,
    /// What it prints, if that is kept.
    pub stdout: Option<Output>,
    /// What it prints as errors, if that is kept.
    pub stderr: Option<Output>,
}

enum Kind<'a> {
    Child(Child),
    Forked(&'a ForkServer, Option<ExitStatus>),
}

impl<'a> Process<'a> {
    fn of_child(mut child: Child) -> Process<'a> {
        let pidfd = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Process {
            id: child.id(),
            kind: Kind::Child(child),
            pidfd,
            stdout: stdout.map(|stream| File::from(OwnedFd::from(stream))),
            stderr: stderr.map(|stream| File::from(OwnedFd::from(stream))),
        }
    }

    fn forked(server: &'a ForkServer, command: &Command, stdin: &OwnedFd) -> io::Result<Process<'a>> {
        let ((stdout, out), (stderr, err)) = (io::pipe()?, io::pipe()?);
        let id = server.fork(command, [stdin.as_fd(), out.as_fd(), err.as_fd()])?;
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        let pidfd = pid.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        let kind = Kind::Forked(server, None);
        let [stdout, stderr] = [stdout, stderr].map(|stream| Some(File::from(OwnedFd::from(stream))));
        Ok(Process { kind, id, pidfd, stdout, stderr })
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Ends the process; it may have ended by itself in the meantime.
    pub fn kill(&mut self) {
        match (&mut self.kind, &self.pidfd) {
            (Kind::Child(child), _) => drop(child.kill()),
            (Kind::Forked(..), Some(pidfd)) => drop(rustix::process::pidfd_send_signal(pidfd, Signal::KILL)),
            // It had ended before a descriptor of it could be had.
            (Kind::Forked(..), None) => {}
        }
    }

    /// How it ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match &mut self.kind {
            Kind::Child(child) => child.try_wait(),
            Kind::Forked(server, ended) => {
                if ended.is_none() {
                    *ended = server.status()?;
                }
                Ok(*ended)
            }
        }
    }

    /// What becomes readable when it ends.
    pub(crate) fn exit(&self) -> Option<BorrowedFd<'_>> {
        match &self.kind {
            Kind::Child(_) => self.pidfd.as_ref().map(AsFd::as_fd),
            Kind::Forked(server, _) => Some(server.socket()),
        }
    }
}

impl Drop for Process<'_> {
    /// A run that is given up must not go on: its server would not make another one.
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Forked(_, None)) {
            self.kill();
        }
    }
}
