//! One-pass detectors of suspected races.
//!
//! Each compares the accesses of a trace by an order or a rule ([`Order`]) and reports conflicting accesses that it leaves
//! unordered ([`Detection`]). What they find is suspected, not proven: proofs are schedules, and those come from elsewhere.
//!
//! Detectors read events piece by piece from any [`mayhap_trace::Source`], in two passes at most, and hold no events:
//! memory is bounded by threads, locks and the variables that threads share.
#![forbid(unsafe_code)]

pub mod candidates;
mod census;
pub mod clock;
mod detect;
mod detection;
mod hb;
mod lockset;
mod pairs;
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
