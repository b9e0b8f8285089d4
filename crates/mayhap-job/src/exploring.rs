//! Runs the program under other schedules and looks what comes of it.
//!
//! Prediction speaks of what one run implies. Bugs behind a value that no recorded run had are found by running: a wake-up that comes too
//! early, a check whose result is out of date. A failure that happens is a finding, whatever led there; a run that merely takes long is none.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mayhap_explore::minimise::minimise;
use mayhap_explore::run::IN_TURNS;
use mayhap_explore::turns::{is_choice, turns_of};
use mayhap_explore::{
    Attempt, Entry, Explorer, Failure as Failed, Faults, Journal, Next, Outcome, Strategy, Tried, Turn, run,
};
use mayhap_instrument::runtime;
use mayhap_replay::effect::telling_line;
use mayhap_replay::outcome::signal_name;
use mayhap_replay::session::Recorded;
use mayhap_report::{Exploration, Finding, occurs};
use mayhap_trace::attachments::Run;
use mayhap_trace::{EventId, Execution, Op, Trace, format};
use mayhap_wire::ring::{CHOICE_SHIFT, Schedule, choice};
use mayhap_witness::{Checker, Model, Target, Witness};

use super::ahead::{self, Ahead, Made, Runs};
use super::elsewhere::Elsewhere;
use super::observed::describe;
use super::progress::{Came, Progress};
use super::{Stage, Work, memory};
use crate::{Error, suggest};
use mayhap_replay::witness_file::WitnessFile;

/// Runs that are made even where they take longer than the time given, unless that is exceeded [`PATIENCE`] times.
const LEAST: u64 = 64;
const PATIENCE: u32 = 8;
/// The most runs without a thread that could go on whose traces are looked at: they may have stopped at different places.
const ALIKE: u32 = 4;
/// A run may take so many times as long as the recorded one, and at least this long.
const SLOWER: u32 = 50;
const AT_LEAST: Duration = Duration::from_secs(2);
/// Programs that record more in a run are not gone through systematically: its steps would be too many. A test of Rust records some 30,000 words before it begins.
const MOST_STEPS: u64 = 200_000;
/// The most runs that are made to make the turns of a failure fewer.
const MINIMISING: usize = 24;
/// Runs in the recorded order that must end well before another exit code counts as an effect of the schedule.
const FREE_RUNS: u64 = 2;
/// Said of an exit code where a limit of time may have been exceeded.
const IS_SLOWER: &str = "The program reads the clock, and runs under other schedules take longer: check whether it merely exceeded a limit of time.";

/// How to look for failures under other schedules.
#[derive(Clone, Debug)]
pub struct Exploring {
    /// For how long.
    pub time: Duration,
    /// The most schedules.
    pub most: u64,
    /// Failures that are tried.
    pub faults: Faults,
    /// How schedules are drawn.
    pub strategy: Strategy,
    /// Stop at the first failure.
    pub first: bool,
    /// The job is undecided unless all executions were explored.
    pub must_complete: bool,
    /// What the explored runs imply is predicted and replayed, too.
    pub follows: bool,
    /// The job's folder keeps the exploration, which goes on where one in that folder was interrupted.
    pub resume: bool,
    /// How many runs are made at the same time.
    pub at_once: usize,
    /// Who makes them, if not this machine alone.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Where the manifest goes if all executions were explored.
    pub manifest: Option<PathBuf>,
}

impl Exploring {
    /// For so many seconds, `None` for 0; `follows`: what the explored runs imply is predicted and replayed, too.
    pub fn for_seconds(seconds: f64, follows: bool) -> Option<Exploring> {
        let time = Duration::from_secs_f64(seconds.clamp(0.0, 1e6));
        (!time.is_zero()).then_some(Exploring {
            time,
            most: u64::MAX,
            faults: Faults::default(),
            strategy: Strategy::Mixed,
            first: false,
            must_complete: false,
            follows,
            resume: false,
            at_once: 1,
            elsewhere: None,
            manifest: None,
        })
    }
}

