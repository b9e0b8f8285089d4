//! Traces as commands get them: opened, repaired if asked for, checked.

use std::fs::File;
use std::path::{Path, PathBuf};

use mayhap_trace::format::std_text::StdReader;
use mayhap_trace::validate::{self, Repaired};
use mayhap_trace::{Columns, Missing, Relations, Source, Tables, Trace};

use crate::Failure;
use crate::notes::{Progress, note};

/// The arguments of every command that reads a trace.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// The trace: .std, .std.gz, .std.zst, .data (RapidBin) or .mhp (native)
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// Drop events that break a rule of locks, threads or conditions, and say how many by rule
    ///
    /// Without it such a trace is refused with the first broken rule and both events. Event numbers are those of the
    /// trace after the repair.
    #[arg(long)]
    pub repair: bool,
}

/// A well-formed trace and what follows from it.
pub struct Loaded {
    /// The events.
    pub trace: Trace,
    /// Must-order, partners, locks held.
    pub relations: Relations,
    /// What the file lacks, if it was cut off.
    pub missing: Option<Missing>,
    /// What `--repair` dropped.
    pub repaired: Option<Repaired>,
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
        let relations = Relations::derive(&trace).map_err(|e| Failure::at(&self.trace, e))?;
        Ok(Loaded { trace, relations, missing, repaired })
    }

    /// Reads all events as they stand.
    fn read(&self) -> Result<(Trace, Option<Missing>), Failure> {
        let source = open(&self.trace)?;
        let mut missing = None;
        let watched = Watched { inner: source, progress: Progress::new("reading", None), missing: &mut missing };
        let trace = Trace::from_source(Box::new(watched)).map_err(|e| Failure::at(&self.trace, e))?;
        if trace.is_empty() {
            return Err(Failure::at(&self.trace, "the trace has no events"));
        }
        if let Some(missing) = &missing {
            note_missing(&self.trace, missing);
        }
        Ok((trace, missing))
    }
}

/// Opens a trace file of any format.
pub fn open(path: &Path) -> Result<Box<dyn Source>, Failure> {
    let file = File::open(path).map_err(|e| Failure::at(path, e))?;
    Ok(Box::new(StdReader::new(file)))
}

/// Says what a cut-off file lacks.
pub fn note_missing(path: &Path, missing: &Missing) {
    let promised = match missing.promised {
        Some(promised) => format!("{} of {promised} events are there", missing.delivered),
        None => format!("{} events are there", missing.delivered),
    };
    note(format_args!("{}: the file is incomplete: {promised}; {}", path.display(), missing.reason));
}

/// Says what a repair dropped.
pub fn note_repaired(path: &Path, repaired: &Repaired) {
    note(format_args!("{}: repair dropped {} events", path.display(), repaired.total()));
    for (rule, count) in &repaired.dropped {
        let first = repaired.first.iter().find(|v| v.rule == *rule).map_or(String::new(), |v| format!("; first: {v}"));
        note(format_args!("{}:   {rule}: {count}{first}", path.display()));
    }
}

/// A source that shows its progress and hands out what it missed when it ends.
struct Watched<'a> {
    inner: Box<dyn Source>,
    progress: Progress,
    missing: &'a mut Option<Missing>,
}

impl Source for Watched<'_> {
    fn next_chunk(&mut self, chunk: &mut Columns) -> Result<bool, mayhap_trace::Error> {
        let more = self.inner.next_chunk(chunk)?;
        self.progress.add(chunk.len() as u64);
        if !more {
            *self.missing = self.inner.missing();
        }
        Ok(more)
    }

    fn tables(&self) -> &Tables {
        self.inner.tables()
    }

    fn into_tables(self: Box<Self>) -> Tables {
        self.inner.into_tables()
    }
}
