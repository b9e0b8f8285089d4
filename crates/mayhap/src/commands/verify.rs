//! `mayhap verify`: check a witness with the proof checker (kernel) alone.

use std::io::Write;
use std::path::PathBuf;

use mayhap_trace::EventId;
use mayhap_witness::{Checker, Rejection, Target, Why};
use serde::Serialize;

use crate::events::print_events;
use crate::input::TraceArgs;
use crate::output::{Format, FormatArgs, json};
use crate::{Exit, Failure};
use mayhap_replay::witness_file::{TargetJson, WitnessFile};

/// Check a witness against its trace, using only the proof checker (kernel)
///
/// The kernel simulates the schedule step by step: each thread keeps its program order, no thread takes a lock that another
/// one holds, forks, joins and waits are respected, and every read satisfies the model. At the end, the target state must
/// be reached.
///
/// Exit codes: 0 accepted, 1 rejected, 2 bad usage or bad input, such as a witness for another trace.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    /// The witness, a JSON file as specified in `docs/formats/witness.md`
    #[arg(value_name = "WITNESS")]
    witness: PathBuf,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct Answer<'a> {
    verdict: &'static str,
    target: TargetJson,
    model: &'static str,
    steps: usize,
    /// For a rejection: the kernel's message, the step, its event and the rule.
    reason: Option<&'a str>,
    step: Option<usize>,
    event: Option<u64>,
    rule: Option<&'static str>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let loaded = self.trace.load()?;
        let WitnessFile { target, model, witness, .. } =
            WitnessFile::load(&self.witness, &loaded.trace, &loaded.relations)?;
        let steps = witness.schedule.len();
        let verdict = Checker::new(&loaded.trace, &loaded.relations).check(&target, model, witness);
        let rejection = verdict.as_ref().err();
        let reason = rejection.map(Rejection::to_string);
        match self.format.format {
            Format::Json => {
                let answer = Answer {
                    verdict: if rejection.is_none() { "accepted" } else { "rejected" },
                    target: TargetJson::from(&target),
                    model: model.name(),
                    steps,
                    reason: reason.as_deref(),
                    step: rejection.and_then(|r| r.step),
                    event: rejection.and_then(|r| r.event).map(EventId::number),
                    rule: rejection.map(|r| rule(&r.why)),
                };
                json(out, &answer)?;
            }
            Format::Text => {
                let shown = target.events();
                match (rejection, reason) {
                    (Some(rejection), Some(reason)) => {
                        writeln!(out, "rejected: {reason} [rule {}]", rule(&rejection.why))?;
                        if let Some(event) = rejection.event {
                            writeln!(out, "\nThe step:")?;
                            print_events(out, &loaded.trace, &[event])?;
                        }
                    }
                    _ => writeln!(out, "accepted in model {model}: {steps} steps lead to {}", state(&target))?,
                }
                writeln!(out, "\nThe target, {}:", target.kind().name())?;
                print_events(out, &loaded.trace, &shown)?;
            }
        }
        Ok(if rejection.is_none() { Exit::Nothing } else { Exit::Found })
    }
}

/// The state that the schedule of an accepted witness reaches.
fn state(target: &Target) -> String {
    match target {
        Target::Race(a, b) => format!("a race: events {a} and {b} can happen at the same time"),
        Target::UnorderedRace(a, b) => format!("a race: events {a} and {b} run, and nothing orders them"),
        Target::Deadlock(requests) => format!("a deadlock: {} threads wait for each other", requests.len()),
        Target::Atomicity { first, remote, second } => {
            format!("an atomicity violation: event {remote} runs between events {first} and {second}")
        }
        Target::Sequence { events, .. } => format!("the requested order of {} events", events.len()),
        Target::Nondeterminism { read, .. } => format!("a state in which event {read} would read another write"),
    }
}

/// The name of the rule that a witness broke.
fn rule(why: &Why) -> &'static str {
    match why {
        Why::NoSuchEvent => "no-such-event",
        Why::NotSchedulable => "not-schedulable",
        Why::NotNext(_) => "program-order",
        Why::SplitsStep(_) => "one-step",
        Why::NotForked(_) => "fork",
        Why::NotFinished(_) => "join",
        Why::NotNotified(_) | Why::NoWakeUp | Why::NothingToTake => "wait",
        Why::LockHeld(..) => "lock",
        Why::AttemptMaySucceed => "failed-attempt",
        Why::WrongWrite { .. } => "read",
        Why::BranchAfterChangedRead(_) => "branch",
        Why::GoesOnAfterChangedRead(_) => "read-of-target",
        Why::BadTarget(_) => "target",
        Why::TargetNotReached(_) => "target-not-reached",
    }
}
