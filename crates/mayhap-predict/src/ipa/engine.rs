//! `check_reach` and the engine around it (iPA, Procedure 1).

use hashbrown::HashMap;
use mayhap_trace::{EventId, Execution, ThreadId, Trace};
use mayhap_witness::{Checked, Checker, Model, Target, Witness};

use super::checks::{Check, Pair};
use super::counters::IpaCounters;
use super::history::Histories;
use super::question::{From, Ground, Kept, Question, Reach, Strategy};
use super::schedule::{Others, Scheduler};
use super::search::Memory;
use super::start::Starts;
use crate::{Budget, Engine, EngineCounters, Refutation, Rung, Undecided, Verdict};

/// Calls of searches from scratch that are made for comparison at most.
const FRESH_CALLS: u64 = 1_000_000;

/// The engine. It keeps its searches between questions.
pub struct Ipa<'a> {
    ground: Ground<'a>,
    /// Where the searches of two threads are kept.
    meetings: HashMap<(ThreadId, ThreadId), usize, foldhash::fast::FixedState>,
    /// The two threads asked about last, whose searches come first.
    latest: Option<((ThreadId, ThreadId), usize)>,
    /// Searches of two threads, by the kind of start.
    kept: Vec<[Vec<Kept>; 3]>,
    compare: bool,
    counters: IpaCounters,
    /// Made for the first success.
    checker: Option<Checker<'a>>,
}

impl<'a> Ipa<'a> {
    /// Creates an engine for one trace.
    pub fn new(execution: &'a Execution<'a>, strategy: Strategy) -> Self {
        let (trace, relations) = execution.parts();
        Ipa {
            ground: Ground {
                execution,
                trace,
                relations,
                strategy,
                histories: Histories::new(execution),
                starts: Starts::new(execution),
                memory: Memory::Full,
                literal: false,
            },
            meetings: HashMap::default(),
            latest: None,
            kept: Vec::new(),
            compare: true,
            counters: IpaCounters::default(),
            checker: None,
        }
    }

