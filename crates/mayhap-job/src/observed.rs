//! What already went wrong in a recorded run is a finding.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use mayhap_explore::{Attempt, Failure as Failed};
use mayhap_record as record;
use mayhap_replay::effect::UNCAUGHT;
use mayhap_replay::memory::Moment;
use mayhap_replay::outcome::signal_name;
use mayhap_report::{Describer, Finding};
use mayhap_trace::attachments::ThreadNames;
use mayhap_trace::attachments::waiting::Waiting;
use mayhap_trace::{Execution, Trace};
use mayhap_wire::ring::Schedule;

use super::{Work, memory};
use mayhap_report::stacks;

impl Work<'_> {
    /// Adds the finding of a run that failed.
    pub(super) fn observe(&mut self, failed: &Seen, path: &Path, execution: &Execution<'_>) {
        let finding = describe(&failed.failure, failed.crash.as_ref(), path, execution);
        if self.known.insert(finding.fingerprint.clone()) {
            self.observed.push(finding);
        }
    }

    /// A failure with what led to it, if it comes again while the runtime watches memory.
    pub(super) fn located(&mut self, failure: Failed, schedule: Schedule, seed: u64) -> Seen {
        let Failed::Signal(signal, _) = failure else { return Seen { failure, crash: None } };
        let attempt = Attempt { schedule, slice: record::usual_slice(schedule), seed };
        match self.attempt(attempt, self.job.timeout) {
            Ok(again) if again.capture.status.signal() == Some(signal) => {
                let failure = again.misuse.map_or(failure, |misuse| Failed::Memory(Box::new(misuse)));
                Seen { failure, crash: again.crash }
            }
            // What a further run does is not what this one did.
            _ => Seen { failure, crash: None },
        }
    }
}

/// What went wrong in a recorded run.
pub(super) struct Seen {
    pub(super) failure: Failed,
    /// Where the program was when a signal ended it.
    pub(super) crash: Option<Moment>,
}

/// The finding of a run that failed.
pub(super) fn describe(failed: &Failed, crash: Option<&Moment>, path: &Path, execution: &Execution<'_>) -> Finding {
    let trace = execution.trace();
    let waiting = File::open(path).map(|file| Waiting::read(BufReader::new(file))).unwrap_or_default();
    let last = stacks::at(path, trace, &last_events(trace).collect());
    let describer = Describer::new(execution, 0).with_stacks(last);
    let said = |words: &Option<String>| words.as_ref().map_or(String::new(), |text| format!("It said: {text}"));
    let mut finding = match failed {
        Failed::Stuck => describer.stuck(&waiting).unwrap_or_else(|| describer.stopped()),
        Failed::TooLong(limit) => describer.ran_too_long(limit.as_secs()),
        Failed::Signal(signal, words) => {
            // The type of an exception says more than the signal that it came to.
            let uncaught = words.as_deref().and_then(|words| words.strip_prefix(UNCAUGHT));
            let how = match uncaught.map(|exception| exception.split(": ").next().unwrap_or(exception)) {
                Some(exception) => format!("crashed with an uncaught {exception}"),
                None => format!("crashed with {}", signal_name(*signal)),
            };
            describer.crashed(&how, &said(words), crash.map(|at| memory::moment_of("ended", at)).as_ref())
        }
        Failed::Memory(error) => memory::observed(&describer, error),
        Failed::Code(code, words) => describer.crashed(&format!("ended with exit code {code}"), &said(words), None),
    };
    finding.name_threads(&ThreadNames::load(path));
    finding
}

/// The last events of a trace, as many as a finding may show.
fn last_events(trace: &Trace) -> impl Iterator<Item = mayhap_trace::EventId> + '_ {
    let first = trace.len().saturating_sub(200);
    (first..trace.len()).map(mayhap_trace::EventId::at)
}
