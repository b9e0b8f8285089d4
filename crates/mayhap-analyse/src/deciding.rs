//! Decides the candidates of one kind: in parallel, the cheap ones first, within a bound on all of them together.
//!
//! What a question costs grows with the events that would have to be reordered for it. So there are rounds: in each one, every
//! candidate that is still open is asked about with the same limit on these events, and the limit grows from round to round as
//! long as the effort suffices for what is left. A limit follows from what earlier rounds took, which is counted in events and
//! nodes of graphs: so what is decided depends neither on the number of workers nor on the machine.
//!
//! What stays open when the effort is spent is undecided, with a reason that says so.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mayhap_detect::candidates::Group;
use mayhap_predict::{Budget, Context, Engine, EngineCounters, Rung, Short, Undecided, Verdict};
use mayhap_trace::EventId;
use mayhap_witness::{Checked, Target};

use crate::engines::EngineName;
use crate::{Error, Options, Stage, Tally, UNPOISONED, add_counters, in_parallel};

/// How the instances of a group, or of a part of it, ended.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) group: usize,
    pub(crate) tally: Tally,
    /// The nearest instance that was proven.
    pub(crate) proof: Option<(usize, Checked)>,
    /// The nearest instance that was proven, where the proof is not kept.
    pub(crate) forgotten: Option<usize>,
    /// The nearest instance that is undecided.
    pub(crate) open: Option<(usize, Undecided)>,
    /// The nearest instance that was refuted, and why.
    pub(crate) refuted: Option<(usize, String)>,
    /// How many were proven.
    pub(crate) proven: u64,
    /// Later events of proven races, if every instance was decided.
    pub(crate) racy: Vec<EventId>,
}

impl Ending {
    /// An instance was proven.
    pub(crate) fn is_proven(&self) -> bool {
        self.proof.is_some() || self.forgotten.is_some()
    }

    /// Drops the proof; it can be found again.
    fn forget(&mut self) {
        if let Some((instance, _)) = self.proof.take() {
            self.forgotten.get_or_insert(instance);
        }
    }
}

/// What deciding came to.
pub(crate) struct Decided {
    /// In the order of the groups and their parts.
    pub(crate) endings: Vec<Ending>,
    /// If it stopped early: groups that were left.
    pub(crate) halted: Option<u64>,
}

/// The most instances that one worker takes at a time where every one is decided.
const PART: usize = 512;
/// A region that costs no more than checking a witness does: the first limit, if the effort suffices for it.
const CHEAP_REGION: u32 = 20_000;
/// The least first limit.
const LEAST_REGION: u32 = 64;
/// How much the limit grows from one round to the next.
const GROWTH: u64 = 8;
/// What all candidates of a kind may take together by default: so much, and so much for each event of the trace.
const EFFORT: u64 = 20_000_000;
const EFFORT_PER_EVENT: u64 = 8;

/// What one question may take, for each event that its limit has.
const WORK: u64 = 8;
const SPENT: &str = "the effort for all candidates together was spent before it was decided (--budget-total)";

/// Instances of a group that one worker decides, and what is known of them.
struct Part {
    group: usize,
    /// What is still to be decided.
    left: Vec<usize>,
    ending: Ending,
    first_refuted: Option<Rung>,
    /// How many questions about it were given up.
    given_up: u32,
}

/// What the rounds share.
struct Rounds<'r, 'c> {
    context: &'r Context<'c>,
    groups: &'r [Group],
    /// Of each group, whether its proof is kept.
    keeps: &'r [bool],
    every: bool,
    options: &'r Options,
    halts: &'r (dyn Fn(&Group, usize, &Checked) -> bool + Sync),
    /// The first part whose proof ended the job.
    last: AtomicUsize,
    work: AtomicU64,
}

