//! The exact engine: complete for all targets in all models.
//!
//! Slice ([`crate::slice`]), late region ([`crate::late`]), polygraph, saturation; then a search over the open choices that
//! running the region into a dead end brings up ([`crate::linearise`]), which learns from contradictions
//! ([`crate::learn`]). Around it a second, shallow
//! search decides which of the sections that the slice leaves open are closed:
//! - a polygraph in which open sections end with their thread is a relaxation, so its refutation refutes every extension;
//! - a linearisation that starts no section of a lock after one that the slice leaves open is a witness;
//! - else it passed an open section by: that one is either kept open for good, or the slice grows to its release.
//!
//! Before that, the slice with as much closed as can be is tried: if it has an order, that is a witness, and cheap to find.
//!
//! Both cases of each split are searched, so the answer is exact. The slice grows or a section is fixed at each step,
//! and each decision of the inner search orders a pair that was open, so the search ends.
//!
//! Cost: exponential in the worst case (the problem is NP-complete), in practice a handful of decisions; the budget
//! bounds decisions and time. Refuted by this engine is a proof; Proven has passed the kernel.

use std::time::Instant;

use mayhap_trace::{EventId, ThreadId};
use mayhap_witness::{Checker, Model, Schedule, Target, Witness};

use crate::closure::{Edge, Mark};
use crate::context::Context;
use crate::counters::EngineCounters;
use crate::late::Late;
use crate::learn::Learner;
use crate::linearise::{Lineariser, Run};
use crate::polygraph::{Builder, Plan, Polygraph};
use crate::polygraph_engine::Guide;
use crate::sections::Section;
use crate::slice::{Clash, Overrun, Query, Slice, in_observed_order};
use crate::verdict::{Budget, Engine, Refutation, Rung, Step, Undecided, Verdict, Why};

/// What is left of a budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purse {
    nodes: u64,
    until: Option<Instant>,
    region: u32,
}

impl Purse {
    pub(crate) fn new(budget: &Budget) -> Self {
        let until = budget.time.and_then(|time| Instant::now().checked_add(time));
        Purse { nodes: budget.nodes, until, region: budget.region }
    }

    /// Pays for one decision.
    pub(crate) fn pay(&mut self) -> Result<(), Spent> {
        let late = self.until.is_some_and(|until| Instant::now() >= until);
        if self.nodes == 0 || late {
            return Err(if late { Spent::Time } else { Spent::Nodes });
        }
        self.nodes -= 1;
        Ok(())
    }
}

/// The budget ran out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spent {
    Nodes,
    Time,
    /// More than so many events would have to be taken out of their observed order.
    Region(u32),
}

impl Spent {
    pub(crate) fn undecided(self) -> Verdict {
        let reason = match self {
            Spent::Nodes => "the budget of nodes ran out in the search".to_string(),
            Spent::Time => "the budget of time ran out in the search".to_string(),
            Spent::Region(events) => {
                format!("more than {events} events, the budget, would have to be taken out of their observed order")
            }
        };
        Verdict::Unknown(Undecided { reason, suspected: false })
    }
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A schedule that meets it, and the stage that found it.
    Schedule(Schedule, Rung),
    /// Nothing meets it.
    Refuted(Refutation),
    /// The budget ran out.
    Spent,
}

/// What solving a query came to.
pub(crate) enum Solved {
    Schedule(Schedule, Rung),
    Refuted(Refutation),
    Spent(Spent),
}

/// Decisions that an attempt to get by without the outer search may take.
const ATTEMPT: u64 = 16;

/// How an inner search ended.
pub(crate) enum Ordered {
    /// Nodes in order, open sections that were passed by, decisions taken.
    Complete {
        order: Vec<u32>,
        passed: Vec<u32>,
        decisions: u64,
    },
    /// No order; the edge that closed a cycle if no decision was needed to see it.
    Impossible(Option<Edge>),
    Spent(Spent),
}

/// Nodes in order, and the open sections that were passed by.
type Linear = (Vec<u32>, Vec<u32>);

/// How a search goes on from a contradiction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// It learns what cannot hold together and goes back to where that matters.
    #[default]
    Learning,
    /// It takes back the last decision.
    Chronological,
}

