//! The program-level oracle: a tiny language, an interpreter that runs every interleaving of its programs with real
//! values, and the judgement whether what is said of a recorded run is true of the program.
//!
//! It shares no code with what it judges: neither the kernel nor the engines, nor the oracle of traces, nor
//! [`mayhap_trace::Relations`].

mod as_recorded;
mod clocks;
mod code;
mod executions;
mod explore;
mod facts;
mod follow;
mod generate;
mod idioms;
mod interpreter;
mod judge;
pub mod language;
mod lower;
mod mistakes;
mod operations;
mod packed;
mod print_c;
mod queue;
mod recording;
mod replay;
mod shrink;
mod state;

pub use as_recorded::{Agreement, compare};
pub use executions::{Found, History, executions};
pub use explore::explore;
pub use facts::{Facts, Outcome, Side, Waiting};
pub use follow::{Failed, Rules};
pub use generate::{Profile, generate};
pub use interpreter::{Machine, Misuse, Next, Touch};
pub use judge::{Claim, ProgramJudge};
pub use language::Program;
pub use lower::{Lowered, Origin, lower};
pub use mistakes::Mistake;
pub use print_c::{Printed, print_c, print_outcome, print_together};
pub use recording::Recording;
pub use shrink::shrink;
pub use state::Choice;
pub use state::{Attempt, Block, Cell, Decision, Effect, Happened, Part, State, UpdateSort, Value};

#[cfg(test)]
mod tests;
