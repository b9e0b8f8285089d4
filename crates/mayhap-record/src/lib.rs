//! The recorder: runs a program, keeps what its runtime writes, and makes a trace of it.
//!
//! In: a command that starts a program built for recording, and how to record. Out: a recording (a file of packed units of the
//! ring), and from that a trace with its attachments.
//!
//! [`capture`] drains the ring into a recording while the program runs. [`sharing`] finds which memory more than one thread
//! touches: only that is worth an event. [`lower`] reads the recording again and writes events: only then is it known which memory
//! is shared, how accesses of different widths overlap, and what program counters and addresses are called.
//!
//! This crate must never know the command line, terminals, analyses of traces, or reports.
#![forbid(unsafe_code)]

mod capture;
mod error;
mod heap_names;
pub mod limits;
mod lower;
mod memory;
mod options;
mod ring_words;
mod session;
mod sharing;
mod std_waits;
mod turn_steps;
mod unordered;

pub use capture::file::{build_of, is_unfinished, program_file, units};
pub use capture::fork_server::ForkServer;
pub use capture::process::{Output, Process, Start};
pub use capture::program::{Monitor, Unwatched, agent_option, command};
pub use capture::stuck::StuckWatch;
pub use error::Error;
pub use limits::Limits;
pub use options::{LINGER, Options, usual_slice};
pub use session::{Capture, Recording, execute, execute_for_trace, finish, record, record_as};
pub use turn_steps::{Operation, TurnStep, UNCLEAR};
pub use unordered::UnorderedPair;