    /// How much of a search is kept for later targets; everything unless this says otherwise.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.ground.memory = memory;
        self
    }

    /// Whether searches are also made from scratch, only to count their calls. They are, up to a total of a million calls,
    /// unless this says no.
    pub fn compare(mut self, compare: bool) -> Self {
        self.compare = compare;
        self
    }

    /// Whether the table, the stored pairs and the start pair are taken as printed, errors included. For comparison: a
    /// failure then refutes nothing.
    pub fn literal(mut self, literal: bool) -> Self {
        self.ground.literal = literal;
        self
    }

    /// What was counted so far.
    pub fn ipa_counters(&self) -> &IpaCounters {
        &self.counters
    }

    /// The lock histories.
    pub fn histories(&self) -> &Histories {
        &self.ground.histories
    }

    /// The pairs kept for later targets of these two threads, oldest first, of the first search kept from this start.
    pub fn stored_pairs(&self, a: EventId, b: EventId, from: From) -> Vec<Pair> {
        let kept = self.meetings.get(&self.ground.threads(a, b)).and_then(|&at| self.kept[at][from as usize].first());
        kept.map_or_else(Vec::new, |kept| kept.search.stored())
    }

    /// Returns the locations of two events.
    pub fn locations(&self, a: EventId, b: EventId) -> Pair {
        self.ground.locations(a, b)
    }

    /// The start pair of a kind for two events.
    pub fn start_pair(&self, a: EventId, b: EventId, from: From) -> Option<Pair> {
        self.ground.start(a, b, from).map(|start| start.pair)
    }

    /// Must-order and locksets: what a runtime detector asks before any search.
    #[inline]
    pub fn basic_check(&self, a: EventId, b: EventId) -> Option<Reach> {
        let (trace, relations) = self.ground.execution.parts();
        // What must come first came first.
        let (first, second) = (a.min(b), a.max(b));
        if relations.ordered(trace, first, second) {
            return Some(Reach::Ordered(first, second));
        }
        relations.locksets().common(relations.held(a), relations.held(b)).map(Reach::CommonLock)
    }

    /// `check_reach`: whether the threads of two events can stand before them at the same time, by the lock histories
    /// alone. Starts are tried in the order of the strategy until one succeeds.
    pub fn check_reach(&mut self, a: EventId, b: EventId, budget: &Budget) -> Reach {
        if let Some(answer) = self.ask(a, b) {
            return answer;
        }
        let mut answer = Reach::Unreached { exact: false };
        for &from in self.order(a, b) {
            answer = self.search_from(a, b, from, budget);
            if !matches!(answer, Reach::Unreached { exact: false }) {
                break;
            }
        }
        answer
    }

    /// The kinds of start that the strategy tries. As printed, the latest there is stands for all.
    fn order(&self, a: EventId, b: EventId) -> &'static [From] {
        let all: &[From] = match self.ground.strategy {
            Strategy::One => &[From::Signal, From::Beginning],
            Strategy::Two => &[From::Signal, From::Snapshot, From::Beginning],
        };
        let published = || all.iter().position(|&from| self.ground.start(a, b, from).is_some());
        match self.ground.literal.then(published).flatten() {
            Some(at) => &all[at..=at],
            None => all,
        }
    }

    fn ask(&mut self, a: EventId, b: EventId) -> Option<Reach> {
        self.counters.questions += 1;
        let answer = self.basic_check(a, b)?;
        match answer {
            Reach::Ordered(..) => self.counters.by_must_order += 1,
            _ => self.counters.by_lockset += 1,
        }
        Some(answer)
    }

    /// One search, from one kind of start. The events must have passed [`Ipa::basic_check`].
    pub fn search_from(&mut self, a: EventId, b: EventId, from: From, budget: &Budget) -> Reach {
        self.search_observed(a, b, from, budget, &mut |_, _| ())
    }

    /// As [`Ipa::search_from`]; `observe` sees every pair and the check that applied to it.
    pub fn search_observed(
        &mut self,
        a: EventId,
        b: EventId,
        from: From,
        budget: &Budget,
        observe: &mut dyn FnMut(Pair, Check),
    ) -> Reach {
        let Some(start) = self.ground.start(a, b, from) else {
            return Reach::Unreached { exact: false };
        };
        let threads = self.ground.threads(a, b);
        let question = Question { events: (a, b), threads, target: self.locations(a, b), start, from };
        let compare = self.compare && self.counters.fresh_calls < FRESH_CALLS;
        if compare {
            self.count_fresh(&question, budget);
        }
        let before = if compare { self.counters.calls() } else { 0 };
        let at = self.meeting(threads);
        let kept = &mut self.kept[at][from as usize];
        if self.ground.memory == Memory::None {
            kept.clear();
        }
        let answer = self.ground.search_in(kept, &question, &mut self.counters, budget, observe);
        if compare {
            self.counters.compared_calls += self.counters.calls() - before;
        }
        answer
    }

    /// Where the searches of two threads are kept.
    fn meeting(&mut self, threads: (ThreadId, ThreadId)) -> usize {
        match self.latest {
            Some((same, at)) if same == threads => at,
            _ => {
                let at = *self.meetings.entry(threads).or_insert_with(|| {
                    self.kept.push(Default::default());
                    self.kept.len() - 1
                });
                self.latest = Some((threads, at));
                at
            }
        }
    }

    /// Searches from scratch to know what memory saves.
    fn count_fresh(&mut self, question: &Question, budget: &Budget) {
        let mut fresh = IpaCounters::default();
        let memory = std::mem::replace(&mut self.ground.memory, Memory::None);
        let limit = Budget { nodes: budget.nodes.min(FRESH_CALLS - self.counters.fresh_calls), ..*budget };
        let _answer = self.ground.search_in(&mut Vec::new(), question, &mut fresh, &limit, &mut |_, _| ());
        self.ground.memory = memory;
        self.counters.compared += 1;
        self.counters.fresh_calls += fresh.calls();
        self.counters.fresh_moves += fresh.moves;
    }

    /// A schedule for a success, as the kernel accepts it.
    fn witness(&mut self, a: EventId, b: EventId, from: From, target: &Target) -> Option<Checked> {
        let pair = self.locations(a, b);
        let at = *self.meetings.get(&self.ground.threads(a, b))?;
        let kept = self.kept[at][from as usize].iter().find(|k| k.search.has_reached(pair))?;
        let (path, observed) = kept.search.path(pair);
        let snapshot = observed.or(kept.snapshot);
        let checker = self.checker.get_or_insert_with(|| Checker::new(self.ground.execution));
        let attempts =
            [(snapshot, Others::Late), (snapshot, Others::Early), (None, Others::Late), (None, Others::Early)];
        for (i, &(snapshot, others)) in attempts.iter().enumerate() {
            if attempts[..i].contains(&(snapshot, others)) {
                continue;
            }
            let scheduler = Scheduler::new(self.ground.execution, (a, b));
            if let Some(schedule) = scheduler.build(&self.ground.histories, snapshot, &path, others)
                && let Ok(checked) = checker.check(target, Model::Sync, Witness { schedule: schedule.into() })
            {
                return Some(checked);
            }
        }
        None
    }

    fn decide_race(&mut self, target: &Target, a: EventId, b: EventId, budget: &Budget) -> Verdict {
        if let Some(answer) = self.ask(a, b) {
            return Verdict::Refuted(refuted_at_once(self.ground.trace, answer));
        }
        let (mut reached, mut exhausted) = (false, false);
        for &from in self.order(a, b) {
            match self.search_from(a, b, from, budget) {
                Reach::Reached(from) => {
                    if let Some(checked) = self.witness(a, b, from, target) {
                        self.counters.witnesses += 1;
                        return Verdict::Proven(checked, Rung::Engine);
                    }
                    reached = true;
                }
                Reach::Unreached { exact: true } => return Verdict::Refuted(self.no_path(a, b)),
                Reach::OutOfBudget => exhausted = true,
                _ => {}
            }
        }
        let reason = match (reached, exhausted) {
            (true, _) => {
                "the lock histories of the two threads allow it, but no schedule with the other threads was found"
            }
            (_, true) => "the search ran out of its budget of pairs",
            _ if self.ground.literal => "the search as printed found no path, which proves nothing",
            _ => "strategy II found no path beside the other threads, which proves nothing",
        };
        self.counters.without_witness += u64::from(reached);
        Verdict::Unknown(Undecided { reason: reason.to_string(), suspected: reached, short: None })
    }

    fn no_path(&self, a: EventId, b: EventId) -> Refutation {
        let pair = self.locations(a, b);
        let reason = format!(
            "no order of the {} and {} lock operations before events {a} and {b} lets both threads get there",
            pair.a, pair.b
        );
        Refutation { rung: Rung::Engine, reason, cycle: Vec::new(), premises: Vec::new() }
    }
}

