//! Explored runs in which a thread went where it was in no analysed run, or found something else in memory there, are analysed like
//! recorded ones: what threads do only under another schedule can race too.

use std::collections::HashSet;

use mayhap_explore::{Outcome, Tried};
use mayhap_record::Operation;
use mayhap_replay::session::Recorded;
use mayhap_trace::attachments::Run;
use mayhap_trace::{LocId, Op, ThreadId, Trace, ValueId, format};

use super::{Recording, Work};
use crate::Error;

/// The most explored runs whose traces are written, and the most that are analysed.
const KEPT: usize = 16;
const ANALYSED: usize = 8;
/// Traces of more events are not searched for where each thread has been.
const MOST_EVENTS: usize = 200_000;

/// The round of analysis of explored runs: replays of what is found in them are not analysed in turn.
pub(super) const EXPLORED: u32 = u32::MAX - 1;

/// Explored runs to be analysed, and where explored runs have been.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Threads with addresses of code that they have run, and what they found in memory there.
    been: HashSet<(u32, u64, Option<u64>)>,
    recordings: Vec<Recording>,
}

impl Elsewhere {
    /// A thread of the run has been where that thread was in no explored run before, or found something else there.
    pub(super) fn is_new(&mut self, outcome: &Outcome) -> bool {
        let found = |operation: &Operation| match operation {
            Operation::Read(_, _, found, _) | Operation::Update(_, _, found) => *found,
            _ => None,
        };
        let places = outcome.steps.iter().flat_map(|step| {
            let found = step.operations.iter().map(found);
            found.map(|found| (step.thread, step.code, found))
        });
        places.filter(|place| self.been.insert(*place)).count() > 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.recordings.len() >= KEPT
    }
}

/// Each thread with each place that it has been to and the value that it read there, as names.
fn places_of_threads(trace: &Trace) -> HashSet<String> {
    if trace.len() > MOST_EVENTS {
        return HashSet::new();
    }
    let tables = trace.tables();
    let ids = trace.events().filter_map(|(_, event)| {
        let read = event.value.filter(|_| event.op == Op::Read);
        Some((event.thread, event.location?, read))
    });
    let ids: HashSet<_> = ids.collect();
    let name = |(thread, location, read): (ThreadId, LocId, Option<ValueId>)| {
        let (thread, location) = (tables.threads.get(thread.index()), tables.locations.get(location.index()));
        match tables.value(read) {
            Some(value) => format!("{thread} at {location} reads {value}"),
            None => format!("{thread} at {location}"),
        }
    };
    ids.into_iter().map(name).collect()
}

impl Work<'_> {
    /// Keeps the trace of an explored run that ended well.
    pub(super) fn follow(&self, tried: Tried, nth: u64, elsewhere: &mut Elsewhere) -> Result<(), Error> {
        let path = self.job.folder.join(format!("elsewhere{nth}.mhp"));
        let run = Run::new(&self.job.program, tried.capture.status, tried.took);
        let run = Run { root: self.job.root.clone(), stdin: self.stdin.kept().map(|(bytes, _)| bytes), ..run };
        let writer = format::create(&path).map_err(|error| Error::at(&path, error))?;
        tried.capture.write(writer, &path, &run)?;
        let recorded = Recorded { run, output: Some(tried.printed), late: false };
        elsewhere.recordings.push(Recording::in_file(path, recorded));
        Ok(())
    }

    /// Analyses explored runs that tell something new.
    pub(super) fn analyse_explored(&mut self, elsewhere: Elsewhere) -> Result<(), Error> {
        let mut analysed = 0;
        for recording in elsewhere.recordings {
            if analysed == ANALYSED || self.interrupt.is_set() || self.halted {
                break;
            }
            let trace = recording.trace()?;
            if self.is_elsewhere(&trace) {
                analysed += 1;
                recording.made.set(Some(trace));
                self.analyse(&recording, EXPLORED, &mut Vec::new())?;
            }
        }
        Ok(())
    }

    fn is_elsewhere(&self, trace: &Trace) -> bool {
        places_of_threads(trace).iter().any(|place| !self.places.contains(place))
    }

    /// Remembers where the threads of an analysed run have been.
    pub(super) fn remember(&mut self, trace: &Trace) {
        self.places.extend(trace.tables().locations.iter().map(str::to_string));
        self.places.extend(places_of_threads(trace));
    }
}
