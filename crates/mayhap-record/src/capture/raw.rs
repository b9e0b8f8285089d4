//! Recordings that are not traces yet: what a program's runtime told, packed, as it was when the program ended. Turning it
//! into events costs more than recording it and can wait until somebody reads the trace: [`finish`] puts the trace in the
//! recording's place.
//!
//! | part | what |
//! |---|---|
//! | beginning | [`RECORDING`] |
//! | pieces | units of the ring as [`crate::capture::unit_packing`] packs them, one behind the other |
//! | standard input | as far as it was kept |
//! | end | JSON: the lengths of the others, how the program was started and ended, which files it had loaded |
//! | last 24 bytes | where the end begins, its checksum, [`RECORDING`] |
//!
//! Names, lines and machine code are read from the program's files when the recording is finished. A file that is another by then
//! is not looked at, and the user is told.

use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use mayhap_symbols::build_id;
use mayhap_trace::format::{self, Compression, Format};
use mayhap_wire::checksum;
use mayhap_wire::frame::RECORDING;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::Error;
use crate::capture::ending::Ending;
use crate::capture::program::{Recording, is_full, make};
use crate::capture::ring::Ring;
use crate::capture::spool::Spool;
use crate::limits::Limits;
use crate::run::Run;
use crate::sharing::survey::Survey;

/// Bytes behind the JSON at the end.
const FOOTER: u64 = 24;
/// The most that the JSON at the end may take.
const LONGEST_END: u64 = 1 << 30;

/// Where the version is in [`RECORDING`].
const VERSION_AT: usize = RECORDING.len() - 1;

/// What stands at the end.
#[derive(Serialize, Deserialize)]
struct End {
    /// Bytes, units and checksum of each piece.
    pieces: Vec<(u64, u64, u32)>,
    /// Bytes of the standard input, if it was kept, and their checksum.
    stdin: Option<(u64, u32)>,
    run: Run,
    ending: Ending,
    /// The program's files as they were.
    files: Vec<(PathBuf, Option<Identity>)>,
}

/// What tells whether a file is still the same.
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

/// A recording being made. It appears under its name when it is complete.
pub(crate) struct Writer {
    file: NamedTempFile,
    spool: Spool,
    /// Units of an access or a record that is not all there yet.
    carried: Vec<u32>,
    units: u64,
}

