//! `mayhap check`: answer one question about given events.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mayhap_detect::candidates;
use mayhap_predict::{Budget, Context, Verdict};
use mayhap_report::text::{self, Style};
use mayhap_report::{Describer, Evidence, Needed, Premise, Refutation, Report};
use mayhap_trace::validate::Repaired;
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::{Checked, Model, Target};
use serde::Serialize;

use super::refutation::Explained;
use crate::events::print_events;
use crate::input::{Loaded, TraceArgs, doubts};
use crate::options::Environment;
use crate::output::{Format, json};
use crate::reporting::ReportArgs;
use crate::{Exit, Failure};
use mayhap_analyse as predict;
use mayhap_analyse::engines::EngineName;
use mayhap_job::suggest::{question, replay_command};
use mayhap_replay::witness_file::{TargetJson, WitnessFile};
use mayhap_report::prediction::{doubt as doubt_of, page_steps, trace_info};
use mayhap_report::stacks;

/// Answer one question: can another interleaving of the recorded run reach this state?
///
/// Events are given by number: their position in the trace, from 1. The answer is proven, with a schedule that the proof
/// checker (kernel) accepted; refuted, with a reason; or unknown, if the budget ran out or the engine cannot decide it.
///
/// Exit codes: 0 refuted, 1 proven, 2 bad usage or bad input, 3 unknown.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    question: Question,

    #[command(flatten)]
    adjacent: Adjacent,

    #[command(flatten)]
    engine: EngineArgs,

    /// Save the proof's schedule (witness) to this file, for `mayhap verify` and `mayhap replay`
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,

    #[command(flatten)]
    report: ReportArgs,
}

/// The question.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Question {
    /// Can both accesses happen at the same time?
    #[arg(long, value_name = "A,B")]
    race: Option<Numbers>,

    /// Can the access A happen after the free F?
    #[arg(long, value_name = "F,A")]
    use_after_free: Option<Numbers>,

    /// Can these lock acquires all block, each waiting for a lock that another of the threads holds?
    #[arg(long, value_name = "A,B[,..]")]
    deadlock: Option<Numbers>,

    /// Can C run between the accesses A and B of another thread?
    #[arg(long, value_name = "A,C,B")]
    atomicity: Option<Numbers>,

    /// Can these events run in this order?
    #[arg(long, value_name = "A,B,..")]
    sequence: Option<Numbers>,

    /// Can the read R, which saw the write W, see the write C instead? W and C may be `init`
    #[arg(long, value_name = "W,R,C")]
    nondeterminism: Option<Numbers>,
}

/// An optional question.
#[derive(Debug)]
pub(super) struct Asked(pub(super) Option<Question>);

impl clap::FromArgMatches for Asked {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let asked = matches.contains_id("Question");
        asked.then(|| Question::from_arg_matches(matches)).transpose().map(Asked)
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Asked::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Asked {
    fn augment_args(command: clap::Command) -> clap::Command {
        Question::augment_args(command).mut_group("Question", |group| group.required(false))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Asked::augment_args(command)
    }
}

/// Further conditions on a sequence.
#[derive(Debug, clap::Args)]
pub(super) struct Adjacent {
    /// With --sequence: no other event may run between these two neighbours (repeatable)
    #[arg(long, value_name = "A,B", requires = "sequence", conflicts_with_all = ["race", "use_after_free", "deadlock", "atomicity", "nondeterminism"])]
    adjacent: Vec<Numbers>,
}

/// The engine, its model and its budget.
#[derive(Clone, Debug, clap::Args)]
pub struct EngineArgs {
    /// Engine that decides the question
    #[arg(long, default_value = EngineName::default().name(), value_parser = engine_parser())]
    pub engine: EngineName,

    /// Use the engine's algorithm exactly as published, known errors included
    #[arg(long, alias = "literal")]
    pub as_published: bool,

    /// What reads must keep seeing: data, value, branch, causal or sync [default: causal if the trace has branches, else
    /// value if it has values, else data]
    #[arg(long)]
    pub model: Option<Model>,

    /// Maximum number of search decisions per answer
    #[arg(long, value_name = "N", default_value_t = Budget::default().nodes)]
    pub budget_nodes: u64,

    /// Time limit per answer, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget_seconds: Option<Duration>,

