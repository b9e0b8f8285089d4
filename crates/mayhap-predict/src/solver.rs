//! The solver: decides whether a slice has an order, exactly, for what is settled about reads, waits and failed attempts.
//!
//! Slice ([`crate::slice`]), reorderable region ([`crate::reorderable`]), polygraph, saturation; then a search over the open
//! choices that running the region into a dead end brings up ([`crate::linearise`]), which learns from contradictions
//! ([`crate::learn`]). Around it a second, shallow search decides which of the sections that the slice leaves open are
//! closed:
//! - a polygraph in which open sections end with their thread is a relaxation, so its refutation refutes every extension;
//! - a linearisation that starts no section of a lock after one that the slice leaves open is a witness;
//! - else it passed an open section by: that one is either kept open for good, or the slice grows to its release.
//!
//! Before that, the slice with as much closed as can be is tried: if it has an order, that is a witness, and cheap to find.
//! A third search, outermost, settles what could be served in more than one way ([`crate::alternatives`]).
//!
//! Both cases of each split are searched, so the answer is exact. The slice grows or a section is fixed at each step,
//! and each decision of the inner search orders a pair that was open, so the search ends.
//!
//! Cost: exponential in the worst case (the problem is NP-complete), in practice a handful of decisions; the budget
//! bounds decisions and time. A refutation by this solver is a proof; its schedules still have to pass the kernel.

use mayhap_trace::ThreadId;
use mayhap_witness::{Model, Rejection, Schedule};

use crate::budget::{Remaining, Spent};
use crate::closure::{Edge, Mark};
use crate::context::Context;
use crate::counters::EngineCounters;
use crate::demands::Pairing;
use crate::guide::Guide;
use crate::judge::{Judge, Unjudged};
use crate::learn::Learner;
use crate::linearise::{Lineariser, Run};
use crate::polygraph::{Builder, Plan, Polygraph};
use crate::problem::Problem;
use crate::reorderable::Reorderable;
use crate::sections::Section;
use crate::slice::{Clash, Overrun, Query, Slice, in_observed_order};
use crate::states::States;
use crate::verdict::{Budget, Refutation, Rung, Step, Why};

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
    /// The judge rejects a schedule for a reason that nothing could repair: a fault of the search.
    Rejected(Rejection),
}

/// The largest region that is searched at once, by default.
const SMALL: u32 = 2_048;
/// Ways to serve events that are tried before states are searched, by default.
const WAYS: u64 = 32;
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
    pub(crate) region: Reorderable,
    builder: Builder,
    pub(crate) graph: Polygraph,
    lineariser: Lineariser,
    learner: Learner,
    search: Search,
    /// Searches the reorderable region only. Off, the whole slice is searched.
    pub(crate) local: bool,
    /// Tries the synchronisation-preserving ideal of a slice before anything else.
    pub(crate) ladder: bool,
    /// Say why the steps of a contradiction hold.
    pub(crate) explain: bool,
    /// The heuristics of the polygraph paper, if they are wanted.
    pub(crate) guide: Option<Guide>,
    pub(crate) counts: Counts,
    /// The largest region that is searched at once, without looking for a contradiction near the target first.
    pub(crate) small: u32,
    /// The search over states, once a question needed it.
    pub(crate) states: Option<Box<States<'c, 'a>>>,
    /// After so many ways to serve events, the search over states is tried.
    pub(crate) ways: u64,
}

/// What the solver counted over all questions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    questions: u64,
    graphs: u64,
    nodes: u64,
    decisions: u64,
    conflicts: u64,
    /// Events and nodes that were looked at: what the questions cost.
    pub(crate) work: u64,
}

impl<'c, 'a> Solver<'c, 'a> {
    /// Creates a solver for a trace.
    pub fn new(context: &'c Context<'a>) -> Self {
        Solver {
            context,
            region: Reorderable::default(),
            builder: Builder::default(),
            graph: Polygraph::default(),
            lineariser: Lineariser::default(),
            learner: Learner::default(),
            search: Search::default(),
            local: true,
            ladder: false,
            explain: false,
            guide: None,
            counts: Counts::default(),
            small: SMALL,
            states: None,
            ways: WAYS,
        }
    }

    pub(crate) fn counters(&self) -> EngineCounters {
        let Counts { questions, graphs, nodes, decisions, conflicts, .. } = self.counts;
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
        match self.solve(query, model, &mut Remaining::new(budget), &mut Unjudged) {
            Solved::Schedule(schedule, rung) => Answer::Schedule(schedule, rung),
            Solved::Refuted(refutation) => Answer::Refuted(refutation),
            Solved::Spent(_) | Solved::Rejected(_) => Answer::Spent,
        }
    }

