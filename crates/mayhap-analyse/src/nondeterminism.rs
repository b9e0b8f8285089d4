//! All reads of a trace: which other writes each can see, grouped by source location.
//!
//! Every triplet is decided, by workers that take reads in runs; proven triplets are grouped by the locations of the three
//! events, and of each group a shortest one is shown, with a schedule after which the read sees exactly the other write.
//! A triplet whose other write is always overwritten before the read is proven too, but shown by what overwrites it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use mayhap_detect::candidates::place;
use mayhap_predict::Rung;
use mayhap_predict::choice::{KindVerdict, Literal, ReadVerdicts, Survey, Table, Triplets};
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::{Kind, Target};

use crate::{Error, Finding, Options, Stage, Tally, UNPOISONED};

/// What is known of all reads together.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Reads in the trace.
    pub reads: u64,
    /// Of them, those that can see another write.
    pub nondeterministic: u64,
    /// Triplets: a read, the write it saw, another write of the variable.
    pub triplets: u64,
    /// Triplets that are proven.
    pub proven: u64,
    /// Triplets that stayed open.
    pub unknown: u64,
    /// As published: nothing is proven.
    pub literal: bool,
    /// The columns of the paper's Table A1.
    pub table: Table,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl Reads {
    /// Every triplet is refuted: each read sees the same write in all interleavings of this run.
    pub fn deterministic(&self) -> bool {
        !self.literal && self.proven == 0 && self.unknown == 0
    }
}

/// The place of the initial value.
const INITIAL: u64 = u64::MAX;

/// Instances of a group that are kept to be shown: those known to be seen first, then the shortest.
const KEPT: usize = 12;

/// Reads that a worker takes at a time: neighbours share most of their schedules.
const RUN: usize = 64;

/// Locations of the write seen, the read and the other write.
type Key = (u64, u64, u64);

/// Proven triplets with the same locations.
#[derive(Default)]
struct Group {
    occurrences: u64,
    /// Not known to be seen, steps, read and other write.
    shortest: Vec<Instance>,
}

type Instance = (bool, usize, EventId, Option<EventId>);

impl Group {
    fn keep(&mut self, instance: Instance) {
        let at = self.shortest.partition_point(|kept| *kept < instance);
        if at < KEPT && self.shortest.get(at) != Some(&instance) {
            self.shortest.insert(at, instance);
            self.shortest.truncate(KEPT);
        }
    }

    fn add(&mut self, other: Group) {
        self.occurrences += other.occurrences;
        other.shortest.into_iter().for_each(|instance| self.keep(instance));
    }
}

/// What one worker found.
#[derive(Default)]
struct Harvest {
    groups: BTreeMap<Key, Group>,
    nondeterministic: u64,
    tally: Tally,
    table: Table,
}

/// Decides all triplets. The findings are proven, one a group of locations, or suspected if `literal`.
pub(crate) fn predict(execution: &Execution<'_>, options: &Options) -> Result<(Reads, Vec<Finding>, Tally), Error> {
    let trace = execution.trace();
    let started = Instant::now();
    let triplets = Triplets::of(execution);
    let reads = triplets.reads();
    let mut summary =
        Reads { reads: reads.len() as u64, triplets: triplets.count(), literal: options.literal, ..Reads::default() };
    let (harvest, findings) = if options.literal {
        as_published(execution, options, &triplets)
    } else {
        let survey = Survey::new(execution, options.model);
        let mut harvest = survey_reads(trace, &survey, &triplets, &reads, options)?;
        let findings = findings(&survey, std::mem::take(&mut harvest.groups), options);
        (harvest, findings)
    };
    summary.nondeterministic = harvest.nondeterministic;
    summary.proven = harvest.tally.all_proven();
    summary.unknown = harvest.tally.unknown;
    summary.table = harvest.table;
    summary.seconds = started.elapsed().as_secs_f64();
    Ok((summary, findings, harvest.tally))
}

fn survey_reads(
    trace: &Trace,
    survey: &Survey<'_>,
    triplets: &Triplets,
    reads: &[EventId],
    options: &Options,
) -> Result<Harvest, Error> {
    let runs: Vec<&[EventId]> = reads.chunks(RUN).collect();
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Harvest::default());
    let progress = Mutex::new((options.gauges.begin(Stage::Reads), 0u64));
    let total = triplets.count();
    let work = || {
        let mut session = survey.session(&options.budget);
        let mut mine = Harvest::default();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let before = mine.tally.candidates;
            for &read in *run {
                let verdicts = session.read(triplets, read);
                harvest_read(trace, &verdicts, &mut mine);
            }
            let mut progress = progress.lock().expect(UNPOISONED);
            progress.1 += mine.tally.candidates - before;
            let done = progress.1;
            progress.0.set(done, total);
        }
        mine.table = session.table().clone();
        let mut all = all.lock().expect(UNPOISONED);
        for (key, group) in mine.groups {
            all.groups.entry(key).or_default().add(group);
        }
        all.nondeterministic += mine.nondeterministic;
        all.tally.add(&mine.tally);
        all.table.add(&mine.table);
    };
    crate::in_parallel(options.threads.clamp(1, runs.len().max(1)), work)?;
    Ok(all.into_inner().expect(UNPOISONED))
}

