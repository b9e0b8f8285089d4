//! `mayhap verify`: check a witness with the proof checker (kernel) alone.

use std::io::Write;
use std::path::PathBuf;

use mayhap_trace::EventId;
use mayhap_witness::{Checker, Rejection, Target, Why};
use serde::Serialize;

use super::manifest;
use crate::events::print_events;
use crate::files::{Contents, advice_unless};
use crate::input::TraceArgs;
use crate::output::{Format, FormatArgs, json};
use crate::{Exit, Failure};
use mayhap_replay::witness_file::{TargetJson, WitnessFile};

/// Check a witness against its trace, using only the proof checker (kernel), or a manifest of all executions
///
/// The kernel simulates the schedule step by step: each thread keeps its program order, no thread takes a lock that another
/// one holds, forks, joins and waits are respected, and every read satisfies the model. At the end, the target state must
/// be reached.
///
/// `mayhap verify MANIFEST` checks what `mayhap explore --manifest` wrote: that for any two steps that could have come in the other
/// order, a run of the manifest shows it. With --run, each run is made again and must have the same steps.
///
/// Exit codes: 0 accepted, 1 rejected, 2 bad usage or bad input, such as a witness for another trace.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    /// The witness, a JSON file as specified in `docs/formats/witness.md`; none if the first file is a manifest
    #[arg(value_name = "WITNESS")]
    witness: Option<PathBuf>,

    /// Make the runs of a manifest again: this runs the program that it names
    #[arg(long, conflicts_with = "witness")]
    run: bool,

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
        let Some(file) = &self.witness else {
            return manifest::verify(&self.trace.trace, self.run, &self.format, out);
        };
        let loaded = self.trace.load()?;
        if let Some(advice) = advice_unless(file, &[Contents::Witness]) {
            return Err(Failure::at(file, format_args!("not a witness: {advice}")));
        }
        let WitnessFile { target, model, witness, .. } = WitnessFile::load(file, &loaded.execution)?;
        let steps = witness.schedule.len();
        let verdict = Checker::new(&loaded.execution).check(&target, model, witness);
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
                            print_events(out, loaded.execution.trace(), &[event])?;
                        }
                    }
                    _ => writeln!(out, "accepted in model {model}: {steps} steps lead to {}", state(&target))?,
                }
                writeln!(out, "\nThe target, {}:", target.kind().name())?;
                print_events(out, loaded.execution.trace(), &shown)?;
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
        Target::UseAfterFree { free, access } => {
            format!("a use after free: event {free} has freed the memory that event {access} uses next")
        }
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
