//! How far an exploration is, and what came of each run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mayhap_explore::Failure as Failed;
use mayhap_report::Finding;
use serde::{Deserialize, Serialize};

use super::curve::Curve;
use super::following::Elsewhere;
use super::output::Outputs;

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
}

impl Progress {
    /// Nothing is done yet.
    pub(super) fn new(limit: Duration) -> Progress {
        let (started, alike, curve) = (Instant::now(), HashMap::new(), Curve::default());
        let (elsewhere, outputs) = (Elsewhere::default(), Outputs::default());
        Progress { started, before: 0.0, limit, runs: 0, failures: 0, alike, curve, elsewhere, outputs }
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