    /// Maximum number of events to reorder per answer [default: 2,000,000 for predict and run, no limit for check]
    #[arg(long, value_name = "N")]
    pub budget_region: Option<u32>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|_| format!("`{text}` is not a valid time"))
}

impl Default for EngineArgs {
    fn default() -> Self {
        let (engine, budget_nodes) = (EngineName::default(), Budget::default().nodes);
        EngineArgs { engine, as_published: false, model: None, budget_nodes, budget_seconds: None, budget_region: None }
    }
}

/// Engines by name, with what each does.
fn engine_parser() -> impl TypedValueParser<Value = EngineName> {
    let value = |engine: EngineName| PossibleValue::new(engine.name()).help(engine.summary());
    PossibleValuesParser::new(EngineName::ALL.map(value))
        .map(|name| EngineName::ALL.into_iter().find(|engine| engine.name() == name).unwrap_or_default())
}

impl EngineArgs {
    /// The budget of a single answer.
    pub fn budget(&self) -> Budget {
        let region = self.budget_region.unwrap_or(u32::MAX);
        Budget { nodes: self.budget_nodes, time: self.budget_seconds, region, ..Budget::default() }
    }

    /// The budget of one answer among many, which bounds the time that any single one takes.
    pub fn budget_of_many(&self) -> Budget {
        Budget { region: self.budget_region.unwrap_or(predict::Options::REGION), ..self.budget() }
    }

    /// The requested model, or the default for the trace.
    pub fn model(&self, trace: &Trace) -> Model {
        self.model.unwrap_or_else(|| Model::default_for(trace))
    }
}

/// Event numbers, or `init`, separated by commas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbers(Vec<Option<u64>>);

impl std::str::FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| match part.trim() {
            "init" => Ok(None),
            part => match part.parse() {
                Ok(0) | Err(_) => Err(format!("`{part}` is not an event number (they count from 1)")),
                Ok(number) => Ok(Some(number)),
            },
        };
        text.split(',').map(number).collect::<Result<_, _>>().map(Numbers)
    }
}

impl Numbers {
    fn resolve(&self, option: &str, trace: &Trace) -> Result<Vec<Option<EventId>>, Failure> {
        let event = |number: &Option<u64>| match number {
            None => Ok(None),
            Some(n) => trace.by_number(*n).map(Some).ok_or_else(|| {
                Failure::new(format_args!("{option}: there is no event {n} in a trace of {} events", trace.len()))
            }),
        };
        self.0.iter().map(event).collect()
    }

    fn events(&self, option: &str, trace: &Trace) -> Result<Vec<EventId>, Failure> {
        let resolved = self.resolve(option, trace)?;
        let init = || Failure::new(format_args!("{option}: `init` is not an event; only --nondeterminism accepts it"));
        resolved.into_iter().map(|e| e.ok_or_else(init)).collect()
    }
}

impl Question {
    /// The target of the question, checked against the trace.
    pub(super) fn target(&self, adjacent: &Adjacent, execution: &Execution<'_>) -> Result<Target, Failure> {
        let trace = execution.trace();
        let target = self.resolve(adjacent, trace)?;
        target.validate(execution).map_err(Failure::new)?;
        Ok(target)
    }

