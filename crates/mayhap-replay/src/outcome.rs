//! What a replay came to: whether the bad state was reached, and what became of the program.

use std::fmt;

use crate::memory::MemoryError;

/// Whether the bad state was reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It happened.
    Confirmed,
    /// The program did something else.
    Diverged {
        /// The step of the schedule, from 1.
        step: usize,
        /// What was expected there.
        expected: String,
        /// What came.
        got: String,
        /// What may have led it there: what differs from run to run by itself and was not recorded.
        sources: Vec<&'static str>,
    },
    /// A thread that was to go on waits for something that the trace does not know: the proof missed an order.
    Blocked {
        /// The step of the schedule that was to come, from 1.
        step: usize,
        /// What was expected there.
        expected: String,
        /// The thread.
        thread: String,
        /// What it does instead: "sleeps in the system call futex", "spins".
        how: String,
        /// Where: function and line or module and offset, innermost first.
        stack: Vec<String>,
    },
    /// The program did as planned, but did not come to the end of the schedule.
    NotReached(String),
}

/// What came of the program after that; the gravest last.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// The program was ended from here, so nothing can be said.
    Unknown,
    /// The process was ended where the state was reached, as asked for, so nothing can be said.
    Core,
    /// Nothing that the recorded run did not show.
    None,
    /// Other output.
    Output {
        /// The first line that the recorded run did not print.
        line: String,
    },
    /// Another exit code.
    Exit {
        /// The code.
        code: i32,
        /// What the recorded run ended with.
        recorded: i32,
    },
    /// It never ended.
    Hang,
    /// A signal ended it.
    Crash {
        /// The signal's number.
        signal: i32,
        /// The line in which the program says why, if it does.
        message: Option<String>,
    },
    /// It used memory that it must not use.
    Memory(Box<MemoryError>),
    /// Threads wait for each other forever.
    Deadlock,
}

impl Outcome {
    /// Returns the word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Confirmed => "confirmed",
            Outcome::Diverged { .. } => "diverged",
            Outcome::Blocked { .. } => "blocked",
            Outcome::NotReached(_) => "not reached",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Confirmed => f.write_str("confirmed"),
            Outcome::Diverged { step, expected, got, sources } => {
                write!(f, "diverged at step {step}: expected {expected}, got {got}")?;
                if sources.is_empty() { Ok(()) } else { write!(f, "; {}", suspects(sources)) }
            }
            Outcome::Blocked { step, expected, thread, how, stack } => {
                let place = stack.first().map_or(String::new(), |place| format!(" at {place}"));
                write!(f, "blocked at step {step}: expected {expected}, but {thread} {how}{place}")
            }
            Outcome::NotReached(why) => write!(f, "not reached: {why}"),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::None => f.write_str("no visible effect"),
            Effect::Core => {
                f.write_str("effect not examined: the process ended with a core dump when the state was reached")
            }
            Effect::Crash { signal, message } => {
                write!(f, "crash ({})", signal_name(*signal))?;
                message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
            }
            Effect::Memory(error) => error.fmt(f),
            Effect::Hang => f.write_str("hang: the program makes no progress"),
            Effect::Deadlock => f.write_str("deadlock: the threads wait for each other forever"),
            Effect::Exit { code, recorded } => write!(f, "exit code {code} instead of {recorded}"),
            Effect::Output { line } => write!(f, "different output: {line}"),
            Effect::Unknown => f.write_str("effect unknown: the program was stopped at its time limit"),
        }
    }
}

/// A source of divergence that no call gives away.
pub const ADDRESSES: &str = "addresses";

/// What may have led a run elsewhere.
pub fn suspects(sources: &[&str]) -> String {
    if sources == [ADDRESSES] {
        return "where its memory lies seems to lead the program elsewhere: with addresses that change from run to run it does not \
                always do the same, with fixed ones it does. Record and replay under `setarch -R`"
            .into();
    }
    let all = sources.join(", ");
    format!("the program uses {all}, a nondeterministic input that was not recorded")
}

/// The name of a signal that ends programs.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    };
    name.into()
}
