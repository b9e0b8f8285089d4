//! `mayhap replay`: run the program again in the order of a witness.

use std::ffi::OsString;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use mayhap_predict::{Context, Verdict};
use mayhap_trace::Execution;
use mayhap_trace::attachments::steps::Steps;
use mayhap_witness::{Checked, Checker, Kind, Model, Target};

use super::check::{Adjacent, Asked, EngineArgs, Question};
use crate::files::{Contents, advice_unless};
use crate::input::TraceArgs;
use crate::notes::note;
use crate::output::{Format, FormatArgs, json};
use crate::table::grouped;
use crate::{Exit, Failure};
use mayhap_instrument::runtime;
use mayhap_job::suggest::remedy;
use mayhap_replay::addresses;
use mayhap_replay::debugger::Debugging;
use mayhap_replay::fixed_addresses;
use mayhap_replay::outcome::{ADDRESSES, suspects};
use mayhap_replay::plan::Plan;
use mayhap_replay::session::{Recorded, recorded};
use mayhap_replay::witness_file::WitnessFile;
use mayhap_replay::{Effect, Options, Outcome, Replayed, Side, replay};

/// Run the program again in the order of a proven schedule (witness), and report whether the bug happens
///
/// Instead of a witness, give a recorded trace and a question as for `mayhap check`: the question is decided again and its
/// schedule is replayed. Reports print that command with each finding.
///
/// The recorded program runs again, and its threads are paused so that everything happens in the order of the witness. For
/// a race, both threads are shown paused just before their accesses, which then happen one after the other; for a
/// deadlock, all threads of the cycle really block. Then the program runs to its end, and the result is compared with the
/// recorded run.
///
/// Exit codes: 0 not confirmed, 1 confirmed, 2 bad usage or bad input, 3 the question could not be decided.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Witness file, as saved by `mayhap predict --witnesses`; with a question, the recorded trace
    #[arg(value_name = "WITNESS|TRACE")]
    witness: PathBuf,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    adjacent: Adjacent,

    /// With a question: what reads must keep seeing [default: as for `mayhap check`]
    #[arg(long)]
    model: Option<Model>,

    /// The recorded trace of the witness [default: the path in the witness file]
    #[arg(long, value_name = "TRACE", conflicts_with = "Question")]
    trace: Option<PathBuf>,

    /// Which of two racing accesses happens first, counted in the order of the witness
    #[arg(long, value_enum, default_value_t = Order::Both)]
    order: Order,

    /// Replay N times and report how many replays confirmed the bug
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// End the process with a core dump when the state is reached
    #[arg(long)]
    core: bool,

    /// Replay in gdb (or lldb), which stops when all threads are paused at the bug
    ///
    /// In gdb, `mayhap next`, `mayhap back` and `mayhap goto K` go along the schedule: each runs the program again up to that step.
    /// `mayhap schedule` shows the steps.
    #[arg(long, conflicts_with_all = ["repeat", "core", "format"])]
    gdb: bool,

    /// Seconds without progress before a run counts as hung
    #[arg(long, value_name = "S", default_value_t = super::PATIENCE)]
    patience: f64,

    /// Time limit for one run, in seconds
    #[arg(long, value_name = "S", default_value_t = super::TIMEOUT)]
    timeout: f64,

    #[command(flatten)]
    format: FormatArgs,

    /// The program and its arguments, if they differ from the recorded ones
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROG")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Order {
    /// The first access.
    First,
    /// The second access.
    Second,
    /// Both orders, in two runs.
    Both,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<Exit, Failure> {
        self.check_kind()?;
        let path = self.trace_path()?;
        let loaded = TraceArgs { trace: path.clone(), repair: false }.load()?;
        let execution = &loaded.execution;
        let checked = match &self.asked.0 {
            Some(question) => match self.decide(question, execution)? {
                Verdict::Proven(checked, _) => checked,
                Verdict::Refuted(refutation) => {
                    writeln!(out, "nothing to replay: {} (see mayhap check for details)", refutation.reason)?;
                    return Ok(Exit::Nothing);
                }
                Verdict::Unknown(undecided) => {
                    writeln!(out, "nothing to replay: no schedule was found: {}", undecided.reason)?;
                    return Ok(Exit::Undecided);
                }
            },
            None => self.accepted(execution)?,
        };
        let steps = mayhap_replay::steps(&path, execution.trace())?;
        let plan = Plan::new(execution, &steps, checked.target(), checked.witness())
            .map_err(|message| Failure::at(&self.witness, message))?;
        let recorded = recorded(&path);
        let program = self.program(recorded.as_ref())?;
        let rebuilt = is_rebuilt(&program, recorded.as_ref());
        let kind = checked.target().kind();
        let firsts = self.firsts(kind);
        let options = |first| self.options(first, recorded.as_ref());
        if self.gdb {
            return self.debug(out, kind, (&program, &steps, &plan), || options(firsts[0]));
        }
        let before = match checked.target() {
            Target::Nondeterminism { read, .. } if !self.core => {
                let plan = Plan::before(execution, &steps, *read);
                let run = |plan: Plan| {
                    let options = Options { capture: true, ..options(0)? };
                    Ok::<_, Failure>(replay(&program, &steps, &plan, options)?)
                };
                plan.ok().map(run).transpose()?.and_then(|run| run.sides.into_iter().next()?.value)
            }
            _ => None,
        };
        let mut led = None;
        let mut runs = Vec::new();
        for number in 0..self.repeat {
            for &first in firsts {
                let mut replayed = replay(&program, &steps, &plan, options(first)?)?;
                if let Outcome::Diverged { sources, .. } = &replayed.outcome
                    && sources.is_empty()
                    && fixed_addresses::can_be_fixed()
                {
                    let again = |fixed| {
                        let options = addresses::quietly(options(first)?, fixed);
                        Ok::<_, Failure>(replay(&program, &steps, &plan, options)?)
                    };
                    let known = led.map_or_else(|| addresses::decide_the_way(&replayed, again), Ok)?;
                    led = Some(known);
                    if let (true, Outcome::Diverged { sources, .. }) = (known, &mut replayed.outcome) {
                        sources.push(ADDRESSES);
                    }
                }
                if self.format.format == Format::Text && (number == 0 || self.repeat == 1) {
                    print(out, kind, (first, firsts.len() > 1), &replayed, before.as_deref(), rebuilt)?;
                }
                runs.push(RunJson::new(first, &replayed, before.as_deref()));
            }
        }
        self.conclude(out, kind, &runs)
    }

    /// How to replay, with this access first.
    fn options(&self, first: u32, recorded: Option<&Recorded>) -> Result<Options, Failure> {
        Ok(Options {
            first,
            core: self.core,
            patience: Duration::from_secs_f64(self.patience.clamp(0.1, 1e6)),
            timeout: Duration::from_secs_f64(self.timeout.clamp(0.1, 1e6)),
            capture: self.format.format == Format::Json,
            input: recorded.and_then(|recorded| recorded.run.stdin.as_deref()).map(given).transpose()?,
            runtime: runtime::folder()?,
            fixed: false,
            recorded: recorded.cloned(),
            debugger: None,
        })
    }

    /// Replays in a debugger, again and again up to the step that it asks for, until it asks for none.
    fn debug(
        &self,
        out: &mut dyn Write,
        kind: Kind,
        (program, steps, plan): (&[OsString], &Steps, &Plan),
        options: impl Fn() -> Result<Options, Failure>,
    ) -> Result<Exit, Failure> {
        let debugging = Debugging::new(steps, plan)?;
        let mut at = plan.steps.len();
        loop {
            debugging.stops_at(steps, plan, at)?;
            let options = Options { debugger: Some(debugging.folder().to_path_buf()), ..options()? };
            let first = options.first;
            let replayed = replay(program, steps, &plan.up_to(steps, at), options)?;
            let Some(next) = debugging.asked() else {
                print(out, kind, (first, false), &replayed, None, false)?;
                return self.conclude(out, kind, &[RunJson::new(first, &replayed, None)]);
            };
            at = next;
        }
    }

    /// Without a question, the file must be a witness.
    fn check_kind(&self) -> Result<(), Failure> {
        if self.asked.0.is_none()
            && let Some(advice) = advice_unless(&self.witness, &[Contents::Witness])
        {
            let question = match Contents::of(&self.witness) {
                Some(Contents::Trace) => "; to replay a finding of it, add its question, such as --race A,B",
                _ => "",
            };
            return Err(Failure::at(&self.witness, format_args!("not a witness: {advice}{question}")));
        }
        Ok(())
    }

    /// The program to replay: the one that is named, or the one that was recorded.
    fn program(&self, recorded: Option<&Recorded>) -> Result<Vec<OsString>, Failure> {
        match (&self.program[..], recorded) {
            ([], Some(recorded)) => Ok(recorded.run.program.iter().map(OsString::from).collect()),
            ([], None) => Err(Failure::new("no program to replay; name it after --")),
            (program, _) => Ok(program.to_vec()),
        }
    }

    /// Which of the targets' accesses comes first, in each replay.
    fn firsts(&self, kind: Kind) -> &'static [u32] {
        match self.order {
            Order::First => &[0],
            Order::Second => &[1],
            Order::Both if kind == Kind::Race && !self.core && !self.gdb => &[0, 1],
            Order::Both => &[0],
        }
    }

    /// Says how many replays reached the state.
    fn conclude(&self, out: &mut dyn Write, kind: Kind, runs: &[RunJson]) -> Result<Exit, Failure> {
        let confirmed = runs.iter().filter(|run| run.outcome == "confirmed").count();
        match self.format.format {
            Format::Json => json(out, &Document { kind: kind.name(), confirmed, runs })?,
            Format::Text if runs.len() > 1 => writeln!(out, "reproduced in {confirmed} of {} replays", runs.len())?,
            Format::Text => {}
        }
        Ok(if confirmed > 0 { Exit::Found } else { Exit::Nothing })
    }

    /// Reads the witness and has the kernel check it: a rejected witness is not replayed.
    fn accepted(&self, execution: &Execution<'_>) -> Result<Checked, Failure> {
        let file = WitnessFile::load(&self.witness, execution)?;
        Checker::new(execution).check(&file.target, file.model, file.witness).map_err(|rejection| {
            Failure::at(&self.witness, format_args!("the proof checker (kernel) rejects the witness: {rejection}"))
        })
    }

    /// Decides the question.
    fn decide(&self, question: &Question, execution: &Execution<'_>) -> Result<Verdict, Failure> {
        let trace = execution.trace();
        let target = question.target(&self.adjacent, execution)?;
        let args = EngineArgs { model: self.model, ..EngineArgs::default() };
        let context = Context::new(execution);
        let mut engine = args.engine.engine(&context, false);
        Ok(engine.decide(&target, args.model(trace), &args.budget()))
    }

    fn trace_path(&self) -> Result<PathBuf, Failure> {
        match &self.trace {
            _ if self.asked.0.is_some() => Ok(self.witness.clone()),
            Some(path) => Ok(path.clone()),
            None => WitnessFile::trace_path(&self.witness)?
                .ok_or_else(|| Failure::at(&self.witness, "the witness does not name its trace; use --trace")),
        }
    }
}

