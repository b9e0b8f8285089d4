//! Traces as commands get them: opened, repaired if asked for, checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mayhap_report::counted;
use mayhap_trace::attachments::Doubts;
use mayhap_trace::attachments::doubts::What;
use mayhap_trace::format;
use mayhap_trace::validate::{self, Repaired};
use mayhap_trace::{CHUNK, Columns, Error, ErrorKind, Execution, Missing, Relations, Source, Summary, Tables, Trace};
use serde::Serialize;

use crate::Failure;
use crate::files::{Contents, advice_unless};
use crate::notes::{Progress, note};

/// What is wrong with a trace of comments, or one that a repair left nothing of.
pub(crate) const NO_EVENTS: &str = "the trace has no events";

/// The arguments of every command that reads a trace.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// The trace: .std (text), .mhp (native), .data (RapidBin) or .rr (RoadRunner), optionally followed by .gz or .zst
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// Drop events that break a rule of locks, threads or conditions, and report how many per rule
    ///
    /// Without this option such a trace is rejected; the message names the first broken rule and both events. Event numbers
    /// are those of the repaired trace.
    #[arg(long)]
    pub repair: bool,
}

/// A well-formed trace and what follows from it.
pub struct Loaded {
    /// The trace and what follows from it.
    pub execution: Execution<'static>,
    /// What the file lacks, if it was cut off.
    pub missing: Option<Missing>,
    /// What `--repair` dropped.
    pub repaired: Option<Repaired>,
}

/// What the recording of a trace could not see. Numbers of events mean something else once events were dropped, which is then the doubt.
pub fn doubts(path: &Path, repaired: Option<&Repaired>) -> Doubts {
    match repaired.map(Repaired::total).filter(|&dropped| dropped > 0) {
        Some(dropped) => {
            let mut doubts = Doubts::default();
            doubts.add_whole(What::Dropped, counted(dropped, "event"));
            doubts
        }
        None => Doubts::load(path),
    }
}

impl TraceArgs {
    /// Reads the whole trace, repairs it if asked for, checks it and derives its relations.
    ///
    /// Notes what was dropped and what is missing on standard error.
    pub fn load(&self) -> Result<Loaded, Failure> {
        let (trace, missing) = self.read()?;
        let (trace, repaired) = match self.repair {
            true => {
                let (trace, repaired) = validate::repair(trace);
                note_repaired(&self.trace, &repaired);
                (trace, Some(repaired))
            }
            false => (trace, None),
        };
        if trace.is_empty() {
            return Err(self.empty());
        }
        let execution = Execution::derive(trace).map_err(|e| Failure::at(&self.trace, e))?;
        if let Some((forked, running)) = validate::unmatched_fork(execution.trace()) {
            let path = self.trace.display();
            note(format_args!(
                "{path}: thread {forked} is forked and has no events, and {running} has events and is not forked: if they are \
                 one thread, the fork must use the thread's name, or nothing orders the thread after it"
            ));
        }
        Ok(Loaded { execution, missing, repaired })
    }

    /// Opens the trace to go through its events once without holding them. Only a repair, which must know the end of the
    /// trace, reads it whole.
    pub fn open(&self) -> Result<Opened, Failure> {
        if !self.repair {
            return self.source();
        }
        let (trace, missing) = self.read()?;
        let (trace, repaired) = validate::repair(trace);
        note_repaired(&self.trace, &repaired);
        let source = Box::new(InMemory { trace, next: 0 });
        Ok(Opened { missing, repaired: Some(repaired), ..Opened::new("reading", source) })
    }

    /// Makes a trace of a recording that is not one yet.
    pub fn finish(&self) -> Result<(), Failure> {
        if mayhap_record::is_unfinished(&self.trace) {
            let mut progress = Progress::new("finishing the recording");
            let recording = mayhap_record::finish(&self.trace, &mut |events| progress.set(events, None))?;
            drop(progress);
            self.note(None, &recording.notes);
        }
        Ok(())
    }

    fn source(&self) -> Result<Opened, Failure> {
        self.finish()?;
        let source = format::open(&self.trace).map_err(|e| match advice_unless(&self.trace, &[Contents::Trace]) {
            Some(advice) => Failure::at(&self.trace, format_args!("not a trace: {advice}")),
            None => Failure::at(&self.trace, e),
        })?;
        Ok(Opened::new("reading", source))
    }

    /// Reads all events as they stand.
    fn read(&self) -> Result<(Trace, Option<Missing>), Failure> {
        let loaded = format::load(Box::new(self.source()?)).map_err(|e| Failure::at(&self.trace, e))?;
        self.note(loaded.missing.as_ref(), &loaded.notes);
        Ok((loaded.trace, loaded.missing))
    }

