//! All reads of a trace: which other writes each can see, grouped by source location.
//!
//! Every triplet is decided, by workers that take reads in runs; proven triplets are grouped by the locations of the three
//! events, and of each group a shortest one is shown, with a schedule after which the read sees exactly the other write.
//! A triplet whose other write is always overwritten before the read is proven too, but shown by what overwrites it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use mayhap_detect::candidates::place;
use mayhap_predict::Rung;
use mayhap_predict::choice::{KindVerdict, Literal, ReadVerdicts, Session, Survey, Table, Triplets, Way};
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::{Checked, Kind, Target};

use crate::alike;
use crate::progress::Progress;
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
    /// Groups of proven triplets for which no schedule was made, because the effort was spent.
    pub unshown: u64,
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

/// Reads that a worker takes at a time where there are few: neighbours share most of their schedules.
const RUN: usize = 64;
/// The most runs of reads. Each has an equal part of the effort, so that what is decided does not depend on the workers.
const RUNS: usize = 32;
/// What deciding all triplets may take by default, in work of a session: so much, and so much for each event of the trace.
const EFFORT: u64 = 300_000_000;
const EFFORT_PER_EVENT: u64 = 2;
/// The part of it that showing the findings may take once more.
const SHOWING: u64 = 4;
/// What one question may take at first, and by how much more in each further pass over the reads that are left open: many cheap
/// questions are decided before one that takes as much as they together.
const FIRST_QUESTION: u64 = 100_000;
const MORE: u64 = 32;
/// A finding is shown with its schedule, which has to be made and checked: one unit of effort for so many steps.
const STEPS: u64 = 4;
/// Steps of a schedule that are checked at most if it follows the recorded run up to there: checking begins at a checkpoint.
const CHECKED_STEPS: usize = 1 << 16;
/// Of a read and a write so near each other a shorter schedule is looked for, though one is known.
const NEAR: usize = 1_000;
/// Longer ways are not kept; they are looked for again.
const MOST_REORDERED: usize = 2_000;

/// Bytes that the table of what each event needs may take; it has a number for each event and thread.
const MOST_MEMORY: u64 = 2 << 30;

const TOO_LARGE: &str =
    "nondeterministic reads: the trace has too many events and threads for the table of what each event needs";

/// Locations of the write seen, the read and the other write.
type Key = (u64, u64, u64);

/// Proven triplets with the same locations.
#[derive(Default)]
struct Group {
    occurrences: u64,
    /// Not known to be seen, steps, read and other write.
    shortest: Vec<Instance>,
    /// The way to the shortest one that is known to be seen.
    known: Option<(Instance, Way)>,
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

    fn keep_way(&mut self, instance: Instance, way: impl FnOnce() -> Way) {
        if self.known.as_ref().is_none_or(|(known, _)| instance < *known) {
            self.known = Some((instance, way())).filter(|(_, way)| way.reordered() <= MOST_REORDERED);
        }
    }

    /// Returns a finding with the shortest schedule, as far as the work may go. Counts the steps of schedules that are made.
    fn shown(&self, session: &mut Session<'_, '_>, steps: &mut u64, most: u64) -> Option<Finding> {
        let mut best: Option<Checked> = None;
        let enough = session.work() + FIRST_QUESTION;
        // A way that is known is good enough where a shorter one is not found soon.
        session.set_most_work(if self.known.is_some() { FIRST_QUESTION } else { Survey::MOST_WORK });
        let is_near = |&(_, _, read, other): &Instance| other.map_or(0, EventId::index).abs_diff(read.index()) <= NEAR;
        if let Some((instance, way)) = &self.known {
            best = session.show(way, instance.2, instance.3);
            if let Some(proof) = &best {
                *steps += proof.witness().schedule.len().min(CHECKED_STEPS) as u64;
                if !is_near(instance) {
                    return best.map(|proof| self.finding(proof));
                }
            }
        }
        for &(_, _, read, other) in &self.shortest {
            session.allow(most.saturating_sub(*steps / STEPS));
            let Some(proof) = session.sees(read, other) else { continue };
            let length = proof.witness().schedule.len();
            *steps += length.min(CHECKED_STEPS) as u64;
            if best.as_ref().is_none_or(|best| length < best.witness().schedule.len()) {
                best = Some(proof);
            }
            if session.work() + *steps / STEPS >= most
                || self.known.is_some() && best.is_some() && session.work() >= enough
            {
                break;
            }
        }
        best.map(|proof| self.finding(proof))
    }