impl Writer {
    /// One for this output, if recordings can be kept there as they are.
    pub(crate) fn create(output: &Path) -> Result<Option<Writer>, Error> {
        let plain = Format::of(output).is_ok_and(|kind| kind == (Format::Native, Compression::None));
        if !plain || output.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            return Ok(None);
        }
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut named = tempfile::Builder::new();
        let created = named.prefix(".mayhap").permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
        let begun = created.and_then(|mut file| {
            file.write_all(&RECORDING)?;
            let spool = Spool::in_file(file.as_file().try_clone()?)?;
            Ok(Writer { file, spool, carried: Vec::new(), units: 0 })
        });
        begun.map(Some).map_err(|error| Error::at(output, error))
    }

    /// Takes the next units of the run.
    pub(crate) fn take(&mut self, units: &[u32]) {
        self.units += units.len() as u64;
        if self.carried.is_empty() {
            let whole = self.spool.append_units(units);
            self.carried.extend_from_slice(&units[whole..]);
        } else {
            self.carried.extend_from_slice(units);
            let whole = self.spool.append_units(&self.carried);
            self.carried.drain(..whole);
        }
    }

    /// The program has ended. Where there is no room for the recording, a trace is made of it at once, which takes less.
    pub(crate) fn complete(
        mut self,
        ring: &Ring,
        run: &Run,
        status: ExitStatus,
        output: &Path,
    ) -> Result<Recording, Error> {
        let failed = |error| Error::at(output, error);
        let ending = Ending::of(status, ring, &self.spool);
        let kept = match self.spool.end_in_file() {
            Some(at) => self.write_end(at, &ending, run),
            None => Err(io::ErrorKind::StorageFull.into()),
        };
        match kept {
            Ok(()) => {
                take_place(self.file, output).map_err(failed)?;
                Ok(Recording { status, events: self.units, notes: ending.notes() })
            }
            Err(error) if is_full(&error) => {
                let mut spool = self.spool;
                spool.make_room();
                let ending = Ending::of(status, ring, &spool);
                let mut survey = Survey::default();
                spool.survey(&mut survey).map_err(failed)?;
                let writer = format::create(output).map_err(|error| Error::at(output, error))?;
                let mut recording =
                    make(writer, output, run, (spool, survey, &ending, Limits::default()), &mut |_| {})?;
                recording.notes.splice(..0, ending.notes());
                Ok(recording)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn write_end(&mut self, at: u64, ending: &Ending, run: &Run) -> io::Result<()> {
        let mut files: Vec<PathBuf> = self.spool.modules().iter().map(|module| module.path.clone()).collect();
        files.sort();
        files.dedup();
        let files = files.into_iter().map(|path| (path.clone(), Identity::of(&path))).collect();
        let stdin = run.stdin.as_ref().map(|bytes| (bytes.len() as u64, checksum(bytes)));
        let pieces = self.spool.pieces();
        let file = self.file.as_file_mut();
        file.seek(SeekFrom::Start(at))?;
        file.write_all(run.stdin.as_deref().unwrap_or_default())?;
        let end = End { pieces, stdin, run: run.clone(), ending: ending.clone(), files };
        let end = serde_json::to_vec(&end).map_err(io::Error::other)?;
        let mut footer = (at + stdin.map_or(0, |(length, _)| length)).to_le_bytes().to_vec();
        footer.extend(u64::from(checksum(&end)).to_le_bytes());
        footer.extend(RECORDING);
        file.write_all(&[end, footer].concat())
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
pub fn words(path: &Path) -> io::Result<u64> {
    let (end, _) = read_end(&File::open(path)?)?;
    Ok(end.pieces.iter().fold(0, |sum, &(_, units, _)| sum.saturating_add(units)))
}

/// Makes a trace of an unfinished recording, in its place.
///
/// `watch` sees the number of events now and then.
pub fn finish(path: &Path, watch: &mut dyn FnMut(u64)) -> Result<Recording, Error> {
    let failed = |error: io::Error| Error::at(path, error);
    let file = File::open(path).map_err(failed)?;
    let (end, stdin) = read_end(&file).map_err(failed)?;
    let changed: Vec<PathBuf> =
        end.files.into_iter().filter(|(path, was)| Identity::of(path) != *was).map(|(path, _)| path).collect();
    let mut run = end.run;
    run.stdin = stdin;
    let mut spool = Spool::reopen(file, RECORDING.len() as u64, &end.pieces);
    let mut survey = Survey::default();
    spool.survey(&mut survey).map_err(failed)?;
    survey.distrust(&changed);
    let writer = format::create(path).map_err(|error| Error::at(path, error))?;
    let mut recording = make(writer, path, &run, (spool, survey, &end.ending, Limits::default()), watch)?;
    recording.notes.extend(changed.iter().map(|file| {
        format!(
            "{} is no longer what it was when the program ran: its functions and variables have no names",
            file.display()
        )
    }));
    Ok(recording)
}

/// The end of a recording, and its standard input. What does not add up is an error.
fn read_end(file: &File) -> io::Result<(End, Option<Vec<u8>>)> {
    let cut_off = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the recording has no end: the recorder was killed, or the file was cut off",
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
    let mut lengths = end.pieces.iter().map(|&(bytes, _, _)| bytes).chain(end.stdin.map(|(bytes, _)| bytes));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::units::Expander;
    use crate::capture::units::samples::{Dice, units_of};
    use mayhap_wire::ring::{BRANCHED, SiteKind, Tag, access_word, record_word, site_word};

    /// Two threads that take turns, with memory of their own and some that they share; some accesses are far from the last.
    fn run() -> Vec<u64> {
        let mut dice = Dice(7);
        let mut words = Vec::new();
        for (site, kind) in [(1, SiteKind::Read), (2, SiteKind::Write), (3, SiteKind::Read), (20_000, SiteKind::Write)]
        {
            words.extend([record_word(Tag::Site, 1, site), site_word(0x40_0000 + u64::from(site), kind, 8)]);
        }
        words.extend([record_word(Tag::Begin, 4, 0), 0, 0, 1, 0, record_word(Tag::Fork, 1, 1), 1]);
        for turn in 0..200u32 {
            words.push(record_word(Tag::Switch, 0, turn % 2));
            for step in 0..dice.roll(100) {
                let own = 0x10_0000 * (u64::from(turn % 2) + 1);
                let (site, address) = match dice.roll(12) {
                    0 => (2, 0x60_0000 + 8 * dice.roll(40)),
                    1 => (20_000, 0x7fff_0000_0000 + 8 * dice.roll(9)),
                    2 => (1 | BRANCHED, dice.roll(1 << 30) * 8),
                    3 => (3, 0x60_0000 + 8 * dice.roll(40)),
                    _ => (3, own + 8 * step),
                };
                words.push(access_word(site, address));
            }
        }
        words
    }

    /// All that is kept of a run.
    fn kept(spool: Spool, survey: Survey) -> Vec<u64> {
        let mut replay = spool.replay(survey.finish(true).1);
        let mut words = Vec::new();
        loop {
            replay.next(replay.words().len()).expect("it can be read");
            if replay.words().is_empty() {
                return words;
            }
            words.extend_from_slice(replay.words());
        }
    }

    #[test]
    fn differential_a_recording_keeps_what_is_kept_when_the_trace_is_made_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let units = units_of(&run());
        for part in [units.len(), 1000, 331] {
            let (mut spool, mut survey) = (Spool::create(folder.path(), &Limits::default()), Survey::default());
            let mut expander = Expander::new();
            let mut writer = Writer::create(&folder.path().join("t.mhp")).unwrap().unwrap();
            for part in units.chunks(part) {
                survey.take(expander.expand(part), &mut spool);
                writer.take(part);
            }
            assert!(writer.carried.is_empty());
            spool.complete();
            let at_once = kept(spool, survey);
            assert!(at_once.len() > 500 && at_once.len() < units.len(), "{}", at_once.len());
            let pieces = writer.spool.pieces();
            assert_eq!(pieces.iter().map(|&(_, units, _)| units).sum::<u64>(), units.len() as u64);
            let mut again = Spool::reopen(writer.file.reopen().unwrap(), RECORDING.len() as u64, &pieces);
            let mut survey = Survey::default();
            again.survey(&mut survey).unwrap();
            assert!(kept(again, survey) == at_once, "in parts of {part} units");
        }
    }

    #[test]
    fn pieces_of_another_length_than_promised_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(&folder.path().join("t.mhp")).unwrap().unwrap();
        writer.take(&units_of(&run()));
        let (bytes, units, sum) = writer.spool.pieces()[0];
        for (units, right) in [(units, true), (units + 1, false), (0, false), (u64::MAX, false)] {
            let file = writer.file.reopen().unwrap();
            let surveyed =
                Spool::reopen(file, RECORDING.len() as u64, &[(bytes, units, sum)]).survey(&mut Survey::default());
            assert_eq!(
                surveyed.map_err(|error| error.to_string()).err(),
                match right {
                    true => None,
                    false => Some("byte 8: a piece of the recording cannot be unpacked".into()),
                }
            );
        }
    }

    #[test]
    fn a_recording_of_another_version_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.mhp");
        std::fs::write(&path, b"\x89MHR\r\n\x1a\nand so on, as it was before there were units").unwrap();
        assert!(is_unfinished(&path));
        let refused = finish(&path, &mut |_| {}).unwrap_err().to_string();
        assert!(refused.contains("another version of mayhap"), "{refused}");
    }
}
