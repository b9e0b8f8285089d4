//! A process of the program that has been loaded, and forks runs: each is what a new process would be, without the time that loading takes.
//!
//! Runs are forked where the runtime starts, before the program's own constructors. That is the same as a new process only if nothing has happened until then that the
//! runs would share: other threads, open files, shared memory. [`ForkServer::start`] looks for these.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use mayhap_wire::fork_server::{DESCRIPTORS, ENVIRONMENT, FORKS, LONGEST};
use mayhap_wire::ring;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::time::Timespec;

/// How long a program may take until its runtime starts, and a server to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process that forks runs of a program.
pub struct ForkServer {
    child: Child,
    socket: OwnedFd,
    /// The variables that its command sets.
    variables: BTreeMap<OsString, Option<OsString>>,
}

/// The variables that a command sets or removes.
fn variables(command: &Command) -> BTreeMap<OsString, Option<OsString>> {
    let owned = |(name, value): (&OsStr, Option<&OsStr>)| (name.to_owned(), value.map(OsStr::to_owned));
    command.get_envs().map(owned).collect()
}

impl ForkServer {
    /// Starts a server for runs of `command`, which runs the file `program`, at once or after programs that only set it up. `None` where runs that are forked could differ from new processes.
    pub fn start(mut command: Command, program: &Path, runtime: &Path) -> Option<ForkServer> {
        let program = program.canonicalize().ok()?;
        let needs_runtime = |name: &String| runtime.join(name).exists();
        if !mayhap_symbols::needed_libraries(&program).iter().any(needs_runtime) {
            // It may load the runtime later, or not at all.
            return None;
        }
        let (socket, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).ok()?;
        command.env(ring::ENVIRONMENT, "/".repeat(ring::PATH_LENGTH));
        let variables = variables(&command);
        command.env(ENVIRONMENT, FORKS).stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().ok()?;
        // This end of the server's socket is closed here with the command.
        drop(command);
        let server = ForkServer { child, socket, variables };
        let id = server.child.id();
        let is_ready = server.number().is_ok_and(|number| number == id);
        (is_ready && is_untouched(id, &program)).then_some(server)
    }

    /// Whether the server can fork what the command would start: it sets the same variables, those of the runtime in as many bytes.
    fn fits(&self, command: &Command) -> bool {
        let asked = variables(command);
        let length = |value: &Option<OsString>| value.as_ref().map(|text| text.len());
        asked.len() == self.variables.len()
            && asked.iter().all(|(name, new)| {
                let old = self.variables.get(name);
                old.is_some_and(|old| old == new || is_of_runtime(name) && length(old) == length(new))
            })
    }

    /// Forks a run of what the command would start, with these as standard input, output and error; returns the number of its process.
    pub(crate) fn fork(&self, command: &Command, descriptors: [BorrowedFd<'_>; DESCRIPTORS]) -> io::Result<u32> {
        if !self.fits(command) {
            return Err(io::Error::other("the environment of the run differs"));
        }
        let mut texts = Vec::new();
        for (name, value) in command.get_envs().filter(|(name, _)| is_of_runtime(name)) {
            let Some(value) = value else { continue };
            texts.extend([name.as_encoded_bytes(), b"=", value.as_encoded_bytes(), b"\0"].concat());
        }
        if texts.len() > LONGEST {
            return Err(io::Error::other("the environment of the run is too long"));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        rustix::net::sendmsg(&self.socket, &[IoSlice::new(&texts)], &mut ancillary, SendFlags::NOSIGNAL)?;
        self.number()
    }

    /// How the run ended that was forked last, if it has.
    pub(crate) fn status(&self) -> io::Result<Option<ExitStatus>> {
        match self.receive(RecvFlags::DONTWAIT) {
            Ok(status) => Ok(Some(ExitStatus::from_raw(status as i32))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What becomes readable when the run has ended.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn receive(&self, flags: RecvFlags) -> io::Result<u32> {
        let mut bytes = [0; 4];
        match rustix::net::recv(&self.socket, &mut bytes, flags)?.0 {
            4 => Ok(u32::from_le_bytes(bytes)),
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended")),
        }
    }

    /// The next number that the server sends, if it does in time.
    fn number(&self) -> io::Result<u32> {
        let limit = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        match rustix::event::poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&limit))? {
            0 => Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer")),
            _ => self.receive(RecvFlags::empty()),
        }
    }
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Variables that only the runtime reads, and that differ from run to run.
fn is_of_runtime(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"MAYHAP_")
}

/// The process runs this file, has one thread and shares nothing with others that was opened or mapped since it was started.
fn is_untouched(id: u32, program: &Path) -> bool {
    let of = |process: &str, what: &str| PathBuf::from(format!("/proc/{process}/{what}"));
    let process = id.to_string();
    let runs_program = std::fs::read_link(of(&process, "exe")).is_ok_and(|file| file == program);
    let threads = std::fs::read_dir(of(&process, "task")).map_or(0, Iterator::count);
    let inherited = |name: &OsStr| {
        let link = |process: &str| std::fs::read_link(of(process, "fd").join(name)).ok();
        name.to_str().and_then(|name| name.parse().ok()).is_some_and(|number: u32| number < 3)
            || link("self").is_some_and(|own| link(&process) == Some(own))
    };
    let Ok(files) = std::fs::read_dir(of(&process, "fd")) else { return false };
    let files_are_inherited = files.flatten().all(|file| inherited(&file.file_name()));
    let Ok(maps) = std::fs::read_to_string(of(&process, "maps")) else { return false };
    let is_shared = |line: &str| line.split_whitespace().nth(1).is_some_and(|rights| rights.ends_with('s'));
    runs_program && threads == 1 && files_are_inherited && !maps.lines().any(is_shared)
}
