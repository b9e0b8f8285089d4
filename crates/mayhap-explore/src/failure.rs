//! What went wrong in a run.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use mayhap_replay::effect::words_at_the_end;
use mayhap_replay::outcome::signal_name;
use mayhap_replay::session::{Printed, Recorded};
use mayhap_replay::{MemoryError, MemoryErrorKind};
use serde::{Deserialize, Serialize};

use crate::run::Tried;

/// The signal of a program that used memory which is not there.
const SIGSEGV: i32 = 11;

/// How a run failed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Failure {
    /// None of its threads could go on.
    Stuck,
    /// It was ended after this time.
    TooLong(Duration),
    /// It did this to memory.
    Memory(Box<MemoryError>),
    /// A signal ended it, with its last words.
    Signal(i32, Option<String>),
    /// It ended with an exit code other than 0, and these last words.
    Code(i32, Option<String>),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Stuck => f.write_str("no thread could go on"),
            Failure::TooLong(limit) => write!(f, "ended after {} s", limit.as_secs()),
            Failure::Memory(error) => error.fmt(f),
            Failure::Signal(signal, _) => f.write_str(&signal_name(*signal)),
            Failure::Code(code, _) => write!(f, "exit code {code}"),
        }
    }
}

impl Failure {
    /// How a run that ended so failed; `None` if it did not. `late` has the time after which it was ended.
    pub fn of(is_stuck: bool, late: Option<Duration>, status: ExitStatus, printed: &Printed) -> Option<Failure> {
        let words = || words_at_the_end(printed);
        match (late, status.signal(), status.code()) {
            _ if is_stuck => Some(Failure::Stuck),
            (Some(limit), ..) => Some(Failure::TooLong(limit)),
            (None, Some(signal), _) => Some(Failure::Signal(signal, words())),
            (None, None, Some(code @ 1..)) => Some(Failure::Code(code, words())),
            _ => None,
        }
    }

    /// What went wrong in a run that the recorded one does not show. That a run merely took long says nothing: a schedule with many
    /// changes takes longer than others.
    pub fn beyond(tried: &Tried, recorded: &Recorded) -> Option<Failure> {
        if tried.late {
            return None;
        }
        // A null pointer ends the run by itself, unless the program handles that.
        if let Some(error) = tried.misuse.as_ref().filter(|error| error.kind != MemoryErrorKind::NullDereference) {
            return Some(Failure::Memory(Box::new(error.clone())));
        }
        let failure = Failure::of(tried.is_stuck, None, tried.capture.status, &tried.printed)?;
        let same = match &failure {
            Failure::Signal(signal, _) => recorded.run.signal == Some(*signal),
            Failure::Code(code, _) => recorded.run.code == Some(*code),
            Failure::Stuck | Failure::TooLong(_) | Failure::Memory(_) => false,
        };
        // What led to the signal says more than the signal.
        let cause = tried.misuse.as_ref().filter(|_| matches!(failure, Failure::Signal(SIGSEGV, _)));
        let failure = cause.map_or(failure, |error| Failure::Memory(Box::new(error.clone())));
        (!same).then_some(failure)
    }
}