/// Whether the program is not the build that was recorded: it may not follow the schedule. Then a note says so.
fn is_rebuilt(program: &[OsString], recorded: Option<&Recorded>) -> bool {
    let then = recorded.and_then(|recorded| recorded.run.build.clone());
    let rebuilt = then.zip(mayhap_record::build_of(&program[0])).is_some_and(|(then, now)| then != now);
    if rebuilt {
        let program = program[0].to_string_lossy();
        note(format_args!("{program} is not the build that was recorded: the replay may diverge; record it again"));
    }
    rebuilt
}

#[derive(serde::Serialize)]
struct Document<'a> {
    kind: &'static str,
    confirmed: usize,
    runs: &'a [RunJson],
}

#[derive(serde::Serialize)]
struct RunJson {
    order: &'static str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    got: Option<String>,
    effect: String,
    /// What may have made it diverge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<&'static str>,
    /// For a read that can see another write: the value in the recorded order, and the value here.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    steps: usize,
    of: usize,
}

impl RunJson {
    fn new(first: u32, replayed: &Replayed, before: Option<&[u8]>) -> Self {
        let (step, expected, got) = match &replayed.outcome {
            Outcome::Confirmed => (None, None, None),
            Outcome::Diverged { step, expected, got, .. } => (Some(*step), Some(expected.clone()), Some(got.clone())),
            Outcome::Blocked { step, expected, thread, how, .. } => {
                (Some(*step), Some(expected.clone()), Some(format!("{thread} {how}")))
            }
            Outcome::NotReached(why) => (None, None, Some(why.clone())),
        };
        RunJson {
            order: if first == 0 { "first" } else { "second" },
            outcome: replayed.outcome.word(),
            step,
            expected,
            got,
            effect: replayed.effect.to_string(),
            sources: match &replayed.outcome {
                Outcome::Diverged { sources, .. } => sources.clone(),
                _ => Vec::new(),
            },
            recorded_value: before.map(number),
            value: before.and_then(|_| replayed.sides.first()?.value.as_deref()).map(number),
            steps: replayed.steps.0,
            of: replayed.steps.1,
        }
    }
}