    /// Says on standard error what an opened trace turned out to lack, and what else the user should know of it.
    ///
    /// To be called at its end. Returns what is missing.
    pub fn note_end(&self, opened: &Opened) -> Option<Missing> {
        let missing = opened.source.missing();
        self.note(missing.as_ref(), &opened.source.notes());
        missing.or_else(|| opened.missing.clone())
    }

    /// The same for what a pass left.
    pub fn note(&self, missing: Option<&Missing>, notes: &[String]) {
        let path = self.trace.display();
        for message in notes {
            note(format_args!("{path}: {message}"));
        }
        if let Some(missing) = missing {
            let there = match missing.promised {
                Some(promised) => format!("it has {} of {promised} events", missing.delivered),
                None => format!("it has {} events", missing.delivered),
            };
            note(format_args!("{path}: the file is incomplete: {there}; {}", missing.reason));
        }
    }

    /// What `error` of a pass over the events means for the user. Where a rule is broken, another pass that knows the whole
    /// trace names the culprit, as every other command would.
    pub fn blame(&self, error: Error) -> Failure {
        let better = match error.kind {
            ErrorKind::Violation(_) => self.read().ok().and_then(|(trace, _)| Relations::derive(&trace).err()),
            _ => None,
        };
        Failure::at(&self.trace, better.unwrap_or(error))
    }

    /// A trace without events is no input.
    pub fn empty(&self) -> Failure {
        Failure::at(&self.trace, NO_EVENTS)
    }
}

/// A source with its progress shown.
pub struct Opened {
    source: Box<dyn Source>,
    progress: Progress,
    events: u64,
    total: Option<u64>,
    missing: Option<Missing>,
    /// What `--repair` dropped.
    pub repaired: Option<Repaired>,
}

impl Opened {
    /// `source` under a progress display that says `what`.
    pub fn new(what: &'static str, source: Box<dyn Source>) -> Self {
        let total = source.summary().map(|summary| summary.events);
        Opened { source, progress: Progress::new(what), events: 0, total, missing: None, repaired: None }
    }

    /// The same where it is known how many events will come.
    pub fn of_events(self, total: u64) -> Self {
        Opened { total: Some(total), ..self }
    }
}

impl Source for Opened {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        let more = self.source.next_chunk(chunk)?;
        self.events += chunk.len() as u64;
        let by_events = self.total.map(|total| (self.events, total));
        let done = by_events.or_else(|| self.source.progress().map(|p| (p.read, p.total)));
        self.progress.set(self.events, done);
        Ok(more)
    }

    fn tables(&self) -> &Tables {
        self.source.tables()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.source.into_tables()
    }

    fn missing(&self) -> Option<Missing> {
        self.source.missing()
    }

    fn summary(&self) -> Option<&Summary> {
        self.source.summary()
    }

    fn notes(&self) -> Vec<String> {
        self.source.notes()
    }
}

/// The events of a trace in memory, as a source.
struct InMemory {
    trace: Trace,
    next: usize,
}

impl Source for InMemory {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, Error> {
        chunk.clear();
        let end = self.trace.len().min(self.next + CHUNK);
        for i in self.next..end {
            chunk.push(self.trace.columns().get(i));
        }
        self.next = end;
        Ok(!chunk.is_empty())
    }

    fn tables(&self) -> &Tables {
        self.trace.tables()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.trace.into_parts().1
    }
}

/// What a cut-off file lacks, in JSON.
#[derive(Serialize)]
pub struct MissingJson {
    delivered: u64,
    promised: Option<u64>,
    reason: String,
}

impl From<Missing> for MissingJson {
    fn from(missing: Missing) -> Self {
        MissingJson { delivered: missing.delivered, promised: missing.promised, reason: missing.reason }
    }
}

/// What a repair dropped, in JSON: rules and how many events.
#[derive(Serialize)]
pub struct RepairedJson(BTreeMap<&'static str, u64>);

impl From<Repaired> for RepairedJson {
    fn from(repaired: Repaired) -> Self {
        RepairedJson(repaired.dropped.into_iter().map(|(rule, count)| (rule.name(), count)).collect())
    }
}

fn note_repaired(path: &Path, repaired: &Repaired) {
    let path = path.display();
    match repaired.total() {
        0 => note(format_args!("{path}: the trace breaks no rule, nothing to repair")),
        1 => note(format_args!("{path}: repair dropped 1 event")),
        total => note(format_args!("{path}: repair dropped {total} events")),
    }
    for (rule, count) in &repaired.dropped {
        let first = repaired.first.iter().find(|v| v.rule == *rule);
        let clash = first.and_then(|v| v.other).map_or(String::new(), |other| format!(", clashes with event {other}"));
        let first = first.map_or(String::new(), |v| format!(" (first: event {}{clash})", v.event));
        note(format_args!("{path}: {rule}: {count}{first}"));
    }
}
