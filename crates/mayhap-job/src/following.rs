//! Explored runs that show something new are analysed like recorded ones: what threads do only under another schedule can race too.
//!
//! A run is new if a thread went where it was in no analysed run, or found something else in memory there; or if nothing orders two accesses in it, at places in the
//! code of which no explored run before showed that. The latter are looked for in every run, and cost little; traces are made only of the runs that show some.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use mayhap_analyse as predict;
use mayhap_explore::{Next, Outcome, Tried};
use mayhap_record::{Operation, UnorderedPair};
use mayhap_replay::session::Recorded;
use mayhap_trace::attachments::Run;
use mayhap_trace::{LocId, Op, ThreadId, Trace, ValueId, format};
use mayhap_witness::Kind;

use super::{Recording, Work};
use crate::Error;

/// The most explored runs whose traces are written for where threads went, and the most that are analysed.
const KEPT: usize = 16;
const ANALYSED: usize = 8;
/// The most that are analysed for accesses that nothing orders.
const RACING: usize = 32;
/// The least time that may be spent on that; more where exploring itself may take longer.
const LEAST_TIME: Duration = Duration::from_secs(10);
/// Traces of more events are not searched for where each thread has been.
const MOST_EVENTS: usize = 200_000;

/// The round of analysis of explored runs: replays of what is found in them are not analysed in turn.
const EXPLORED: u32 = u32::MAX - 1;
/// The same of those that are analysed for races only.
pub(super) const RACES: u32 = u32::MAX - 2;

/// The round is one of explored runs.
pub(super) fn is_explored(round: u32) -> bool {
    round == EXPLORED || round == RACES
}

/// Explored runs to be analysed, and what explored runs have shown.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Threads with addresses of code that they have run, and what they found in memory there.
    been: HashSet<(u32, u64, Option<u64>)>,
    races: HashSet<UnorderedPair>,
    /// Whether the last run to be followed shows new races.
    is_racing: bool,
    recordings: Vec<Recording>,
    racing: Vec<Recording>,
    /// Runs that show new races and of which there is no trace, with their numbers.
    to_make: Vec<(u64, Next)>,
    /// How many runs with new races are left out.
    left_out: u64,
}

impl Elsewhere {
    /// The run is to be analysed; `races_only`: not for where its threads went.
    pub(super) fn follows(&mut self, outcome: &Outcome, races_only: bool) -> bool {
        // Replays do not make calls fail.
        if outcome.has_faults() || outcome.late {
            return false;
        }
        self.is_racing = outcome.races.iter().filter(|pair| self.races.insert(**pair)).count() > 0;
        if self.is_racing && self.racing.len() + self.to_make.len() >= RACING {
            self.left_out += 1;
            self.is_racing = false;
        }
        let goes_elsewhere = !races_only && self.is_new(outcome) && self.recordings.len() < KEPT;
        self.is_racing || goes_elsewhere
    }

    /// A thread of the run has been where that thread was in no explored run before, or found something else there.
    fn is_new(&mut self, outcome: &Outcome) -> bool {
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

    /// The run to be followed has no trace: it is made once more if it shows races.
    pub(super) fn make_again(&mut self, nth: u64, next: &Next) {
        if self.is_racing {
            self.to_make.push((nth, next.clone()));
        }
    }

    fn keep(&mut self, recording: Recording) {
        if self.is_racing { &mut self.racing } else { &mut self.recordings }.push(recording);
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
        elsewhere.keep(Recording::in_file(path, recorded));
        Ok(())
    }

    /// Analyses explored runs that show something new, for about as long as exploring may take; `limit` is for one run.
    pub(super) fn analyse_explored(
        &mut self,
        mut elsewhere: Elsewhere,
        time: Duration,
        limit: Duration,
    ) -> Result<(), Error> {
        let (began, time) = (Instant::now(), time.max(LEAST_TIME));
        elsewhere.is_racing = true;
        for (nth, next) in std::mem::take(&mut elsewhere.to_make) {
            if !self.interrupt.is_set() {
                let tried = self.runs()?.make(&next, limit)?;
                self.follow(tried, nth, &mut elsewhere)?;
            }
        }
        let racing = elsewhere.racing.into_iter().map(|recording| (RACES, recording));
        let elsewhere_been = elsewhere.recordings.into_iter().map(|recording| (EXPLORED, recording));
        let mut analysed = 0;
        for (round, recording) in racing.chain(elsewhere_been) {
            if self.interrupt.is_set() || self.halted {
                break;
            }
            if began.elapsed() >= time {
                elsewhere.left_out += u64::from(round == RACES);
                continue;
            }
            let trace = recording.trace()?;
            if round == RACES || analysed < ANALYSED && self.is_elsewhere(&trace) {
                analysed += usize::from(round == EXPLORED);
                recording.made.set(Some(trace));
                self.analyse(&recording, round, &mut Vec::new())?;
            }
        }
        if elsewhere.left_out > 0 {
            let runs = elsewhere.left_out;
            self.notes.push(format!("{runs} explored runs in which accesses may race were not analysed"));
        }
        Ok(())
    }

    /// How to predict from a trace in this round.
    pub(super) fn search(&self, trace: &Trace, round: u32) -> predict::Options {
        let mut options = (self.job.predict)(trace);
        if round == RACES {
            options.kinds.retain(|kind| *kind == Kind::Race);
        }
        options
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
