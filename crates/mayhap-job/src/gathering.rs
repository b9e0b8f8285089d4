//! Gathers what the parts of a job found into one report.

use mayhap_report::Report;
use mayhap_trace::Trace;

use super::{Done, Work};
use crate::Error;

impl Work<'_> {
    /// The trace has been to places where no analysed run has been.
    pub(super) fn is_news(&self, trace: &Trace) -> bool {
        trace.tables().locations.iter().any(|name| !self.places.contains(name))
    }

    /// Adds the counts of another trace's report.
    pub(super) fn merge(&mut self, part: Report) {
        let Some(report) = &mut self.report else {
            self.report = Some(part);
            return;
        };
        report.summary.add(&part.summary);
        report.notes.extend(part.notes);
    }

    pub(super) fn finish(mut self) -> Result<Done, Error> {
        let interrupted = self.interrupt.is_interrupted();
        if interrupted {
            self.notes.push("interrupted; partial results".into());
        } else if self.interrupt.is_late() {
            self.notes.push("the budget is used up; partial results".into());
            self.undecided = true;
        }
        let nothing = || Report::new(env!("CARGO_PKG_VERSION"), Default::default(), "branch");
        let mut report = self.report.take().unwrap_or_else(nothing);
        report.exploration = self.exploration;
        report.findings.append(&mut self.explored);
        report.program = self.job.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        report.summary.confirmed =
            report.findings.iter().filter(|f| f.verdict == mayhap_report::Verdict::Confirmed).count() as u64;
        report.findings.append(&mut self.observed);
        report.notes.extend(self.notes);
        report.arrange();
        Ok(Done { report, undecided: self.undecided, interrupted })
    }
}
