//! The slice: which events must run for a target, as a cut (a prefix length for each thread).
//!
//! A [`Query`] states a target as what must run, where threads stop, and which order is asked for. The least cut that
//! meets it is closed under program order, must-order and the reads the model holds strict ([`crate::demands`]).
//!
//! Polygraph paper, section on slicing, made exact. The paper closes sections of one lock that two threads leave open by
//! rule of thumb; here every section that the cut leaves open is either *fixed* (its thread may not run to the release:
//! the target stops it before, the trace has no release, or the search decided so) or *closable* (the cut may grow to the
//! release). Why this is complete: take a correct reordering that reaches the target, with cut `X'`, and the least cut
//! `X` within it. Dropping the events outside `X` keeps prefixes, must-order, strict reads (their writes are in `X`) and
//! the target. It can only break a lock: an acquire in `X` that runs while a section is open in `X` whose release, in
//! `X'` but not in `X`, came before. So either the reordering of `X` keeps that open section last of its lock, or some
//! correct reordering has the release: two cases, and the search tries both ([`crate::exact`]).
//!
//! Cost: O(threads²) for a query, O(threads) for each section closed.

use mayhap_trace::{EventId, NONE, ThreadId};
use mayhap_witness::{Model, Schedule, Target};

use crate::context::Context;
use crate::problem::{Problem, Repair, Supplier};
use crate::sections::Section;

/// A target as the solver sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Events that run, their reads as the model asks.
    pub run: Vec<EventId>,
    /// Events that their threads are about to run.
    pub next: Vec<EventId>,
    /// Accesses that run last in their threads; what they read is left open.
    pub last: Vec<EventId>,
    /// Pairs of events that run in this order.
    pub edges: Vec<(EventId, EventId)>,
    /// Pairs of events with nothing between them; each is also in `edges`.
    pub adjacent: Vec<(EventId, EventId)>,
    /// An event that runs after all others.
    pub final_event: Option<EventId>,
    /// An event of `run` after which its thread stops, inside a step.
    pub stop_after: Option<EventId>,
    /// A write that does not run, or runs before the other one (`None`: does not run).
    pub displaced: Option<(EventId, Option<EventId>)>,
}

impl Query {
    /// The queries of which at least one must be met for the target to be reached.
    pub fn of_target(context: &Context, target: &Target, model: Model) -> Vec<Query> {
        let queries = Query::of_whole_steps(context, target, model);
        queries.into_iter().flat_map(|query| query.with_stops(context)).collect()
    }

    /// The query, and its variants in which a thread stops inside a step.
    pub(crate) fn with_stops(self, context: &Context) -> Vec<Query> {
        if !context.has_blocks {
            return vec![self];
        }
        let inside = self.run.iter().copied().filter(|&e| self.may_stop_after(context, e));
        let stopping: Vec<Query> = inside.map(|e| Query { stop_after: Some(e), ..self.clone() }).collect();
        std::iter::once(self).chain(stopping).collect()
    }

    /// A schedule may end inside a step: after this event, if nothing of its thread is asked for later.
    fn may_stop_after(&self, context: &Context, event: EventId) -> bool {
        let (thread, rank) = (context.thread(event), context.rank(event));
        let later = |e: &EventId| context.thread(*e) == thread && context.rank(*e) > rank;
        context.step_end(thread, rank + 1) > rank + 1 && !self.run.iter().chain(&self.next).chain(&self.last).any(later)
    }

    fn of_whole_steps(context: &Context, target: &Target, model: Model) -> Vec<Query> {
        match target {
            Target::UnorderedRace(a, b) => vec![Query { run: vec![*a, *b], ..Query::default() }],
            Target::Race(a, b) => vec![Query { next: vec![*a, *b], ..Query::default() }],
            Target::UseAfterFree { free, access } => {
                vec![Query { next: vec![*access], run: vec![*free], ..Query::default() }]
            }
            Target::Deadlock(requests) => vec![Query { next: requests.clone(), ..Query::default() }],
            Target::Atomicity { first, remote, second } => atomicity(context, [*first, *remote, *second], model),
            Target::Sequence { events, adjacent } => vec![Query {
                run: events.clone(),
                edges: events.windows(2).map(|w| (w[0], w[1])).collect(),
                adjacent: adjacent.clone(),
                ..Query::default()
            }],
            Target::Nondeterminism { write, read, other } => vec![Query {
                next: vec![*read],
                run: other.iter().copied().collect(),
                displaced: write.map(|w| (w, *other)),
                ..Query::default()
            }],
        }
    }
}