/// Decides all groups, in parallel, up to the first whose proof `halts` says yes to: which one that is does not depend on the
/// number of workers, since all parts before it are finished.
pub(crate) fn decide_all(
    context: &Context,
    (groups, keeps): (&[Group], &[bool]),
    every: bool,
    options: &Options,
    halts: &(dyn Fn(&Group, usize, &Checked) -> bool + Sync),
    counters: &mut EngineCounters,
) -> Result<Decided, Error> {
    let mut parts = parts(groups, every);
    let (last, work) = (AtomicUsize::new(usize::MAX), AtomicU64::new(0));
    let rounds = Rounds { context, groups, keeps, every, options, halts, last, work };
    let searches = matches!(options.engine, EngineName::Auto | EngineName::Exact | EngineName::Polygraph);
    let effort = match options.effort {
        Some(effort) => effort,
        None if every => u64::MAX,
        None => EFFORT + EFFORT_PER_EVENT * context.trace.len() as u64,
    };
    let mut limit = if searches { CHEAP_REGION.min(share(effort, &parts)).max(LEAST_REGION) } else { u32::MAX };
    let mut spent = 0;
    loop {
        rounds.run(&mut parts, limit, counters)?;
        let before = std::mem::replace(&mut spent, rounds.work.load(Ordering::Relaxed));
        let last = rounds.last.load(Ordering::Relaxed);
        parts.retain(|(at, _)| *at <= last);
        if limit == u32::MAX || parts.iter().all(|(_, part)| part.left.is_empty()) {
            break;
        }
        // What this round took, the next one takes at most so many times.
        let growth = (effort.saturating_sub(spent) / (spent - before).max(1)).min(GROWTH);
        if growth < 2 {
            break;
        }
        limit = u32::try_from(u64::from(limit) * growth).unwrap_or(u32::MAX);
    }
    let last = rounds.last.into_inner();
    let halted = (last != usize::MAX).then(|| parts.last().map_or(0, |(_, part)| groups.len() - 1 - part.group) as u64);
    Ok(Decided { endings: parts.into_iter().map(|(_, part)| part.end(every)).collect(), halted })
}

/// What each instance that is left may take, if all are to be asked about once more.
fn share(effort: u64, parts: &[(usize, Part)]) -> u32 {
    let left: u64 = parts.iter().map(|(_, part)| part.left.len() as u64).sum();
    u32::try_from(effort / left.max(1)).unwrap_or(u32::MAX)
}

fn parts(groups: &[Group], every: bool) -> Vec<(usize, Part)> {
    let ranges = groups.iter().enumerate().flat_map(|(group, g)| {
        let all = g.targets.len();
        let size = if every { PART } else { all.max(1) };
        (0..all).step_by(size).map(move |start| (group, start..all.min(start + size)))
    });
    let part = |(group, instances): (usize, Range<usize>)| Part {
        group,
        left: instances.collect(),
        ending: Ending { group, ..Ending::default() },
        first_refuted: None,
        given_up: 0,
    };
    ranges.map(part).enumerate().collect()
}

impl Rounds<'_, '_> {
    /// Asks about everything that is left, with so many events to reorder at most.
    fn run(&self, parts: &mut [(usize, Part)], limit: u32, counters: &mut EngineCounters) -> Result<(), Error> {
        let all = parts.len() as u64;
        let open: Vec<Mutex<&mut (usize, Part)>> =
            parts.iter_mut().filter(|(_, part)| !part.left.is_empty()).map(Mutex::new).collect();
        let done = all - open.len() as u64;
        let next = AtomicUsize::new(0);
        let sums: Mutex<&mut EngineCounters> = Mutex::new(counters);
        let progress = Mutex::new(self.options.gauges.begin(Stage::Deciding));
        let work = || {
            let mut engine = self.options.engine.engine(self.context, self.options.literal);
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(mut open) = open.get(at).map(|part| part.lock().expect(UNPOISONED)) else { break };
                let (number, part) = &mut **open;
                if *number > self.last.load(Ordering::Relaxed) {
                    break;
                }
                let group = &self.groups[part.group];
                part.decide(engine.as_mut(), &group.targets, limit, self.every, self.options);
                if part.ending.proof.as_ref().is_some_and(|(instance, proof)| (self.halts)(group, *instance, proof)) {
                    self.last.fetch_min(*number, Ordering::Relaxed);
                } else if !self.keeps[part.group] {
                    part.ending.forget();
                }
                progress.lock().expect(UNPOISONED).set(done + at as u64, all);
            }
            self.work.fetch_add(engine.work(), Ordering::Relaxed);
            add_counters(&mut sums.lock().expect(UNPOISONED), &engine.counters());
        };
        in_parallel(self.options.threads.clamp(1, open.len().max(1)), work)
    }
}

