//! Replay: a witness forced onto the program that was recorded.
//!
//! The witness becomes a plan of steps ([`plan`]), the plan memory that the runtime inside the program follows ([`image`]), and what
//! happens is watched from here ([`session`]): whether the bad state was reached, where the run left the plan, and how the
//! program ended after that.

pub mod addresses;
pub mod describe;
pub mod image;
pub mod plan;
pub mod session;
pub mod steps;

pub use session::{Effect, Options, Outcome, Replayed, Side, replay};
