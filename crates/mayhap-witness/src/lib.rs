//! The proof checker (kernel): what a correct schedule is, what the bad states are, and whether a schedule reaches one.
//!
//! Nothing here searches. Engines elsewhere find schedules; only [`Checker::check`] turns one into a [`Checked`], and only
//! a [`Checked`] may be called proven. Depends on the trace crate alone and has no `unsafe`.
//!
//! What is trusted: `model`, `target`, `schedule`, `values`, `writes`, `state`, `happens_before` and `check`, and what the trace crate
//! derives from a trace. `checkpoints`, `changes` and `incremental` only make checking fast: what they get wrong cannot make a
//! [`Checked`]. `rejection` only words it.
//!
//! In: a trace with its relations, a model, a target, a schedule. Out: a [`Checked`], or the first step that is not allowed and why.
//! This crate must never know engines, files, or options.
#![forbid(unsafe_code)]

mod changes;
mod check;
mod checkpoints;
mod happens_before;
mod incremental;
mod model;
mod rejection;
mod schedule;
mod state;
mod target;
mod values;
mod writes;

pub use check::{Checked, Checker};
pub use incremental::IncrementalChecker;
pub use model::Model;
pub use rejection::{Rejection, Why};
pub use schedule::Schedule;
pub use target::{Kind, Target, TargetError};
pub use values::KnownValues;

/// A schedule: events in the order in which they are to run.
///
/// It holds relevant events only: no `begin` or `end`, no re-entrant lock operation. For a race of two accesses that are
/// both next, a deadlock and a nondeterministic read the target's own events do not run: they are what their threads would
/// do next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Witness {
    /// The events.
    pub schedule: Schedule,
}
