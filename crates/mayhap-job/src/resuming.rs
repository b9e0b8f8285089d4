//! Keeps an exploration in a folder, so that it goes on where it was interrupted, be it by `kill -9` or on another machine.
//!
//! One file says what is explored and what the recorded run came to; it appears as a whole when exploring begins. The journal has every run that was made, with all
//! that was learnt from it: gone through again, it leads to the same choices and so to the same frontier. A run that was not over is made again.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use mayhap_explore::manifest::{Made, Manifest};
use mayhap_explore::{Entry, Explorer, Faults, Journal, Next, Outcome, Strategy, closure, systematic};
use mayhap_replay::session::Recorded;
use mayhap_report::{Exploration, Finding, Report};
use mayhap_trace::attachments::Run;
use serde::{Deserialize, Serialize};

use super::progress::{Came, Progress};
use super::{Stdin, Work};
use crate::Error;

const FORMAT: &str = "mayhap-exploration";
const VERSION: u32 = 1;
const BEGUN: &str = "exploration.json";
const JOURNAL: &str = "runs.journal";
const INPUT: &str = "stdin";

/// What is explored, and what the recorded run came to.
#[derive(Serialize, Deserialize)]
struct Begun {
    format: String,
    version: u32,
    question: Question,
    recorded: Run,
    steps: u64,
    has_input: bool,
    report: Option<Report>,
    observed: Vec<Finding>,
    known: Vec<String>,
    notes: Vec<String>,
    undecided: bool,
    halted: bool,
}

/// What decides which runs are made, and what comes of them.
#[derive(Serialize, Deserialize)]
struct Question {
    mayhap: String,
    program: Vec<String>,
    build: Option<String>,
    strategy: String,
    seed: u64,
    inputs: bool,
    predicts: bool,
    #[serde(default, skip_serializing_if = "Faults::is_none")]
    faults: Faults,
}

