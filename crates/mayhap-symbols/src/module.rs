//! The files that a program has loaded.

use std::io;
use std::path::PathBuf;

/// A loaded file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// What to subtract from an address to have it as the file numbers it.
    pub base: u64,
    /// Where it begins in memory.
    pub low: u64,
    /// Where it ends.
    pub end: u64,
    /// The file.
    pub path: PathBuf,
    /// The file is no longer what was loaded.
    pub changed: bool,
}

impl Module {
    /// What the file holds, if it is still the one that was loaded.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        if self.changed { Err(io::ErrorKind::NotFound.into()) } else { std::fs::read(&self.path) }
    }
}
