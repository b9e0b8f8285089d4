//! The foundation of the tests of all other crates: a notation for small traces, a generator of random ones, a shrinker, and
//! the brute-force [`Oracle`] that knows every reachable state of a small trace.
//!
//! Nothing here shares code with what it checks: reads-from, sections and locks held are derived independently ([`Facts`]), and
//! neither [`mayhap_trace::Relations`] nor the kernel is called.
//!
//! In: a small trace or program. Out: what is true of it, by enumeration. This crate must never know engines, the kernel, or the recorder.
#![forbid(unsafe_code)]

mod facts;
pub mod fuzz;
mod generate;
pub mod golden;
mod hard;
mod judge;
pub mod needs;
mod notation;
mod oracle;
pub mod program;
mod random;
pub mod reference;
pub mod shrink;
mod subtrace;
mod targets;

pub use facts::Facts;
pub use generate::{Generator, Profile, cases};
pub use hard::{Hard, forbidden_triples};
pub use judge::Judge;
pub use notation::trace;
pub use oracle::{Oracle, TooBig};
pub use random::Random;
pub use subtrace::subtrace;
pub use targets::targets;
