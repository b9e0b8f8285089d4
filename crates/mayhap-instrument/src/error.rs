//! Why a program cannot be made recordable.

use std::fmt;
use std::path::Path;

/// What went wrong, in words.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// An error that is not about one file.
    pub fn new(message: impl fmt::Display) -> Self {
        Error(message.to_string())
    }

    /// Returns an error of one file.
    pub fn at(path: &Path, message: impl fmt::Display) -> Self {
        Error(format!("{}: {message}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
