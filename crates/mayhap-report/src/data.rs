//! The report: one document with everything that is shown. Its JSON is specified by `docs/report.schema.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::describe::words::counted;
use crate::finding::{Finding, Verdict};
use crate::fingerprint;
use crate::refutation::Refutation;

/// What the JSON says it is.
pub const FORMAT: &str = "mayhap-report";
/// The version of the JSON: raised when a field goes or changes its meaning, not when one is added.
pub const VERSION: u32 = 2;
/// The oldest version that is read.
const OLDEST: u32 = 1;

/// What was found in one trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The program that wrote the report.
    pub tool: Tool,
    /// The trace that was analysed.
    pub trace: TraceInfo,
    /// The model: what reorderings preserve of reads. For a detector, `none`.
    pub model: String,
    /// The command line of the recorded program, if known.
    pub program: Vec<String>,
    /// The findings, the most certain and most severe first.
    pub findings: Vec<Finding>,
    /// Why a question was refuted, if one was.
    pub refutation: Option<Refutation>,
    /// The result for all reads, if nondeterministic reads were asked for.
    pub nondeterminism: Option<serde_json::Value>,
    /// What runs under other schedules came to, if there were any.
    pub exploration: Option<Exploration>,
    /// What became of the traces, if the report is of many.
    pub corpus: Option<Corpus>,
    /// The source lines that the findings refer to.
    pub sources: Vec<SourceText>,
    /// Counts.
    pub summary: Summary,
    /// Notes for the reader: rules without effect, incomplete files.
    pub notes: Vec<String>,
}

/// The program that wrote a report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tool {
    /// `mayhap`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The trace that a report describes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TraceInfo {
    /// The path, as given on the command line.
    pub path: String,
    /// How many events it has.
    pub events: u64,
    /// How many threads.
    pub threads: u64,
    /// How many locks.
    pub locks: u64,
    /// How many variables.
    pub variables: u64,
    /// How many events a repair dropped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repaired: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Counts over all candidates.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// How many candidates there were.
    pub candidates: u64,
    /// How many were proven.
    pub proven: u64,
    /// How many were refuted.
    pub refuted: u64,
    /// How many are undecided.
    pub unknown: u64,
    /// Findings that are suspected only.
    pub suspected: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Findings that a replay reproduced.
    #[serde(default)]
    pub confirmed: u64,
    /// Findings that a suppression hides.
    #[serde(default)]
    pub suppressed: u64,
    /// Findings that the baseline already contains.
    #[serde(default)]
    pub known: u64,
    /// Why the first undecided candidate is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_unknown: Option<String>,
    /// Whether reads can see other writes, in one sentence, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub determinism: Option<String>,
    /// Instances decided.
    #[serde(default)]
    pub decisions: u64,
    /// Far instances that were not tried.
    #[serde(default)]
    pub instances_left_out: u64,
    /// Violations that are left out because a race of the report covers them.
    #[serde(default)]
    pub covered_by_races: u64,
    /// Proven candidates by the stage that proved them.
    #[serde(default)]
    pub proven_by: Vec<Rung>,
    /// Refuted candidates by the stage that refuted them.
    #[serde(default)]
    pub refuted_by: Vec<Rung>,
    /// What the engines counted.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// Later events of proven races, if all instances were decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racy_events: Option<u64>,
    /// Distinct locations of these events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racy_locations: Option<u64>,
}

impl Summary {
    /// Adds the counts of another part of the trace, or of another trace.
    pub fn add(&mut self, more: &Summary) {
        self.candidates += more.candidates;
        self.proven += more.proven;
        self.refuted += more.refuted;
        self.unknown += more.unknown;
        self.suspected += more.suspected;
        self.seconds += more.seconds;
        self.decisions += more.decisions;
        self.instances_left_out += more.instances_left_out;
        self.covered_by_races += more.covered_by_races;
        if self.first_unknown.is_none() {
            self.first_unknown.clone_from(&more.first_unknown);
        }
    }
}

/// What runs under other schedules came to.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Exploration {
    /// How many schedules were run.
    pub schedules: u64,
    /// How many of those runs failed in a way that the recorded run did not.
    pub failures: u64,
    /// How many different executions were found while going through all of them.
    #[serde(default)]
    pub executions: u64,
    /// How many further runs were not made, since all of their steps follow from runs that were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub derived: u64,
    /// Runs that are known to be worth making and were not made.
    #[serde(default)]
    pub open: u64,
    /// These are all executions of the program on this input.
    #[serde(default)]
    pub complete: bool,
    /// Loops that wait were followed for a few rounds only.
    #[serde(default)]
    pub cut_loops: bool,
    /// What forbids to say that these are all executions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// How many different executions were known after how many schedules, where that grew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<[u64; 2]>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// What became of the traces of a corpus.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Corpus {
    /// How many traces there are.
    pub traces: u64,
    /// How many were analysed.
    pub analysed: u64,
    /// How many have findings.
    pub with_findings: u64,
    /// Those that could not be analysed.
    pub not_analysed: Vec<NotAnalysed>,
}