/// The solver shared by the engines of this crate; keeps its tables between questions.
pub struct Solver<'c, 'a> {
    pub(crate) context: &'c Context<'a>,
    late: Late,
    builder: Builder,
    pub(crate) graph: Polygraph,
    lineariser: Lineariser,
    learner: Learner,
    search: Search,
    /// Searches the late region only. Off, the whole slice is searched.
    pub(crate) local: bool,
    /// Say why the steps of a contradiction hold.
    pub(crate) explain: bool,
    /// The heuristics of the polygraph paper, if they are wanted.
    pub(crate) guide: Option<Guide>,
    pub(crate) counts: Counts,
}

/// What the solver counted over all questions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    questions: u64,
    graphs: u64,
    nodes: u64,
    decisions: u64,
    conflicts: u64,
}

impl<'c, 'a> Solver<'c, 'a> {
    /// A solver for a trace.
    pub fn new(context: &'c Context<'a>) -> Self {
        Solver {
            context,
            late: Late::default(),
            builder: Builder::default(),
            graph: Polygraph::default(),
            lineariser: Lineariser::default(),
            learner: Learner::default(),
            search: Search::default(),
            local: true,
            explain: false,
            guide: None,
            counts: Counts::default(),
        }
    }

    pub(crate) fn counters(&self) -> EngineCounters {
        let Counts { questions, graphs, nodes, decisions, conflicts } = self.counts;
        let figures = vec![
            ("questions", questions),
            ("polygraphs", graphs),
            ("nodes", nodes),
            ("decisions", decisions),
            ("conflicts", conflicts),
        ];
        EngineCounters { figures }
    }

    /// Decides a query that is given directly, for questions that [`Target`] has no form for. No kernel checks the answer.
    pub fn decide_query(&mut self, query: &Query, model: Model, budget: &Budget) -> Answer {
        match self.solve(query, model, &mut Purse::new(budget)) {
            Solved::Schedule(schedule, rung) => Answer::Schedule(schedule, rung),
            Solved::Refuted(refutation) => Answer::Refuted(refutation),
            Solved::Spent(_) => Answer::Spent,
        }
    }

    /// The polygraph of a query's whole slice, before saturation; `None` if the slice itself is impossible.
    pub(crate) fn whole_graph(&mut self, query: &Query, model: Model) -> Option<Polygraph> {
        let mut slice = Slice::of_query(self.context, query, model).ok()?;
        slice.settle(self.context, model).ok()?;
        self.late.everything(self.context, query, &slice, model);
        let plan = Plan { context: self.context, query, slice: &slice, late: &self.late };
        self.builder.build(&plan, &mut self.graph);
        Some(self.graph.clone())
    }

    /// Decisions of the search over all questions so far.
    pub fn decisions(&self) -> u64 {
        self.counts.decisions
    }

    /// Contradictions that the search ran into over all questions so far.
    pub fn conflicts(&self) -> u64 {
        self.counts.conflicts
    }

    /// Drops the restriction to the late region: the polygraph of the whole slice, as the paper has it.
    pub fn on_whole_slice(mut self) -> Self {
        self.local = false;
        self
    }

