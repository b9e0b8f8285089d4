//! From a trace to findings: candidates, verdicts, proofs.
//!
//! In: one trace, or a source of events that is analysed window by window, and what to look for. Out: a [`Prediction`]: the
//! findings with their proofs, and how many candidates ended how.
//!
//! Groups of candidates are decided in parallel, each by one worker with an engine of its own, its instances nearest first
//! until one is proven. What comes out is in the order of the candidates, whatever the number of workers.
//!
//! This crate must never know files, terminals, options of a command line, or how findings are shown.
#![forbid(unsafe_code)]

mod alike;
mod deciding;
pub mod doubts;
pub mod engines;
mod error;
mod gauge;
pub mod lifetimes;
pub mod nondeterminism;
mod progress;
mod unordered;
pub mod windows;

use crate::deciding::{Decided, Ending, decide_all};
use crate::unordered::Unordered;
pub use error::Error;
pub use gauge::{Gauge, Gauges, Stage};
pub use mayhap_detect::candidates::distance;
pub use mayhap_predict::Rung;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use mayhap_detect::candidates::{self, Candidates, Group, Limits, SharedAccesses};
use mayhap_detect::{Order, detect};
use mayhap_predict::{Budget, Context, EngineCounters, Verdict};
use mayhap_trace::{EventId, Execution, Trace};
use mayhap_witness::{Checked, Kind, Model, Target};

use engines::EngineName;

/// What to predict, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kinds of findings.
    pub kinds: Vec<Kind>,
    /// The engine.
    pub engine: EngineName,
    /// Take the engine as its paper has it, errors included.
    pub literal: bool,
    /// What reorderings preserve of reads.
    pub model: Model,
    /// What bounds the candidates.
    pub limits: Limits,
    /// Decide every pair of accesses instead of some of each pair of locations.
    pub all_instances: bool,
    /// What may be spent on each decision.
    pub budget: Budget,
    /// What may be spent on all candidates of a kind together, in events and nodes of graphs; `None` is an amount that grows with
    /// the trace.
    pub effort: Option<u64>,
    /// Workers.
    pub threads: usize,
    /// Decide nothing more once this says so of a finding.
    pub halt: Option<Halt>,
    /// Shows how far it has come.
    pub gauges: Gauges,
}

/// Says of a proven finding whether to stop there.
#[derive(Clone)]
pub struct Halt(Arc<Judge>);

/// Judges a finding of a trace.
type Judge = dyn Fn(&Execution<'_>, &Options, &Finding) -> bool + Send + Sync;

impl Halt {
    /// Stops at what `judge` says yes to.
    pub fn new(judge: impl Fn(&Execution<'_>, &Options, &Finding) -> bool + Send + Sync + 'static) -> Self {
        Halt(Arc::new(judge))
    }
}

impl std::fmt::Debug for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Halt")
    }
}

impl Options {
    /// The largest region that is searched by default: some seconds' work.
    pub const REGION: u32 = 2_000_000;
}

/// A bug that a reordering contains, or that an order which proves nothing points to.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// The nearest instance that was proven, or the nearest suspected one.
    pub target: Target,
    /// The proof; `None` for a suspicion.
    pub proof: Option<Checked>,
    /// What a suspicion rests on.
    pub suspicion: Option<String>,
    /// Instances in the trace: all candidates with these locations, or the proven ones if all were decided.
    pub occurrences: u64,
    /// Further groups of candidates of this kind that are proven and about the same object, and not listed.
    pub alike: u64,
}

impl Finding {
    fn of(
        group: &Group,
        instance: usize,
        proof: Option<Checked>,
        suspicion: Option<String>,
        occurrences: u64,
    ) -> Finding {
        let asked = &group.targets[instance];
        let target = proof.as_ref().map_or(asked, Checked::target).clone();
        Finding { kind: group.kind, target, proof, suspicion, occurrences, alike: 0 }
    }
}

/// A candidate that no reordering of the run reaches.
#[derive(Clone, Debug)]
pub struct RuledOut {
    /// The kind.
    pub kind: Kind,
    /// The nearest instance.
    pub target: Target,
    /// Why no reordering reaches that, with event numbers.
    pub reason: String,
}

/// The most candidates that are kept as ruled out.
const MOST_RULED_OUT: usize = 10_000;

/// How many groups (or pairs, if all instances were decided) ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Candidates.
    pub candidates: u64,
    /// Instances decided.
    pub decisions: u64,
    /// Instances that the limit left out, of groups that were not proven.
    pub left_out: u64,
    /// Proven, by rung.
    pub proven: BTreeMap<Rung, u64>,
    /// Refuted, by the rung that refuted the nearest instance.
    pub refuted: BTreeMap<Rung, u64>,
    /// Neither.
    pub unknown: u64,
    /// Of the unknown: suspected.
    pub suspected: u64,
    /// Why the first unknown one is.
    pub first_unknown: Option<String>,
}

