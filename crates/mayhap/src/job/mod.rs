//! The main job: a program is recorded, what other interleavings contain is predicted, and every proven finding is
//! replayed, until nothing new turns up or somebody presses Ctrl-C.
//!
//! Each recorded run is analysed for itself; the same bug in several runs is one finding (its fingerprint says so). A replay
//! leads the program where no run has been: where it executed code that no run before had, its own recording is analysed in
//! the next round.

mod interrupt;
mod observed;
mod output;
mod stdin;
mod trying;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mayhap_report::{Replay, Report};
use mayhap_trace::{Relations, Trace, format};
use mayhap_wire::ring::Schedule;
use mayhap_witness::Target;

pub use interrupt::Interrupt;
use observed::Failed;
use output::Limits;
pub use stdin::{KEPT, Stdin};

use crate::{Failure, suggest};
use mayhap_analyse::{self as predict, Prediction, predict};
use mayhap_instrument::runtime;
use mayhap_record as record;
use mayhap_replay::addresses;
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
    /// How long a run may take, and how long it may do nothing.
    pub timeout: Duration,
    /// See there.
    pub patience: Duration,
    /// Passes on what the first recorded run prints.
    pub show_output: bool,
}

/// What the job is doing, for whoever wants to tell the user.
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
        /// What came of it.
        prediction: &'a Prediction,
        /// The findings that are new.
        new: &'a [mayhap_report::Finding],
    },
    /// A finding is replayed.
    Replaying {
        /// It.
        finding: &'a mayhap_report::Finding,
    },
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
}

struct Work<'a> {
    job: &'a Job,
    tell: &'a mut dyn FnMut(Stage<'_>),
    interrupt: Interrupt,
    stdin: Stdin,
    report: Option<Report>,
    /// Fingerprints of findings.
    known: HashSet<String>,
    /// Names of places that some analysed run has been to.
    places: HashSet<String>,
    /// Whether addresses decide where the program goes, once that was looked for.
    led_by_addresses: Option<bool>,
    /// Whether the program prints the same in every run, once that was looked for.
    prints_the_same: Option<bool>,
    undecided: bool,
    /// Found what it was to stop at.
    halted: bool,
    /// What went wrong in recorded runs.
    observed: Vec<mayhap_report::Finding>,
    /// Ids of findings whose replay showed harm.
    harmful: HashSet<String>,
    notes: Vec<String>,
}

/// A trace to be analysed, with what its run came to.
struct Recording {
    path: PathBuf,
    recorded: Recorded,
    /// What went wrong in the run itself.
    failed: Option<Failed>,
}

impl Job {
    /// Does the job; `tell` hears of each stage.
    pub fn run(&self, tell: &mut dyn FnMut(Stage<'_>)) -> Result<Done, Failure> {
        let mut work = Work {
            job: self,
            tell,
            interrupt: Interrupt::catch(),
            stdin: Stdin::look(&self.folder)?,
            report: None,
            known: HashSet::new(),
            places: HashSet::new(),
            led_by_addresses: None,
            prints_the_same: None,
            undecided: false,
            halted: false,
            observed: Vec::new(),
            harmful: HashSet::new(),
            notes: Vec::new(),
        };
        let mut queue = Vec::new();
        for run in 1..=self.runs {
            if !work.interrupt.is_set() {
                queue.extend(work.record(run)?);
            }
        }
        for round in 1..=self.rounds.max(1) {
            let mut next = Vec::new();
            for recording in std::mem::take(&mut queue) {
                if !work.interrupt.is_set() && !work.halted {
                    work.analyse(&recording, round, &mut next)?;
                }
            }
            queue = next;
            if queue.is_empty() {
                break;
            }
        }
        work.finish()
    }
}

impl Work<'_> {
    /// How a run of the job is recorded.
    fn recording_options(&self, schedule: Schedule, output: PathBuf) -> record::Options {
        let slice = record::usual_slice(schedule);
        let limits = record::Limits::default();
        record::Options { output, seed: self.job.seed, schedule, slice, inputs: self.job.inputs, limits, finish: true }
    }

    fn command(&self) -> Result<std::process::Command, Failure> {
        Ok(record::command(&self.job.program, &runtime::folder()?)?)
    }