/// `second` runs last of all and may read anything. In `data`, a remote read either ends its thread and may read anything,
/// or reads what it read and its thread may go on, say to give up a lock that `second` needs.
fn atomicity(context: &Context, [first, remote, second]: [EventId; 3], model: Model) -> Vec<Query> {
    let strict = Query {
        run: vec![first, remote],
        last: vec![second],
        edges: vec![(first, remote), (remote, second)],
        final_event: Some(second),
        ..Query::default()
    };
    let is_read = context.trace.event(remote).op == mayhap_trace::Op::Read;
    if !matches!(model, Model::Data | Model::Value) || !is_read {
        return vec![strict];
    }
    vec![Query { run: vec![first], last: vec![remote, second], ..strict.clone() }, strict]
}

/// A cut and how far each thread may still be extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Events per thread that run.
    pub cut: Vec<u32>,
    /// Events per thread that must be unchanged, in the models with taint.
    pub unchanged: Vec<u32>,
    /// Events per thread that may run.
    pub limit: Vec<u32>,
}

/// An event that would have to run although its thread stops before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The event that may not run.
    pub stopped: EventId,
    /// An event that demands it.
    pub because: EventId,
}

impl Slice {
    /// The least cut of a query.
    pub fn of_query(problem: &Problem, query: &Query) -> Result<Slice, Overrun> {
        let context = problem.context;
        let threads = context.relations.threads();
        let limit = (0..threads).map(|t| context.relations.thread_events(ThreadId::at(t)).len() as u32).collect();
        let mut slice = Slice { cut: vec![0; threads], unchanged: vec![0; threads], limit };
        for &event in &query.next {
            slice.stop(context, event, 0);
        }
        for &event in query.last.iter().chain(&query.stop_after) {
            slice.stop(context, event, 1);
        }
        // A thread that may have read something else passes that on to the thread that joins it, which must stop there.
        for join in query.last.iter().filter_map(|&e| context.relations.join_of(ThreadId::at(context.thread(e)))) {
            slice.stop(context, join, 0);
        }
        for &event in &query.run {
            slice.include(problem, event)?;
        }
        for (&event, runs) in query.next.iter().map(|e| (e, 0)).chain(query.last.iter().map(|e| (e, 1))) {
            slice.add_up_to(problem, event)?;
            let thread = context.thread(event);
            let count = context.rank(event) + runs;
            if slice.cut[thread] > count {
                return Err(Overrun { stopped: context.event_at(thread, count), because: event });
            }
            slice.raise(context, thread, count, event)?;
        }
        slice.complete(problem)?;
        Ok(slice)
    }

    /// The thread of `event` runs at most that event's predecessors and `more` events.
    fn stop(&mut self, context: &Context, event: EventId, more: u32) {
        let limit = &mut self.limit[context.thread(event)];
        *limit = (*limit).min(context.rank(event) + more);
    }

    /// Adds an event and all that it demands.
    pub fn add(&mut self, problem: &Problem, event: EventId) -> Result<(), Overrun> {
        self.include(problem, event)?;
        self.complete(problem)
    }

    /// Adds an event and what the demand clocks have of it.
    fn include(&mut self, problem: &Problem, event: EventId) -> Result<(), Overrun> {
        let context = problem.context;
        let own = context.thread(event);
        self.raise(context, own, context.rank(event) + 1, event)?;
        for thread in (0..self.cut.len()).filter(|&t| t != own) {
            self.raise(context, thread, problem.demanded(event, thread), event)?;
        }
        if let Some(demands) = problem.taint() {
            for (thread, unchanged) in self.unchanged.iter_mut().enumerate() {
                *unchanged = (*unchanged).max(demands.unchanged(event, thread));
            }
        }
        Ok(())
    }

    /// Adds a write that a strict read must see, clean, and what that demands. True if it brought something.
    fn supply(&mut self, problem: &Problem, write: EventId, read: EventId) -> Result<bool, Overrun> {
        let context = problem.context;
        let Some(demands) = problem.taint() else {
            let missing = !self.has(context, write);
            if missing {
                self.include(problem, write)?;
            }
            return Ok(missing);
        };
        let (own, rank) = (context.thread(write), context.rank(write));
        let before = (self.cut.clone(), self.unchanged.clone());
        self.raise(context, own, rank + 1, read)?;
        let own_unchanged = demands.unchanged_own(write, rank);
        self.unchanged[own] = self.unchanged[own].max(own_unchanged);
        for thread in 0..self.cut.len() {
            if thread != own {
                self.raise(context, thread, demands.before_clean(write, thread), write)?;
            }
            self.unchanged[thread] = self.unchanged[thread].max(demands.unchanged_clean(write, thread));
        }
        Ok(before != (self.cut.clone(), self.unchanged.clone()))
    }

