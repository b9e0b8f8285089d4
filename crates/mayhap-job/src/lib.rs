//! The main job: a program is recorded, what other interleavings contain is predicted, and every proven finding is
//! replayed, until nothing new turns up or the user presses Ctrl-C.
//!
//! Each recorded run is analysed for itself; the same bug in several runs is one finding (its fingerprint says so). A replay
//! leads the program where no run has been: where it executed code that no run before had, its own recording is analysed in
//! the next round. So are explored runs in which a thread executed code that it had not executed before, or read something else there, or in which nothing orders two
//! accesses that no explored run before showed so.
//!
//! In: a [`Job`]: a program, its arguments, and what to try within which bounds. Out: [`Done`]: a report and notes. What
//! the job is doing meanwhile goes to a function that the caller gives. This crate must never know how arguments are parsed, what a
//! terminal is or what a report looks like. It does know the names of commands ([`suggest`]), because each finding says which command
//! shows it again.
#![forbid(unsafe_code)]

mod ahead;
mod curve;
mod elsewhere;
mod error;
mod exploring;
mod following;
mod gathering;
mod interrupt;
mod memory;
mod observed;
mod output;
mod progress;
mod recording;
mod resuming;
mod servers;
mod stdin;
pub mod suggest;
mod trouble;
mod trying;
mod trying_memory;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mayhap_report::{Replay, Report};
use mayhap_trace::attachments::Doubts;
use mayhap_trace::{Execution, Trace, format};
use mayhap_wire::ring::Schedule;
use mayhap_witness::Target;

pub use ahead::Runs;
pub use elsewhere::{Elsewhere, There};
pub use error::Error;
use error::NOT_INSTRUMENTED;
pub use exploring::Exploring;
pub use interrupt::Interrupt;
use mayhap_explore::{Failure as Failed, Watch};
pub use progress::Explored;
use recording::Recording;
pub use servers::Servers;
pub use stdin::{KEPT, Stdin};

use mayhap_analyse::{self as predict, Prediction, predict};
use mayhap_instrument::runtime;
use mayhap_record as record;
use mayhap_replay::addresses;
use mayhap_replay::fixed_addresses;
use mayhap_replay::outcome::ADDRESSES;
use mayhap_replay::plan::Plan;
use mayhap_replay::session::Recorded;
use mayhap_replay::witness_file::WitnessFile;
use mayhap_replay::{self as replay, Effect, Outcome, Replayed};
use mayhap_report::prediction;
use mayhap_trace::attachments::Run;
use mayhap_trace::attachments::steps::Steps;

/// The most replays of one round whose recordings are analysed in the next.
const FOLLOWED: usize = 4;

/// What to do.
pub struct Job {
    /// The program and its arguments.
    pub program: Vec<OsString>,
    /// Runs to record, each with another seed.
    pub runs: u32,
    /// Seed of the first run.
    pub seed: u64,
    /// How threads take turns; the first run is free unless one is given.
    pub schedule: Option<Schedule>,
    /// Record what differs from run to run by itself.
    pub inputs: bool,
    /// Record values of plain accesses.
    pub values: bool,
    /// How long threads that are still at work when the program ends may go on.
    pub linger: std::time::Duration,
    /// Rounds of analysis: 1 analyses the recorded runs only.
    pub rounds: u32,
    /// Replays of each finding and order; 0 for none.
    pub replays: u32,
    /// How to predict, for a trace.
    pub predict: Box<dyn Fn(&Trace) -> predict::Options>,
    /// Where traces and witnesses go.
    pub folder: PathBuf,
    /// The folder stays, so the report may point there.
    pub keep: bool,
    /// The command that does the job once more and keeps the folder, for reports of jobs that did not.
    pub again: Option<String>,
    /// There is to be a page, which shows whole schedules.
    pub page: bool,
    /// How long a run may take.
    pub timeout: Duration,
    /// Seconds without progress before a run counts as hung.
    pub patience: Duration,
    /// The time that the whole job may take.
    pub budget: Option<Duration>,
    /// Paths of source files are shown from here; from the current folder if there is none.
    pub root: Option<PathBuf>,
    /// Passes on what the first recorded run prints.
    pub show_output: bool,
    /// How to look for failures under other schedules, if at all.
    pub explore: Option<Exploring>,
}

