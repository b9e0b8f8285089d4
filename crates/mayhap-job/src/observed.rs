//! What already went wrong in a recorded run is a finding.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use mayhap_explore::{Attempt, Failure as Failed};
use mayhap_record as record;
use mayhap_replay::effect::{UNCAUGHT, place_of_panic};
use mayhap_replay::memory::Moment as Stopped;
use mayhap_replay::outcome::signal_name;
use mayhap_report::{Describer, Finding, Moment, PANICKED, Source};
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
    pub(super) crash: Option<Stopped>,
}

/// The finding of a run that failed.
pub(super) fn describe(failed: &Failed, crash: Option<&Stopped>, path: &Path, execution: &Execution<'_>) -> Finding {
    let trace = execution.trace();
    let waiting = File::open(path).map(|file| Waiting::read(BufReader::new(file))).unwrap_or_default();
    let last = stacks::at(path, trace, &last_events(trace).collect());
    let names = ThreadNames::load(path);
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
        Failed::Code(code, words) => {
            let panicked = words.as_deref().and_then(|words| panicked(words, &names));
            let ended = format!("ended with exit code {code}");
            let how = match panicked.as_ref().and_then(|at| at.source.as_ref()) {
                Some(Source { file: Some(file), line: Some(line), .. }) => {
                    format!("panicked at {file}:{line} and {ended}")
                }
                _ => ended,
            };
            describer.crashed(&how, &said(words), panicked.as_ref())
        }
    };
    finding.name_threads(&names);
    finding
}

/// The panic that words quote: where it was, and in which thread.
fn panicked(words: &str, names: &ThreadNames) -> Option<Moment> {
    let (file, line, column) = place_of_panic(words)?;
    let (file, line, column) = (Some(file.to_string()), Some(line), Some(column));
    let name = words.strip_prefix("thread '").and_then(|words| words.split_once('\'')).map(|(name, _)| name);
    let thread = name.and_then(|name| if name == "main" { Some(name) } else { names.called(name) });
    Some(Moment {
        what: PANICKED.to_string(),
        thread: thread.unwrap_or_default().to_string(),
        source: Some(Source { file, line, column, ..Source::default() }),
        ..Moment::default()
    })
}

/// The last events of a trace, as many as a finding may show.
fn last_events(trace: &Trace) -> impl Iterator<Item = mayhap_trace::EventId> + '_ {
    let first = trace.len().saturating_sub(200);
    (first..trace.len()).map(mayhap_trace::EventId::at)
}