    /// Where its schedules are.
    fn place(&self) -> Option<EventId> {
        let known = self.known.as_ref().map(|((_, _, read, _), _)| *read);
        known.or_else(|| self.shortest.iter().map(|instance| instance.2).min())
    }

    fn finding(&self, proof: Checked) -> Finding {
        Finding {
            kind: Kind::Nondeterminism,
            target: proof.target().clone(),
            proof: Some(proof),
            suspicion: None,
            occurrences: self.occurrences,
            alike: 0,
        }
    }

    fn add(&mut self, other: Group) {
        self.occurrences += other.occurrences;
        other.shortest.into_iter().for_each(|instance| self.keep(instance));
        if let Some((instance, way)) = other.known {
            self.keep_way(instance, || way);
        }
    }
}

/// What a run of reads came to.
#[derive(Default)]
struct Harvest {
    groups: BTreeMap<Key, Group>,
    nondeterministic: u64,
    tally: Tally,
    table: Table,
    /// What it took.
    work: u64,
}

impl Harvest {
    fn add(&mut self, other: Harvest) {
        for (key, group) in other.groups {
            self.groups.entry(key).or_default().add(group);
        }
        self.nondeterministic += other.nondeterministic;
        self.tally.add(&other.tally);
        self.table.add(&other.table);
        self.work += other.work;
    }
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
    } else if Survey::memory(execution) > MOST_MEMORY {
        (too_large(&triplets), Vec::new())
    } else {
        let survey = Survey::new(execution, options.model);
        let mut harvest = survey_reads(trace, &survey, &triplets, &reads, options)?;
        let groups = std::mem::take(&mut harvest.groups);
        let showing = options.effort.unwrap_or(effort(trace, options) / SHOWING);
        let (findings, unshown) = findings(trace, &survey, groups, showing, options)?;
        summary.unshown = unshown;
        (harvest, findings)
    };
    summary.nondeterministic = harvest.nondeterministic;
    summary.proven = harvest.tally.all_proven();
    summary.unknown = harvest.tally.unknown;
    summary.table = harvest.table;
    summary.seconds = started.elapsed().as_secs_f64();
    Ok((summary, findings, harvest.tally))
}

/// All triplets are open, because what would decide them does not fit into memory.
fn too_large(triplets: &Triplets) -> Harvest {
    let mut harvest = Harvest::default();
    harvest.tally.candidates = triplets.count();
    harvest.tally.unknown = triplets.count();
    harvest.tally.first_unknown = Some(TOO_LARGE.to_string());
    harvest
}

/// The reads of one run, as far as they are decided.
#[derive(Default)]
struct Run {
    /// What came of the reads all of whose triplets are decided.
    decided: Harvest,
    /// The reads that are left, and what is known of them so far.
    left: Vec<EventId>,
    open: Harvest,
}

