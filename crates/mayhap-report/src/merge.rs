//! Several reports as one: the same bug in several tests is one finding that names all of them.

use std::collections::BTreeMap;

use crate::data::{Report, TraceInfo};

impl Report {
    /// Says which test the findings are of.
    pub fn of_test(&mut self, test: &str) {
        for finding in &mut self.findings {
            finding.tests = vec![test.to_string()];
        }
        for note in &mut self.notes {
            *note = format!("{test}: {note}");
        }
    }

    /// The reports of the tests of a suite, as one; `suite` is what it is called.
    pub fn of_suite(tool_version: &str, suite: &str, reports: Vec<Report>) -> Report {
        let model = reports.first().map_or("causal", |report| report.model.as_str()).to_string();
        let info = TraceInfo { path: suite.to_string(), ..TraceInfo::default() };
        let mut whole = Report::new(tool_version, info, &model);
        let mut place: BTreeMap<String, usize> = BTreeMap::new();
        for report in reports {
            whole.trace.events += report.trace.events;
            whole.trace.threads = whole.trace.threads.max(report.trace.threads);
            whole.trace.locks += report.trace.locks;
            whole.trace.variables += report.trace.variables;
            whole.summary.add(&report.summary);
            whole.summary.confirmed += report.summary.confirmed;
            whole.notes.extend(report.notes);
            whole.sources.extend(report.sources);
            for finding in report.findings {
                let Some(&at) = place.get(&finding.fingerprint) else {
                    place.insert(finding.fingerprint.clone(), whole.findings.len());
                    whole.findings.push(finding);
                    continue;
                };
                let known = &mut whole.findings[at];
                let mut tests = std::mem::take(&mut known.tests);
                tests.extend(finding.tests.iter().cloned());
                tests.dedup();
                let occurrences = known.occurrences + finding.occurrences;
                if finding.verdict < known.verdict {
                    *known = finding;
                }
                known.tests = tests;
                known.occurrences = occurrences;
            }
        }
        whole.sources.sort_by(|a, b| (&a.file, a.from).cmp(&(&b.file, b.from)));
        whole.sources.dedup();
        whole.arrange();
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finding, Verdict};

    #[test]
    fn the_same_bug_in_two_tests_is_one_finding() {
        let report = |test: &str, verdict: Verdict, fingerprint: &str| {
            let mut report = Report::new("0", TraceInfo { events: 5, ..TraceInfo::default() }, "causal");
            let (id, fingerprint) = (format!("{fingerprint}-{test}"), fingerprint.to_string());
            report.findings = vec![Finding { id, fingerprint, verdict, occurrences: 1, ..Finding::default() }];
            report.notes = vec!["a note".to_string()];
            report.of_test(test);
            report
        };
        let reports = vec![
            report("a", Verdict::Proven, "race-1"),
            report("b", Verdict::Confirmed, "race-1"),
            report("c", Verdict::Proven, "race-2"),
        ];
        let whole = Report::of_suite("0", "suite", reports);
        let found: Vec<_> = whole.findings.iter().map(|f| (f.verdict, f.tests.join(" "), f.occurrences)).collect();
        assert_eq!(found, [(Verdict::Confirmed, "a b".to_string(), 2), (Verdict::Proven, "c".to_string(), 1)]);
        assert_eq!((whole.trace.events, whole.notes[1].as_str()), (15, "b: a note"));
    }
}