/// What the job is doing, for code that shows it to the user.
pub enum Stage<'a> {
    /// A run begins.
    Recording {
        /// Its number, from 1.
        run: u32,
        /// How many there are to be.
        of: u32,
    },
    /// A run has been recorded.
    Recorded {
        /// Its trace.
        trace: &'a Trace,
        /// How it ended.
        run: &'a Run,
    },
    /// A trace is analysed.
    Predicting,
    /// A trace has been analysed.
    Predicted {
        /// The trace.
        trace: &'a Trace,
        /// Where it is.
        path: &'a Path,
        /// What came of it.
        prediction: &'a Prediction,
        /// The findings that are new.
        new: &'a [mayhap_report::Finding],
    },
    /// A finding is replayed.
    Replaying {
        /// The finding being replayed.
        finding: &'a mayhap_report::Finding,
    },
    /// Other schedules are tried; told about once a second, and when a run has failed.
    Exploring(&'a Explored),
    /// A finding has been replayed.
    Replayed {
        /// It, with what came of it.
        finding: &'a mayhap_report::Finding,
        /// The last run.
        last: &'a Replayed,
    },
}

/// What a job came to.
pub struct Done {
    /// All findings.
    pub report: Report,
    /// Something could not be decided.
    pub undecided: bool,
    /// Ctrl-C ended the job.
    pub interrupted: bool,
}

struct Work<'a> {
    job: &'a Job,
    tell: &'a mut dyn FnMut(Stage<'_>),
    interrupt: Interrupt,
    stdin: Stdin,
    report: Option<Report>,
    /// Fingerprints of findings.
    known: HashSet<String>,
    /// Names of places that some analysed run has been to, and of threads with places that they have been to.
    places: HashSet<String>,
    /// The program has the same addresses in every run.
    fixed: bool,
    /// Whether addresses decide where the program goes, once that was looked for.
    led_by_addresses: Option<bool>,
    /// Whether the program prints the same in every run, once that was looked for.
    prints_the_same: Option<bool>,
    undecided: bool,
    /// Found what it was to stop at.
    halted: bool,
    /// What went wrong in recorded runs.
    observed: Vec<mayhap_report::Finding>,
    /// Ids of findings whose replay showed harm, and which.
    harmful: HashMap<String, Effect>,
    /// What the first recorded run came to, and how many steps it made.
    first: Option<(Recorded, u64)>,
    /// What other schedules were tried, and what failed under them.
    exploration: Option<mayhap_report::Exploration>,
    explored: Vec<mayhap_report::Finding>,
    /// Fingerprints of known findings and of what turned out to be the same, since they were last asked for.
    also: Vec<[String; 2]>,
    notes: Vec<String>,
    /// What forks runs.
    servers: Arc<Servers>,
}

impl Job {
    /// Does the job; `tell` hears of each stage.
    pub fn run(&self, tell: &mut dyn FnMut(Stage<'_>)) -> Result<Done, Error> {
        let mut work = Work {
            job: self,
            tell,
            interrupt: Interrupt::catch(self.budget),
            stdin: Stdin::look(&self.folder)?,
            report: None,
            known: HashSet::new(),
            places: HashSet::new(),
            fixed: is_there(&self.program[0]) && fixed_addresses::can_be_fixed(),
            led_by_addresses: None,
            prints_the_same: None,
            undecided: false,
            halted: false,
            observed: Vec::new(),
            harmful: HashMap::new(),
            first: None,
            servers: Arc::default(),
            exploration: None,
            explored: Vec::new(),
            also: Vec::new(),
            notes: Vec::new(),
        };
        let resumes = self.explore.as_ref().is_some_and(|exploring| exploring.resume);
        if resumes && work.restore()? {
            work.explore_if_asked()?;
            return work.finish();
        }
        let mut queue = Vec::new();
        for run in 1..=self.runs {
            if !work.interrupt.is_set() && !work.interrupt.is_interrupted() {
                queue.extend(work.record(run)?);
            }
        }
        for round in 1..=self.rounds.max(1) {
            let mut next = Vec::new();
            for recording in std::mem::take(&mut queue) {
                if !work.interrupt.is_set() && !work.halted {
                    let analysed = work.analyse(&recording, round, &mut next);
                    work.unless_found(analysed)?;
                }
            }
            queue = next;
        }
        work.interrupt.end_if_cut();
        if resumes && !work.interrupt.is_set() {
            work.begin()?;
        }
        let explored = work.explore_if_asked();
        work.unless_found(explored)?;
        work.finish()
    }
}

/// The round of replays that only try something; nothing follows them.
const TRIED: u32 = u32::MAX;

impl Work<'_> {
    fn command(&self) -> Result<std::process::Command, Error> {
        let program = &self.job.program;
        let runtime = runtime::folder()?;
        let command = if self.fixed {
            record::command(&fixed_addresses::fixed(program), &runtime)
        } else {
            record::command(program, &runtime)
        };
        Ok(command?)
    }

