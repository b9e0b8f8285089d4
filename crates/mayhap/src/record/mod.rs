//! Recording: a program built with `mayhap cc` runs, its runtime writes into a ring in shared memory, and what comes out
//! of the ring becomes a trace.
//!
//! Two passes. While the program runs, [`survey`] takes what the ring's [`units`] tell, keeps it in a spool file, and learns
//! who touches which memory. When the program has ended, [`lower`] reads the spool again and writes events: only then is
//! it known which memory two threads touched (the rest is dropped), how accesses of different widths overlap, and what
//! program counters and addresses are called ([`symbols`]).

mod calls;
mod ending;
mod granule;
mod items;
pub mod limits;
pub mod lower;
mod members;
mod modules;
mod names;
mod order;
mod packing;
pub mod program;
pub mod raw;
mod ring;
pub mod run;
mod rust_code;
mod rust_sites;
mod shadow;
mod spool;
pub mod stacks;
pub mod steps;
mod survey;
pub mod symbols;
mod sync;
mod unit_packing;
mod units;
mod words;

pub use limits::Limits;
pub use program::{Monitor, Options, Recording, Taken, Unwatched, command, execute, record, record_as};
pub use run::Run;