    /// Ends no thread inside a step unless it must stop there, and adds what the repairs ask for.
    fn complete(&mut self, problem: &Problem) -> Result<(), Overrun> {
        let context = problem.context;
        loop {
            let mut grew = false;
            if context.has_blocks {
                for thread in 0..self.cut.len() {
                    let end = context.step_end(thread, self.cut[thread]).min(self.limit[thread]);
                    if end > self.cut[thread] {
                        self.include(problem, context.event_at(thread, end - 1))?;
                        grew = true;
                    }
                }
            }
            // Only repairs ask for it here; the reorderable region has it of all slices.
            if problem.model.allows_change() && !problem.repairs.is_empty() {
                for (thread, unchanged) in self.unchanged.iter_mut().enumerate() {
                    *unchanged = (*unchanged).max(context.decided(thread, self.cut[thread]));
                }
            }
            for repair in &problem.repairs {
                grew |= self.add_repair(problem, repair)?;
            }
            if !grew {
                return Ok(());
            }
        }
    }

    fn add_repair(&mut self, problem: &Problem, repair: &Repair) -> Result<bool, Overrun> {
        if !problem.applies(self, repair) {
            return Ok(false);
        }
        let mut grew = false;
        if let Some(before) = repair.before.filter(|&e| !self.has(problem.context, e)) {
            self.include(problem, before)?;
            grew = true;
        }
        if let Some(Supplier::Write(write)) = repair.supplier {
            grew |= self.supply(problem, write, repair.event)?;
        }
        Ok(grew)
    }

    /// Adds what must run before an access or acquire becomes next: its thread's earlier events, or its fork.
    fn add_up_to(&mut self, problem: &Problem, event: EventId) -> Result<(), Overrun> {
        let context = problem.context;
        let before = match context.rank(event) {
            0 => context.relations.fork_of(ThreadId::at(context.thread(event))),
            rank => Some(context.event_at(context.thread(event), rank - 1)),
        };
        before.map_or(Ok(()), |event| self.include(problem, event))
    }

    fn raise(&mut self, context: &Context, thread: usize, count: u32, because: EventId) -> Result<(), Overrun> {
        if count > self.limit[thread] {
            return Err(Overrun { stopped: context.event_at(thread, self.limit[thread]), because });
        }
        self.cut[thread] = self.cut[thread].max(count);
        Ok(())
    }

    /// The event runs.
    pub fn has(&self, context: &Context, event: EventId) -> bool {
        context.rank(event) < self.cut[context.thread(event)]
    }

    /// The events that the cut ends with inside a step, by thread: the target stops a thread there. Nothing runs between the
    /// events of a step, so such an event is the last of all.
    pub(crate) fn part_steps(&self, context: &Context) -> impl Iterator<Item = EventId> {
        let threads = if context.has_blocks { self.cut.len() } else { 0 };
        (0..threads)
            .filter(|&t| context.step_end(t, self.cut[t]) > self.cut[t])
            .map(|t| context.event_at(t, self.cut[t] - 1))
    }