/// Decides the triplets of all reads, in runs that have equal parts of the effort, so that what is decided does not depend on the
/// workers. The first pass asks what is cheap; what it leaves open is asked again with more, as long as there is effort.
fn survey_reads(
    trace: &Trace,
    survey: &Survey<'_>,
    triplets: &Triplets,
    reads: &[EventId],
    options: &Options,
) -> Result<Harvest, Error> {
    let size = RUN.max(reads.len().div_ceil(RUNS));
    let mut runs: Vec<Run> = reads.chunks(size).map(|left| Run { left: left.to_vec(), ..Run::default() }).collect();
    let mut effort = effort(trace, options);
    let progress = Progress::new(options, triplets.count());
    let mut most_work = FIRST_QUESTION;
    let mut first = true;
    loop {
        let open = runs.iter().filter(|run| !run.left.is_empty()).count() as u64;
        let share = effort / open.max(1);
        // A pass that cannot give more than the one before it is of no use.
        let asked: Vec<Mutex<&mut Run>> = runs
            .iter_mut()
            .filter(|run| !run.left.is_empty() && (first || share >= 2 * run.open.work))
            .map(Mutex::new)
            .collect();
        if asked.is_empty() {
            break;
        }
        let next = AtomicUsize::new(0);
        let spent = AtomicU64::new(0);
        let work = || {
            let mut session = survey.session(&options.budget);
            session.set_most_work(most_work);
            while let Some(run) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut run = run.lock().expect(UNPOISONED);
                spent.fetch_add(
                    survey_run(trace, &mut session, triplets, &mut run, share, &progress),
                    Ordering::Relaxed,
                );
            }
        };
        crate::in_parallel(options.threads.clamp(1, asked.len()), work)?;
        effort = effort.saturating_sub(spent.into_inner());
        if most_work == Survey::MOST_WORK {
            break;
        }
        most_work = (most_work * MORE).min(Survey::MOST_WORK);
        first = false;
    }
    let mut all = Harvest::default();
    runs.into_iter().flat_map(|run| [run.decided, run.open]).for_each(|harvest| all.add(harvest));
    Ok(all)
}

/// Decides the triplets of the reads that a run has left with this part of the effort. Returns what it took.
fn survey_run(
    trace: &Trace,
    session: &mut Session<'_, '_>,
    triplets: &Triplets,
    run: &mut Run,
    share: u64,
    progress: &Progress,
) -> u64 {
    let (mut decided, mut open, mut left) = (Harvest::default(), Harvest::default(), Vec::new());
    let start = session.begin();
    let mut shown = 0;
    for (number, &read) in (1..).zip(&run.left) {
        // The effort is spent evenly over the reads, so that none of them is left out because of those before it.
        session.allow(start + (share as f64 * (0.125 + number as f64 / run.left.len() as f64)) as u64);
        let verdicts = session.open_read(triplets, read);
        let harvest = if verdicts.unknown() > 0 { &mut open } else { &mut decided };
        harvest_read(trace, &verdicts, harvest);
        harvest.table.add(&session.take_table());
        if verdicts.unknown() > 0 {
            left.push(read);
        }
        if number % RUN == 0 || number == run.left.len() {
            progress.add(decided.tally.candidates - std::mem::replace(&mut shown, decided.tally.candidates));
        }
    }
    let work = session.work() - start;
    open.work = work;
    // With nothing left of its part, a pass can come to less than the one before it.
    if run.open.tally.candidates == 0 || decided.tally.unknown + open.tally.unknown <= run.open.tally.unknown {
        run.decided.add(decided);
        (run.open, run.left) = (open, left);
    } else {
        run.open.work = work;
    }
    work
}

/// What all triplets together may take.
fn effort(trace: &Trace, options: &Options) -> u64 {
    options.effort.unwrap_or(EFFORT + EFFORT_PER_EVENT * trace.len() as u64)
}

fn harvest_read(trace: &Trace, verdicts: &ReadVerdicts, harvest: &mut Harvest) {
    let tally = &mut harvest.tally;
    let all = verdicts.others.len() as u64 + verdicts.refuted;
    tally.candidates += all;
    tally.decisions += all;
    if verdicts.refuted > 0 {
        *tally.refuted.entry(Rung::MustOrder).or_default() += verdicts.refuted;
    }
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
    for (number, &(steps, other)) in verdicts.seen.iter().enumerate() {
        let group = harvest.groups.entry(key(trace, verdicts.write, verdicts.read, other)).or_default();
        group.keep((false, steps, verdicts.read, other));
        group.keep_way((false, steps, verdicts.read, other), || verdicts.way(number));
    }
}