fn harvest_read(trace: &Trace, verdicts: &ReadVerdicts, harvest: &mut Harvest) {
    let tally = &mut harvest.tally;
    tally.candidates += verdicts.others.len() as u64;
    tally.decisions += verdicts.others.len() as u64;
    harvest.nondeterministic += u64::from(verdicts.proven() > 0);
    for other in &verdicts.others {
        match other.verdict() {
            KindVerdict::Refuted(rung) => *tally.refuted.entry(rung).or_default() += 1,
            KindVerdict::Unknown => {
                tally.unknown += 1;
                tally.first_unknown.get_or_insert_with(|| {
                    format!("whether event {} can see another write: the budget ran out", verdicts.read)
                });
            }
            KindVerdict::Proven(_) => {
                let (steps, rung) = verdicts.schedule(other).unwrap_or((usize::MAX, Rung::Engine));
                *tally.proven.entry(rung).or_default() += 1;
                let group = harvest.groups.entry(key(trace, verdicts.write, verdicts.read, other.other)).or_default();
                group.occurrences += 1;
                group.keep((true, steps, verdicts.read, other.other));
            }
        }
    }
    for &(steps, other) in &verdicts.seen {
        let group = harvest.groups.entry(key(trace, verdicts.write, verdicts.read, other)).or_default();
        group.keep((false, steps, verdicts.read, other));
    }
}

fn key(trace: &Trace, write: Option<EventId>, read: EventId, other: Option<EventId>) -> Key {
    let place = |e: EventId| place(trace, e);
    (write.map_or(INITIAL, place), place(read), other.map_or(INITIAL, place))
}

/// Returns one finding a group: the shortest schedule after which the read sees exactly the other write.
fn findings(survey: &Survey<'_>, groups: BTreeMap<Key, Group>, options: &Options) -> Vec<Finding> {
    let mut session = survey.session(&options.budget);
    let mut findings: Vec<Finding> = Vec::new();
    for group in groups.into_values() {
        let proofs = group.shortest.iter().filter_map(|&(_, _, read, other)| session.sees(read, other));
        if let Some(proof) = proofs.min_by_key(|proof| proof.witness().schedule.len()) {
            findings.push(Finding {
                kind: Kind::Nondeterminism,
                target: proof.target().clone(),
                proof: Some(proof),
                suspicion: None,
                occurrences: group.occurrences,
            });
        }
    }
    findings.sort_by_key(|f| f.target.events());
    findings
}

/// Returns the published decision: what it calls feasible is suspected, nothing is proven or refuted.
fn as_published(execution: &Execution<'_>, options: &Options, triplets: &Triplets) -> (Harvest, Vec<Finding>) {
    let (trace, relations) = execution.parts();
    let mut harvest = Harvest::default();
    let mut progress = options.gauges.begin(Stage::Reads);
    let total = triplets.count();
    Literal::new(execution, options.budget.nodes).survey(triplets, &mut |read, outcomes| {
        harvest.table.add_outcomes(outcomes);
        let mut feasible = 0;
        for (other, kinds) in outcomes {
            if kinds.iter().any(|kind| kind.feasible() == Some(true)) {
                feasible += 1;
                let group = harvest.groups.entry(key(trace, relations.read_from(read), read, *other)).or_default();
                group.occurrences += 1;
                group.keep((true, 0, read, *other));
            }
        }
        harvest.nondeterministic += u64::from(feasible > 0);
        harvest.tally.candidates += outcomes.len() as u64;
        harvest.tally.decisions += outcomes.len() as u64;
        progress.set(harvest.tally.candidates, total);
    });
    harvest.tally.unknown = harvest.tally.candidates;
    harvest.tally.first_unknown = Some("the published decision proves nothing".to_string());
    let groups = std::mem::take(&mut harvest.groups);
    let finding = |group: Group| {
        let (_, _, read, other) = group.shortest[0];
        Finding {
            kind: Kind::Nondeterminism,
            target: Target::Nondeterminism { write: relations.read_from(read), read, other },
            proof: None,
            suspicion: Some("the published decision calls it feasible".to_string()),
            occurrences: group.occurrences,
        }
    };
    let mut findings: Vec<Finding> = groups.into_values().map(finding).collect();
    findings.sort_by_key(|f| f.target.events());
    (harvest, findings)
}