    /// Records one run; `None` if there is nothing to analyse.
    fn record(&mut self, run: u32) -> Result<Option<Recording>, Error> {
        (self.tell)(Stage::Recording { run, of: self.job.runs });
        let schedule = self.job.schedule.unwrap_or(if run == 1 { Schedule::Free } else { Schedule::Random });
        let path = self.job.folder.join(format!("run{run}.mhp"));
        let seed = self.job.seed + u64::from(run) - 1;
        let options = record::Options { seed, ..self.recording_options(schedule, path.clone()) };
        let mut command = self.command()?;
        command.stdin(self.stdin.first()?).stdout(Stdio::piped()).stderr(Stdio::piped());
        let show = self.job.show_output && run == 1;
        let (limit, is_share) = self.interrupt.for_recording(self.job.timeout, self.job.runs - run);
        let mut watch = Watch::new(limit, show);
        let taken = record::execute_for_trace(command, &options, &self.job.folder, &mut watch)?;
        if !taken.is_recorded() {
            return Err(Error::at(Path::new(&self.job.program[0]), NOT_INSTRUMENTED).not_run());
        }
        let output = watch.printed();
        let mut summary = Run::new(&self.job.program, taken.status, watch.started.elapsed());
        let late = watch.late || watch.is_stuck;
        summary.build = record::build_of(&self.job.program[0]);
        summary.root.clone_from(&self.job.root);
        // That the budget or Ctrl-C ended it says nothing of the program. The terminal sends Ctrl-C to the program, too.
        let ended_from_here = self.interrupt.is_pressed() || watch.late && is_share || late && self.interrupt.is_set();
        self.interrupt.analyse_what_is_there();
        if watch.late && is_share {
            self.note_share(run, limit);
        }
        let limit = watch.late.then_some(self.job.timeout);
        let failed = Failed::of(watch.is_stuck, limit, taken.status, &output).filter(|_| !ended_from_here);
        let failed = failed.map(|failed| self.located(failed, schedule, seed));
        summary.stdin = self.stdin.kept().map(|(bytes, _)| bytes);
        let recorded = Recorded { run: summary.clone(), output: Some(output), late };
        self.first.get_or_insert((recorded.clone(), taken.units()));
        // With several runs, all are recorded before the first is analysed: their traces would not fit into memory together.
        let keep = self.job.runs == 1;
        let Some((recording, trace)) = self.interrupt.make_trace(taken, path.clone(), summary, keep)? else {
            self.notes.push(format!("run {run}: stopped before its trace was made"));
            self.undecided = true;
            return Ok(None);
        };
        // That it was ended from here says nothing of the program.
        let notes = recording.notes.into_iter().filter(|_| !late && !ended_from_here || recording.events == 0);
        self.notes.extend(notes.map(|note| format!("run {run}: {note}")));
        self.stdin.keep();
        if recording.events == 0 {
            self.notes.push(format!("run {run}: no event was recorded"));
            if failed.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(Recording { failed, made: Cell::new(trace), ..Recording::in_file(path, recorded) }))
    }

