//! How a command ends.

use std::fmt;
use std::path::{Path, PathBuf};

/// How a command that did its work ended. The codes are part of the command line's contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Nothing found; for `check`: refuted; for `verify`: accepted.
    Nothing,
    /// Findings; for `check`: proven; for `verify`: rejected.
    Found,
    /// Undecided, and nothing proven.
    Undecided,
    /// The job was interrupted, and nothing was found until then.
    Interrupted,
    /// As the program ended that the command ran.
    Program(u8),
}

impl Exit {
    /// The exit code of bad usage and bad input, which every [`Failure`] stands for.
    pub const FAILURE: u8 = 2;
    /// The exit code where the program could not be run as asked, or the job was interrupted.
    pub const NOT_RUN: u8 = 4;

    /// Returns the process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Nothing => 0,
            Exit::Found => 1,
            Exit::Undecided => 3,
            Exit::Interrupted => Exit::NOT_RUN,
            Exit::Program(code) => code,
        }
    }
}

/// Why a command could not do its work: bad usage, bad input, or a file that cannot be read or written.
#[derive(Debug)]
pub struct Failure {
    path: Option<PathBuf>,
    message: String,
    code: u8,
}

impl Failure {
    /// A failure that is not about one file.
    pub fn new(message: impl fmt::Display) -> Self {
        Failure { path: None, message: plain(&message), code: Exit::FAILURE }
    }

    /// Returns a failure of one file; the message begins with the position in it, if there is one.
    pub fn at(path: &Path, message: impl fmt::Display) -> Self {
        Failure { path: Some(path.to_path_buf()), message: plain(&message), code: Exit::FAILURE }
    }

    /// The failure of a program that could not be run as asked.
    pub fn not_run(self) -> Self {
        Failure { code: Exit::NOT_RUN, ..self }
    }

    /// What it is about.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The process's exit code.
    pub fn code(&self) -> u8 {
        self.code
    }
}

/// A message without the system's number of an error, which says what the words before it say.
fn plain(message: &impl fmt::Display) -> String {
    let text = message.to_string();
    match text.rsplit_once(" (os error ") {
        Some((words, number)) if number.strip_suffix(')').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) => {
            words.to_string()
        }
        _ => text,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", path.display(), self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// What analysing one file came to.
    pub(crate) fn in_file(path: &Path, error: mayhap_analyse::Error) -> Self {
        match error {
            mayhap_analyse::Error::Trace(error) => Failure::at(path, error),
            error => error.into(),
        }
    }
}

impl From<mayhap_analyse::Error> for Failure {
    fn from(error: mayhap_analyse::Error) -> Self {
        Failure::new(error)
    }
}

impl From<mayhap_corpus::Error> for Failure {
    fn from(error: mayhap_corpus::Error) -> Self {
        Failure::new(error)
    }
}

impl From<mayhap_instrument::Error> for Failure {
    fn from(error: mayhap_instrument::Error) -> Self {
        Failure::new(error)
    }
}

impl From<mayhap_job::Error> for Failure {
    fn from(error: mayhap_job::Error) -> Self {
        let failure = match error.path() {
            Some(path) => Failure::at(path, error.message()),
            None => Failure::new(error.message()),
        };
        if error.is_not_run() { failure.not_run() } else { failure }
    }
}

impl From<mayhap_record::Error> for Failure {
    fn from(error: mayhap_record::Error) -> Self {
        let failure = Failure::new(&error);
        if error.is_not_run() { failure.not_run() } else { failure }
    }
}

/// What fails while printing is standard output.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::new(format_args!("standard output: {error}"))
    }
}
