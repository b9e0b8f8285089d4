//! Why a trace cannot be analysed.

use std::fmt;

/// What went wrong.
#[derive(Debug)]
pub enum Error {
    /// So many workers cannot be started, and why.
    Workers(usize, String),
    /// The trace cannot be read, or breaks a rule.
    Trace(mayhap_trace::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Workers(count, why) => write!(f, "cannot start {count} workers: {why}"),
            Error::Trace(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<mayhap_trace::Error> for Error {
    fn from(error: mayhap_trace::Error) -> Self {
        Error::Trace(error)
    }
}