impl Work<'_> {
    /// Runs the program under other schedules, if the job is to.
    pub(super) fn explore_if_asked(&mut self) -> Result<(), Error> {
        match &self.job.explore {
            Some(exploring) => self.explore(exploring),
            None => Ok(()),
        }
    }

    /// Runs the program under other schedules.
    fn explore(&mut self, exploring: &Exploring) -> Result<(), Error> {
        let Some((recorded, steps)) = self.first.clone() else { return Ok(()) };
        let one_thread = self.notes.iter().any(|note| note == super::ONE_THREAD);
        if recorded.late || one_thread || self.interrupt.is_set() || self.halted {
            return Ok(());
        }
        let taken = Duration::from_secs_f64(recorded.run.seconds.clamp(0.0, 1e4));
        let limit = (taken * SLOWER).max(AT_LEAST).min(self.job.timeout);
        let mut progress = Progress::new(limit);
        let mut explorer = self.explorer(exploring.strategy, steps);
        let mut journal = match exploring.resume || exploring.manifest.is_some() {
            true => Some(self.open_journal(&mut explorer, &mut progress)?),
            false => None,
        };
        let elsewhere = exploring.elsewhere.as_deref().filter(|elsewhere| {
            let (stdin, is_cut) = self.stdin.kept().unwrap_or_default();
            elsewhere.begin(self.job.inputs, self.faults(), &stdin);
            !is_cut
        });
        let runs = self.runs()?;
        let stopped = ahead::with(runs, limit, (exploring.at_once, elsewhere), |ahead| {
            let done = self.explore_all(exploring, &recorded, &mut progress, &mut explorer, journal.as_mut(), ahead);
            let differ = |machine| format!("runs on {machine} differ from those here, which were made instead");
            self.notes.extend(ahead.different().into_iter().map(differ));
            done
        })?;
        self.tell_how_far(&mut progress, &explorer, true);
        self.notes.extend(progress.outputs.note().filter(|_| !exploring.resume));
        let mut exploration = Exploration {
            schedules: progress.runs,
            failures: progress.failures,
            seconds: progress.seconds(),
            coverage: progress.curve.points(progress.runs),
            ..Exploration::default()
        };
        if let Some(all) = explorer.systematic() {
            exploration.executions = all.executions();
            exploration.derived = all.derived();
            exploration.open = all.open() + u64::from(stopped);
            exploration.complete = all.is_complete() && !stopped;
            exploration.cut_loops = all.cut_loops();
            exploration.limits = all.limits();
        }
        drop(journal);
        if let Some(file) = &exploring.manifest {
            self.write_manifest(file, &exploration)?;
        }
        self.undecided |= exploring.must_complete && !exploration.complete;
        self.exploration = Some(exploration);
        self.analyse_explored(progress.elsewhere, exploring.time, limit)
    }

    /// What chooses schedules for a program whose recorded run had so many steps.
    pub(super) fn explorer(&self, strategy: Strategy, steps: u64) -> Explorer {
        let in_turns = steps <= MOST_STEPS && mayhap_replay::fixed_addresses::can_be_fixed();
        Explorer::new(strategy, self.job.seed, steps, in_turns)
    }

    /// Makes runs until none is left, or time or runs are used up. Says whether it was stopped in a run.
    fn explore_all(
        &mut self,
        exploring: &Exploring,
        recorded: &Recorded,
        progress: &mut Progress,
        explorer: &mut Explorer,
        mut journal: Option<&mut Journal>,
        ahead: &Ahead<'_>,
    ) -> Result<bool, Error> {
        let is_over =
            |runs: u64, used: Duration| used >= exploring.time && (runs >= LEAST || used >= exploring.time * PATIENCE);
        loop {
            while !self.interrupt.is_set() && explorer.derive() {
                self.tell_how_far(progress, explorer, false);
                if is_over(progress.runs, progress.started.elapsed()) {
                    break;
                }
            }
            let is_enough = progress.runs >= exploring.most || self.interrupt.is_set();
            if is_enough || is_over(progress.runs, progress.started.elapsed()) {
                break;
            }
            if exploring.first && progress.failures > 0 {
                break;
            }
            let Some(next) = explorer.choose() else { break };
            ahead.want(|most| explorer.likely(most));
            let made = ahead.make(&next)?;
            // The signal that ends this job may have ended the run.
            if self.interrupt.is_pressed() {
                return Ok(true);
            }
            let (outcome, tried) = match made {
                Made::Here(tried) => (Explorer::outcome(&next, &tried)?, Some(*tried)),
                Made::Elsewhere(outcome) => (*outcome, None),
            };
            let is_new = explorer.learn(&next, &outcome);
            progress.runs += 1;
            progress.curve.add(progress.runs, explorer.systematic().map_or(0, |all| all.executions()), is_new);
            let follows = exploring.follows && progress.elsewhere.follows(&outcome, exploring.resume);
            // An exploration that goes on has no traces of the runs before, and must come to the same.
            let is_kept = follows && tried.is_some() && !exploring.resume;
            if follows && !is_kept {
                progress.elsewhere.make_again(progress.runs, &next);
            }
            let came = match tried {
                Some(tried) => self.look_at(&next, &outcome, tried, recorded, progress, is_kept)?,
                None => Came::well(progress.seconds()),
            };
            if self.interrupt.is_pressed() {
                return Ok(true);
            }
            if let Some(journal) = &mut journal {
                journal.append(&Entry { made: next, outcome, rest: came }.to_bytes())?;
            }
            self.tell_how_far(progress, explorer, false);
        }
        Ok(false)
    }

    /// Tells how far the exploration is, if it is time to or `always`.
    fn tell_how_far(&mut self, progress: &mut Progress, explorer: &Explorer, always: bool) {
        if let Some(explored) = progress.news(explorer, always) {
            (self.tell)(Stage::Exploring(&explored));
        }
    }

    /// Looks whether a run failed, and reports it. One that did not is kept if it is to be followed.
    fn look_at(
        &mut self,
        asked: &Next,
        outcome: &Outcome,
        tried: Tried,
        recorded: &Recorded,
        progress: &mut Progress,
        follows: bool,
    ) -> Result<Came, Error> {
        let known = (self.explored.len(), self.notes.len());
        // A program that ends because a call failed has noticed.
        let noticed = |failed: &Failed| outcome.has_faults() && matches!(failed, Failed::Code(..));
        let failed = Failed::beyond(&tried, recorded).filter(|failed| !noticed(failed));
        // What a recorded run printed that was taken over is not known any more.
        if let Some(output) =
            recorded.output.as_ref().filter(|_| tried.capture.status.success() && !outcome.has_faults())
        {
            progress.outputs.add(output, &tried.printed);
        }
        if let Some(failed) = &failed {
            // The trace of a run that failed is for its failure.
            if follows {
                progress.elsewhere.make_again(progress.runs, asked);
            }
            progress.failures += 1;
            let times = progress.alike.entry(failed.clone()).or_default();
            *times += 1;
            let most = if *failed == Failed::Stuck { ALIKE } else { 1 };
            if *times <= most && !self.is_explained(failed) && self.is_of_the_schedule(failed, progress.limit)? {
                let (mut tried, mut turns) = (tried, None);
                if let Next::Turns(..) = asked {
                    let shorter = self.minimise(failed, &tried, recorded, progress.limit)?;
                    let again = self.attempt_in_turns(&shorter, IN_TURNS, progress.limit)?;
                    if Failed::beyond(&again, recorded).as_ref() == Some(failed) {
                        (tried, turns) = (again, Some(shorter));
                    }
                }
                let next = turns.map(|turns| Next::Turns(turns, IN_TURNS));
                let next = next.as_ref().unwrap_or(asked);
                let explained = explained(failed, &tried, recorded);
                self.report_failure(&explained, next, progress.runs, tried)?;
            }
        } else if follows {
            self.follow(tried, progress.runs, &mut progress.elsewhere)?;
        }
        Ok(Came {
            failed,
            findings: self.explored[known.0..].to_vec(),
            notes: self.notes[known.1..].to_vec(),
            also: std::mem::take(&mut self.also),
            seconds: progress.seconds(),
        })
    }

    /// The turns of a run that failed, made as few as single moves can make them.
    fn minimise(
        &mut self,
        failed: &Failed,
        tried: &Tried,
        recorded: &Recorded,
        limit: Duration,
    ) -> Result<Vec<Turn>, Error> {
        let steps = tried.capture.turn_steps()?;
        minimise(turns_of(&steps), MINIMISING, |turns| {
            let again = self.attempt_in_turns(turns, IN_TURNS, limit)?;
            Ok(Failed::beyond(&again, recorded).as_ref() == Some(failed))
        })
    }

    /// Failures that are tried.
    pub(super) fn faults(&self) -> Faults {
        self.job.explore.as_ref().map_or_else(Faults::default, |exploring| exploring.faults)
    }

    /// What makes runs.
    pub(super) fn runs(&self) -> Result<Runs, Error> {
        let elsewhere = self.job.explore.as_ref().and_then(|exploring| exploring.elsewhere.as_ref());
        Ok(Runs {
            program: elsewhere.map_or_else(|| self.job.program.clone(), |elsewhere| elsewhere.program()),
            runtime: runtime::folder()?,
            fixed: self.fixed,
            stdin: self.stdin.clone(),
            inputs: self.job.inputs,
            faults: self.faults(),
            folder: self.job.folder.clone(),
            libraries: elsewhere.map(|elsewhere| elsewhere.libraries()),
            servers: Some(Arc::clone(&self.servers)),
        })
    }

    /// Makes one run under a schedule.
    pub(super) fn attempt(&mut self, attempt: Attempt, limit: Duration) -> Result<Tried, Error> {
        self.runs()?.make(&Next::Drawn(attempt), limit)
    }

    /// The same in turns, with addresses that are the same in every run.
    pub(super) fn attempt_in_turns(
        &mut self,
        turns: &[Turn],
        attempt: Attempt,
        limit: Duration,
    ) -> Result<Tried, Error> {
        self.runs()?.make(&Next::Turns(turns.to_vec(), attempt), limit)
    }

    /// A replayed finding had this effect already.
    fn is_explained(&self, failed: &Failed) -> bool {
        let Failed::Signal(_, Some(words)) = failed else { return false };
        let findings = self.report.iter().flat_map(|report| &report.findings);
        findings
            .filter_map(|finding| finding.replay.as_ref()?.effect.as_ref())
            .any(|effect| effect.contains(words.as_str()))
    }

    /// The schedule did it. An exit code can also be due to what earlier runs left behind, such as a file: then runs as the recorded one have it too.
    fn is_of_the_schedule(&mut self, failed: &Failed, limit: Duration) -> Result<bool, Error> {
        let Failed::Code(code, _) = failed else { return Ok(true) };
        let mut always = true;
        for nth in 0..FREE_RUNS {
            let slice = mayhap_record::usual_slice(Schedule::Free);
            let free = Attempt { schedule: Schedule::Free, slice, seed: self.job.seed + nth };
            always = always && self.attempt(free, limit)?.capture.status.code() == Some(*code);
        }
        if always {
            let note = format!(
                "the program ends with exit code {code} when it is run again, under any schedule: an earlier run may have left something behind"
            );
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(!always)
    }

    /// Adds the finding of a run that failed, if it is new, with its trace and the command that makes the same run again.
    fn report_failure(&mut self, failed: &Failed, next: &Next, nth: u64, tried: Tried) -> Result<(), Error> {
        let path = self.job.folder.join(format!("explored{nth}.mhp"));
        let summary = Run::new(&self.job.program, tried.capture.status, tried.took);
        let uses_clock = tried.capture.sources().contains(&"the clock");
        let writer = format::create(&path).map_err(|error| Error::at(&path, error))?;
        let crash = tried.crash;
        tried.capture.write(writer, &path, &summary)?;
        let trace = format::read(&path).map_err(|error| Error::at(&path, error))?.trace;
        let execution = Execution::derive(trace).map_err(|error| Error::at(&path, error))?;
        let mut finding = describe(failed, crash.as_ref(), &path, &execution);
        if uses_clock && matches!(failed, Failed::Code(..)) {
            finding.why = format!("{} {IS_SLOWER}", sentence(&finding.why)).trim_start().to_string();
        }
        if self.report.as_ref().is_some_and(|report| memory::is_explained(&finding, report)) {
            return Ok(());
        }
        let confirmed = self.report.iter_mut().flat_map(|report| &mut report.findings);
        if let Some(same) = confirmed.into_iter().find(|other| is_effect(failed, other, execution.trace())) {
            // One bug, one finding: its replays failed in the same way.
            if self.known.insert(finding.fingerprint.clone()) {
                self.also.push([same.fingerprint.clone(), finding.fingerprint.clone()]);
                same.also.push(finding.fingerprint);
            }
            return Ok(());
        }
        // Threads that wait for the end of others may do so at different places in runs that are stuck for the same reason.
        let is_same = |other: &Finding| other.kind == finding.kind && other.title == finding.title;
        if self.explored.iter().any(is_same) || !self.known.insert(finding.fingerprint.clone()) {
            return Ok(());
        }
        finding.found_by_exploring();
        if let Next::Turns(turns, _) = next {
            finding.message += &format!(" It takes {} between threads.", counted_switches(switches(turns)));
            finding.message += &chosen(turns);
        }
        finding.replay_command = match next {
            // A program that was compiled for this job is gone when it ends.
            _ if !self.job.keep && Path::new(&self.job.program[0]).starts_with(&self.job.folder) => {
                self.job.again.clone()
            }
            Next::Drawn(attempt) => Some(again(&self.job.program, &drawn(*attempt))),
            Next::Turns(turns, _) if self.job.keep => {
                let file = self.job.folder.join(format!("explored{nth}.turns"));
                std::fs::write(&file, run::contents(turns, self.faults())).map_err(|error| Error::at(&file, error))?;
                Some(again(&self.job.program, &format!("--turns {}", suggest::shell_word(&file))))
            }
            Next::Turns(..) => self.job.again.clone(),
        };
        if self.job.keep {
            self.save_order(&mut finding, &path, &execution)?;
        }
        self.explored.push(finding);
        Ok(())
    }

    /// Saves the order of a run as a witness that can be replayed.
    fn save_order(&self, finding: &mut Finding, path: &Path, execution: &Execution<'_>) -> Result<(), Error> {
        let (trace, relations) = execution.parts();
        let events: Vec<EventId> =
            (0..trace.len()).map(EventId::at).filter(|&event| relations.is_relevant(event)).collect();
        let is_access = |event: &&EventId| matches!(trace.event(**event).op, Op::Read | Op::Write | Op::Acquire);
        let Some(last) = events.iter().rev().find(is_access) else { return Ok(()) };
        let target = Target::Sequence { events: vec![*last], adjacent: Vec::new() };
        let schedule = events.iter().copied().take_while(|event| event <= last).collect();
        // An order that the checker does not accept, since the run was cut off, is not offered.
        let Ok(checked) = Checker::new(execution).check(&target, Model::Data, Witness { schedule }) else {
            return Ok(());
        };
        let file = self.job.folder.join(format!("{}.json", finding.id));
        WitnessFile::of(trace, trace.fingerprint(), &checked).with_path(path).save(&file, execution)?;
        finding.witness_file = Some(file.display().to_string());
        Ok(())
    }
}