    fn resolve(&self, adjacent: &Adjacent, trace: &Trace) -> Result<Target, Failure> {
        let count = |option: &str, wanted: &str| Failure::new(format_args!("{option} takes {wanted}"));
        if let Some(numbers) = &self.race {
            return match numbers.events("--race", trace)?[..] {
                [a, b] => Ok(Target::Race(a, b)),
                _ => Err(count("--race", "two events")),
            };
        }
        if let Some(numbers) = &self.use_after_free {
            return match numbers.events("--use-after-free", trace)?[..] {
                [free, access] => Ok(Target::UseAfterFree { free, access }),
                _ => Err(count("--use-after-free", "a free and an access")),
            };
        }
        if let Some(numbers) = &self.deadlock {
            return Ok(Target::Deadlock(numbers.events("--deadlock", trace)?));
        }
        if let Some(numbers) = &self.atomicity {
            return match numbers.events("--atomicity", trace)?[..] {
                [first, remote, second] => Ok(Target::Atomicity { first, remote, second }),
                _ => Err(count("--atomicity", "three events")),
            };
        }
        if let Some(numbers) = &self.nondeterminism {
            return match numbers.resolve("--nondeterminism", trace)?[..] {
                [write, Some(read), other] => Ok(Target::Nondeterminism { write, read, other }),
                _ => Err(count("--nondeterminism", "a write, a read and a write")),
            };
        }
        let numbers = self.sequence.as_ref().expect("one question is required");
        let mut pairs = Vec::new();
        for pair in &adjacent.adjacent {
            match pair.events("--adjacent", trace)?[..] {
                [x, y] => pairs.push((x, y)),
                _ => return Err(count("--adjacent", "two events")),
            }
        }
        Ok(Target::Sequence { events: numbers.events("--sequence", trace)?, adjacent: pairs })
    }
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        let environment = Environment::read()?;
        self.report.prepare(&environment)?;
        let loaded = self.trace.load()?;
        let trace = loaded.execution.trace();
        let target = self.question.target(&self.adjacent, &loaded.execution)?;
        let model = self.engine.model(trace);
        let context = Context::new(&loaded.execution);
        let mut engine = self.engine.engine.engine(&context, self.engine.as_published);
        engine.explain();
        let verdict = engine.decide(&target, model, &self.engine.budget());
        if let (Some(path), Verdict::Proven(checked, _)) = (&self.witness, &verdict) {
            WitnessFile::of(trace, trace.fingerprint(), checked)
                .with_path(&self.trace.trace)
                .save(path, &loaded.execution)?;
        }
        let mut report = self.describe(&loaded, &context, &target, model, &verdict);
        report.was_repaired(loaded.repaired.as_ref().map_or(0, Repaired::total));
        self.report.complete(&mut report, &environment)?;
        let style = self.report.style(&environment);
        environment.with_output(out, |out| match self.report.format {
            Format::Json => json(out, &Answer::new(&report, &target, model, engine.as_ref(), &verdict)),
            Format::Text => print(out, &context, (&report, &style), &target, model, engine.name(), &verdict),
        })?;
        out.flush()?;
        self.report.write_files(&report)?;
        Ok(match verdict {
            Verdict::Proven(..) => self.report.exit(&report, false, &environment),
            Verdict::Refuted(_) => Exit::Nothing,
            Verdict::Unknown(_) => Exit::Undecided,
        })
    }

    /// The verdict as a report, with one finding if it is proven.
    fn describe(
        &self,
        loaded: &Loaded,
        context: &Context<'_>,
        target: &Target,
        model: Model,
        verdict: &Verdict,
    ) -> Report {
        let (trace, path) = (loaded.execution.trace(), &self.trace.trace);
        let mut report = Report::new(env!("CARGO_PKG_VERSION"), trace_info(path, trace), model.name());
        report.summary.candidates = 1;
        let described = |proof: Option<&Checked>| {
            let steps = self.report.html.as_ref().map_or(STEPS, |_| page_steps(1));
            let steps = if proof.is_none() { 0 } else { steps };
            let stacks = stacks::of(path, &loaded.execution, std::iter::once(target));
            Describer::new(&loaded.execution, steps).with_stacks(stacks).finding(&Evidence {
                kind: target.kind().into(),
                target,
                proof,
                suspicion: None,
                engine: self.engine.engine.name(),
                model,
                occurrences: 1,
                distance: candidates::distance(target).into(),
            })
        };
        match verdict {
            Verdict::Proven(checked, _) => {
                report.summary.proven = 1;
                let mut finding = described(Some(checked));
                finding.witness_file = self.witness.as_ref().map(|path| path.display().to_string());
                let run = mayhap_trace::attachments::Run::load(path);
                let recorded = run.is_some();
                finding.replay_command = match &self.witness {
                    Some(witness) => Some(replay_command(witness, recorded)),
                    None => recorded.then(|| question(path, target, model, recorded)),
                };
                let doubts = doubts(path, loaded.repaired.as_ref());
                if let Some(doubt) = doubt_of(&doubts, &loaded.execution, checked) {
                    finding.doubted(&doubt);
                    (report.summary.proven, report.summary.suspected) = (0, 1);
                }
                report.findings.push(finding);
            }
            Verdict::Refuted(refutation) => {
                report.summary.refuted = 1;
                report.refutation = Some(Refutation {
                    kind: target.kind().into(),
                    events: described(None).events,
                    reason: refutation.reason.clone(),
                    ..Explained::new(context, model, refutation).report()
                });
            }
            Verdict::Unknown(undecided) => {
                report.summary.unknown = 1;
                report.notes.push(format!("unknown: {}", undecided.reason));
                report.summary.first_unknown = Some(undecided.reason.clone());
            }
        }
        report
    }
}