fn key(trace: &Trace, write: Option<EventId>, read: EventId, other: Option<EventId>) -> Key {
    let place = |e: EventId| place(trace, e);
    (write.map_or(INITIAL, place), place(read), other.map_or(INITIAL, place))
}

/// What showing a run of groups came to.
#[derive(Default)]
struct Shown {
    findings: Vec<Finding>,
    work: u64,
    /// Groups without a schedule that more effort might give one.
    unshown: u64,
}

/// Shows a run of groups with this part of the effort, which is spent evenly over them.
fn show_run(session: &mut Session<'_, '_>, groups: &[Group], share: u64) -> Shown {
    let mut shown = Shown::default();
    let (start, mut steps) = (session.begin(), 0);
    for (number, group) in (1..).zip(groups) {
        let most = start + (share as f64 * (0.125 + f64::from(number) / groups.len() as f64)) as u64;
        let spent = |session: &Session<'_, '_>, steps: u64| session.work() + steps / STEPS >= most;
        let finding = match spent(session, steps) {
            true => None,
            false => group.shown(session, &mut steps, most),
        };
        shown.unshown += u64::from(finding.is_none() && spent(session, steps));
        shown.findings.extend(finding);
    }
    shown.work = session.work() - start + steps / STEPS;
    shown
}

/// Returns one finding a group: the shortest schedule after which the read sees exactly the other write. Groups that the effort
/// does not suffice for are only counted. As with the triplets, what some runs leave of their parts goes to the others.
fn findings(
    trace: &Trace,
    survey: &Survey<'_>,
    groups: BTreeMap<Key, Group>,
    effort: u64,
    options: &Options,
) -> Result<(Vec<Finding>, u64), Error> {
    let mut groups: Vec<Group> = groups.into_values().collect();
    // By place, since schedules of neighbours have most in common.
    groups.sort_by_key(Group::place);
    let further = unlist(trace, &mut groups);
    let runs: Vec<&[Group]> = groups.chunks(groups.len().div_ceil(RUNS).max(1)).collect();
    let mut share = effort / runs.len().max(1) as u64;
    let mut all: Vec<(&[Group], Shown)> = runs.into_iter().map(|run| (run, Shown::default())).collect();
    let mut first = true;
    loop {
        let asked: Vec<Mutex<&mut (&[Group], Shown)>> =
            all.iter_mut().filter(|(_, shown)| first || shown.unshown > 0).map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut session = survey.session(&options.budget);
            while let Some(asked) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (run, shown) = &mut **asked.lock().expect(UNPOISONED);
                *shown = show_run(&mut session, run, share);
            }
        };
        crate::in_parallel(options.threads.clamp(1, asked.len().max(1)), work)?;
        first = false;
        let spent: u64 = all.iter().map(|(_, shown)| shown.work).sum();
        let left = all.iter().filter(|(_, shown)| shown.unshown > 0).count() as u64;
        let more = effort.saturating_sub(spent) / left.max(1);
        if left == 0 || more < (2 * share).max(1) {
            break;
        }
        share = more;
    }
    let unshown: u64 = all.iter().map(|(_, shown)| shown.unshown).sum();
    let mut findings: Vec<Finding> = all.into_iter().flat_map(|(_, shown)| shown.findings).collect();
    findings.sort_by_key(|f| f.target.events());
    let unshown = unshown + add_further(trace, &mut findings, further);
    Ok((findings, unshown))
}

/// Leaves the groups for which there is room. Returns how many others each variable has.
fn unlist(trace: &Trace, groups: &mut Vec<Group>) -> BTreeMap<u32, u64> {
    let object = |group: &Group| group.place().map_or(u32::MAX, |read| trace.event(read).object);
    let objects: Vec<u32> = groups.iter().map(object).collect();
    let listed = alike::listed(&objects, alike::room(trace, Kind::Nondeterminism));
    let mut further: BTreeMap<u32, u64> = BTreeMap::new();
    for (&object, _) in objects.iter().zip(&listed).filter(|&(_, &is_listed)| !is_listed) {
        *further.entry(object).or_default() += 1;
    }
    let mut listed = listed.into_iter();
    groups.retain(|_| listed.next().unwrap_or_default());
    further
}