/// The failure with the line that explains it: programs under test may print it on standard output, and what they print in every run explains nothing.
fn explained(failed: &Failed, tried: &Tried, recorded: &Recorded) -> Failed {
    match failed {
        Failed::Code(code, words) => {
            let line = telling_line(&tried.printed, recorded.output.as_ref());
            // What a recorded run printed that was taken over is not known any more.
            Failed::Code(*code, line.or_else(|| words.clone().filter(|_| recorded.output.is_none())))
        }
        _ => failed.clone(),
    }
}

/// Whether a failure is what replays of a finding led to, and its run shows the finding.
fn is_effect(failed: &Failed, finding: &Finding, trace: &Trace) -> bool {
    let Some(effect) = finding.replay.as_ref().and_then(|replay| replay.effect.as_ref()) else { return false };
    let (how, words) = match failed {
        Failed::Signal(signal, words) => (signal_name(*signal), words),
        // The effect of a replay has the exit code alone.
        Failed::Code(code, _) => (format!("exit code {code}"), &None),
        Failed::Stuck | Failed::TooLong(_) | Failed::Memory(_) => return false,
    };
    effect.contains(&how) && words.as_ref().is_none_or(|words| effect.contains(words)) && occurs(finding, trace)
}

/// The text with a full stop at its end, so that another sentence can follow.
fn sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text.to_string() } else { format!("{text}.") }
}

