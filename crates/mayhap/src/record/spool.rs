//! The words of a run between the two passes: a file without a name beside the trace, or nothing once the disk is full.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Words read at a time.
const PIECE: usize = 1 << 16;

/// A growing file of words.
pub(super) struct Spool {
    file: File,
    bytes: u64,
    /// Why it stopped growing.
    full: Option<io::Error>,
}

impl Spool {
    /// An empty spool in this folder.
    pub(super) fn create(folder: &Path) -> io::Result<Spool> {
        Ok(Spool { file: tempfile::tempfile_in(folder)?, bytes: 0, full: None })
    }

    /// Appends; once that fails, does nothing.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if self.full.is_some() {
            return;
        }
        match self.file.write_all(bytes) {
            Ok(()) => self.bytes += bytes.len() as u64,
            Err(error) => {
                self.full = Some(error);
                self.make_room();
            }
        }
    }

    /// Gives a quarter back: the trace, which is smaller than its words, must fit on the same disk.
    fn make_room(&mut self) {
        // The last write may have been done in part.
        self.bytes = self.file.metadata().map_or(self.bytes, |file| file.len());
        let kept = self.bytes / 4 * 3 / 8 * 8;
        // Where even that fails the trace ends where there is no more room for it.
        if self.file.set_len(kept).is_ok() {
            self.bytes = kept;
        }
    }

    /// Why the spool does not hold everything, if it does not.
    pub(super) fn failure(&self) -> Option<&io::Error> {
        self.full.as_ref()
    }

    /// Reads from the beginning.
    pub(super) fn replay(mut self) -> io::Result<Replay> {
        self.file.seek(SeekFrom::Start(0))?;
        Ok(Replay { file: Some(self.file), left: self.bytes / 8, bytes: vec![0; PIECE * 8], words: Vec::new() })
    }
}

/// A spool being read.
pub(super) struct Replay {
    file: Option<File>,
    left: u64,
    bytes: Vec<u8>,
    words: Vec<u64>,
}

impl Replay {
    /// A spool with nothing in it.
    pub(super) fn empty() -> Replay {
        Replay { file: None, left: 0, bytes: Vec::new(), words: Vec::new() }
    }

    /// The first `used` words are done with: the others, and new ones where few are left. At the end only what makes no
    /// whole record remains.
    pub(super) fn next(&mut self, used: usize) -> io::Result<&[u64]> {
        self.words.drain(..used.min(self.words.len()));
        let n = (PIECE as u64).min(self.left) as usize;
        if let Some(file) = self.file.as_mut().filter(|_| n > 0 && self.words.len() < PIECE) {
            file.read_exact(&mut self.bytes[..n * 8])?;
            self.left -= n as u64;
            self.words.extend(self.bytes[..n * 8].as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)));
        }
        Ok(&self.words)
    }
}
