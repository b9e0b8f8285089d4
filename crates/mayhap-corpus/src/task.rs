//! What comes of one trace.

use mayhap_report::Report;
use mayhap_report::prediction::Windows;
use serde::{Deserialize, Serialize};

use crate::Limits;

/// What came of one trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// It was analysed.
    #[serde(rename = "report")]
    Report(Box<Report>),
    /// Some of its windows were analysed.
    #[serde(rename = "windows")]
    Windows(Box<Windows>),
    /// It was not.
    #[serde(rename = "failed")]
    Failed(Failed),
}

impl Outcome {
    /// Fingerprints of the findings.
    pub fn fingerprints(&self) -> Vec<String> {
        match self {
            Outcome::Report(report) => report.findings.iter().map(|finding| finding.fingerprint.clone()).collect(),
            Outcome::Windows(windows) => windows.findings().map(|finding| finding.fingerprint.clone()).collect(),
            Outcome::Failed(_) => Vec::new(),
        }
    }
}

/// Why a trace was not analysed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// What happened.
    pub how: How,
    /// More about it, in words.
    pub reason: String,
}

/// What kept a trace from being analysed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// The file is no trace, breaks a rule, or cannot be read.
    Damaged,
    /// The analysis crashed.
    Crashed,
    /// It took too long.
    TimedOut,
    /// It needed more memory than it may use.
    OutOfMemory,
    /// The object store did not deliver it.
    Unreachable,
    /// The file was written to while it was analysed.
    Changed,
}

impl How {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            How::Damaged => "damaged",
            How::Crashed => "crashed",
            How::TimedOut => "timed-out",
            How::OutOfMemory => "out-of-memory",
            How::Unreachable => "unreachable",
            How::Changed => "changed",
        }
    }
}

impl Failed {
    /// A file that cannot be analysed.
    pub fn damaged(reason: impl Into<String>) -> Failed {
        Failed { how: How::Damaged, reason: reason.into() }
    }

    /// Whether a task that failed so under `before` may succeed under `now`.
    pub fn may_succeed(&self, before: Option<Limits>, now: Limits) -> bool {
        match (self.how, before) {
            (How::TimedOut, Some(before)) => now.time > before.time,
            (How::OutOfMemory, Some(before)) => now.memory > before.memory,
            (How::TimedOut | How::OutOfMemory, None) => true,
            (How::Unreachable | How::Changed, _) => true,
            (How::Damaged | How::Crashed, _) => false,
        }
    }
}
