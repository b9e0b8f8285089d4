//! How far an exploration is, and what came of each run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mayhap_explore::{Explorer, Failure as Failed};
use mayhap_report::Finding;
use serde::{Deserialize, Serialize};

use super::curve::Curve;
use super::following::Elsewhere;
use super::output::Outputs;

/// How far an exploration is, for code that shows it to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Explored {
    /// How many schedules were tried.
    pub schedules: u64,
    /// How many runs failed.
    pub failures: u64,
    /// How many distinguishable executions there were, where they are told apart.
    pub executions: u64,
    /// How many of those have turned up since this was last told.
    pub new: u64,
    /// How many runs are known to be worth making.
    pub open: u64,
}

impl Explored {
    /// The most percent of all schedules that those tried can be; 100 if none is known to be open.
    pub fn percent(&self) -> u64 {
        100 * self.schedules / (self.schedules + self.open).max(1)
    }
}

/// How often it is told how far an exploration is.
const TOLD: Duration = Duration::from_secs(1);

/// What is done so far.
pub(super) struct Progress {
    pub(super) started: Instant,
    /// Seconds that were spent before an interruption.
    pub(super) before: f64,
    /// What one run may take.
    pub(super) limit: Duration,
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) alike: HashMap<Failed, u32>,
    pub(super) curve: Curve,
    /// Runs that went where no other had been.
    pub(super) elsewhere: Elsewhere,
    pub(super) outputs: Outputs,
    /// What was last told of it, and when.
    told: Explored,
    told_at: Instant,
}

impl Progress {
    /// Nothing is done yet.
    pub(super) fn new(limit: Duration) -> Progress {
        let (started, alike, curve) = (Instant::now(), HashMap::new(), Curve::default());
        let (elsewhere, outputs) = (Elsewhere::default(), Outputs::default());
        let (told, told_at) = (Explored::default(), started);
        Progress { started, before: 0.0, limit, runs: 0, failures: 0, alike, curve, elsewhere, outputs, told, told_at }
    }

    /// How far it is, if that is to be told now or `always`.
    pub(super) fn news(&mut self, explorer: &Explorer, always: bool) -> Option<Explored> {
        if !always && self.failures == self.told.failures && self.told_at.elapsed() < TOLD {
            return None;
        }
        let (executions, open) = explorer.systematic().map_or((0, 0), |all| (all.executions(), all.open()));
        let new = executions.saturating_sub(self.told.executions);
        self.told = Explored { schedules: self.runs, failures: self.failures, executions, new, open };
        self.told_at = Instant::now();
        Some(self.told)
    }

    /// All that was spent.
    pub(super) fn seconds(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }
}

/// What came of a run besides what is learnt from it.
#[derive(Serialize, Deserialize)]
pub(super) struct Came {
    pub(super) failed: Option<Failed>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) findings: Vec<Finding>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// Fingerprints of findings and of what is the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) also: Vec<[String; 2]>,
    /// All that was spent until then.
    pub(super) seconds: f64,
}

impl Came {
    /// Of a run that ended well.
    pub(super) fn well(seconds: f64) -> Came {
        Came { failed: None, findings: Vec::new(), notes: Vec::new(), also: Vec::new(), seconds }
    }
}

#[cfg(test)]
mod tests {
    use mayhap_explore::Strategy;

    use super::*;

    #[test]
    fn it_is_told_at_once_that_a_run_failed_and_else_now_and_then() {
        let explorer = Explorer::new(Strategy::Pct, 0, 10, false);
        let mut progress = Progress::new(Duration::from_secs(1));
        progress.runs = 1;
        assert_eq!(progress.news(&explorer, false), None);
        progress.failures = 1;
        let told = progress.news(&explorer, false).unwrap();
        assert_eq!((told.schedules, told.failures, told.percent()), (1, 1, 100));
        assert_eq!(progress.news(&explorer, false), None);
        assert_eq!(progress.news(&explorer, true), Some(told));
        progress.told_at -= TOLD;
        assert_eq!(progress.news(&explorer, false), Some(told));
    }

    #[test]
    fn what_is_open_bounds_the_share() {
        assert_eq!(Explored { schedules: 30, open: 70, ..Explored::default() }.percent(), 30);
        assert_eq!(Explored::default().percent(), 0);
    }
}