impl Work<'_> {
    /// Takes up the exploration that the folder has; says whether it has one.
    pub(super) fn restore(&mut self) -> Result<bool, Error> {
        let path = self.job.folder.join(BEGUN);
        let Ok(bytes) = std::fs::read(&path) else { return Ok(false) };
        let begun: Begun = serde_json::from_slice(&bytes).map_err(|error| Error::at(&path, error))?;
        if (begun.format.as_str(), begun.version) != (FORMAT, VERSION) {
            return Err(Error::at(&path, "not an exploration that this version of mayhap can go on with"));
        }
        if let Some(why) = begun.question.differs(&self.question()) {
            let advice = "give another folder to --resume, or the same program and options as before";
            return Err(Error::at(
                &path,
                format_args!("another exploration was begun in this folder: {why}; {advice}"),
            ));
        }
        self.stdin = if begun.has_input { Stdin::of(self.job.folder.join(INPUT)) } else { Stdin::Terminal };
        self.first = Some((Recorded { run: begun.recorded, output: None, late: false }, begun.steps));
        self.report = begun.report;
        self.observed = begun.observed;
        self.known.extend(begun.known);
        self.notes = begun.notes;
        self.undecided = begun.undecided;
        self.halted = begun.halted;
        Ok(true)
    }

    /// Keeps what exploring begins with.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let Some((recorded, steps)) = self.first.clone().filter(|(recorded, _)| !recorded.late) else { return Ok(()) };
        let has_input = self.stdin.copy_to(&self.job.folder.join(INPUT))?;
        let mut known: Vec<String> = self.known.iter().cloned().collect();
        known.sort_unstable();
        let begun = Begun {
            format: FORMAT.into(),
            version: VERSION,
            question: self.question(),
            recorded: recorded.run,
            steps,
            has_input,
            report: self.report.clone(),
            observed: self.observed.clone(),
            known,
            notes: self.notes.clone(),
            undecided: self.undecided,
            halted: self.halted,
        };
        // Runs of an exploration that was never begun as a whole.
        let journal = self.job.folder.join(JOURNAL);
        if journal.exists() {
            std::fs::remove_file(&journal).map_err(|error| Error::at(&journal, error))?;
        }
        save(&self.job.folder.join(BEGUN), &serde_json::to_vec(&begun).unwrap_or_default())
    }

    fn question(&self) -> Question {
        let job = self.job;
        let strategy = job.explore.as_ref().map(|exploring| format!("{:?}", exploring.strategy).to_lowercase());
        // A program that was compiled for this job lies in its folder, wherever that is now.
        let own = Path::new(&job.program[0]).strip_prefix(&job.folder).ok().map(|name| name.display().to_string());
        let words = job.program.iter().map(|word| word.to_string_lossy().into_owned());
        let program = words.enumerate().map(|(at, word)| own.clone().filter(|_| at == 0).unwrap_or(word)).collect();
        Question {
            mayhap: env!("CARGO_PKG_VERSION").into(),
            program,
            build: mayhap_record::build_of(&job.program[0]),
            strategy: strategy.unwrap_or_default(),
            seed: job.seed,
            inputs: job.inputs,
            predicts: job.replays > 0,
            faults: self.faults(),
        }
    }

    /// Goes through the runs that were made, and opens the journal for further ones.
    pub(super) fn open_journal(&mut self, explorer: &mut Explorer, progress: &mut Progress) -> Result<Journal, Error> {
        let mut first: Option<Outcome> = None;
        let path = self.job.folder.join(JOURNAL);
        let journal = Journal::open(&path, |bytes| {
            let Entry { made, outcome, rest } = Entry::<Came>::from_bytes(bytes)?;
            while explorer.derive() {}
            if explorer.choose().as_ref() != Some(&made) {
                return Err("a run that does not follow from those before it".into());
            }
            let is_new = explorer.learn(&made, &outcome);
            progress.runs += 1;
            if self.job.explore.as_ref().is_some_and(|exploring| exploring.follows)
                && progress.elsewhere.follows(&outcome, true)
            {
                progress.elsewhere.make_again(progress.runs, &made);
            }
            progress.curve.add(progress.runs, explorer.systematic().map_or(0, |all| all.executions()), is_new);
            self.take_over(rest, progress);
            if matches!(&made, Next::Turns(turns, _) if turns.is_empty()) {
                first.get_or_insert(outcome);
            }
            Ok(())
        })?;
        if let Some(first) = first.filter(|first| first.unseen.is_empty() && !first.too_long && !first.late) {
            self.must_go_the_same_way(&first)?;
        }
        Ok(journal)
    }

    fn take_over(&mut self, came: Came, progress: &mut Progress) {
        if let Some(failed) = came.failed {
            progress.failures += 1;
            *progress.alike.entry(failed).or_default() += 1;
        }
        for [fingerprint, same] in came.also {
            let findings = self.report.iter_mut().flat_map(|report| &mut report.findings);
            if let Some(finding) = findings.into_iter().find(|finding| finding.fingerprint == fingerprint) {
                finding.also.push(same.clone());
            }
            self.known.insert(same);
        }
        self.known.extend(came.findings.iter().map(|finding| finding.fingerprint.clone()));
        self.explored.extend(came.findings);
        self.notes.extend(came.notes);
        progress.before = came.seconds;
    }

    /// Writes the manifest of an exploration that is complete.
    pub(super) fn write_manifest(&mut self, file: &Path, exploration: &Exploration) -> Result<(), Error> {
        if !exploration.complete {
            self.notes.push("no manifest: not all executions were explored".into());
            return Ok(());
        }
        let made = self.runs_of_the_journal()?;
        let program = self.job.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let build = mayhap_record::build_of(&self.job.program[0]);
        let manifest = Manifest::of(program, build, (self.job.inputs, self.faults()), &made);
        let manifest = manifest.ok_or_else(|| Error::new("the runs do not show all executions"))?;
        // It is checked as anyone can: what would be refused is not written.
        closure::check(&manifest)
            .map_err(|wrong| Error::at(file, format_args!("the manifest does not hold: {wrong}")))?;
        save(file, &serde_json::to_vec(&manifest).unwrap_or_default())
    }

    /// The runs that were made and those that were derived from them, in the order in which they were learnt.
    fn runs_of_the_journal(&self) -> Result<Vec<Made>, Error> {
        let strategy = self.job.explore.as_ref().map_or(Strategy::Mixed, |exploring| exploring.strategy);
        let mut explorer = self.explorer(strategy, self.first.as_ref().map_or(0, |(_, steps)| *steps));
        explorer.keep_runs();
        Journal::open(&self.job.folder.join(JOURNAL), |bytes| {
            let Entry { made: next, outcome, rest } = Entry::<Came>::from_bytes(bytes)?;
            while explorer.derive() {}
            explorer.choose();
            explorer.learn(&next, &outcome);
            if let (Next::Turns(..), Some(run)) = (next, explorer.runs().and_then(|runs| runs.last_mut())) {
                run.failed = rest.failed.map(|failed| failed.to_string());
            }
            Ok(())
        })?;
        while explorer.derive() {}
        Ok(explorer.runs().map(std::mem::take).unwrap_or_default())
    }

    /// Executions are distinguished by the values that threads read. Where these differ from run to run, as addresses do under another environment or with other libraries,
    /// an exploration that goes on would count executions twice.
    fn must_go_the_same_way(&mut self, first: &Outcome) -> Result<(), Error> {
        let tried = self.attempt_in_turns(&[], mayhap_explore::run::IN_TURNS, self.job.timeout)?;
        let again = Outcome::in_turns(&tried)?;
        if self.interrupt.is_set() || systematic::key(&again.steps) == systematic::key(&first.steps) {
            return Ok(());
        }
        Err(Error::at(
            &self.job.folder,
            "the program reads other values here than where this exploration was begun: its environment, its libraries or a file differ",
        ))
    }
}

impl Question {
    /// What differs from another question, if anything does.
    fn differs(&self, now: &Question) -> Option<String> {
        let was =
            |what: &str, then: &str, now: &str| (then != now).then(|| format!("{what} was `{then}`, and is `{now}`"));
        let rebuilt = (self.build != now.build).then(|| format!("`{}` was built again since then", now.program[0]));
        let list = |faults: Faults| faults.names().collect::<Vec<_>>().join(",");
        let yes = |flag: bool| if flag { "on" } else { "off" };
        was("the program", &self.program.join(" "), &now.program.join(" "))
            .or(rebuilt)
            .or_else(|| was("--strategy", &self.strategy, &now.strategy))
            .or_else(|| was("--seed", &self.seed.to_string(), &now.seed.to_string()))
            .or_else(|| was("predicting", yes(self.predicts), yes(now.predicts)))
            .or_else(|| was("recording of inputs", yes(self.inputs), yes(now.inputs)))
            .or_else(|| was("--faults", &list(self.faults), &list(now.faults)))
            .or_else(|| was("the version of mayhap", &self.mayhap, &now.mayhap))
    }
}

/// Writes a file so that it is there as a whole or not at all.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::at(path, error);
    let mut new = path.as_os_str().to_os_string();
    new.push(".new");
    let mut file = File::create(&new).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&new, path).map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}
