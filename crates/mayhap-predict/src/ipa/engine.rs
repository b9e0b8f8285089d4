//! `check_reach` and the engine around it (iPA, Procedure 1).

use hashbrown::HashMap;
use mayhap_trace::{EventId, LockId, Relations, ThreadId, Trace};
use mayhap_witness::{Checked, Checker, Model, Target, Witness};

use super::checks::{Bystander, Check, Pair, Table};
use super::counters::IpaCounters;
use super::history::Histories;
use super::schedule::{Others, Scheduler};
use super::search::{Found, Memory, Run, Search};
use super::start::{Start, Starts, bystanders};
use crate::{Budget, Engine, EngineCounters, Refutation, Rung, Undecided, Verdict};

/// Searches kept per two threads and kind of start; the oldest goes first.
const KEPT: usize = 16;

/// Calls of searches from scratch that are made for comparison at most.
const FRESH_CALLS: u64 = 1_000_000;

/// Which of the paper's two strategies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strategy {
    /// The two threads alone: failures are proofs.
    One,
    /// From a snapshot, third threads standing still: successes are proofs.
    Two,
}

/// Where a search begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum From {
    /// After the last unblock/block pair between the two threads, as published.
    Signal,
    /// At the last snapshot before both events (strategy II).
    Snapshot,
    /// Where nothing can have been skipped.
    Beginning,
}

/// What the lock histories say of two events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Must-order puts the first of these before the second.
    Ordered(EventId, EventId),
    /// Both hold this lock.
    CommonLock(LockId),
    /// The search got there from this kind of start.
    Reached(From),
    /// The search, from this kind of start, did not get there; `exact` if that proves that nothing does.
    Unreached {
        /// A proof.
        exact: bool,
    },
    /// The budget ran out.
    OutOfBudget,
}

/// A search with the third threads it assumes.
struct Kept {
    search: Search,
    snapshot: Option<EventId>,
    bystanders: Vec<Bystander>,
}

/// One search to be made.
struct Question {
    events: (EventId, EventId),
    threads: (ThreadId, ThreadId),
    target: Pair,
    start: Start,
    from: From,
}

impl Question {
    fn table<'t>(&self, ipa: &'t Ipa<'_>, bystanders: &'t [Bystander]) -> Table<'t> {
        let (a, b) = (ipa.histories.of(self.threads.0), ipa.histories.of(self.threads.1));
        Table {
            trace: ipa.trace,
            relations: ipa.relations,
            a,
            b,
            events: self.events,
            target: self.target,
            bystanders,
            literal: ipa.literal,
            straight: ipa.memory == Memory::Full && !ipa.literal,
        }
    }
}

/// Two threads and the kind of start.
type Key = (ThreadId, ThreadId, From);

/// The engine. It keeps its searches between questions.
pub struct Ipa<'a> {
    trace: &'a Trace,
    relations: &'a Relations,
    strategy: Strategy,
    histories: Histories,
    starts: Starts,
    kept: HashMap<Key, Vec<Kept>, foldhash::fast::FixedState>,
    memory: Memory,
    compare: bool,
    literal: bool,
    counters: IpaCounters,
    checker: Checker<'a>,
}

impl<'a> Ipa<'a> {
    /// An engine for one trace.
    pub fn new(trace: &'a Trace, relations: &'a Relations, strategy: Strategy) -> Self {
        Ipa {
            trace,
            relations,
            strategy,
            histories: Histories::new(trace, relations),
            starts: Starts::new(trace, relations),
            kept: HashMap::default(),
            memory: Memory::Full,
            compare: true,
            literal: false,
            counters: IpaCounters::default(),
            checker: Checker::new(trace, relations),
        }
    }