impl Tally {
    /// Proven by any rung.
    pub fn all_proven(&self) -> u64 {
        self.proven.values().sum()
    }

    /// Refuted by any rung.
    pub fn all_refuted(&self) -> u64 {
        self.refuted.values().sum()
    }

    /// Counts one verdict as a candidate of its own.
    fn count(&mut self, verdict: &Verdict) {
        self.candidates += 1;
        match verdict {
            Verdict::Proven(_, rung) => *self.proven.entry(*rung).or_default() += 1,
            Verdict::Refuted(refutation) => *self.refuted.entry(refutation.rung).or_default() += 1,
            Verdict::Unknown(undecided) => {
                self.unknown += 1;
                self.first_unknown.get_or_insert_with(|| undecided.reason.clone());
            }
        }
    }

    fn add(&mut self, other: &Tally) {
        self.candidates += other.candidates;
        self.decisions += other.decisions;
        self.left_out += other.left_out;
        self.unknown += other.unknown;
        other.proven.iter().for_each(|(rung, n)| *self.proven.entry(*rung).or_default() += n);
        other.refuted.iter().for_each(|(rung, n)| *self.refuted.entry(*rung).or_default() += n);
        if self.first_unknown.is_none() {
            self.first_unknown.clone_from(&other.first_unknown);
        }
    }
}

/// What predicting came to.
#[derive(Clone, Debug, Default)]
pub struct Prediction {
    /// Findings by kind, then in the order of their candidates.
    pub findings: Vec<Finding>,
    /// All kinds together.
    pub tally: Tally,
    /// Later events of proven races, if all instances were decided.
    pub racy_events: Option<u64>,
    /// Distinct locations of those events.
    pub racy_locations: Option<u64>,
    /// What is known of all reads, if nondeterministic ones were asked for.
    pub reads: Option<nondeterminism::Reads>,
    /// Candidates that were refuted, in their order, as far as they are kept.
    pub ruled_out: Vec<RuledOut>,
    /// Violations that were proven but whose accesses are reported as races already.
    pub covered: u64,
    /// What the engines counted, summed over workers.
    pub counters: EngineCounters,
    /// Where [`Options::halt`] stopped it: how many candidates of the kind that was looked for then were left.
    pub halted: Option<u64>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// Predicts.
pub fn predict(execution: &Execution<'_>, options: &Options) -> Result<Prediction, Error> {
    let trace = execution.trace();
    let started = Instant::now();
    let context = Context::new(execution);
    let mut prediction = Prediction::default();
    let mut shared = SharedAccesses::new(execution);
    let mut known = Known::default();
    for (at, &kind) in options.kinds.iter().enumerate() {
        if kind == Kind::Nondeterminism && matches!(options.engine, EngineName::Auto | EngineName::Choice) {
            let (reads, findings, tally) = nondeterminism::predict(execution, options)?;
            prediction.reads = Some(reads);
            prediction.findings.extend(findings);
            prediction.tally.add(&tally);
            continue;
        }
        let Candidates { groups, gap } = candidates_of(&shared, execution, kind, options);
        if !options.kinds[at + 1..].iter().any(|kind| matches!(kind, Kind::Race | Kind::Atomicity)) {
            shared.forget();
        }
        let every = options.all_instances && kind == Kind::Race;
        let judge = |group: &Group, instance: usize, proof: &Checked| match &options.halt {
            None => false,
            Some(halt) => {
                let finding = Finding::of(group, instance, Some(proof.clone()), None, group.instances);
                !known.covers(trace, (kind, &finding.target), &prediction.findings)
                    && (halt.0)(execution, options, &finding)
            }
        };
        let mut counters = EngineCounters::default();
        let objects = alike::objects(trace, &groups);
        let keeps = alike::listed(&objects, alike::room(trace, kind));
        let decided = decide_all(&context, (&groups, &keeps), every, options, &judge, &mut counters)?;
        add_counters(&mut prediction.counters, &counters);
        let Decided { mut endings, halted } = decided;
        if kind == Kind::Race && !every && halted.is_none() {
            add_unordered(&context, &groups, &mut endings, options, &mut prediction.tally);
        }
        if every {
            count_racy(trace, &endings, &mut prediction);
        }
        let again = Again { context: &context, options };
        add_findings(&again, groups, &objects, endings, (&mut prediction, &mut known));
        if halted.is_some() {
            prediction.halted = halted;
            break;
        }
        // Candidates that were not looked for are undecided, not refuted.
        if let Some(gap) = gap {
            prediction.tally.unknown += 1;
            prediction.tally.first_unknown.get_or_insert(gap);
        }
    }
    prediction.tally.suspected = prediction.findings.iter().filter(|f| f.proof.is_none()).count() as u64;
    prediction.seconds = started.elapsed().as_secs_f64();
    Ok(prediction)
}

fn candidates_of(shared: &SharedAccesses<'_>, execution: &Execution<'_>, kind: Kind, options: &Options) -> Candidates {
    match kind {
        Kind::Race if options.all_instances => candidates::all_races(execution).into(),
        Kind::Race => candidates::races(shared, &options.limits),
        Kind::UseAfterFree => candidates::uses_after_free(execution, &options.limits).into(),
        Kind::DoubleFree => candidates::double_frees(execution, &options.limits).into(),
        Kind::Deadlock => candidates::deadlocks(execution, &options.limits),
        Kind::Atomicity => candidates::atomicity_violations(shared, &options.limits).into(),
        Kind::Order => candidates::uses_before_initialisation(execution, &options.limits).into(),
        Kind::Nondeterminism => candidates::nondeterministic_reads(execution, &options.limits).into(),
    }
}

/// Has refuted races proven that are races by happens-before.
fn add_unordered(context: &Context, groups: &[Group], endings: &mut [Ending], options: &Options, tally: &mut Tally) {
    let refuted: Vec<usize> = endings.iter().filter(|e| !e.is_proven() && e.open.is_none()).map(|e| e.group).collect();
    let (found, left) = unordered::races(context, groups, &refuted, options);
    for Unordered { group, proof, rung } in found {
        if let Some(ending) = endings.iter_mut().find(|ending| ending.group == group) {
            ending.tally.refuted.clear();
            *ending.tally.proven.entry(rung).or_default() += 1;
            ending.proven = 1;
            ending.proof = Some((0, proof));
        }
    }
    if left > 0 {
        tally.unknown += 1;
        let reason = format!("{left} pairs were not asked about as races by happens-before: too many");
        tally.first_unknown.get_or_insert(reason);
    }
}

/// Runs the same work in so many threads, to its end.
fn in_parallel(workers: usize, work: impl Fn() + Sync) -> Result<(), Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    pool.map_err(|e| Error::Workers(workers, e.to_string()))?.broadcast(|_| work());
    Ok(())
}

