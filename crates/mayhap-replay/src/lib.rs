//! Replay: a witness forced onto the program that was recorded.
//!
//! In: a recorded trace, a witness of it, and the program. Out: whether the bad state was reached, and what came of the program
//! after that.
//!
//! The witness becomes a plan of steps ([`plan`]), the plan memory that the runtime inside the program follows ([`image`]), and what
//! happens is watched from here ([`session`]): whether the bad state was reached, where the run left the plan, and how the
//! program ended after that. [`witness_file`] keeps witnesses in files.
//!
//! This crate must never know how a witness was found, or how a replay is reported.
#![forbid(unsafe_code)]

pub mod addresses;
pub mod debugger;
pub mod describe;
pub mod effect;
pub mod fixed_addresses;
pub mod image;
pub mod memory;
pub mod outcome;
pub mod plan;
pub mod session;
mod sharing;
mod stall;
pub mod witness_file;

pub use mayhap_record::Error;
pub use memory::{MemoryError, MemoryErrorKind};
pub use outcome::{Effect, Outcome};
pub use session::{Options, Replayed, Side, replay, steps};
