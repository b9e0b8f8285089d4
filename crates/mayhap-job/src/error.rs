//! Why a job could not do its work.

use std::fmt;
use std::path::{Path, PathBuf};

/// Said of a program that recorded nothing.
pub(super) const NOT_INSTRUMENTED: &str = "the program recorded nothing, so it is not built for recording. Build it with CC=\"mayhap cc\" \
    or CXX=\"mayhap c++\" in place of the compiler (or -fsanitize=thread), a Rust program with `mayhap cargo`, or give a \
    single source file: mayhap run FILE.c";

/// Bad input, a file that cannot be read or written, or a program that cannot be run as asked.
#[derive(Debug)]
pub struct Error {
    path: Option<PathBuf>,
    message: String,
    not_run: bool,
}

impl Error {
    /// Returns an error that is not about one file.
    pub fn new(message: impl fmt::Display) -> Self {
        Error { path: None, message: message.to_string(), not_run: false }
    }

    /// Returns an error of one file; the message begins with the position in it, if there is one.
    pub fn at(path: &Path, message: impl fmt::Display) -> Self {
        Error { path: Some(path.to_path_buf()), message: message.to_string(), not_run: false }
    }

    /// Says that the program could not be run as asked.
    pub fn not_run(self) -> Self {
        Error { not_run: true, ..self }
    }

    /// Whether the program could not be run as asked.
    pub fn is_not_run(&self) -> bool {
        self.not_run
    }

    /// The file that the error is about.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What is wrong, without the file.
    pub fn message(&self) -> &str {
        &self.message
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

impl From<mayhap_analyse::Error> for Error {
    fn from(error: mayhap_analyse::Error) -> Self {
        Error::new(error)
    }
}

impl From<mayhap_instrument::Error> for Error {
    fn from(error: mayhap_instrument::Error) -> Self {
        Error::new(error)
    }
}

impl From<mayhap_record::Error> for Error {
    fn from(error: mayhap_record::Error) -> Self {
        Error { path: None, message: error.to_string(), not_run: error.is_not_run() }
    }
}