fn refuted_at_once(trace: &Trace, answer: Reach) -> Refutation {
    let (rung, reason) = match answer {
        Reach::CommonLock(lock) => {
            let name = trace.tables().locks.get(lock.index());
            (Rung::Lockset, format!("both threads hold {name}"))
        }
        Reach::Ordered(first, second) => (Rung::MustOrder, format!("event {first} always comes before event {second}")),
        _ => unreachable!("only must-order and locksets answer at once"),
    };
    Refutation { rung, reason, cycle: Vec::new(), premises: Vec::new() }
}

impl Engine for Ipa<'_> {
    fn name(&self) -> &'static str {
        match self.ground.strategy {
            Strategy::One => "ipa1",
            Strategy::Two => "ipa2",
        }
    }

    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        let unknown = |reason: String| Verdict::Unknown(Undecided { reason, suspected: false, short: None });
        if let Err(error) = target.validate(self.ground.execution) {
            return unknown(error.to_string());
        }
        match target {
            _ if model != Model::Sync => {
                unknown(format!("{} knows the sync model only: it leaves values out of account", self.name()))
            }
            Target::Race(a, b) => {
                let (t, u) = self.ground.threads(*a, *b);
                let (a, b) = if t <= u { (*a, *b) } else { (*b, *a) };
                self.decide_race(target, a, b, budget)
            }
            _ => unknown(format!("{} decides races only: whether two threads meet at two places", self.name())),
        }
    }

    fn counters(&self) -> EngineCounters {
        self.counters.figures()
    }
}