/// A trace that could not be analysed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NotAnalysed {
    /// Its path.
    pub path: String,
    /// `damaged`, `crashed`, `timed-out` or `out-of-memory`.
    pub why: String,
    /// The reason, in words.
    pub reason: String,
}

/// How many candidates a stage decided.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rung {
    /// The stage.
    pub rung: String,
    /// How many.
    pub candidates: u64,
}

/// Why a text cannot be read as a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not valid JSON of a report.
    #[error("line {}, column {}: {}", .0.line(), .0.column(), without_position(.0))]
    Json(#[from] serde_json::Error),
    /// It is not marked as a report.
    #[error("not a report: \"format\": \"{FORMAT}\" is missing")]
    NoReport,
    /// It has an unsupported version.
    #[error("unsupported report version {0}; this program reads versions {OLDEST} to {VERSION}")]
    Version(u32),
}

fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_string())
}

/// Consecutive lines of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceText {
    /// The file, as locations spell it.
    pub file: String,
    /// The number of the first line.
    pub from: u32,
    /// The lines, without their ends.
    pub lines: Vec<String>,
}

impl Report {
    /// Creates a report without findings.
    pub fn new(tool_version: &str, trace: TraceInfo, model: &str) -> Self {
        Report {
            format: FORMAT.to_string(),
            version: VERSION,
            tool: Tool { name: "mayhap".to_string(), version: tool_version.to_string() },
            trace,
            model: model.to_string(),
            program: Vec::new(),
            findings: Vec::new(),
            refutation: None,
            nondeterminism: None,
            exploration: None,
            corpus: None,
            sources: Vec::new(),
            summary: Summary::default(),
            notes: Vec::new(),
        }
    }

    /// Says, also with each proven finding, that the trace was repaired: its events are not quite those of the run.
    pub fn was_repaired(&mut self, dropped: u64) {
        self.trace.repaired = dropped;
        if dropped == 0 {
            return;
        }
        let events = counted(dropped, "event");
        let were = if dropped == 1 { "was" } else { "were" };
        for finding in self.findings.iter_mut().filter(|finding| finding.verdict == Verdict::Proven) {
            finding.certainty += &format!(" The trace was repaired: {events} that broke a rule {were} dropped.");
        }
        self.notes.push(format!("the trace was repaired ({events} dropped): findings hold for the repaired trace"));
    }

    /// Reads a saved report.
    pub fn parse(text: &[u8]) -> Result<Report, ReadError> {
        #[derive(Deserialize)]
        struct Start {
            format: Option<String>,
            version: Option<u32>,
        }
        let start: Start = serde_json::from_slice(text)?;
        match (start.format.as_deref(), start.version) {
            (Some(FORMAT), Some(OLDEST..=VERSION)) => Ok(serde_json::from_slice(text)?),
            (Some(FORMAT), Some(version)) => Err(ReadError::Version(version)),
            _ => Err(ReadError::NoReport),
        }
    }

    /// Merges findings with the same id, adding up their occurrences; sorts them, the most certain and most severe first; and
    /// makes their fingerprints unique.
    pub fn arrange(&mut self) {
        let mut place: BTreeMap<String, usize> = BTreeMap::new();
        let mut findings: Vec<Finding> = Vec::with_capacity(self.findings.len());
        for finding in self.findings.drain(..) {
            match place.get(&finding.id) {
                Some(&at) => {
                    let occurrences = findings[at].occurrences + finding.occurrences;
                    if finding.verdict < findings[at].verdict {
                        findings[at] = finding;
                    }
                    findings[at].occurrences = occurrences;
                }
                None => {
                    place.insert(finding.id.clone(), findings.len());
                    findings.push(finding);
                }
            }
        }
        findings.sort_by_key(|f| (f.verdict, f.severity));
        fingerprint::number(&mut findings);
        self.findings = findings;
    }

    /// The findings that neither a suppression nor the baseline hides.
    pub fn shown(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.is_shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report_is_refused() {
        let error = |text: &str| Report::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error("{\n 1").starts_with("line 2, column 2: "), "{}", error("{\n 1"));
        assert!(error("{}").contains("not a report"));
        assert!(error(r#"{"format": "mayhap-report", "version": 9}"#).contains("version 9"));
        assert!(error(r#"{"format": "mayhap-report", "version": 1}"#).contains("missing field `tool`"));
    }

    #[test]
    fn reports_survive_their_json() {
        let mut report = Report::new("0.1.0", TraceInfo::default(), "data");
        report.summary.counters.insert("nodes".to_string(), 3);
        let text = serde_json::to_vec(&report).unwrap();
        assert_eq!(Report::parse(&text).unwrap(), report);
    }
}
