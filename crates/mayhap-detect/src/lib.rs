//! One-pass detectors of suspected races.
//!
//! Each compares the accesses of a trace by an order or a rule ([`Order`]) and reports conflicting accesses that it leaves
//! unordered ([`Detection`]). Their races are suspected, not proven: a proof is a schedule, which detectors do not compute.
//!
//! Detectors read events in chunks from any [`mayhap_trace::Source`], in at most two passes, and hold no events: memory is bounded
//! by threads, locks and shared variables.
//!
//! In: a source of events. Out: pairs of accesses, and the candidates that engines are asked about ([`candidates`]). This crate must
//! never know engines, budgets, files, or how a race is shown.
#![forbid(unsafe_code)]

mod atomics;
pub mod candidates;
mod census;
pub mod clock;
mod detect;
mod detection;
mod hb;
mod lockset;
mod pairs;
mod passes;
mod rules;
mod signals;
mod stream;
mod syncp;
mod tally;
mod wcp;
mod window;

pub use detect::detect;
pub use detection::{Detection, Options, Order, Queues, Race};
pub use stream::Input;

#[cfg(test)]
mod clock_tests;