impl Part {
    /// Decides instances, nearest first: all of them, or until one is proven, in which case they count as one candidate. Those
    /// that need more than the limit stay for a later round.
    fn decide(&mut self, engine: &mut dyn Engine, targets: &[Target], limit: u32, every: bool, options: &Options) {
        let most = options.budget.region;
        let work = options.budget.work.min(WORK * u64::from(limit));
        let budget = Budget { region: limit.min(most), work, ..options.budget };
        let mut instances: VecDeque<usize> = std::mem::take(&mut self.left).into();
        while let Some(i) = instances.pop_front() {
            let given = if every { budget } else { budget.shared(self.given_up) };
            let verdict = engine.decide(&targets[i], options.model, &given);
            if let Verdict::Unknown(undecided) = &verdict {
                let later = match undecided.short {
                    Some(Short::Region) => limit < most,
                    Some(Short::Work) => limit < u32::MAX,
                    None => false,
                };
                if later {
                    self.left.push(i);
                    continue;
                }
                self.given_up += 1;
            }
            self.add(i, verdict, &targets[i], every);
            if !every && self.ending.proof.is_some() {
                self.left.clear();
                return;
            }
        }
    }

    /// Counts the verdict on an instance.
    fn add(&mut self, instance: usize, verdict: Verdict, target: &Target, every: bool) {
        let ending = &mut self.ending;
        ending.tally.decisions += 1;
        if every {
            ending.tally.count(&verdict);
        }
        match verdict {
            Verdict::Proven(proof, rung) => {
                ending.proven += 1;
                ending.racy.extend(target.events().into_iter().max().filter(|_| every));
                if ending.proof.is_none() {
                    ending.proof = Some((instance, proof));
                }
                if !every {
                    *ending.tally.proven.entry(rung).or_default() += 1;
                }
            }
            Verdict::Refuted(refutation) => {
                self.first_refuted.get_or_insert(refutation.rung);
                if ending.refuted.as_ref().is_none_or(|(nearest, _)| instance < *nearest) {
                    ending.refuted = Some((instance, refutation.reason));
                }
            }
            Verdict::Unknown(undecided) => drop(ending.open.get_or_insert((instance, undecided))),
        }
    }

    /// How it ended. If not every instance counts, all of them are one candidate.
    fn end(self, every: bool) -> Ending {
        let Part { mut ending, first_refuted, left, .. } = self;
        for instance in left {
            let undecided = Undecided { reason: SPENT.to_string(), suspected: false, short: Some(Short::Work) };
            if every {
                ending.tally.count(&Verdict::Unknown(undecided.clone()));
            }
            ending.tally.decisions += 1;
            ending.open.get_or_insert((instance, undecided));
        }
        if every {
            return ending;
        }
        let proven = ending.is_proven();
        let tally = &mut ending.tally;
        tally.candidates = 1;
        match (proven, &ending.open, first_refuted) {
            (true, ..) => {}
            (false, Some((_, undecided)), _) => {
                tally.unknown = 1;
                tally.first_unknown = Some(undecided.reason.clone());
            }
            (false, None, Some(rung)) => *tally.refuted.entry(rung).or_default() += 1,
            (false, None, None) => tally.candidates = 0,
        }
        ending
    }
}
