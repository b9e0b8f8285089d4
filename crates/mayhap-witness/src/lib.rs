//! The trusted kernel: what a correct reordering is, what the bad states are, and whether a schedule reaches one.
//!
//! Nothing here searches. Engines elsewhere find schedules; only [`Checker::check`] turns one into a [`Checked`], and only
//! a [`Checked`] may be called proven. Depends on the trace crate alone and has no `unsafe`.
#![forbid(unsafe_code)]

mod check;
mod checkpoints;
mod incremental;
mod model;
mod schedule;
mod target;

pub use check::{Checked, Checker, Rejection, Why};
pub use incremental::IncrementalChecker;
pub use model::Model;
pub use schedule::Schedule;
pub use target::{Kind, Target, TargetError};

/// A schedule: events in the order in which they are to run.
///
/// It holds relevant events only: no `begin` or `end`, no re-entrant lock operation. For a race, a deadlock and a
/// nondeterministic read the target's own events do not run: they are what their threads would do next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Witness {
    /// The events.
    pub schedule: Schedule,
}
