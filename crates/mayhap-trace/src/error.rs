//! The one error type of this crate, with the position in the input.

use std::fmt;

use crate::id::EventId;
use crate::name_error::NameError;
use crate::validate::Violation;

/// Where in the input an error lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// A line of a text file, from 1.
    Line(u64),
    /// A byte of a binary file, from 0.
    Byte(u64),
    /// A block of a native file, from 1, with its byte offset.
    Block(u64, u64),
    /// An event of the trace.
    Event(EventId),
    /// The input as a whole.
    Whole,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(line) => write!(f, "line {line}: "),
            Position::Byte(byte) => write!(f, "byte {byte}: "),
            Position::Block(block, byte) => write!(f, "block {block} (byte {byte}): "),
            Position::Event(event) => write!(f, "event {event}: "),
            Position::Whole => Ok(()),
        }
    }
}

/// Why a trace could not be read, written or accepted.
#[derive(Debug, thiserror::Error)]
#[error("{position}{kind}")]
pub struct Error {
    /// Where.
    pub position: Position,
    /// What.
    pub kind: ErrorKind,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// The input could not be read or the output not written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The input does not follow its format.
    #[error("{0}")]
    Syntax(String),
    /// A name does not fit.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The events break a rule of locks, threads or conditions.
    #[error("{0}")]
    Violation(#[from] Violation),
}

impl Error {
    /// Creates an error at a position.
    pub fn new(position: Position, kind: impl Into<ErrorKind>) -> Self {
        Error { position, kind: kind.into() }
    }

    /// Input that does not follow its format.
    pub fn syntax(position: Position, message: impl Into<String>) -> Self {
        Error { position, kind: ErrorKind::Syntax(message.into()) }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::new(Position::Whole, error)
    }
}

impl From<Violation> for Error {
    fn from(violation: Violation) -> Self {
        Error { position: Position::Whole, kind: ErrorKind::Violation(violation) }
    }
}