    /// Predicts what other interleavings of a recording contain, and replays what is proven and new.
    fn analyse(&mut self, recording: &Recording, round: u32, next: &mut Vec<Recording>) -> Result<(), Error> {
        let path = &recording.path;
        let trace = recording.trace()?;
        if round == 1 {
            (self.tell)(Stage::Recorded { trace: &trace, run: &recording.recorded.run });
        } else if !following::is_explored(round) && !self.is_news(&trace) {
            return Ok(());
        }
        if self.job.rounds > 1 || self.job.explore.is_some() {
            self.remember(&trace);
        }
        let execution = Arc::new(Execution::derive(trace).map_err(|error| Error::at(path, error))?);
        let trace = execution.trace();
        if let Some(failed) = recording.failed.as_ref().filter(|_| round == 1) {
            self.observe(failed, path, &execution);
        }
        if trace.is_empty() {
            return Ok(());
        }
        if round == 1 && trace.tables().threads.len() == 1 {
            self.notes.push(ONE_THREAD.into());
        }
        let options = self.search(trace, round);
        (self.tell)(Stage::Predicting);
        let predicted = self.predict(&execution, &options)?;
        self.interrupt.end_if_cut();
        let Some(prediction) = predicted else {
            self.notes.push("stopped before the whole trace was analysed".into());
            self.undecided = true;
            return Ok(());
        };
        self.undecided |= prediction.tally.unknown > 0;
        self.halted |= prediction.halted.is_some();
        let steps = self.job.page.then(|| prediction::page_steps(prediction.findings.len()));
        let known = (&*execution, &Doubts::load(path));
        let mut part = suggest::report(path, known, &options, &prediction, steps);
        let found = std::mem::take(&mut part.findings);
        let new: Vec<_> = found.into_iter().filter(|f| self.known.insert(f.fingerprint.clone())).collect();
        (self.tell)(Stage::Predicted { trace, path, prediction: &prediction, new: &new });
        self.merge(part);
        let replays = Replays { path, execution: &execution, prediction: &prediction, recording };
        self.replay_all(&replays, new, round, next)?;
        self.try_rest(recording, &execution, &options, round)
    }

    /// Predicts in a thread of its own, which is left alone when the user presses Ctrl-C.
    fn predict(
        &self,
        execution: &Arc<Execution<'static>>,
        options: &predict::Options,
    ) -> Result<Option<Prediction>, Error> {
        let (execution, options) = (Arc::clone(execution), options.clone());
        let predicted = self.interrupt.unless_set(move || predict(&execution, &options))?;
        Ok(predicted.transpose()?)
    }

    fn replay_all(
        &mut self,
        replays: &Replays<'_>,
        new: Vec<mayhap_report::Finding>,
        round: u32,
        next: &mut Vec<Recording>,
    ) -> Result<(), Error> {
        if new.is_empty() {
            return Ok(());
        }
        let trace = replays.execution.trace();
        let steps = (self.job.replays > 0).then(|| replay::steps(replays.path, trace)).transpose()?;
        // Witness files are for folders that stay.
        let fingerprint = self.job.keep.then(|| trace.fingerprint());
        for mut finding in new {
            let was = finding.kind;
            let proof = replays.proof_of(&finding.id);
            if let (Some(proof), Some(fingerprint)) = (proof, fingerprint) {
                let file = self.job.folder.join(format!("{}.json", finding.id));
                let witness = WitnessFile::of(trace, fingerprint, proof).with_path(replays.path);
                witness.save(&file, replays.execution)?;
                finding.replay_command = Some(suggest::replay_command(&file, true));
                finding.witness_file = Some(file.display().to_string());
            } else if proof.is_some() {
                finding.replay_command.clone_from(&self.job.again);
            }
            if let (Some(proof), Some(steps), false) = (proof, &steps, self.interrupt.is_set()) {
                match Plan::new(replays.execution, steps, proof.target(), proof.witness()) {
                    Ok(plan) => {
                        let done = self.replay(replays, steps, &plan, &mut finding, proof.target(), (round, next));
                        done.unwrap_or_else(|error| self.cut_short(&error));
                    }
                    Err(why) => {
                        finding.replayed(Replay { diverged: Some(why), ..Replay::default() });
                    }
                }
            }
            let harm = self.harmful.remove(&finding.id);
            finding.graded(harm.is_some());
            if let Some(report) = &mut self.report
                && !memory::is_reported(&finding, was, report)
            {
                report.findings.push(finding);
            }
        }
        Ok(())
    }

