//! What already went wrong in a recorded run is a finding.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use mayhap_replay::outcome::signal_name;
use mayhap_replay::session::{Printed, last_words};
use mayhap_report::{Describer, Finding};
use mayhap_trace::attachments::Run;
use mayhap_trace::attachments::waiting::Waiting;
use mayhap_trace::{Relations, Trace};

use super::Work;
use super::output::Limits;
use mayhap_report::stacks;

/// How a recorded run failed.
pub(super) enum Failed {
    /// None of its threads could go on.
    Stuck,
    /// It was ended after this time.
    TooLong(Duration),
    /// A signal ended it.
    Signal(i32, Option<String>),
    /// It ended with an exit code other than 0.
    Code(i32, Option<String>),
}

impl Failed {
    /// How a run that ended so failed; `None` if it did not.
    pub(super) fn of(watch: &Limits, timeout: Duration, run: &Run, printed: &Printed) -> Option<Failed> {
        let words = || last_words(&printed.err);
        match (run.signal, run.code) {
            _ if watch.is_stuck => Some(Failed::Stuck),
            _ if watch.late => Some(Failed::TooLong(timeout)),
            (Some(signal), _) => Some(Failed::Signal(signal, words())),
            (None, Some(code @ 1..)) => Some(Failed::Code(code, words())),
            _ => None,
        }
    }
}

impl Work<'_> {
    /// Adds the finding of a run that failed.
    pub(super) fn observe(&mut self, failed: &Failed, path: &Path, trace: &Trace, relations: &Relations) {
        let waiting = File::open(path).map(|file| Waiting::read(BufReader::new(file))).unwrap_or_default();
        let last = stacks::at(path, trace, &last_events(trace).collect());
        let describer = Describer::new(trace, relations, 0).with_stacks(last);
        let said = |words: &Option<String>| words.as_ref().map_or(String::new(), |text| format!("It said: {text}"));
        let finding: Option<Finding> = match failed {
            Failed::Stuck => describer.stuck(&waiting),
            Failed::TooLong(limit) => Some(describer.ran_too_long(limit.as_secs())),
            Failed::Signal(signal, words) => {
                Some(describer.crashed(&format!("crashed with {}", signal_name(*signal)), &said(words)))
            }
            Failed::Code(code, words) => Some(describer.crashed(&format!("ended with exit code {code}"), &said(words))),
        };
        let finding = finding.unwrap_or_else(|| describer.ran_too_long(0));
        if self.known.insert(finding.fingerprint.clone()) {
            self.observed.push(finding);
        }
    }
}

/// The last events of a trace, as many as a finding may show.
fn last_events(trace: &Trace) -> impl Iterator<Item = mayhap_trace::EventId> + '_ {
    let first = trace.len().saturating_sub(200);
    (first..trace.len()).map(mayhap_trace::EventId::at)
}