/// Counts groups that are not listed with a finding of their variable. Returns how many have none.
fn add_further(trace: &Trace, findings: &mut [Finding], mut further: BTreeMap<u32, u64>) -> u64 {
    for finding in findings {
        let object = alike::object(trace, finding.kind, &finding.target);
        finding.alike += further.remove(&object).unwrap_or(0);
    }
    further.into_values().sum()
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
            alike: 0,
        }
    };
    let mut findings: Vec<Finding> = groups.into_values().map(finding).collect();
    findings.sort_by_key(|f| f.target.events());
    (harvest, findings)
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;
    use mayhap_witness::Model;

    use super::*;
    use crate::engines::EngineName;
    use crate::{Gauges, Limits};

    fn options(effort: Option<u64>) -> Options {
        Options {
            kinds: vec![Kind::Nondeterminism],
            engine: EngineName::Auto,
            literal: false,
            model: Model::Data,
            limits: Limits::default(),
            all_instances: false,
            budget: mayhap_predict::Budget::default(),
            effort,
            threads: 1,
            halt: None,
            gauges: Gauges::default(),
        }
    }

    /// Threads that take turns to increment a variable under a lock.
    fn turns(threads: u32, rounds: u32) -> Trace {
        let turn = |t: u32, round: u32| {
            format!("T{t}|acq(l)|{t}\nT{t}|r(x)|{round}.{t}.r\nT{t}|w(x)|{round}.{t}.w\nT{t}|rel(l)|{t}\n")
        };
        let all: String = (0..rounds).flat_map(|r| (0..threads).map(move |t| turn(t, r))).collect();
        parse_std(&all).unwrap()
    }

    #[test]
    fn whatever_the_effort_it_ends_and_every_triplet_is_counted() {
        let trace = turns(4, 12);
        let execution = Execution::derive(&trace).unwrap();
        let mut unknown = Vec::new();
        for effort in [Some(0), Some(1), Some(10), Some(1_000), Some(20_000), None] {
            let (reads, _, tally) = predict(&execution, &options(effort)).unwrap();
            let sum = tally.all_proven() + tally.all_refuted() + tally.unknown;
            assert_eq!((sum, tally.candidates), (reads.triplets, reads.triplets), "{effort:?}");
            unknown.push(tally.unknown);
        }
        assert!(unknown.is_sorted_by(|a, b| a >= b), "{unknown:?}");
        assert!(unknown[0] > 0 && unknown.last() == Some(&0), "{unknown:?}");
    }

    #[test]
    fn ways_that_proved_triplets_show_findings() {
        // Far apart, so that no shorter schedule is looked for.
        let mut text = String::from("T0|w(x)|a\nT0|fork(T1)|a\nT1|r(x)|b\n");
        (0..2 * NEAR).for_each(|_| text += "T1|w(y)|c\n");
        text += "T0|w(x)|d\nT1|r(x)|e\n";
        let trace = parse_std(&text).unwrap();
        let execution = Execution::derive(&trace).unwrap();
        let (reads, findings, _) = predict(&execution, &options(None)).unwrap();
        // Each read sees the other write; that the second one need not see the write before it is a triplet of its own.
        assert_eq!((reads.proven, reads.unshown, findings.len()), (3, 0, 2));
        assert!(findings.iter().all(|f| f.proof.is_some()));
    }

    #[test]
    fn what_does_not_fit_into_memory_is_unknown() {
        let trace = turns(3, 2);
        let execution = Execution::derive(&trace).unwrap();
        assert_eq!(Survey::memory(&execution), 4 * 3 * (24 + 2 * 3));
        let triplets = Triplets::of(&execution);
        let tally = too_large(&triplets).tally;
        assert_eq!((tally.unknown, tally.candidates), (triplets.count(), triplets.count()));
        assert!(tally.first_unknown.is_some());
    }
}