    /// Replays one finding, in both orders where there are two.
    fn replay(
        &mut self,
        replays: &Replays<'_>,
        steps: &Steps,
        plan: &Plan,
        finding: &mut mayhap_report::Finding,
        target: &Target,
        (round, next): (u32, &mut Vec<Recording>),
    ) -> Result<(), Error> {
        // What is only tried is mentioned if something comes of it.
        let is_reported = round != TRIED;
        if is_reported {
            (self.tell)(Stage::Replaying { finding });
        }
        let orders = if matches!(target, Target::Race(..)) { 2 } else { 1 };
        let mut entry = Replay::default();
        let mut gravest = Effect::None;
        let mut last = None;
        for number in 0..self.job.replays * orders {
            if self.interrupt.is_set() {
                break;
            }
            let first = number % orders;
            let mut replayed = replay::replay(&self.job.program, steps, plan, self.options(replays, first)?)?;
            self.explain(&mut replayed, |work, fixed| {
                let options = addresses::quietly(work.options(replays, first)?, fixed);
                Ok(replay::replay(&work.job.program, steps, plan, options)?)
            })?;
            entry.runs += 1;
            match &replayed.outcome {
                Outcome::Confirmed if !memory::is_shown(finding, &replayed.effect) => {
                    entry.diverged = Some(memory::NOT_SHOWN.to_owned());
                }
                Outcome::Confirmed => {
                    entry.confirmed += 1;
                    if replayed.effect > gravest {
                        gravest = replayed.effect.clone();
                    }
                }
                outcome => {
                    entry.blocked = entry.blocked.or_else(|| trouble::blocked(outcome));
                    entry.diverged = Some(format!("{outcome}{}{}", suggest::remedy(outcome), self.stdin.excuse()))
                }
            }
            // The other order would wait in the same place.
            let stop = entry.blocked.is_some() && entry.confirmed == 0;
            last = Some(replayed);
            if stop {
                break;
            }
        }
        let Some(last) = last else { return Ok(()) };
        // What differs from run to run anyway is no harm that a pattern does.
        let differs = finding.kind.is_pattern() && matches!(gravest, Effect::Output { .. });
        if differs && !self.prints_the_same(replays)? {
            gravest = Effect::None;
        }
        if entry.confirmed > 0 {
            entry.effect = Some(gravest.to_string());
            if gravest > Effect::None {
                self.harmful.insert(finding.id.clone(), gravest.clone());
            }
        }
        finding.replayed(entry);
        memory::show(finding, &gravest, self.report.as_ref());
        if is_reported {
            (self.tell)(Stage::Replayed { finding, last: &last });
        }
        if round < self.job.rounds && next.len() < FOLLOWED && last.effect != Effect::Deadlock {
            let path = self.job.folder.join(format!("replay-{}.mhp", finding.id));
            let summary =
                Run { root: self.job.root.clone(), ..Run::new(&self.job.program, last.status, Duration::ZERO) };
            let writer = format::create(&path).map_err(|error| Error::at(&path, error))?;
            let written = last.taken.write(writer, &path, &summary)?;
            if written.events > 0 {
                next.push(Recording::in_file(path, replays.recording.recorded.clone()));
            }
        }
        Ok(())
    }

    fn options(&self, replays: &Replays<'_>, first: u32) -> Result<replay::Options, Error> {
        Ok(replay::Options {
            first,
            core: false,
            patience: self.job.patience,
            timeout: self.interrupt.within(self.job.timeout),
            capture: true,
            input: Some(self.stdin.again()?),
            runtime: runtime::folder()?,
            fixed: self.fixed,
            recorded: Some(replays.recording.recorded.clone()),
            debugger: None,
        })
    }

    /// Looks whether addresses led a replay elsewhere, if nothing else is known to have; once in a job is enough.
    fn explain(
        &mut self,
        replayed: &mut Replayed,
        mut again: impl FnMut(&Self, bool) -> Result<Replayed, Error>,
    ) -> Result<(), Error> {
        let unexplained = matches!(&replayed.outcome, Outcome::Diverged { sources, .. } if sources.is_empty());
        if !unexplained || self.fixed || !fixed_addresses::can_be_fixed() {
            return Ok(());
        }
        let led = match self.led_by_addresses {
            Some(known) => known,
            None => addresses::decide_the_way(replayed, |fixed| again(self, fixed))?,
        };
        self.led_by_addresses = Some(led);
        if let (true, Outcome::Diverged { sources, .. }) = (led, &mut replayed.outcome) {
            sources.push(ADDRESSES);
        }
        Ok(())
    }
}

/// The program is a file, by its path or on the search path.
fn is_there(program: &OsString) -> bool {
    let path = Path::new(program);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    path.is_file() || path.components().count() == 1 && std::env::split_paths(&folders).any(|f| f.join(path).is_file())
}

/// Said of a run with one thread.
pub const ONE_THREAD: &str = "the program ran with one thread: there is nothing to reorder";

/// What replaying the findings of one trace needs.
struct Replays<'a> {
    path: &'a Path,
    execution: &'a Execution<'static>,
    prediction: &'a Prediction,
    recording: &'a Recording,
}

impl Replays<'_> {
    fn proof_of(&self, id: &str) -> Option<&mayhap_witness::Checked> {
        self.prediction.findings.iter().find(|f| prediction::id(self.execution.trace(), f) == id)?.proof.as_ref()
    }
}