/// How often another thread goes on.
fn switches(turns: &[Turn]) -> usize {
    let threads: Vec<u32> = turns.iter().filter(|turn| !is_choice(**turn)).map(|turn| turn[0]).collect();
    threads.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// What else than the order leads to a failure, as sentences.
fn chosen(turns: &[Turn]) -> String {
    let kinds: BTreeSet<u32> =
        turns.iter().filter(|turn| is_choice(**turn)).map(|turn| turn[1] >> CHOICE_SHIFT).collect();
    let sentence = |kind| match kind {
        choice::WAITER => " A notify wakes another thread than the one that has waited longest.",
        choice::TIMEOUT => " The time limit of a wait is reached.",
        choice::WAKEUP => " A wait on a condition ends though no thread has notified it.",
        choice::ALLOCATION => " An allocation fails.",
        _ => "",
    };
    kinds.into_iter().map(sentence).collect()
}

fn counted_switches(switches: usize) -> String {
    if switches == 1 { "1 switch".into() } else { format!("{switches} switches") }
}

/// The options that draw the same schedule again.
fn drawn(attempt: Attempt) -> String {
    let schedule = mayhap_explore::entry::name(attempt.schedule);
    format!("--schedule {schedule} --slice {} --seed {}", attempt.slice, attempt.seed)
}

/// The command that makes the same run again.
fn again(program: &[OsString], options: &str) -> String {
    let words: Vec<String> = program.iter().map(|word| suggest::shell_word(Path::new(word))).collect();
    format!("mayhap record {options} -o failure.mhp -- {}", words.join(" "))
}