    /// Returns the polygraph of a query's whole slice, before saturation; `None` if the slice itself is impossible.
    pub(crate) fn whole_graph(&mut self, query: &Query, model: Model) -> Option<Polygraph> {
        let problem = Problem::new(self.context, query, model, Pairing::Observed);
        let mut slice = Slice::of_query(&problem, query).ok()?;
        slice.settle(&problem).ok()?;
        self.region.everything(&problem, query, &slice);
        let plan = Plan { problem: &problem, query, slice: &slice, region: &self.region };
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

    /// Drops the restriction to the reorderable region: the polygraph of the whole slice, as the paper has it.
    pub fn on_whole_slice(mut self) -> Self {
        self.local = false;
        self
    }

    /// Searches in another way than the default.
    pub fn searching(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// Decides a query. `judge` says what is wrong with a schedule; it is asked where more than an order is searched.
    pub(crate) fn solve(
        &mut self,
        query: &Query,
        model: Model,
        remaining: &mut Remaining,
        judge: &mut dyn Judge,
    ) -> Solved {
        self.counts.questions += 1;
        let observed = Problem::new(self.context, query, model, Pairing::Observed);
        let solved = self.solve_problem(&observed, query, remaining);
        if !self.context.has_alternatives(model) {
            return solved;
        }
        match solved {
            Solved::Schedule(schedule, rung) if judge.judge(&schedule).is_ok() => Solved::Schedule(schedule, rung),
            Solved::Spent(spent) => Solved::Spent(spent),
            _ => self.search_alternatives(query, model, remaining, judge),
        }
    }

    /// Decides a query with what is settled.
    pub(crate) fn solve_problem(&mut self, problem: &Problem, query: &Query, remaining: &mut Remaining) -> Solved {
        let slice = match Slice::of_query(problem, query) {
            Ok(slice) => slice,
            Err(overrun) => return Solved::Refuted(overrun.refutation()),
        };
        if self.ladder
            && let Some(ideal) = sync_preserving(problem, query, &slice)
        {
            if self.context.has_alternatives(problem.model) {
                self.region.everything(problem, query, &ideal);
            }
            return Solved::Schedule(ideal.in_observed_order(self.context), Rung::SyncPreserving);
        }
        self.solve_slice(problem, query, slice, remaining)
    }

    /// Decides a query from its slice: the search over open sections.
    fn solve_slice(&mut self, problem: &Problem, query: &Query, slice: Slice, remaining: &mut Remaining) -> Solved {
        if let Some(refutation) = self.refute_nearby(problem, query, &slice, remaining.region) {
            return Solved::Refuted(refutation);
        }
        if let Some(solved) = self.try_closed(problem, query, &slice, remaining.region) {
            return solved;
        }
        let mut open = vec![slice];
        let mut first: Option<Refutation> = None;
        let mut leaves = 0;
        while let Some(mut slice) = open.pop() {
            let refuted = match self.solve_leaf(problem, query, &mut slice, remaining) {
                Leaf::Schedule(schedule, rung) => return Solved::Schedule(schedule, rung),
                Leaf::Spent(spent) => return Solved::Spent(spent),
                Leaf::Refuted(refutation) => refutation,
                Leaf::Split(section) => {
                    let mut grown = slice.clone();
                    if grown.close(problem, &section).is_ok() {
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
    fn try_closed(&mut self, problem: &Problem, query: &Query, slice: &Slice, region: u32) -> Option<Solved> {
        let mut closed = slice.closing_overtaken(problem);
        let mut remaining = Remaining::decisions(ATTEMPT, region);
        while closed != *slice {
            match self.solve_leaf(problem, query, &mut closed, &mut remaining) {
                Leaf::Schedule(schedule, rung) => return Some(Solved::Schedule(schedule, rung)),
                Leaf::Split(section) => closed.close(problem, &section).ok()?,
                Leaf::Refuted(_) | Leaf::Spent(_) => return None,
            }
        }
        None
    }

    fn solve_leaf(&mut self, problem: &Problem, query: &Query, slice: &mut Slice, remaining: &mut Remaining) -> Leaf {
        if let Err(clash) = slice.settle(problem) {
            return Leaf::Refuted(clash.refutation(self.context));
        }
        if let Some(refutation) = self.impossible_slice(problem, query, slice) {
            return Leaf::Refuted(refutation);
        }
        if !self.local {
            self.region.everything(problem, query, slice);
        } else if !self.region.find(problem, query, slice, remaining.region) {
            self.counts.work += looking(remaining.region);
            return Leaf::Spent(Spent::Region(remaining.region));
        }
        if self.region.is_empty(slice) {
            return Leaf::Schedule(slice.in_observed_order(self.context), Rung::SyncPreserving);
        }
        if self.region.size(slice) > remaining.region {
            return Leaf::Spent(Spent::Region(remaining.region));
        }
        self.build(problem, query, slice);
        if let Err(spent) = remaining.spend(looking(self.region.size(slice)) + self.graph.len() as u64) {
            return Leaf::Spent(spent);
        }
        match self.order_graph(remaining) {
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

    /// Builds the polygraph of the region.
    pub(crate) fn build(&mut self, problem: &Problem, query: &Query, slice: &Slice) {
        let plan = Plan { problem, query, slice, region: &self.region };
        self.builder.build(&plan, &mut self.graph);
        self.counts.graphs += 1;
        self.counts.nodes += self.graph.len() as u64;
        self.counts.work += looking(self.region.size(slice)) + self.graph.len() as u64;
    }

    /// What is wrong with a slice whatever its order.
    fn impossible_slice(&self, problem: &Problem, query: &Query, slice: &Slice) -> Option<Refutation> {
        if let Some((write, None)) = query.displaced
            && slice.has(self.context, write)
        {
            return Some(in_slice(format!("event {write}, which the read saw, must run before the read becomes next")));
        }
        if let Some((a, b, notify)) = problem.doubly_taken(slice) {
            return Some(in_slice(format!("the waits of events {a} and {b} would both use up event {notify}")));
        }
        None
    }

    /// Orders the polygraph: the inner search.
    fn order_graph(&mut self, remaining: &mut Remaining) -> Ordered {
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
            Search::Learning => self.search_learning(remaining),
            Search::Chronological => self.search_chronologically(remaining),
        };
        match ordered {
            Ok(Some((order, passed))) => Ordered::Complete { order, passed, decisions: self.counts.decisions - before },
            Ok(None) => Ordered::Impossible(None),
            Err(spent) => Ordered::Spent(spent),
        }
    }

    /// Decides what holds the run up until it completes; learns from each contradiction and goes back as far as its reason
    /// does ([`crate::learn`]).
    fn search_learning(&mut self, remaining: &mut Remaining) -> Result<Option<Linear>, Spent> {
        let mut levels: Vec<Mark> = Vec::new();
        self.learner.start();
        loop {
            let [first, _] = match self.lineariser.run(&self.graph) {
                Run::Complete { order, passed } => return Ok(Some((order, passed))),
                Run::Stuck(options) => options,
            };
            remaining.pay()?;
            remaining.spend(self.graph.len() as u64)?;
            self.counts.decisions += 1;
            self.counts.work += self.graph.len() as u64;
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
    fn search_chronologically(&mut self, remaining: &mut Remaining) -> Result<Option<Linear>, Spent> {
        let mut levels: Vec<(Mark, Edge)> = Vec::new();
        loop {
            let [first, second] = match self.lineariser.run(&self.graph) {
                Run::Complete { order, passed } => return Ok(Some((order, passed))),
                Run::Stuck(options) => options,
            };
            remaining.pay()?;
            remaining.spend(self.graph.len() as u64)?;
            self.counts.decisions += 1;
            self.counts.work += self.graph.len() as u64;
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

    pub(crate) fn impossible(&self, edge: Option<Edge>) -> Refutation {
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

    /// The section of the trace that one of the polygraph stands for.
    fn section(&self, section: u32) -> Section {
        let acquire = self.graph.event_of(self.graph.sections[section as usize].acquire);
        let thread = ThreadId::at(self.context.thread(acquire));
        let lock = self.graph.lock_of(section);
        let found = self.context.sections.of_acquire(lock, thread, self.context.rank(acquire));
        *found.expect("an acquire opens a section")
    }

    /// The early events in observed order, then those of the region in the order of their nodes. Events that are no nodes
    /// run just before the next node of their thread, or right after a node that they are joined to.
    fn schedule(&self, slice: &Slice, order: &[u32]) -> Schedule {
        let mut schedule = in_observed_order(self.context, &self.region.from);
        let mut at = self.region.from.clone();
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
                let next = Some(node + 1).filter(|&n| n < self.graph.order.chain(chain).end);
                let next = next.and_then(|n| self.graph.events[n as usize]);
                let mut until = self.context.rank(event) + 1;
                if self.context.has_blocks {
                    let end = self.context.step_end(thread, until).min(slice.cut[thread]);
                    until = until.max(next.map_or(end, |next| end.min(self.context.rank(next))));
                }
                emit(thread, until);
                if last(chain) == Some(node) {
                    emit(thread, slice.cut[thread]);
                }
            }
        }
        schedule
    }
}

/// The work that looking for a region of so many events is. A node of a graph costs more, and is the unit.
pub(crate) fn looking(events: u32) -> u64 {
    u64::from(events / 16)
}

/// The ideal of the slice, where the query asks for no order of its own.
fn sync_preserving(problem: &Problem, query: &Query, slice: &Slice) -> Option<Slice> {
    let context = problem.context;
    if !query.edges.is_empty() || query.final_event.is_some() || !problem.repairs.is_empty() {
        return None;
    }
    let ideal = slice.sync_preserving(problem)?;
    if ideal.part_steps(context).next().is_some() {
        return None;
    }
    let displaced = match query.displaced {
        Some((write, other)) if ideal.has(context, write) => other.is_some_and(|other| write < other),
        _ => true,
    };
    displaced.then_some(ideal)
}

fn in_slice(reason: String) -> Refutation {
    Refutation { rung: Rung::Slice, reason, cycle: Vec::new(), premises: Vec::new() }
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
                let lock = context.sections.name(tables, a.lock);
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
