//! Standard input for a program that runs several times: every run gets what the first one got.
//!
//! A file is opened anew for each run. What comes through a pipe is kept while the first run reads it. A terminal belongs to the
//! first run; the others find nothing to read.

use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// Bytes of input that a trace keeps.
pub const KEPT: u64 = 16 << 20;

/// Where input comes from.
#[derive(Clone)]
pub enum Stdin {
    /// Nothing, or a terminal.
    Terminal,
    /// A file, which can be opened again, and where this process found it read to.
    File(u64),
    /// A pipe, kept in a file.
    Pipe {
        /// The file.
        kept: PathBuf,
        /// The first run has had it.
        done: Arc<AtomicBool>,
    },
}

impl Stdin {
    /// What this process has as its input.
    pub fn look(folder: &Path) -> Result<Stdin, Error> {
        let path = Path::new("/proc/self/fd/0");
        Ok(match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Stdin::File(position()),
            Ok(_) if std::io::stdin().is_terminal() => Stdin::Terminal,
            Ok(metadata) if is_null(&metadata) => Stdin::Terminal,
            Ok(_) => {
                let kept = folder.join("stdin");
                File::create(&kept).map_err(|error| Error::at(&kept, error))?;
                Stdin::Pipe { kept, done: Arc::default() }
            }
            Err(_) => Stdin::Terminal,
        })
    }

    /// What this process has as its input, read to its end if it is a pipe: for runs that are all alike.
    pub fn read_whole(folder: &Path) -> Result<Stdin, Error> {
        let stdin = Stdin::look(folder)?;
        if let Stdin::Pipe { kept, .. } = &stdin {
            let mut file = File::create(kept).map_err(|error| Error::at(kept, error))?;
            std::io::copy(&mut std::io::stdin().lock(), &mut file).map_err(|error| Error::at(kept, error))?;
            stdin.keep();
        }
        Ok(stdin)
    }

    /// Input that was kept in a file.
    pub fn of(kept: PathBuf) -> Stdin {
        Stdin::Pipe { kept, done: Arc::new(AtomicBool::new(true)) }
    }

    /// Keeps a copy of the input in a file; says whether there is any. What comes through a pipe is kept there already.
    pub fn copy_to(&self, file: &Path) -> Result<bool, Error> {
        match (self, self.reopen()) {
            (Stdin::Pipe { kept, .. }, _) if kept == file => Ok(true),
            (_, None) => Ok(false),
            (_, Some(from)) => {
                let mut from = from.map_err(|error| Error::new(format_args!("standard input: {error}")))?;
                let mut to = File::create(file).map_err(|error| Error::at(file, error))?;
                std::io::copy(&mut from, &mut to).map_err(|error| Error::at(file, error))?;
                Ok(true)
            }
        }
    }

    /// Input for the only run that is recorded: a file is the program's own, wherever it was read to.
    pub fn only(&self) -> Result<Stdio, Error> {
        if matches!(self, Stdin::File(_)) { Ok(Stdio::inherit()) } else { self.first() }
    }

    /// Input for a recorded run.
    pub fn first(&self) -> Result<Stdio, Error> {
        match self {
            Stdin::Terminal => Ok(Stdio::inherit()),
            Stdin::Pipe { kept, done } if !done.load(Ordering::Relaxed) => {
                let failed = |error| Error::new(format_args!("standard input: {error}"));
                let (reader, writer) = std::io::pipe().map_err(failed)?;
                let file = File::create(kept).map_err(|error| Error::at(kept, error))?;
                let done = Arc::clone(done);
                // Left alone if the program ends before its input does.
                std::thread::spawn(move || copy(writer, file, &done));
                Ok(reader.into())
            }
            _ => self.again(),
        }
    }

    /// What a run was given to read, as far as a trace keeps it, and whether there was more. Nothing of a terminal.
    pub fn kept(&self) -> Option<(Vec<u8>, bool)> {
        let mut bytes = Vec::new();
        self.reopen()?.ok()?.take(KEPT + 1).read_to_end(&mut bytes).ok()?;
        let more = bytes.len() as u64 > KEPT;
        bytes.truncate(KEPT as usize);
        Some((bytes, more))
    }

    /// The first run has ended: what it has read by now is all that others get.
    pub fn keep(&self) {
        if let Stdin::Pipe { done, .. } = self {
            done.store(true, Ordering::Relaxed);
        }
    }

    /// What to add where another run went elsewhere: it may have been for want of input.
    pub fn excuse(&self) -> &'static str {
        match self {
            Stdin::Terminal if std::io::stdin().is_terminal() => {
                "; the recorded run read from a terminal, but replays in this job have no input (mayhap replay passes the terminal on)"
            }
            _ => "",
        }
    }

    /// The same input for another run.
    pub fn again(&self) -> Result<Stdio, Error> {
        self.open().map(Stdio::from)
    }

    /// The same as a file.
    pub(super) fn open(&self) -> Result<File, Error> {
        let file = self.reopen().unwrap_or_else(|| File::open("/dev/null"));
        file.map_err(|error| Error::new(format_args!("standard input: {error}")))
    }

    /// The input from where the first run had it; nothing of a terminal.
    fn reopen(&self) -> Option<std::io::Result<File>> {
        match self {
            Stdin::Terminal => None,
            Stdin::Pipe { kept, .. } => Some(File::open(kept)),
            Stdin::File(from) => Some(File::open("/proc/self/fd/0").and_then(|mut file| {
                file.seek(SeekFrom::Start(*from))?;
                Ok(file)
            })),
        }
    }
}

/// How far standard input, a file, has been read.
fn position() -> u64 {
    let info = std::fs::read_to_string("/proc/self/fdinfo/0").unwrap_or_default();
    info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok()).unwrap_or(0)
}

fn is_null(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev() && null.dev() == metadata.dev())
}

/// Passes input on and keeps it.
fn copy(mut to: std::io::PipeWriter, mut file: File, done: &AtomicBool) {
    let mut buffer = [0; 1 << 14];
    while let Ok(n @ 1..) = std::io::stdin().read(&mut buffer) {
        if done.load(Ordering::Relaxed) || file.write_all(&buffer[..n]).is_err() || to.write_all(&buffer[..n]).is_err()
        {
            return;
        }
    }
}