fn print(
    out: &mut dyn Write,
    kind: Kind,
    (first, both): (u32, bool),
    replayed: &Replayed,
    before: Option<&[u8]>,
    rebuilt: bool,
) -> io::Result<()> {
    let (made, all) = replayed.steps;
    let order = match (both, first) {
        (false, _) => "",
        (true, 0) => ", the first access first",
        (true, _) => ", the second access first",
    };
    match &replayed.outcome {
        Outcome::Confirmed => writeln!(
            out,
            "confirmed {}: it happened after {} steps{order}",
            kind.name(),
            grouped(made.min(all) as u64)
        )?,
        // Steps of another build have other names: what differs would be misleading.
        Outcome::Diverged { step, .. } if rebuilt => {
            let (step, all) = (grouped(*step as u64), grouped(all as u64));
            writeln!(out, "diverged at step {step} of {all}: the program is not the build that was recorded")?;
        }
        Outcome::Diverged { step, expected, got, sources } => {
            writeln!(out, "diverged at step {} of {}", grouped(*step as u64), grouped(all as u64))?;
            writeln!(out, "  expected  {expected}")?;
            writeln!(out, "  got       {got}")?;
            if !sources.is_empty() {
                writeln!(out, "  {}{}", suspects(sources), remedy(&replayed.outcome))?;
            }
        }
        Outcome::Blocked { step, expected, thread, how, stack } => {
            writeln!(out, "blocked at step {} of {}", grouped(*step as u64), grouped(all as u64))?;
            writeln!(out, "  expected  {expected}")?;
            writeln!(out, "  but       {thread} {how}, for something that the recording did not see")?;
            for place in stack {
                writeln!(out, "    at {place}")?;
            }
        }
        Outcome::NotReached(why) => writeln!(out, "not reached: {why}")?,
    }
    for side in &replayed.sides {
        print_side(out, side)?;
    }
    if let (Some(before), Outcome::Confirmed) = (before, &replayed.outcome) {
        writeln!(out, "  in the recorded order it is {} there", number(before))?;
    }
    match replayed.effect {
        Effect::None => writeln!(out, "  {}\n", replayed.effect),
        _ => writeln!(out, "  effect: {}\n", replayed.effect),
    }
}

fn print_side(out: &mut dyn Write, side: &Side) -> io::Result<()> {
    let value = side.value.as_deref().map_or(String::new(), |bytes| format!(", which is {}", number(bytes)));
    writeln!(out, "  {} is paused just before it {}{value}", side.thread, side.what)?;
    for frame in side.stack.iter().skip(1) {
        writeln!(out, "    called from {frame}")?;
    }
    Ok(())
}

/// The standard input of the recorded run.
fn given(bytes: &[u8]) -> Result<Stdio, Failure> {
    let failed = |error| Failure::new(format_args!("cannot create a temporary file for standard input: {error}"));
    let mut file = tempfile::tempfile().map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.rewind()).map_err(failed)?;
    Ok(Stdio::from(file))
}

/// A value as a number, if it has the size of one.
fn number(bytes: &[u8]) -> String {
    let mut wide = [0; 16];
    wide[..bytes.len().min(16)].copy_from_slice(&bytes[..bytes.len().min(16)]);
    let value = u128::from_le_bytes(wide);
    if value > 9 { format!("{value} ({value:#x})") } else { value.to_string() }
}
