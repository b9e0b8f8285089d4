//! Recordings in files: what a program's runtime wrote, packed, as it was when the program ended. Turning it into events costs more
//! than recording it and can wait until the trace is first read.
//!
//! | part | what |
//! |---|---|
//! | beginning | [`RECORDING`] |
//! | blocks | units of the ring as [`crate::capture::packing`] packs them, one after the other |
//! | standard input | as far as it was kept |
//! | end | JSON: the lengths of the others, how the program was started and ended, which files it had loaded |
//! | last 24 bytes | where the end begins, its checksum, [`RECORDING`] |
//!
//! Names, lines and machine code are read from the program's files when the recording is finished. A file that is another by then
//! is not looked at, and a note says so.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use mayhap_symbols::build_id;
use mayhap_trace::format::{Compression, Format};
use mayhap_wire::checksum;
use mayhap_wire::frame::RECORDING;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::Error;
use crate::capture::ending::Ending;
use crate::capture::is_full;
use crate::capture::recorder::Recorder;
use crate::capture::ring::Ring;
use crate::capture::store::{Size, Store};
use crate::limits::Limits;
use mayhap_trace::attachments::Run;

/// Bytes after the JSON at the end.
const FOOTER: u64 = 24;
/// The most that the JSON at the end may take.
const LONGEST_END: u64 = 1 << 30;

/// Where the version is in [`RECORDING`].
const VERSION_AT: usize = RECORDING.len() - 1;

/// What stands at the end.
#[derive(Serialize, Deserialize)]
struct End {
    /// Bytes, units and checksum of each block.
    #[serde(rename = "pieces")]
    blocks: Vec<Size>,
    /// Bytes of the standard input, if it was kept, and their checksum.
    stdin: Option<(u64, u32)>,
    run: Run,
    ending: Ending,
    /// What is to be left out of the trace.
    #[serde(default)]
    limits: Limits,
    /// The program's files as they were.
    files: Vec<(PathBuf, Option<Identity>)>,
}

/// What must be equal if a file is still the same.
#[derive(PartialEq, Serialize, Deserialize)]
enum Identity {
    /// What the linker put in for this purpose.
    Build(Vec<u8>),
    /// Bytes, and when it was changed.
    Seen(u64, Option<std::time::SystemTime>),
}

impl Identity {
    fn of(path: &Path) -> Option<Identity> {
        match build_id(path) {
            Some(build) => Some(Identity::Build(build)),
            None => {
                let seen = path.metadata().ok()?;
                Some(Identity::Seen(seen.len(), seen.modified().ok()))
            }
        }
    }
}

/// The file of a program, which is looked for as a shell would.
pub fn program_file(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(path.to_path_buf());
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(path)).find(|path| path.is_file())
}

/// A text that differs between builds of a program.
pub fn build_of(program: &OsStr) -> Option<String> {
    Some(match Identity::of(&program_file(program)?)? {
        Identity::Build(id) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
        Identity::Seen(bytes, changed) => {
            let since = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
            format!("{bytes} bytes of {}", since.as_nanos())
        }
    })
}

/// A recording being made in a file. It appears under its name when it is complete.
pub(crate) struct Writer {
    file: NamedTempFile,
    recorder: Recorder,
}

/// What became of a recording.
pub(crate) enum Kept {
    /// It is in its file, and so many units.
    InFile(u64, Ending),
    /// There was no room for it on the disk. What could be kept of it is here, to be made a trace, which takes less.
    NoRoom(Store, Ending),
}