    /// How much of a search is kept for later targets; everything unless this says otherwise.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
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
        self.literal = literal;
        self
    }

    /// What was counted so far.
    pub fn ipa_counters(&self) -> &IpaCounters {
        &self.counters
    }

    /// The lock histories.
    pub fn histories(&self) -> &Histories {
        &self.histories
    }

    /// The pairs kept for later targets of these two threads, oldest first, of the first search kept from this start.
    pub fn stored_pairs(&self, a: EventId, b: EventId, from: From) -> Vec<Pair> {
        let key = (self.trace.event(a).thread, self.trace.event(b).thread, from);
        self.kept.get(&key).and_then(|kept| kept.first()).map_or_else(Vec::new, |kept| kept.search.stored())
    }

    /// The locations of two events.
    pub fn locations(&self, a: EventId, b: EventId) -> Pair {
        let location = |event| self.histories.of(self.trace.event(event).thread).location(event);
        Pair { a: location(a), b: location(b) }
    }

    /// The start pair of a kind for two events.
    pub fn start_pair(&self, a: EventId, b: EventId, from: From) -> Option<Pair> {
        self.start(a, b, from).map(|start| start.pair)
    }

    fn start(&self, a: EventId, b: EventId, from: From) -> Option<Start> {
        match from {
            From::Signal => self.starts.signalled(self.trace, &self.histories, a, b),
            From::Snapshot => self.starts.snapshot(self.trace, &self.histories, a, b),
            From::Beginning => Some(Starts::sound(self.trace, self.relations, &self.histories, a, b)),
        }
    }

    /// Must-order and locksets: what a runtime detector asks before any search.
    #[inline]
    pub fn basic_check(&self, a: EventId, b: EventId) -> Option<Reach> {
        if self.relations.ordered(self.trace, a, b) {
            return Some(Reach::Ordered(a, b));
        }
        if self.relations.ordered(self.trace, b, a) {
            return Some(Reach::Ordered(b, a));
        }
        let common = self.relations.locksets().common(self.relations.held(a), self.relations.held(b));
        common.map(Reach::CommonLock)
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
        let all: &[From] = match self.strategy {
            Strategy::One => &[From::Signal, From::Beginning],
            Strategy::Two => &[From::Signal, From::Snapshot, From::Beginning],
        };
        let published = all.iter().position(|&from| self.start(a, b, from).is_some());
        match published.filter(|_| self.literal) {
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
        let Some(start) = self.start(a, b, from) else {
            return Reach::Unreached { exact: false };
        };
        let threads = (self.trace.event(a).thread, self.trace.event(b).thread);
        let question = Question { events: (a, b), threads, target: self.locations(a, b), start, from };
        let compare = self.compare && self.counters.fresh_calls < FRESH_CALLS;
        if compare {
            self.count_fresh(&question, budget);
        }
        let before = self.counters.calls();
        let key = (threads.0, threads.1, from);
        let mut kept = self.kept.remove(&key).unwrap_or_default();
        if self.memory == Memory::None {
            kept.clear();
        }
        let mut counters = std::mem::take(&mut self.counters);
        let answer = self.search_in(&mut kept, &question, &mut counters, budget, observe);
        self.counters = counters;
        if compare {
            self.counters.compared_calls += self.counters.calls() - before;
        }
        self.kept.insert(key, kept);
        answer
    }

    fn search_in(
        &self,
        kept: &mut Vec<Kept>,
        question: &Question,
        counters: &mut IpaCounters,
        budget: &Budget,
        observe: &mut dyn FnMut(Pair, Check),
    ) -> Reach {
        let at = self.choose(kept, question);
        let chosen = &mut kept[at];
        let mut table = question.table(self, &chosen.bystanders);
        let interfered =
            if table.straight { table.way_interfered(chosen.search.start) } else { table.target_interfered() };
        if interfered {
            counters.count(Check::StrategyTwo);
            observe(question.target, Check::StrategyTwo);
            return Reach::Unreached { exact: false };
        }
        if table.straight {
            table.bystanders = &[];
        }
        let found = match chosen.search.known(question.target) {
            Some(found) => {
                counters.by_memory += 1;
                if found { Found::Reached } else { Found::Unreached }
            }
            None => {
                counters.potential_moves += grid(chosen.search.start, question.target);
                let alone = table.straight && chosen.bystanders.is_empty();
                let observed = if alone { self.observed_pairs(question) } else { Vec::new() };
                let mut run = Run { table: &table, observed: &observed, left: budget.nodes, counters, observe };
                chosen.search.run(&mut run)
            }
        };
        let exact = question.from == From::Beginning && !chosen.search.interfered && !self.literal;
        match found {
            Found::Reached => Reach::Reached(question.from),
            Found::Unreached => Reach::Unreached { exact },
            Found::OutOfBudget => {
                kept.remove(at);
                Reach::OutOfBudget
            }
        }
    }

    /// Where the two threads stood when the observed run came to the first of the two events, and when its thread took
    /// the locks that it holds there, outermost last; each with the event before.
    fn observed_pairs(&self, question: &Question) -> Vec<(Pair, EventId)> {
        let first = question.events.0.min(question.events.1);
        let thread = self.trace.event(first).thread;
        let history = self.histories.of(thread);
        let held = self.relations.locksets().get(self.relations.held(first));
        let mut stops: Vec<EventId> = held.iter().filter_map(|&hold| history.acquire_before(hold, first)).collect();
        stops.sort_unstable();
        stops.push(first);
        let stood = |stop: EventId| {
            let at = |thread| self.histories.of(thread).location(stop);
            let pair = Pair { a: at(question.threads.0), b: at(question.threads.1) };
            let last = EventId::new(stop.index().checked_sub(1)?)?;
            pair.covers(question.start.pair).then_some((pair, last))
        };
        stops.into_iter().rev().filter_map(stood).collect()
    }

    /// The kept search that can serve a target: one that knows it, else the one from the same start, else a new one.
    fn choose(&self, kept: &mut Vec<Kept>, question: &Question) -> usize {
        let target = question.target;
        let same = |k: &Kept| k.search.start == question.start.pair && k.snapshot == question.start.snapshot;
        // What was reached stays reached, also from another start, unless a third thread stands in the way there.
        let knows = |k: &Kept| match k.search.known(target) {
            Some(true) => {
                let table = question.table(self, &k.bystanders);
                !if table.straight { table.way_interfered(k.search.start) } else { table.target_interfered() }
            }
            Some(false) => same(k),
            None => false,
        };
        if let Some(at) = kept.iter().position(knows) {
            return at;
        }
        if let Some(at) = kept.iter().position(same) {
            return at;
        }
        if kept.len() == KEPT {
            kept.remove(0);
        }
        let bystanders = match self.strategy {
            Strategy::One => Vec::new(),
            Strategy::Two => bystanders(self.relations, &self.histories, question.threads, question.start.snapshot),
        };
        let (search, snapshot) = (Search::new(question.start.pair, self.memory), question.start.snapshot);
        kept.push(Kept { search, snapshot, bystanders });
        kept.len() - 1
    }

    /// Searches from scratch to know what memory saves.
    fn count_fresh(&mut self, question: &Question, budget: &Budget) {
        let mut fresh = IpaCounters::default();
        let memory = std::mem::replace(&mut self.memory, Memory::None);
        let limit = Budget { nodes: budget.nodes.min(FRESH_CALLS - self.counters.fresh_calls), ..*budget };
        let _answer = self.search_in(&mut Vec::new(), question, &mut fresh, &limit, &mut |_, _| ());
        self.memory = memory;
        self.counters.compared += 1;
        self.counters.fresh_calls += fresh.calls();
        self.counters.fresh_moves += fresh.moves;
    }

    /// A schedule for a success, as the kernel accepts it.
    fn witness(&mut self, a: EventId, b: EventId, from: From, target: &Target) -> Option<Checked> {
        let pair = self.locations(a, b);
        let key = (self.trace.event(a).thread, self.trace.event(b).thread, from);
        let kept = self.kept.get(&key)?.iter().find(|k| k.search.has_reached(pair))?;
        let (path, observed) = kept.search.path(pair);
        let snapshot = observed.or(kept.snapshot);
        let attempts =
            [(snapshot, Others::Late), (snapshot, Others::Early), (None, Others::Late), (None, Others::Early)];
        for (i, &(snapshot, others)) in attempts.iter().enumerate() {
            if attempts[..i].contains(&(snapshot, others)) {
                continue;
            }
            let scheduler = Scheduler::new(self.trace, self.relations, (a, b));
            if let Some(schedule) = scheduler.build(&self.histories, snapshot, &path, others)
                && let Ok(checked) = self.checker.check(target, Model::Sync, Witness { schedule: schedule.into() })
            {
                return Some(checked);
            }
        }
        None
    }

    fn decide_race(&mut self, target: &Target, a: EventId, b: EventId, budget: &Budget) -> Verdict {
        if let Some(answer) = self.ask(a, b) {
            return Verdict::Refuted(refuted_at_once(self.trace, answer));
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
            _ if self.literal => "the search as printed found no path, which proves nothing",
            _ => "strategy II found no path beside the other threads, which proves nothing",
        };
        self.counters.without_witness += u64::from(reached);
        Verdict::Unknown(Undecided { reason: reason.to_string(), suspected: reached })
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

/// Moves of a search over the whole grid from `start` to `target`.
fn grid(start: Pair, target: Pair) -> u64 {
    let (m, n) = (u64::from(target.a.saturating_sub(start.a)), u64::from(target.b.saturating_sub(start.b)));
    m * (n + 1) + n * (m + 1)
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
        match self.strategy {
            Strategy::One => "ipa1",
            Strategy::Two => "ipa2",
        }
    }

    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        let unknown = |reason: String| Verdict::Unknown(Undecided { reason, suspected: false });
        if let Err(error) = target.validate(self.trace, self.relations) {
            return unknown(error.to_string());
        }
        match target {
            _ if model != Model::Sync => {
                unknown(format!("{} knows the sync model only: it leaves values out of account", self.name()))
            }
            Target::Race(a, b) => {
                let in_thread_order = self.trace.event(*a).thread <= self.trace.event(*b).thread;
                let (a, b) = if in_thread_order { (*a, *b) } else { (*b, *a) };
                self.decide_race(target, a, b, budget)
            }
            _ => unknown(format!("{} decides races only: whether two threads meet at two places", self.name())),
        }
    }

    fn counters(&self) -> EngineCounters {
        self.counters.figures()
    }
}