    /// The sections that the cut leaves open.
    pub fn open<'s>(&'s self, problem: &Problem<'s, '_>) -> impl Iterator<Item = &'s Section> {
        let (context, model) = (problem.context, problem.model);
        (0..self.cut.len())
            .filter(|&t| self.cut[t] > 0)
            .flat_map(move |t| context.open_sections(model, ThreadId::at(t), self.cut[t]))
    }

    /// An open section that may not be closed.
    pub fn is_fixed(&self, section: &Section) -> bool {
        section.release_rank == NONE || section.release_rank >= self.limit[section.thread.index()]
    }

    /// Keeps an open section open for good.
    pub fn fix(&mut self, section: &Section) {
        let limit = &mut self.limit[section.thread.index()];
        *limit = (*limit).min(section.release_rank);
    }

    /// Extends the cut to the release of an open section.
    pub fn close(&mut self, problem: &Problem, section: &Section) -> Result<(), Overrun> {
        self.add(problem, problem.context.event_at(section.thread.index(), section.release_rank))
    }

    /// Settles sections of one lock that are open at once: the one that may be closed must be. Two that are fixed, or whose
    /// closing would overrun a stop, cannot be, which is the error.
    pub fn settle(&mut self, problem: &Problem) -> Result<(), Clash> {
        loop {
            let open: Vec<Section> = self.open(problem).copied().collect();
            let mut closed = false;
            for (i, a) in open.iter().enumerate() {
                let rivals = open[..i].iter().filter(|b| excludes(a, b) && self.is_fixed(a) | self.is_fixed(b));
                for b in rivals.copied().collect::<Vec<_>>() {
                    let loser = match (self.is_fixed(a), self.is_fixed(&b)) {
                        (true, true) => return Err(Clash::Open(*a, b)),
                        (true, false) => b,
                        _ => *a,
                    };
                    if loser.release_rank >= self.cut[loser.thread.index()] {
                        self.close(problem, &loser).map_err(Clash::Overrun)?;
                        closed = true;
                    }
                }
            }
            if !closed {
                return Ok(());
            }
        }
    }

    /// The synchronisation-preserving ideal: closes every open section that a later section of its lock follows in the
    /// observed order, until none is left. Then the cut in observed order keeps all locks. `None` if a section is fixed.
    pub fn sync_preserving(&self, problem: &Problem) -> Option<Slice> {
        let context = problem.context;
        let mut ideal = self.clone();
        let mut seen = vec![0; self.cut.len()];
        loop {
            let mut open: Vec<Section> = Vec::new();
            for thread in 0..seen.len() {
                if ideal.cut[thread] > 0 {
                    open.extend(context.open_sections(problem.model, ThreadId::at(thread), ideal.cut[thread]).copied());
                }
            }
            seen.clone_from(&ideal.cut);
            for section in open {
                let overtaken = context.sections.rivals(&section, &ideal.cut).any(|r| r.acquire > section.acquire);
                if overtaken && section.release_rank >= ideal.cut[section.thread.index()] {
                    if ideal.is_fixed(&section) {
                        return None;
                    }
                    ideal.close(problem, &section).ok()?;
                }
            }
            if seen == ideal.cut {
                return Some(ideal);
            }
        }
    }

    /// The same as far as it goes: closes every open section that a later section of its lock follows and that may be
    /// closed. What stays open is all that has to be moved out of the observed order.
    pub fn closing_overtaken(&self, problem: &Problem) -> Slice {
        let context = problem.context;
        let mut closed = self.clone();
        loop {
            let open: Vec<Section> = closed.open(problem).copied().collect();
            let before = closed.cut.clone();
            for section in open {
                let overtaken = context.sections.rivals(&section, &closed.cut).any(|r| r.acquire > section.acquire);
                if overtaken && !closed.is_fixed(&section) {
                    let mut grown = closed.clone();
                    if grown.close(problem, &section).is_ok() {
                        closed = grown;
                    }
                }
            }
            if before == closed.cut {
                return closed;
            }
        }
    }

    /// The events of the cut in observed order.
    pub fn in_observed_order(&self, context: &Context) -> Schedule {
        in_observed_order(context, &self.cut)
    }
}

/// Why open sections of one lock cannot be settled.
#[derive(Clone, Copy, Debug)]
pub enum Clash {
    /// Both stay open.
    Open(Section, Section),
    /// One must be closed, but that demands an event that may not run.
    Overrun(Overrun),
}

/// The two sections may not overlap.
pub fn excludes(a: &Section, b: &Section) -> bool {
    a.lock == b.lock && a.thread != b.thread && !(a.shared && b.shared)
}

/// The events of a cut in observed order.
pub(crate) fn in_observed_order(context: &Context, cut: &[u32]) -> Schedule {
    let mut schedule = Schedule::default();
    let left_out = (0..cut.len()).filter_map(|t| context.relations.thread_events(ThreadId::at(t)).get(cut[t] as usize));
    let Some(first_out) = left_out.min().map(|e| e.index()) else {
        context.relevant_before(context.trace.len()).for_each(|range| schedule.push_range(range));
        return schedule;
    };
    context.relevant_before(first_out).for_each(|range| schedule.push_range(range));
    // What is left of each thread that runs beyond the first event that does not.
    let rest: Vec<&[EventId]> = (0..cut.len())
        .map(|t| &context.relations.thread_events(ThreadId::at(t))[..cut[t] as usize])
        .map(|events| &events[events.partition_point(|e| e.index() < first_out)..])
        .filter(|events| !events.is_empty())
        .collect();
    let count: usize = rest.iter().map(|events| events.len()).sum();
    let last = rest.iter().filter_map(|events| events.last()).max().map_or(first_out, |e| e.index());
    // Dense: go over the trace and pick. Sparse: sort what is known to be wanted.
    if last - first_out < 8 * count {
        let threads = &context.trace.columns().threads;
        for (offset, &thread) in threads[first_out..=last].iter().enumerate() {
            let event = EventId::at(first_out + offset);
            if context.relations.is_relevant(event) && context.rank(event) < cut[thread as usize] {
                schedule.push(event);
            }
        }
        return schedule;
    }
    let mut events = rest.concat();
    events.sort_unstable();
    schedule.extend(events);
    schedule
}