    /// Records one run; `None` if there is nothing to analyse.
    fn record(&mut self, run: u32) -> Result<Option<Recording>, Failure> {
        (self.tell)(Stage::Recording { run, of: self.job.runs });
        let schedule = self.job.schedule.unwrap_or(if run == 1 { Schedule::Free } else { Schedule::Random });
        let path = self.job.folder.join(format!("run{run}.mhp"));
        let seed = self.job.seed + u64::from(run) - 1;
        let options = record::Options { seed, ..self.recording_options(schedule, path.clone()) };
        let mut command = self.command()?;
        command.stdin(self.stdin.first()?).stdout(Stdio::piped()).stderr(Stdio::piped());
        let show = self.job.show_output && run == 1;
        let mut watch = Limits::new(self.job.timeout, show);
        let writer = format::create(&path).map_err(|error| Failure::at(&path, error))?;
        let taken = record::execute(command, &options, &self.job.folder, &mut watch)?;
        if !taken.is_recorded() {
            return Err(Failure::at(Path::new(&self.job.program[0]), NOT_INSTRUMENTED));
        }
        let output = watch.printed();
        let mut summary = Run::new(&self.job.program, taken.status, watch.started.elapsed());
        let late = watch.late || watch.is_stuck;
        let failed = Failed::of(&watch, self.job.timeout, &summary, &output);
        summary.stdin = self.stdin.kept().map(|(bytes, _)| bytes);
        let recording = taken.write(writer, &path, &summary)?;
        // That it was ended from here says nothing of the program.
        let notes = recording.notes.into_iter().filter(|_| !late || recording.events == 0);
        self.notes.extend(notes.map(|note| format!("run {run}: {note}")));
        self.stdin.keep();
        if recording.events == 0 {
            self.notes.push(format!("run {run}: no event was recorded"));
            if failed.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(Recording { path, recorded: Recorded { run: summary, output: Some(output), late }, failed }))
    }

    /// Predicts what other interleavings of a recording contain, and replays what is proven and new.
    fn analyse(&mut self, recording: &Recording, round: u32, next: &mut Vec<Recording>) -> Result<(), Failure> {
        let path = &recording.path;
        let loaded = format::read(path).map_err(|error| Failure::at(path, error))?;
        let trace = Arc::new(loaded.trace);
        if round == 1 {
            (self.tell)(Stage::Recorded { trace: &trace, run: &recording.recorded.run });
        } else if !self.is_news(&trace) {
            return Ok(());
        }
        self.remember(&trace);
        let relations = Arc::new(Relations::derive(&trace).map_err(|error| Failure::at(path, error))?);
        if let Some(failed) = recording.failed.as_ref().filter(|_| round == 1) {
            self.observe(failed, path, &trace, &relations);
        }
        if trace.is_empty() {
            return Ok(());
        }
        let options = (self.job.predict)(&trace);
        (self.tell)(Stage::Predicting);
        let Some(prediction) = self.predict(&trace, &relations, &options)? else {
            self.notes.push("stopped before the whole trace was analysed".into());
            return Ok(());
        };
        self.undecided |= prediction.tally.unknown > 0;
        self.halted |= prediction.halted.is_some();
        let steps = self.job.page.then(|| prediction::page_steps(prediction.findings.len()));
        let mut part = suggest::report(path, &trace, &relations, &options, &prediction, steps);
        let found = std::mem::take(&mut part.findings);
        let new: Vec<_> = found.into_iter().filter(|f| self.known.insert(f.fingerprint.clone())).collect();
        (self.tell)(Stage::Predicted { prediction: &prediction, new: &new });
        self.merge(part);
        let replays = Replays { path, trace: &trace, relations: &relations, prediction: &prediction, recording };
        self.replay_all(&replays, new, round, next)?;
        self.try_deadlocks(recording, &trace, &relations, &options)
    }