const UNPOISONED: &str = "a worker that panics ends the command";

fn add_counters(sums: &mut EngineCounters, more: &EngineCounters) {
    for &(name, value) in &more.figures {
        match sums.figures.iter_mut().find(|(n, _)| *n == name) {
            Some((_, sum)) => *sum += value,
            None => sums.figures.push((name, value)),
        }
    }
}

/// What finds a proof again that was not kept.
struct Again<'p, 'c> {
    context: &'p Context<'c>,
    options: &'p Options,
}

impl Again<'_, '_> {
    fn proof(&self, target: &Target) -> Option<Checked> {
        let mut engine = self.options.engine.engine(self.context, self.options.literal);
        match engine.decide(target, self.options.model, &self.options.budget) {
            Verdict::Proven(proof, _) => Some(proof),
            _ => None,
        }
    }
}

/// One ending a group.
fn whole(groups: usize, endings: Vec<Ending>, tally: &mut Tally) -> Vec<Ending> {
    let mut all: Vec<Ending> = (0..groups).map(|_| Ending::default()).collect();
    for part in endings {
        let whole = &mut all[part.group];
        tally.add(&part.tally);
        whole.proven += part.proven;
        whole.proof = whole.proof.take().or(part.proof);
        whole.forgotten = whole.forgotten.or(part.forgotten);
        whole.open = whole.open.take().or(part.open);
        whole.refuted = whole.refuted.take().or(part.refuted);
    }
    all
}