    /// Searches in another way than the default.
    pub fn searching(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// Decides a query.
    pub(crate) fn solve(&mut self, query: &Query, model: Model, purse: &mut Purse) -> Solved {
        self.counts.questions += 1;
        match Slice::of_query(self.context, query, model) {
            Ok(slice) => self.solve_slice(query, slice, model, purse),
            Err(overrun) => Solved::Refuted(overrun.refutation()),
        }
    }

    /// Decides a query from its slice: the outer search.
    pub(crate) fn solve_slice(&mut self, query: &Query, slice: Slice, model: Model, purse: &mut Purse) -> Solved {
        if let Some(solved) = self.try_closed(query, &slice, model, purse.region) {
            return solved;
        }
        let mut open = vec![slice];
        let mut first: Option<Refutation> = None;
        let mut leaves = 0;
        while let Some(mut slice) = open.pop() {
            let refuted = match self.solve_leaf(query, &mut slice, model, purse) {
                Leaf::Schedule(schedule, rung) => return Solved::Schedule(schedule, rung),
                Leaf::Spent(spent) => return Solved::Spent(spent),
                Leaf::Refuted(refutation) => refutation,
                Leaf::Split(section) => {
                    let mut grown = slice.clone();
                    if grown.close(self.context, model, &section).is_ok() {
                        open.push(grown);
                    }
                    slice.fix(&section);
                    open.push(slice);
                    continue;
                }
            };
            leaves += 1;
            first.get_or_insert(refuted);
        }
        let mut refutation = first.expect("the first slice was refuted or split");
        if leaves > 1 {
            refutation.rung = Rung::Search;
            refutation.reason = format!(
                "no order exists, whichever of the {leaves} ways to close open critical sections is taken; with none closed, {}",
                refutation.reason
            );
        }
        Solved::Refuted(refutation)
    }

    /// Most orders exist with nearly all sections closed, and then hardly anything has to leave the observed order, while
    /// the least slice may have to be turned over from its beginning. So that end of the outer search is tried first, with
    /// few decisions; if it fails, nothing is known.
    fn try_closed(&mut self, query: &Query, slice: &Slice, model: Model, region: u32) -> Option<Solved> {
        let mut closed = slice.closing_overtaken(self.context, model);
        let mut purse = Purse { nodes: ATTEMPT, until: None, region };
        while closed != *slice {
            match self.solve_leaf(query, &mut closed, model, &mut purse) {
                Leaf::Schedule(schedule, rung) => return Some(Solved::Schedule(schedule, rung)),
                Leaf::Split(section) => closed.close(self.context, model, &section).ok()?,
                Leaf::Refuted(_) | Leaf::Spent(_) => return None,
            }
        }
        None
    }

    fn solve_leaf(&mut self, query: &Query, slice: &mut Slice, model: Model, purse: &mut Purse) -> Leaf {
        if let Err(clash) = slice.settle(self.context, model) {
            return Leaf::Refuted(clash.refutation(self.context));
        }
        if let Some((write, None)) = query.displaced
            && slice.has(self.context, write)
        {
            let reason = format!("event {write}, which the read saw, must run before the read becomes next");
            return Leaf::Refuted(Refutation { rung: Rung::Slice, reason, cycle: Vec::new(), premises: Vec::new() });
        }
        if !self.local {
            self.late.everything(self.context, query, slice, model);
        } else if !self.late.find(self.context, query, slice, model, purse.region) {
            return Leaf::Spent(Spent::Region(purse.region));
        }
        if self.late.is_empty(slice) {
            return Leaf::Schedule(slice.in_observed_order(self.context), Rung::SyncPreserving);
        }
        if self.late.size(slice) > purse.region {
            return Leaf::Spent(Spent::Region(purse.region));
        }
        let plan = Plan { context: self.context, query, slice, late: &self.late };
        self.builder.build(&plan, &mut self.graph);
        self.counts.graphs += 1;
        self.counts.nodes += self.graph.len() as u64;
        match self.order_graph(purse) {
            Ordered::Spent(spent) => Leaf::Spent(spent),
            Ordered::Impossible(edge) => Leaf::Refuted(self.impossible(edge)),
            Ordered::Complete { order, passed, decisions } => match passed.first() {
                Some(&section) => Leaf::Split(self.section(section)),
                None => {
                    let rung = if decisions == 0 { Rung::Greedy } else { Rung::Search };
                    Leaf::Schedule(self.schedule(slice, &order), rung)
                }
            },
        }
    }

    /// Orders the polygraph: the inner search.
    fn order_graph(&mut self, purse: &mut Purse) -> Ordered {
        if let Err(edge) = self.graph.saturate() {
            return Ordered::Impossible(Some(edge));
        }
        if let Some(guide) = self.guide {
            let run = guide.causal_precedence(self.context, &mut self.graph, &mut self.lineariser);
            if let Some((order, passed)) = run {
                return Ordered::Complete { order, passed, decisions: 0 };
            }
            if guide.look_ahead(&mut self.graph).is_err() {
                return Ordered::Impossible(None);
            }
        }
        let before = self.counts.decisions;
        let ordered = match self.search {
            Search::Learning => self.search_learning(purse),
            Search::Chronological => self.search_chronologically(purse),
        };
        match ordered {
            Ok(Some((order, passed))) => Ordered::Complete { order, passed, decisions: self.counts.decisions - before },
            Ok(None) => Ordered::Impossible(None),
            Err(spent) => Ordered::Spent(spent),
        }
    }

    /// Decides what holds the run up until it completes; learns from each contradiction and goes back as far as its reason
    /// does ([`crate::learn`]).
    fn search_learning(&mut self, purse: &mut Purse) -> Result<Option<Linear>, Spent> {
        let mut levels: Vec<Mark> = Vec::new();
        self.learner.start();
        loop {
            let [first, _] = match self.lineariser.run(&self.graph) {
                Run::Complete { order, passed } => return Ok(Some((order, passed))),
                Run::Stuck(options) => options,
            };
            purse.pay()?;
            self.counts.decisions += 1;
            levels.push(self.graph.order.mark());
            let mut attempt = self.graph.assert(first);
            while let Err(edge) = attempt {
                self.counts.conflicts += 1;
                match self.learner.resolve(&mut self.graph, edge, &mut levels) {
                    Some(asserted) => attempt = asserted,
                    None => return Ok(None),
                }
            }
            self.learner.restart(&mut self.graph, &mut levels);
        }
    }

    /// The same with plain backtracking, to compare with: the second option of a choice whose first option failed holds at
    /// the level of the choice.
    fn search_chronologically(&mut self, purse: &mut Purse) -> Result<Option<Linear>, Spent> {
        let mut levels: Vec<(Mark, Edge)> = Vec::new();
        loop {
            let [first, second] = match self.lineariser.run(&self.graph) {
                Run::Complete { order, passed } => return Ok(Some((order, passed))),
                Run::Stuck(options) => options,
            };
            purse.pay()?;
            self.counts.decisions += 1;
            levels.push((self.graph.order.mark(), second));
            let mut attempt = self.graph.assert(first);
            while attempt.is_err() {
                self.counts.conflicts += 1;
                let Some((mark, other)) = levels.pop() else { return Ok(None) };
                self.graph.order.undo(mark);
                attempt = self.graph.assert(other);
            }
        }
    }

    fn impossible(&self, edge: Option<Edge>) -> Refutation {
        match edge {
            Some(edge) => {
                let cycle = self.graph.cycle(edge);
                let reason = describe_cycle(&cycle);
                let premises = if self.explain { self.graph.premises(edge) } else { Vec::new() };
                Refutation { rung: Rung::Saturation, reason, cycle, premises }
            }
            None => Refutation {
                rung: Rung::Search,
                reason: "every way to order the critical sections and writes leads to a cycle".to_string(),
                cycle: Vec::new(),
                premises: Vec::new(),
            },
        }
    }

    /// The section of the trace behind one of the polygraph.
    fn section(&self, section: u32) -> Section {
        let acquire = self.graph.event_of(self.graph.sections[section as usize].acquire);
        let thread = ThreadId::at(self.context.thread(acquire));
        let lock = self.graph.lock_of(section);
        let found = self.context.sections.of_acquire(lock, thread, self.context.rank(acquire));
        *found.expect("an acquire opens a section")
    }

    /// The early events in observed order, then the late ones in the order of their nodes; events that are no nodes run
    /// just before the next node of their thread.
    fn schedule(&self, slice: &Slice, order: &[u32]) -> Schedule {
        let mut schedule = in_observed_order(self.context, &self.late.from);
        let mut at = self.late.from.clone();
        let mut emit = |thread: usize, until: u32| {
            while at[thread] < until {
                schedule.push(self.context.event_at(thread, at[thread]));
                at[thread] += 1;
            }
        };
        let last =
            |chain: usize| (self.graph.order.chain(chain)).rev().find(|&n| self.graph.events[n as usize].is_some());
        for (chain, &thread) in self.graph.threads.iter().enumerate() {
            if last(chain).is_none() {
                emit(thread, slice.cut[thread]);
            }
        }
        for &node in order {
            if let Some(event) = self.graph.events[node as usize] {
                let chain = self.graph.order.chain_of(node);
                let thread = self.graph.threads[chain];
                emit(thread, self.context.rank(event) + 1);
                if last(chain) == Some(node) {
                    emit(thread, slice.cut[thread]);
                }
            }
        }
        schedule
    }
}

enum Leaf {
    Schedule(Schedule, Rung),
    Refuted(Refutation),
    Spent(Spent),
    /// This open section is either kept open or closed.
    Split(Section),
}

impl Overrun {
    pub(crate) fn refutation(self) -> Refutation {
        let Overrun { stopped, because } = self;
        let reason = format!("event {stopped} has to run before event {because}, but its thread must stop before it");
        let cycle = vec![
            Step { before: stopped, after: because, why: Why::Demand },
            Step { before: because, after: stopped, why: Why::Target },
        ];
        Refutation { rung: Rung::Slice, reason, cycle, premises: Vec::new() }
    }
}

impl Clash {
    fn refutation(self, context: &Context) -> Refutation {
        match self {
            Clash::Overrun(overrun) => overrun.refutation(),
            Clash::Open(a, b) => {
                let tables = context.trace.tables();
                let name = |t: ThreadId| tables.thread(t);
                let lock = tables.locks.get(a.lock.index());
                let reason = format!(
                    "{} and {} would both hold lock {lock} (events {} and {})",
                    name(a.thread),
                    name(b.thread),
                    a.acquire,
                    b.acquire
                );
                Refutation { rung: Rung::Lockset, reason, cycle: Vec::new(), premises: Vec::new() }
            }
        }
    }
}

fn describe_cycle(cycle: &[crate::verdict::Step]) -> String {
    let shown = cycle.iter().take(8).map(|s| s.before.to_string()).collect::<Vec<_>>().join(" → ");
    let rest = if cycle.len() > 8 { " → …" } else { "" };
    let back = cycle.first().map_or(String::new(), |s| format!(" → {}", s.before));
    format!("the events would have to run in a cycle: {shown}{rest}{back}")
}

/// Turns what solving came to into a verdict; proofs pass the kernel.
pub(crate) fn verdict(checker: &mut Checker, target: &Target, model: Model, solved: Solved) -> Verdict {
    match solved {
        Solved::Refuted(refutation) => Verdict::Refuted(refutation),
        Solved::Spent(spent) => spent.undecided(),
        Solved::Schedule(schedule, rung) => match checker.check(target, model, Witness { schedule }) {
            Ok(checked) => Verdict::Proven(checked, rung),
            Err(rejection) => {
                debug_assert!(false, "the kernel rejects the schedule of {target:?} in {model}: {rejection}");
                let reason = format!("the schedule that was found did not pass the kernel: {rejection}");
                Verdict::Unknown(Undecided { reason, suspected: false })
            }
        },
    }
}

/// The engine `exact`.
pub struct Exact<'c, 'a> {
    solver: Solver<'c, 'a>,
    checker: Checker<'a>,
}

impl<'c, 'a> Exact<'c, 'a> {
    /// An engine for a trace.
    pub fn new(context: &'c Context<'a>) -> Self {
        Exact { solver: Solver::new(context), checker: Checker::new(context.trace, context.relations) }
    }
}

impl Engine for Exact<'_, '_> {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict {
        if let Some(verdict) = senseless(self.solver.context, target) {
            return verdict;
        }
        let mut purse = Purse::new(budget);
        let queries = Query::of_target(self.solver.context, target, model);
        let mut solved = Solved::Spent(Spent::Nodes);
        for query in &queries {
            solved = self.solver.solve(query, model, &mut purse);
            if !matches!(solved, Solved::Refuted(_)) {
                break;
            }
        }
        verdict(&mut self.checker, target, model, solved)
    }

    fn explain(&mut self) {
        self.solver.explain = true;
    }

    fn counters(&self) -> EngineCounters {
        self.solver.counters()
    }
}

/// The verdict on a target that makes no sense, or that its own definition rules out.
pub(crate) fn senseless(context: &Context, target: &Target) -> Option<Verdict> {
    if let Err(error) = target.validate(context.trace, context.relations) {
        return Some(Verdict::Unknown(Undecided { reason: error.to_string(), suspected: false }));
    }
    let Target::Deadlock(requests) = target else { return None };
    let blocked = |request: &EventId| {
        let event = context.trace.event(*request);
        requests.iter().filter(|&&other| other != *request).any(|&other| {
            let held = context.relations.locksets().get(context.relations.held(other));
            held.iter().any(|&(lock, mode)| {
                lock.index() == event.object as usize && !(mode == mayhap_trace::Mode::Shared && event.op.is_shared())
            })
        })
    };
    let free = requests.iter().find(|r| !blocked(r))?;
    let reason = format!("no thread of the cycle holds the lock that event {free} wants");
    Some(Verdict::Refuted(Refutation { rung: Rung::Lockset, reason, cycle: Vec::new(), premises: Vec::new() }))
}