impl Writer {
    /// One for this output, if recordings can be kept there as they are; `limit`: the most bytes that it may take.
    pub(crate) fn create(output: &Path, limit: Option<u64>) -> Result<Option<Writer>, Error> {
        let plain = Format::of(output).is_ok_and(|kind| kind == (Format::Native, Compression::None));
        if !plain || output.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            return Ok(None);
        }
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Said of the folder, an error has no name of a temporary file.
        folder.metadata().map_err(|error| Error::at(output, error))?;
        let mut named = tempfile::Builder::new();
        let created = named.prefix(".mayhap").permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
        let begun = created.and_then(|mut file| {
            file.write_all(&RECORDING)?;
            let recorder = Recorder::in_file(file.as_file().try_clone()?, limit)?;
            Ok(Writer { file, recorder })
        });
        begun.map(Some).map_err(|error| Error::at(output, without_name(error)))
    }

    /// Takes the next units of the run.
    pub(crate) fn take(&mut self, units: &[u32]) {
        self.recorder.take(units);
    }

    /// The program has ended.
    pub(crate) fn complete(
        mut self,
        ring: &Ring,
        status: ExitStatus,
        run: &Run,
        limits: &Limits,
        output: &Path,
    ) -> Result<Kept, Error> {
        let failed = |error| Error::at(output, error);
        self.recorder.finish(&mut |_, _| {});
        let ending = Ending::of(status, ring, self.recorder.store());
        let kept = match self.recorder.store().end_in_file() {
            Some(at) => self.write_end(at, &ending, run, limits),
            None => Err(io::ErrorKind::StorageFull.into()),
        };
        match kept {
            Ok(()) => {
                take_place(self.file, output).map_err(failed)?;
                Ok(Kept::InFile(self.recorder.units(), ending))
            }
            Err(error) if is_full(&error) => {
                let mut store = self.recorder.into_store();
                store.make_room();
                let ending = Ending::of(status, ring, &store);
                Ok(Kept::NoRoom(store, ending))
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn write_end(&mut self, at: u64, ending: &Ending, run: &Run, limits: &Limits) -> io::Result<()> {
        let mut files: Vec<PathBuf> = self.recorder.modules().iter().map(|module| module.path.clone()).collect();
        files.sort();
        files.dedup();
        let files = files.into_iter().map(|path| (path.clone(), Identity::of(&path))).collect();
        let stdin = run.stdin.as_ref().map(|bytes| (bytes.len() as u64, checksum(bytes)));
        let blocks = self.recorder.store().sizes();
        let file = self.file.as_file_mut();
        file.seek(SeekFrom::Start(at))?;
        file.write_all(run.stdin.as_deref().unwrap_or_default())?;
        let end = End { blocks, stdin, run: run.clone(), ending: ending.clone(), limits: limits.clone(), files };
        let end = serde_json::to_vec(&end).map_err(io::Error::other)?;
        let mut footer = (at + stdin.map_or(0, |(length, _)| length)).to_le_bytes().to_vec();
        footer.extend(u64::from(checksum(&end)).to_le_bytes());
        footer.extend(RECORDING);
        file.write_all(&[end, footer].concat())
    }
}

/// An error without the name of a temporary file.
fn without_name(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => rustix::io::Errno::ACCESS.into(),
        io::ErrorKind::ReadOnlyFilesystem => rustix::io::Errno::ROFS.into(),
        io::ErrorKind::NotADirectory => rustix::io::Errno::NOTDIR.into(),
        _ => error,
    }
}

/// Gives the file its name. One that has it already is exchanged for it and then removed: file systems that see it replaced would first
/// bring the new one to the disk.
fn take_place(file: NamedTempFile, output: &Path) -> io::Result<()> {
    let exchanged = output.is_file() && renameat_with(CWD, file.path(), CWD, output, RenameFlags::EXCHANGE).is_ok();
    if exchanged { file.close() } else { file.persist(output).map(drop).map_err(|error| error.error) }
}

/// Whether a file is a recording that is not finished, of whichever version.
pub fn is_unfinished(path: &Path) -> bool {
    let mut head = [0; RECORDING.len()];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head[..VERSION_AT] == RECORDING[..VERSION_AT]
}

/// How many units an unfinished recording has: one for most accesses, a few for everything else.
pub fn units(path: &Path) -> io::Result<u64> {
    let (end, _) = read_end(&File::open(path)?)?;
    Ok(end.blocks.iter().fold(0, |sum, &(_, units, _)| sum.saturating_add(units)))
}

/// A recording in a file, opened to make a trace of it.
pub(crate) struct Opened {
    /// What the program recorded.
    pub(crate) store: Store,
    /// How it was started.
    pub(crate) run: Run,
    /// How it ended.
    pub(crate) ending: Ending,
    /// What is to be left out of the trace.
    pub(crate) limits: Limits,
    /// Files that are not what they were when the program ran.
    pub(crate) changed: Vec<PathBuf>,
}

impl Opened {
    /// Opens an unfinished recording.
    pub(crate) fn open(path: &Path) -> io::Result<Opened> {
        let file = File::open(path)?;
        let (end, stdin) = read_end(&file)?;
        let changed = end.files.into_iter().filter(|(path, was)| Identity::of(path) != *was).map(|(path, _)| path);
        let changed = changed.collect();
        let store = Store::reopen(file, RECORDING.len() as u64, &end.blocks);
        let run = Run { stdin, ..end.run };
        Ok(Opened { store, run, ending: end.ending, limits: end.limits, changed })
    }
}

/// The end of a recording, and its standard input. What does not add up is an error.
fn read_end(file: &File) -> io::Result<(End, Option<Vec<u8>>)> {
    let cut_off = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the recording is incomplete: the recorder was killed, or the file was truncated",
        )
    };
    let mut head = RECORDING;
    // A file that has no beginning has no end either.
    let _ = file.read_exact_at(&mut head, 0);
    if head[VERSION_AT] != RECORDING[VERSION_AT] {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "byte {VERSION_AT}: the recording was made by another version of mayhap, which alone can finish it \
                 (its format is {}, this version's is {})",
                head[VERSION_AT], RECORDING[VERSION_AT]
            ),
        ));
    }
    let size = file.metadata()?.len();
    let mut footer = [0; FOOTER as usize];
    let end_at = size.checked_sub(FOOTER).filter(|&at| at >= RECORDING.len() as u64).ok_or_else(cut_off)?;
    file.read_exact_at(&mut footer, end_at)?;
    let (numbers, mark) = footer.split_at(16);
    let number = |at: usize| u64::from_le_bytes(numbers[at..at + 8].try_into().unwrap_or_default());
    let (start, sum) = (number(0), number(8));
    let length = end_at.checked_sub(start).filter(|&length| length <= LONGEST_END);
    let Some(length) = length.filter(|_| mark == RECORDING) else { return Err(cut_off()) };
    let mut json = vec![0; length as usize];
    file.read_exact_at(&mut json, start)?;
    let wrong =
        |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("byte {start}: the recording's end {what}"));
    if u64::from(checksum(&json)) != sum {
        return Err(wrong("has a wrong checksum".into()));
    }
    let end: End = serde_json::from_slice(&json).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut lengths = end.blocks.iter().map(|&(bytes, _, _)| bytes).chain(end.stdin.map(|(bytes, _)| bytes));
    let total = lengths.try_fold(RECORDING.len() as u64, |sum, bytes| sum.checked_add(bytes));
    if total != Some(start) {
        return Err(wrong("does not fit what stands before it".into()));
    }
    let stdin = match end.stdin {
        Some((length, sum)) => {
            let mut bytes = vec![0; length as usize];
            file.read_exact_at(&mut bytes, start - length)?;
            if checksum(&bytes) != sum {
                return Err(wrong("says that the program's input has a wrong checksum".into()));
            }
            Some(bytes)
        }
        None => None,
    };
    Ok((end, stdin))
}
