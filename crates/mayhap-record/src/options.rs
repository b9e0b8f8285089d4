//! How to record.

use std::path::PathBuf;
use std::time::Duration;

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
    /// Record values of plain accesses.
    pub values: bool,
    /// How long threads that are still at work when the program ends may go on.
    pub linger: Duration,
    /// What is left out.
    pub limits: Limits,
    /// The trace is made at once, not when it is first read.
    pub finish: bool,
    /// Where the paths of source files in the trace begin, if not where the program runs.
    pub root: Option<PathBuf>,
}

/// How long threads may go on when the program ends, unless something else is asked for.
pub const LINGER: Duration = Duration::from_secs(1);

/// The mean number of hooks between passes of the token, unless another is asked for.
pub fn usual_slice(schedule: Schedule) -> u32 {
    match schedule {
        Schedule::Free => 100_000,
        Schedule::Random => 100,
        Schedule::Pct => 1_000,
        Schedule::Pos => 10,
        Schedule::Turns => 1,
    }
}