    /// Predicts in a thread of its own, which is left alone when somebody presses Ctrl-C.
    fn predict(
        &self,
        trace: &Arc<Trace>,
        relations: &Arc<Relations>,
        options: &predict::Options,
    ) -> Result<Option<Prediction>, Failure> {
        let (send, receive) = std::sync::mpsc::channel();
        let (trace, relations, options) = (Arc::clone(trace), Arc::clone(relations), options.clone());
        std::thread::spawn(move || {
            // Nobody may be waiting any more.
            let _ = send.send(predict(&trace, &relations, &options));
        });
        loop {
            match receive.recv_timeout(Duration::from_millis(50)) {
                Ok(result) => return Ok(Some(result?)),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) if !self.interrupt.is_set() => {}
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => return Ok(None),
                Err(_) => return Err(Failure::new("predicting ended unexpectedly")),
            }
        }
    }

    fn replay_all(
        &mut self,
        replays: &Replays<'_>,
        new: Vec<mayhap_report::Finding>,
        round: u32,
        next: &mut Vec<Recording>,
    ) -> Result<(), Failure> {
        let steps = replay::steps(replays.path, replays.trace)?;
        let fingerprint = replays.trace.fingerprint();
        for mut finding in new {
            let proof = replays.proof_of(&finding.id);
            if let Some(proof) = proof {
                let file = self.job.folder.join(format!("{}.json", finding.id));
                WitnessFile::of(replays.trace, fingerprint, proof).with_path(replays.path).save(
                    &file,
                    replays.trace,
                    replays.relations,
                )?;
                if self.job.keep {
                    finding.replay_command = Some(suggest::replay_command(&file, true));
                    finding.witness_file = Some(file.display().to_string());
                } else {
                    finding.replay_command.clone_from(&self.job.again);
                }
            }
            if let Some(proof) = proof.filter(|_| self.job.replays > 0 && !self.interrupt.is_set()) {
                match Plan::new(replays.trace, replays.relations, &steps, proof.target(), proof.witness()) {
                    Ok(plan) => self.replay(replays, &steps, &plan, &mut finding, proof.target(), (round, next))?,
                    Err(why) => {
                        finding.replayed(Replay { runs: 0, confirmed: 0, effect: None, diverged: Some(why) });
                    }
                }
            }
            let harm = self.harmful.remove(&finding.id);
            finding.graded(harm);
            if let Some(report) = &mut self.report {
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
    ) -> Result<(), Failure> {
        (self.tell)(Stage::Replaying { finding });
        let orders = if matches!(target, Target::Race(..)) { 2 } else { 1 };
        let mut entry = Replay { runs: 0, confirmed: 0, effect: None, diverged: None };
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
                Outcome::Confirmed => {
                    entry.confirmed += 1;
                    if replayed.effect > gravest {
                        gravest = replayed.effect.clone();
                    }
                }
                outcome => {
                    entry.diverged = Some(format!("{outcome}{}{}", suggest::remedy(outcome), self.stdin.excuse()))
                }
            }
            last = Some(replayed);
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
                self.harmful.insert(finding.id.clone());
            }
        }
        finding.replayed(entry);
        (self.tell)(Stage::Replayed { finding, last: &last });
        if round < self.job.rounds && next.len() < FOLLOWED && last.effect != Effect::Deadlock {
            let path = self.job.folder.join(format!("replay-{}.mhp", finding.id));
            let summary = Run::new(&self.job.program, last.status, Duration::ZERO);
            let writer = format::create(&path).map_err(|error| Failure::at(&path, error))?;
            last.taken.write(writer, &path, &summary)?;
            next.push(Recording { path, recorded: replays.recording.recorded.clone(), failed: None });
        }
        Ok(())
    }

    fn options(&self, replays: &Replays<'_>, first: u32) -> Result<replay::Options, Failure> {
        Ok(replay::Options {
            first,
            core: false,
            patience: self.job.patience,
            timeout: self.job.timeout,
            capture: true,
            input: Some(self.stdin.again()?),
            runtime: runtime::folder()?,
            fixed: false,
            recorded: Some(replays.recording.recorded.clone()),
            debugger: false,
        })
    }

    /// Looks whether addresses led a replay elsewhere, if nothing else is known to have; once in a job is enough.
    fn explain(
        &mut self,
        replayed: &mut Replayed,
        mut again: impl FnMut(&Self, bool) -> Result<Replayed, Failure>,
    ) -> Result<(), Failure> {
        let unexplained = matches!(&replayed.outcome, Outcome::Diverged { sources, .. } if sources.is_empty());
        if !unexplained || !addresses::can_be_fixed() {
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

    /// The trace has been to places where no analysed run has been.
    fn is_news(&self, trace: &Trace) -> bool {
        trace.tables().locations.iter().any(|name| !self.places.contains(name))
    }

    fn remember(&mut self, trace: &Trace) {
        self.places.extend(trace.tables().locations.iter().map(str::to_string));
    }

    /// Adds the counts of another trace's report.
    fn merge(&mut self, part: Report) {
        let Some(report) = &mut self.report else {
            self.report = Some(part);
            return;
        };
        report.summary.add(&part.summary);
        report.notes.extend(part.notes);
    }

    fn finish(mut self) -> Result<Done, Failure> {
        if self.interrupt.is_set() {
            self.notes.push("interrupted; partial results".into());
        }
        let nothing = || Report::new(env!("CARGO_PKG_VERSION"), Default::default(), "branch");
        let mut report = self.report.take().unwrap_or_else(nothing);
        report.program = self.job.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        report.summary.confirmed =
            report.findings.iter().filter(|f| f.verdict == mayhap_report::Verdict::Confirmed).count() as u64;
        report.findings.append(&mut self.observed);
        report.notes.extend(self.notes);
        report.arrange();
        Ok(Done { report, undecided: self.undecided })
    }
}

const NOT_INSTRUMENTED: &str = "the program recorded nothing, so it is not built for recording. Build it with CC=\"mayhap cc\" \
    or CXX=\"mayhap c++\" in place of the compiler (or -fsanitize=thread), a Rust program with `mayhap cargo`, or give a \
    single source file: mayhap run FILE.c";

/// What replaying the findings of one trace needs.
struct Replays<'a> {
    path: &'a Path,
    trace: &'a Trace,
    relations: &'a Relations,
    prediction: &'a Prediction,
    recording: &'a Recording,
}

impl Replays<'_> {
    fn proof_of(&self, id: &str) -> Option<&mayhap_witness::Checked> {
        self.prediction.findings.iter().find(|f| prediction::id(self.trace, f) == id)?.proof.as_ref()
    }
}
