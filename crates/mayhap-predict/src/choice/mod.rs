//! Nondeterministic reads: which other writes a read could have seen.
//!
//! A program is deterministic if every read sees the same write in all interleavings of the run. A triplet (w, r, c) asks
//! for one read: r saw w; can c come between, or take w's place?
//!
//! [`Literal`] is the published decision, as it stands.

mod abstraction;
mod literal;
mod order;
mod scopes;
mod triplets;
mod witness_order;

pub use literal::{Literal, Outcome, ReadOutcomes, decide_edges};
pub use triplets::{Accesses, Triplets};
