//! Commands that reports suggest: they ask a question again, or replay an answer.

use std::path::Path;

use mayhap_analyse::{Options, Prediction};
use mayhap_replay::Outcome;
use mayhap_replay::outcome::ADDRESSES;
use mayhap_report::{Report, prediction};
use mayhap_trace::{EventId, Relations, Trace};
use mayhap_witness::{Model, Target};

/// The report of a prediction, with a command for each finding. `steps`: rows of schedule that each keeps; `None` for what fits.
pub fn report(
    path: &Path,
    trace: &Trace,
    relations: &Relations,
    options: &Options,
    prediction: &Prediction,
    steps: Option<usize>,
) -> Report {
    let again = |target: &Target, recorded: bool| question(path, target, options.model, recorded);
    prediction::report(path, trace, relations, options, prediction, steps, &again)
}

/// The command that asks about one target again, and replays its schedule if there is a program to replay.
pub fn question(path: &Path, target: &Target, model: Model, recorded: bool) -> String {
    let numbers = |events: &[EventId]| events.iter().map(EventId::to_string).collect::<Vec<_>>().join(",");
    let write = |w: &Option<EventId>| w.map_or("init".to_string(), |w| w.to_string());
    let asked = match target {
        Target::Race(..) | Target::UnorderedRace(..) => format!("--race {}", numbers(&target.events())),
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

/// A path as a shell takes it for one word.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
