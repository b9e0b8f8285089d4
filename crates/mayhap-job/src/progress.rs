//! How far an exploration is, and what came of each run.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use mayhap_explore::{Failure as Failed, Outcome};
use mayhap_report::Finding;
use serde::{Deserialize, Serialize};

use super::Recording;
use super::curve::Curve;

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
    /// Where in the code steps of runs began.
    codes: HashSet<u64>,
    /// Traces of runs that came to new code.
    pub(super) kept: Vec<Recording>,
}

impl Progress {
    /// Nothing is done yet.
    pub(super) fn new(limit: Duration) -> Progress {
        let (started, alike, curve) = (Instant::now(), HashMap::new(), Curve::default());
        let (codes, kept) = (HashSet::new(), Vec::new());
        Progress { started, before: 0.0, limit, runs: 0, failures: 0, alike, curve, codes, kept }
    }

    /// Whether a run came to code that no run before it came to. Runs in which calls failed by choice do not count: replays do not make them fail.
    pub(super) fn has_new_code(&mut self, outcome: &Outcome) -> bool {
        !outcome.has_faults() && outcome.steps.iter().filter(|step| self.codes.insert(step.code)).count() > 0
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