/// Turns endings into findings, one a group at most, and of groups about the same object as many as there is room for.
fn add_findings(
    again: &Again<'_, '_>,
    groups: Vec<Group>,
    objects: &[u32],
    endings: Vec<Ending>,
    (prediction, known): (&mut Prediction, &mut Known),
) {
    let (execution, every) = (again.context.execution, again.options.all_instances);
    let trace = execution.trace();
    let mut wcp: Option<Vec<(EventId, EventId)>> = None;
    let endings = whole(groups.len(), endings, &mut prediction.tally);
    let proven: Vec<usize> = (0..groups.len()).filter(|&number| endings[number].is_proven()).collect();
    let room = groups.first().map_or(usize::MAX, |group| alike::room(trace, group.kind));
    let listed = alike::listed(&proven.iter().map(|&number| objects[number]).collect::<Vec<_>>(), room);
    let mut listed = proven.into_iter().zip(listed).peekable();
    let mut firsts: BTreeMap<u32, usize> = BTreeMap::new();
    for (number, (group, whole)) in groups.into_iter().zip(endings).enumerate() {
        let occurrences = if every && group.kind == Kind::Race { whole.proven } else { group.instances };
        let finding = |instance, proof, suspicion| Finding::of(&group, instance, proof, suspicion, occurrences);
        if let Some((_, is_listed)) = listed.next_if(|&(proven, _)| proven == number) {
            let instance = whole.proof.as_ref().map(|(instance, _)| *instance).or(whole.forgotten).unwrap_or_default();
            if known.covers(trace, (group.kind, &group.targets[instance]), &prediction.findings) {
                prediction.covered += 1;
                continue;
            }
            known.add(trace, &group.targets[instance]);
            let first = firsts.get(&objects[number]).copied();
            let kept = whole.proof.filter(|_| is_listed || first.is_none()).map(|(_, proof)| proof);
            let found = || (is_listed || first.is_none()).then(|| again.proof(&group.targets[instance])).flatten();
            match (kept.or_else(found), first) {
                (Some(proof), _) => {
                    firsts.entry(objects[number]).or_insert(prediction.findings.len());
                    let proof = lifetimes::with_end_last(execution, proof);
                    prediction.findings.push(finding(instance, Some(proof), None));
                }
                (None, Some(first)) => prediction.findings[first].alike += 1,
                (None, None) => debug_assert!(false, "what was proven once is proven again"),
            }
            continue;
        }
        if let (None, Some((instance, reason))) = (&whole.open, whole.refuted)
            && prediction.ruled_out.len() < MOST_RULED_OUT
        {
            prediction.ruled_out.push(RuledOut { kind: group.kind, target: group.targets[instance].clone(), reason });
        }
        prediction.tally.left_out += group.instances - group.targets.len() as u64 + group.beyond;
        if let Some((instance, undecided)) = whole.open {
            let suspicion = match undecided.suspected {
                true => Some(undecided.reason),
                false => {
                    let races = wcp.get_or_insert_with(|| wcp_races(trace));
                    suspected_by_wcp(trace, &group.targets[instance], races)
                }
            };
            if suspicion.is_some() {
                prediction.findings.push(finding(instance, None, suspicion));
            }
        }
    }
}

fn count_racy(trace: &Trace, endings: &[Ending], prediction: &mut Prediction) {
    let racy: BTreeSet<EventId> = endings.iter().flat_map(|e| e.racy.iter().copied()).collect();
    let locations: BTreeSet<u64> = racy.iter().map(|&e| candidates::place(trace, e)).collect();
    prediction.racy_events = Some(racy.len() as u64);
    prediction.racy_locations = Some(locations.len() as u64);
}

/// What is proven already, as far as it says what later findings would say once more.
#[derive(Default)]
struct Known {
    /// Pairs of places that race, also where they are not listed.
    races: BTreeSet<(u64, u64)>,
}

impl Known {
    fn add(&mut self, trace: &Trace, target: &Target) {
        if let Target::Race(a, b) | Target::UnorderedRace(a, b) = target {
            let [a, b] = [a, b].map(|&event| candidates::place(trace, event));
            self.races.insert((a.min(b), a.max(b)));
        }
    }

    /// A violation of atomicity or order whose accesses are reported as a race already is the same bug once more. So is anything with
    /// a free that is reported as a use after free already.
    fn covers(&self, trace: &Trace, (kind, target): (Kind, &Target), findings: &[Finding]) -> bool {
        if lifetimes::is_covered(trace, (kind, target), findings) {
            return true;
        }
        if !matches!(kind, Kind::Atomicity | Kind::Order) {
            return false;
        }
        let mine: BTreeSet<u64> = target.events().into_iter().map(|event| candidates::place(trace, event)).collect();
        mine.iter().any(|&a| mine.range(a..).any(|&b| self.races.contains(&(a, b))))
    }
}

/// The first race of each pair of locations that weak causal precedence leaves unordered.
fn wcp_races(trace: &Trace) -> Vec<(EventId, EventId)> {
    let mut input: &Trace = trace;
    let found = detect(&mut input, Order::Wcp, &mayhap_detect::Options::default());
    found.map_or(Vec::new(), |d| d.races.iter().map(|r| (r.first.0, r.second.0)).collect())
}

/// What weak causal precedence says of a race whose question stayed open.
fn suspected_by_wcp(trace: &Trace, target: &Target, races: &[(EventId, EventId)]) -> Option<String> {
    let Target::Race(a, b) = target else { return None };
    let places = |a: EventId, b: EventId| {
        let (p, q) = (candidates::place(trace, a), candidates::place(trace, b));
        (p.min(q), p.max(q))
    };
    let at = races.iter().position(|&(c, d)| places(c, d) == places(*a, *b))?;
    let theorem = "; it is the first such race, so a race or a deadlock exists";
    Some(format!("weak causal precedence leaves it unordered{}", if at == 0 { theorem } else { "" }))
}
