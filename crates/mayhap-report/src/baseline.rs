//! Compares a report with an older one (the baseline), so that known findings can be hidden.

use std::collections::BTreeMap;

use crate::data::Report;
use crate::finding::{Baseline, Verdict};

impl Report {
    /// Marks each finding as new or as known from `older`, and notes how many findings of `older` are gone.
    ///
    /// Findings are matched by fingerprint or id. A finding that was only suspected and is now proven counts as new.
    pub fn compare(&mut self, older: &Report) {
        let mut known: BTreeMap<&str, Verdict> = BTreeMap::new();
        for finding in &older.findings {
            for name in [&finding.fingerprint, &finding.id].into_iter().chain(&finding.also) {
                known.insert(name, finding.verdict);
            }
        }
        for finding in &mut self.findings {
            let before = known.get(finding.fingerprint.as_str()).or_else(|| known.get(finding.id.as_str()));
            let is_known = before.is_some_and(|&before| before.is_certain() || !finding.verdict.is_certain());
            finding.baseline = Some(if is_known { Baseline::Known } else { Baseline::New });
        }
        let is_known = |f: &&crate::Finding| f.baseline == Some(Baseline::Known) && f.suppressed_by.is_none();
        self.summary.known = self.findings.iter().filter(is_known).count() as u64;
        let here = |name: &String| {
            self.findings.iter().any(|f| f.fingerprint == *name || f.id == *name || f.also.contains(name))
        };
        let gone = older.findings.iter().filter(|f| !here(&f.fingerprint) && !here(&f.id)).count();
        if gone > 0 {
            self.notes.push(format!("{gone} of the baseline's findings no longer occur"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finding, TraceInfo};

    #[test]
    fn new_findings_are_distinguished_from_known_ones() {
        let report = |findings: &[(&str, &str, Verdict)]| {
            let mut report = Report::new("0", TraceInfo::default(), "data");
            let finding = |&(id, fingerprint, verdict): &(&str, &str, Verdict)| Finding {
                id: id.to_string(),
                fingerprint: fingerprint.to_string(),
                verdict,
                ..Finding::default()
            };
            report.findings = findings.iter().map(finding).collect();
            report
        };
        use Verdict::{Confirmed, Proven, Suspected};
        let older = report(&[("a", "fa", Proven), ("b", "fb", Suspected), ("c", "fc", Proven), ("x", "fx", Proven)]);
        let mut now =
            report(&[("a2", "fa", Confirmed), ("b", "fb", Proven), ("c", "fc2", Suspected), ("d", "fd", Proven)]);
        now.compare(&older);
        let marks: Vec<bool> = now.findings.iter().map(|f| f.baseline == Some(Baseline::Known)).collect();
        assert_eq!(marks, [true, false, true, false]);
        assert_eq!(now.summary.known, 2);
        assert_eq!(now.notes, ["1 of the baseline's findings no longer occur"]);
        assert_eq!(now.shown().count(), 2);
    }
}
