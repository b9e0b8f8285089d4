//! How to record.

use std::path::PathBuf;

use mayhap_wire::ring::Schedule;

use crate::limits::Limits;

/// How to record.
#[derive(Clone, Debug)]
pub struct Options {
    /// The trace to write.
    pub output: PathBuf,
    /// Seed of the scheduler.
    pub seed: u64,
    /// How the token passes.
    pub schedule: Schedule,
    /// Mean number of hooks between passes.
    pub slice: u32,
    /// Record what differs from run to run by itself, for replays.
    pub inputs: bool,
    /// What is left out.
    pub limits: Limits,
    /// The trace is made at once, not when it is first read.
    pub finish: bool,
}

/// The mean number of hooks between passes of the token, unless another is asked for.
pub fn usual_slice(schedule: Schedule) -> u32 {
    match schedule {
        Schedule::Free => 100_000,
        Schedule::Random => 100,
        Schedule::Pct => 1_000,
    }
}
