//! Commands that reports suggest: they ask a question again, or replay an answer.

use std::path::Path;

use mayhap_analyse::{Options, Prediction};
use mayhap_replay::Outcome;
use mayhap_replay::outcome::ADDRESSES;
pub use mayhap_report::escape::shell_word;
use mayhap_report::{Report, prediction};
use mayhap_trace::attachments::{Doubts, ThreadNames};
use mayhap_trace::{EventId, Execution};
use mayhap_witness::{Model, Target};

/// The report of a prediction, with a command for each finding. `steps`: rows of schedule that each keeps; `None` for what fits.
pub fn report(
    path: &Path,
    known: (&Execution<'_>, &Doubts),
    options: &Options,
    prediction: &Prediction,
    steps: Option<usize>,
) -> Report {
    let again = |target: &Target, recorded: bool| question(path, target, options.model, recorded);
    let mut report = prediction::report(path, known, options, prediction, steps, &again);
    let names = ThreadNames::load(path);
    report.findings.iter_mut().for_each(|finding| finding.name_threads(&names));
    report
}

/// The command that asks about one target again, and replays its schedule if there is a program to replay.
pub fn question(path: &Path, target: &Target, model: Model, recorded: bool) -> String {
    let numbers = |events: &[EventId]| events.iter().map(EventId::to_string).collect::<Vec<_>>().join(",");
    let write = |w: &Option<EventId>| w.map_or("init".to_string(), |w| w.to_string());
    let asked = match target {
        Target::Race(..) | Target::UnorderedRace(..) => format!("--race {}", numbers(&target.events())),
        Target::UseAfterFree { .. } => format!("--use-after-free {}", numbers(&target.events())),
        Target::Deadlock(requests) => format!("--deadlock {}", numbers(requests)),
        Target::Atomicity { .. } => format!("--atomicity {}", numbers(&target.events())),
        Target::Sequence { events, adjacent } => {
            let pairs = adjacent.iter().map(|(x, y)| format!(" --adjacent {x},{y}"));
            format!("--sequence {}{}", numbers(events), pairs.collect::<String>())
        }
        Target::Nondeterminism { write: w, read, other } => {
            format!("--nondeterminism {},{read},{}", write(w), write(other))
        }
    };
    let model = if model == Model::Sync { " --model sync" } else { "" };
    let command = if recorded { "replay" } else { "check" };
    format!("mayhap {command} {} {asked}{model}", shell_word(path))
}

/// What to do about a replay that went elsewhere, if something can be done.
pub fn remedy(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Diverged { sources, .. } if !sources.is_empty() && sources != &[ADDRESSES] => {
            ": record with --record-inputs"
        }
        _ => "",
    }
}

/// The command that replays a witness file. Where the trace was `recorded`, it knows the program.
pub fn replay_command(witness: &Path, recorded: bool) -> String {
    let program = if recorded { "" } else { " -- PROGRAM ARGUMENTS" };
    format!("mayhap replay {}{program}", shell_word(witness))
}
