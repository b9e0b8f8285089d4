//! From executions of a program to schedules that lead to other ones.
//!
//! In: a program, and how its recorded run went. Out: schedules that are worth a run, and of each run how it ended and whether that is a
//! failure that the recorded run did not have.
//!
//! [`run`] makes one run under a schedule and watches it; [`failure`] says what went wrong in it; [`sample`] draws schedules. The runtime
//! lets nothing but program, input and seed decide the order of such a run, so a schedule is three numbers, and the same three give the
//! same run again. [`systematic`] goes through all executions of a small program, by turns that [`dpor`] finds worth a run, and [`minimise`]
//! makes the turns of a failure fewer. What is learnt from a run is an [`Outcome`]; a [`Journal`] keeps one [`Entry`] for each run, from which an exploration that was interrupted goes on. A [`Manifest`] says of an
//! exploration that is complete why there is no other execution, and [`closure`] checks that without any of the above.
//!
//! This crate must never know the terminal, the command line, or how a failure is reported.
#![forbid(unsafe_code)]

mod classes;
pub mod closure;
mod derived;
pub mod dpor;
pub mod entry;
pub mod explorer;
pub mod failure;
pub mod faults;
pub mod journal;
pub mod manifest;
pub mod minimise;
mod open;
pub mod outcome;
pub mod races;
pub mod run;
pub mod sample;
mod sleep;
pub mod steps_text;
pub mod systematic;
pub mod turns;
mod views;

pub use entry::Entry;
pub use explorer::{Explorer, Next};
pub use failure::Failure;
pub use faults::Faults;
pub use journal::Journal;
pub use manifest::Manifest;
pub use mayhap_record::Error;
pub use outcome::Outcome;
pub use run::{Attempt, Tried, Watch};
pub use sample::{Sampler, Strategy};
pub use systematic::Systematic;
pub use turns::Turn;
