//! Why something could not be recorded, or not be made into a trace.

use std::fmt;
use std::path::{Path, PathBuf};

/// What went wrong, and with which file if it is about one.
#[derive(Debug)]
pub struct Error {
    path: Option<PathBuf>,
    message: String,
    not_run: bool,
}

impl Error {
    /// An error that is not about one file.
    pub fn new(message: impl fmt::Display) -> Self {
        Error { path: None, message: message.to_string(), not_run: false }
    }

    /// Returns an error of one file; the message begins with the position in it, if there is one.
    pub fn at(path: &Path, message: impl fmt::Display) -> Self {
        Error { path: Some(path.to_path_buf()), message: message.to_string(), not_run: false }
    }

    /// The program could not be started.
    pub(crate) fn cannot_run(program: &Path, error: &std::io::Error) -> Self {
        Error { not_run: true, ..Error::at(program, format_args!("cannot run it: {error}")) }
    }

    /// Whether the program could not be started.
    pub fn is_not_run(&self) -> bool {
        self.not_run
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", path.display(), self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}