/// How many rows of the schedule the finding keeps.
const STEPS: usize = 1_000;

#[derive(Serialize)]
struct Answer {
    target: TargetJson,
    model: &'static str,
    engine: &'static str,
    verdict: &'static str,
    reason: String,
    rung: Option<&'static str>,
    suspected: bool,
    /// For a refutation: the events that would have to run in a cycle, and why each must come before the next.
    cycle: Vec<Needed>,
    /// The justifications of derived steps.
    premises: Vec<Premise>,
    witness: Vec<u64>,
    counters: serde_json::Map<String, serde_json::Value>,
}

impl Answer {
    fn new(
        report: &Report,
        target: &Target,
        model: Model,
        engine: &dyn mayhap_predict::Engine,
        verdict: &Verdict,
    ) -> Self {
        let mut witness = Vec::new();
        let Refutation { cycle, premises, .. } = report.refutation.clone().unwrap_or_default();
        let doubt = doubt(report);
        let (word, rung, suspected) = match verdict {
            Verdict::Proven(checked, rung) => {
                witness = checked.witness().schedule.iter().map(|e| e.number()).collect();
                (if doubt.is_some() { "unknown" } else { "proven" }, Some(rung.name()), doubt.is_some())
            }
            Verdict::Refuted(refutation) => ("refuted", Some(refutation.rung.name()), false),
            Verdict::Unknown(u) => ("unknown", None, u.suspected),
        };
        let counters =
            engine.counters().figures.iter().map(|&(name, value)| (name.to_string(), value.into())).collect();
        Answer {
            target: TargetJson::from(target),
            model: model.name(),
            engine: engine.name(),
            verdict: word,
            reason: doubt.map_or_else(|| reason(verdict), str::to_string),
            rung,
            suspected,
            cycle,
            premises,
            witness,
            counters,
        }
    }
}

/// Why a proof about the trace may not hold for the program, if there is a reason.
fn doubt(report: &Report) -> Option<&str> {
    report.findings.iter().find_map(|finding| finding.reason.as_deref())
}

/// The evidence for a verdict, in one sentence.
fn reason(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Proven(checked, rung) => {
            format!("a schedule of {} steps, found by {}", checked.witness().schedule.len(), rung.name())
        }
        Verdict::Refuted(refutation) => refutation.reason.clone(),
        Verdict::Unknown(undecided) => undecided.reason.clone(),
    }
}

/// How many steps of a witness are printed at most; the witness file contains all of them.
const SHOWN: usize = 20;

fn print(
    out: &mut dyn Write,
    context: &Context<'_>,
    (report, style): (&Report, &Style),
    target: &Target,
    model: Model,
    engine: &str,
    verdict: &Verdict,
) -> Result<(), Failure> {
    let trace = context.trace;
    let how = format!("(model {model}, engine {engine})");
    match verdict {
        Verdict::Proven(checked, _) => {
            match doubt(report) {
                Some(doubt) => writeln!(out, "suspected: {doubt} {how}\n")?,
                None => writeln!(out, "proven: {} {how}\n", reason(verdict))?,
            }
            for finding in &report.findings {
                text::write_finding(out, report, finding, style)?;
            }
            let schedule = &checked.witness().schedule;
            let from = schedule.len().saturating_sub(SHOWN);
            match from {
                0 => writeln!(out, "The schedule:")?,
                n => writeln!(out, "The end of the schedule, after {n} steps:")?,
            }
            print_events(out, trace, &schedule.tail(SHOWN))?;
        }
        Verdict::Refuted(refutation) => {
            writeln!(out, "refuted: {} {how}", refutation.reason)?;
            writeln!(out, "\nThe target, {}:", target.kind().name())?;
            print_events(out, trace, &target.events())?;
            if let Some(refutation) = report.refutation.as_ref().filter(|r| !r.cycle.is_empty()) {
                writeln!(out)?;
                text::write_reasons(out, refutation, style)?;
            }
        }
        Verdict::Unknown(undecided) => {
            let suspected = if undecided.suspected { "suspected, but " } else { "" };
            writeln!(out, "unknown: {suspected}{} {how}", undecided.reason)?;
        }
    }
    Ok(())
}
