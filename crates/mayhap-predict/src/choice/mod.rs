//! Nondeterministic reads: which other writes a read could have seen.
//!
//! A program is deterministic if every read sees the same write in all interleavings of the run. A triplet (w, r, c) asks
//! for one read: r saw w; can c come between, or take w's place?
//!
//! [`Survey`] decides so that its answers hold: proofs are schedules that the kernel accepted, refutations are complete.
//! [`Literal`] decides as published, for comparison; [`Choice`] is either of them as an engine.

mod abstraction;
mod answers;
mod begins;
mod corrected;
mod engine;
mod galloping;
mod linear;
mod literal;
mod needs;
mod order;
mod remainder;
mod scopes;
mod survey;
mod table;
mod triplets;
mod window;
mod witness_order;

pub use engine::Choice;
pub use literal::{Literal, Outcome, ReadOutcomes, decide_edges};
pub use survey::{KindVerdict, OtherWrite, ReadVerdicts, Session, Survey, Way};
pub use table::Table;
pub use triplets::{Accesses, Triplets};
