//! The exact decision of one question on a window of the slice: is there a correct reordering that contains these events,
//! stays below these caps and has this edge?
//!
//! The slice is what must be there (a [`Frontier`]). Its first part, `low`, is left aside; the rest is the window, and on
//! it stand the constraints of a polygraph: two scopes that exclude each other come one after the other, and another write
//! of the variable comes before the write that a strict read saw, or after the read (the non-interference that the paper's
//! choice graphs lack). A scope that has to come first while its release is not in the slice brings the release and its
//! needs along. Saturation takes what is forced, search decides the rest with the observed order first.
//!
//! Two readings of what was left aside, and what their answers prove:
//! - [`Aside::First`]: it all runs first. A solution is a schedule: the part left aside in observed order, then the window.
//!   (The kernel judges it; it can fail only where the part left aside cannot run in observed order.)
//! - [`Aside::Anywhere`]: nothing is known of it but needs; constraints that touch it are dropped. What has no solution
//!   then has none at all: *refuted*, because the constraints are a subset of the real ones.
//!
//! With nothing left aside the two coincide and are exact. Complete: in a witness every pair of scopes and every write is on
//! one side of the constraint, so the search that follows the witness's sides never meets a contradiction, and never needs
//! an event that the witness lacks.
//!
//! Saturation need not look at every pair. The scopes of one lock and thread, and the writes of one variable and thread, are
//! chains: of those that must come before a point only the last matters, of those that must come after only the first.
//! Search does not list what is open either: it linearises the order, close to the observed run, and runs the result; the
//! first lock taken twice or read that sees another write is the constraint to decide next.
//!
//! Invariants: rows of the order contain needs; `grown` lists what joined the first slice, in that order.
//! Cost: O((reads + scopes) x threads x log) a round of saturation; `budget` bounds the decisions.

use std::time::Instant;

use mayhap_trace::{EventId, Mode, Op, ThreadId};

use super::begins::Begins;
use super::linear::linearise;
use super::needs::{Frontier, Needs, join};
use super::order::{Mark, Order, Point};
use super::scopes::{List, Scope};

/// The work of looking at a read or a section once, where an event of the window is the unit.
const ROUND: u64 = 4;

/// What is known of the events left aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aside {
    First,
    Anywhere,
}

/// What a window has to reach.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The events that must be there, closed under needs.
    pub(super) slice: Frontier,
    /// Ranks that the slice must stay below or at, a thread each: the cut, and the write that must be absent.
    pub(super) caps: Vec<u32>,
    /// The first comes before the second.
    pub(super) edge: Option<(Point, Point)>,
    /// A write that is to be the last of its variable.
    pub(super) last: Option<EventId>,
}

/// How a window ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// The window's events in an order that keeps all constraints.
    Order(Vec<EventId>),
    /// No order keeps them.
    None,
    /// The budget ran out.
    Unknown,
}

/// One side of a constraint.
#[derive(Clone, Copy)]
enum Side {
    /// All of the first scope before the second.
    Scopes(Scope, Scope),
    Edge(Point, Point),
}

/// Contradiction: no order keeps the constraints.
struct Contradiction;

/// A scope whose acquire is in the window.
#[derive(Clone, Copy)]
struct Held {
    lock: u32,
    mode: Mode,
    scope: Scope,
}

/// The solver, which keeps its tables between questions.
pub(super) struct Window<'n, 'a> {
    needs: &'n Needs<'a>,
    aside: Aside,
    order: Order,
    low: Frontier,
    slice: Frontier,
    caps: Vec<u32>,
    last: Option<EventId>,
    /// Events that joined the first slice.
    grown: Vec<EventId>,
    sections: Vec<Held>,
    reads: Vec<EventId>,
    row: Vec<u32>,
    /// While a linear order is run: the scopes open on each lock, and the last write of each variable with its run.
    open: Vec<Vec<Held>>,
    written: Vec<(u64, Point)>,
    run: u64,
    /// Where the window begins among the scopes and the writes.
    first_scopes: Begins,
    first_writes: Begins,
    /// Choice graphs looked at: complete ones and contradictions.
    pub(super) explored: u64,
    /// Events, reads and sections that were looked at: what the questions cost.
    pub(super) work: u64,
    /// How much of that may be done; no decision is made beyond it.
    pub(super) most_work: u64,
    /// Decisions that may still be made; none once the deadline has passed.
    pub(super) budget: u64,
    pub(super) deadline: Option<Instant>,
    /// Constraints that saturation left open in the last question.
    pub(super) open_pairs: u32,
}

impl<'n, 'a> Window<'n, 'a> {
    pub(super) fn new(needs: &'n Needs<'a>) -> Self {
        let threads = needs.threads();
        let tables = needs.trace.tables();
        Window {
            needs,
            aside: Aside::First,
            order: Order::new(vec![0; threads]),
            low: vec![0; threads],
            slice: vec![0; threads],
            caps: vec![0; threads],
            last: None,
            grown: Vec::new(),
            sections: Vec::new(),
            reads: Vec::new(),
            row: vec![0; threads],
            open: vec![Vec::new(); tables.locks.len()],
            written: vec![(0, Point { thread: 0, rank: 0 }); tables.variables.len()],
            run: 0,
            first_scopes: Begins::new(needs.scopes.lists.iter().map(Vec::len).sum()),
            first_writes: Begins::new(needs.lists_of_writes()),
            explored: 0,
            work: 0,
            most_work: u64::MAX,
            budget: u64::MAX,
            deadline: None,
            open_pairs: 0,
        }
    }

    /// Answers a question with the events below `low` left aside.
    pub(super) fn solve(&mut self, question: &Question, low: &[u32], aside: Aside) -> Answer {
        match self.start(question, low, aside) {
            Err(Contradiction) => {
                self.explored += 1;
                Answer::None
            }
            Ok(()) => {
                if self.work <= self.most_work {
                    self.open_pairs = self.count_open();
                }
                self.search()
            }
        }
    }

    /// Sets up the window and takes what is forced.
    fn start(&mut self, question: &Question, low: &[u32], aside: Aside) -> Result<(), Contradiction> {
        self.grown.clear();
        self.sections.clear();
        self.reads.clear();
        self.aside = aside;
        self.low.copy_from_slice(low);
        self.slice.copy_from_slice(low);
        self.caps.copy_from_slice(&question.caps);
        self.order.reset(low);
        self.first_scopes.next_question();
        self.first_writes.next_question();
        self.last = question.last;
        self.open_pairs = 0;
        self.fill(&question.slice)?;
        if let Some((a, b)) = question.edge {
            self.insert(a, b)?;
        }
        self.saturate()
    }

    /// Begins with the events of `frontier`, ordered by needs.
    fn fill(&mut self, frontier: &[u32]) -> Result<(), Contradiction> {
        let needs = self.needs;
        if frontier.iter().zip(&self.caps).any(|(count, cap)| count > cap) {
            return Err(Contradiction);
        }
        let floor = (self.aside == Aside::First).then_some(&self.low[..]);
        for (thread, &end) in frontier.iter().enumerate() {
            let first = self.low[thread];
            self.order.fill(thread, needs.rows(thread, first, end), floor);
            let [reads, acquires] = needs.reads_and_acquires(thread, first, end);
            self.reads.extend_from_slice(reads);
            self.sections.extend(acquires.iter().map(|&id| held(needs, id)));
        }
        self.slice.copy_from_slice(frontier);
        self.work += self.size() as u64;
        Ok(())
    }

    /// How many events the window has.
    fn size(&self) -> usize {
        self.slice.iter().zip(&self.low).map(|(&end, &low)| (end - low) as usize).sum()
    }

    /// Grows the slice to contain `frontier`, which is closed under needs.
    fn extend(&mut self, frontier: &[u32]) -> Result<(), Contradiction> {
        let mut new = Vec::new();
        for (thread, &count) in frontier.iter().enumerate() {
            if count > self.caps[thread] {
                return Err(Contradiction);
            }
            if count > self.slice[thread] {
                let events = self.needs.relations.thread_events(ThreadId::at(thread));
                new.extend_from_slice(&events[self.slice[thread] as usize..count as usize]);
            }
        }
        new.sort_unstable();
        new.into_iter().for_each(|event| self.grow(event));
        Ok(())
    }

    fn grow(&mut self, id: EventId) {
        let needs = self.needs;
        let point = needs.point(id);
        let mut row = std::mem::take(&mut self.row);
        row.copy_from_slice(needs.row(id));
        for (thread, &count) in needs.row(id).iter().enumerate().filter(|&(t, _)| t != point.thread) {
            if let Some(rank) = count.checked_sub(1).filter(|&rank| rank >= self.low[thread]) {
                join(&mut row, self.order.row(Point { thread, rank }));
            }
        }
        if self.aside == Aside::First {
            join(&mut row, &self.low);
        }
        self.order.grow(point.thread, &row);
        self.row = row;
        self.slice[point.thread] += 1;
        self.grown.push(id);
        let event = needs.trace.event(id);
        if event.op == Op::Read {
            self.reads.push(id);
        } else if event.op.is_acquire() {
            self.sections.push(held(needs, id));
        }
    }

    fn undo(&mut self, mark: (Mark, usize)) {
        while self.grown.len() > mark.1
            && let Some(id) = self.grown.pop()
        {
            let event = self.needs.trace.event(id);
            self.slice[event.thread.index()] -= 1;
            if event.op == Op::Read {
                self.reads.pop();
            } else if event.op.is_acquire() {
                self.sections.pop();
            }
        }
        self.order.undo(mark.0);
    }

    fn insert(&mut self, a: Point, b: Point) -> Result<(), Contradiction> {
        if self.order.insert(a, b) { Ok(()) } else { Err(Contradiction) }
    }

    /// Inserts the edge unless it is known. `true` if it was not.
    fn force(&mut self, a: Point, b: Point) -> Result<bool, Contradiction> {
        if self.order.before(a, b) {
            return Ok(false);
        }
        self.insert(a, b).map(|()| true)
    }

    fn inside(&self, point: Point) -> bool {
        point.rank >= self.low[point.thread]
    }

    /// Takes forced sides until none is left, or finds a contradiction.
    fn saturate(&mut self) -> Result<(), Contradiction> {
        // Beyond the work, what is forced is left to the search, which then makes no decision.
        while self.work <= self.most_work && self.round()? {}
        Ok(())
    }

    /// Looks at all constraints once. `true` if something was forced.
    fn round(&mut self) -> Result<bool, Contradiction> {
        self.work += ROUND * (self.sections.len() + self.reads.len()) as u64;
        let mut changed = self.force_last()?;
        let mut i = 0;
        while i < self.sections.len() {
            changed |= self.force_section(self.sections[i])?;
            i += 1;
        }
        let mut i = 0;
        while i < self.reads.len() {
            changed |= self.force_read(self.reads[i])?;
            i += 1;
        }
        Ok(changed)
    }

    /// What must come before a scope: of each list that it excludes, the last scope that begins before the scope can end.
    fn force_section(&mut self, held: Held) -> Result<bool, Contradiction> {
        let needs = self.needs;
        let scope = held.scope;
        let mut changed = false;
        for other in lists(needs, &held) {
            // A scope that was left aside whole has no row; what it says is not used.
            let (low, slice) = (self.low[other.thread], self.slice[other.thread]);
            let begin = self.first_scopes.of(other.number, || other.scopes.partition_point(|s| s.release < low));
            if other.scopes.get(begin).is_none_or(|s| s.acquire >= slice) {
                continue;
            }
            let Some(&first) = other.latest_from(begin, self.begun_before_end(&scope, other.thread)) else { continue };
            let known = first.release < slice && self.order.before(first.last(), scope.first());
            if !known {
                self.take(Side::Scopes(first, scope))?;
                changed = true;
            }
        }
        Ok(changed)
    }

    /// How many events of `thread` come before the end of the scope, as far as is known.
    fn begun_before_end(&self, scope: &Scope, thread: usize) -> u32 {
        if scope.release >= self.caps[scope.thread] {
            // It never ends: all others of the slice come before it.
            return self.slice[thread];
        }
        let rank = scope.release.min(self.slice[scope.thread] - 1);
        let known = self.order.row(Point { thread: scope.thread, rank })[thread];
        if rank == scope.release {
            return known;
        }
        // The release would bring its needs along: it cannot come before those of them that are there.
        let needed = self.needs.row(self.needs.event(scope.last()))[thread];
        known.max(needed.min(self.slice[thread]))
    }

    /// Puts a side of a constraint in order, bringing along the release that it takes.
    fn take(&mut self, side: Side) -> Result<(), Contradiction> {
        match side {
            Side::Edge(a, b) => self.insert(a, b),
            Side::Scopes(a, b) => {
                if a.release >= self.caps[a.thread] {
                    return Err(Contradiction);
                }
                if a.release >= self.slice[a.thread] {
                    let mut frontier = self.slice.clone();
                    self.needs.include(&mut frontier, self.needs.event(a.last()));
                    self.extend(&frontier)?;
                }
                self.insert(a.last(), b.first())
            }
        }
    }

    /// Every other write of the variable comes before the one that is to be last.
    fn force_last(&mut self) -> Result<bool, Contradiction> {
        let Some(id) = self.last else { return Ok(false) };
        let (needs, last) = (self.needs, self.needs.point(id));
        let mut changed = false;
        for writes in needs.writes(id) {
            let count = writes.ranks.partition_point(|&rank| rank < self.slice[writes.thread]);
            let Some(&rank) = count.checked_sub(1).map(|i| &writes.ranks[i]) else { continue };
            let other = Point { thread: writes.thread, rank };
            if other != last && self.inside(other) {
                changed |= self.force(other, last)?;
            }
        }
        Ok(changed)
    }

    /// The constraints of one read: other writes come before the write that it saw, or after it.
    fn force_read(&mut self, id: EventId) -> Result<bool, Contradiction> {
        let needs = self.needs;
        let read = needs.point(id);
        if !needs.is_strict(id, self.slice[read.thread]) {
            return Ok(false);
        }
        let write = needs.relations.read_from(id).map(|w| needs.point(w));
        let mut changed = false;
        if let Some(write) = write.filter(|&w| self.inside(w)) {
            changed |= self.force(write, read)?;
        }
        for writes in needs.writes(id) {
            let (thread, low) = (writes.thread, self.low[writes.thread]);
            let begin = self.first_writes.of(writes.number, || writes.ranks.partition_point(|&rank| rank < low));
            let ranks = &writes.ranks[begin..];
            if ranks.first().is_none_or(|&rank| rank >= self.slice[thread]) {
                continue;
            }
            // The last write that comes before the read must come before what it saw.
            let before = self.order.row(read)[thread];
            let count = ranks.partition_point(|&rank| rank < before);
            if let Some(&rank) = count.checked_sub(1).map(|i| &ranks[i]) {
                let other = Point { thread, rank };
                if write != Some(other) {
                    match write {
                        Some(write) if self.inside(write) => changed |= self.force(other, write)?,
                        Some(write) if self.aside == Aside::Anywhere && !self.order.before(write, other) => {}
                        _ => return Err(Contradiction),
                    }
                }
            }
            // The first write that comes after what it saw must come after the read.
            let after = write.map_or(0, |w| self.order.first_after(w, thread));
            if let Some(&rank) = ranks.get(ranks.partition_point(|&rank| rank < after))
                && rank < self.slice[thread]
            {
                changed |= self.force(read, Point { thread, rank })?;
            }
        }
        Ok(changed)
    }

    /// How many constraints have two possible sides.
    fn count_open(&mut self) -> u32 {
        let mut count = 0;
        for held in &self.sections {
            for other in lists(self.needs, held) {
                let (low, slice) = (self.low[other.thread], self.slice[other.thread]);
                let begin = self.first_scopes.of(other.number, || other.scopes.partition_point(|s| s.release < low));
                if other.scopes.get(begin).is_none_or(|s| s.acquire >= slice) {
                    continue;
                }
                let first = other.scopes.partition_point(|s| {
                    s.release < self.slice[s.thread] && self.order.before(s.last(), held.scope.first())
                });
                let rest = other.scopes[first..].iter().take_while(|s| {
                    let known = held.scope.release < self.slice[held.scope.thread] && self.inside(s.first());
                    s.acquire < self.slice[s.thread] && !(known && self.order.before(held.scope.last(), s.first()))
                });
                // Each pair is met from both sides.
                count += rest.filter(|s| s.thread < held.scope.thread && self.inside(s.first())).count() as u32;
            }
        }
        for &id in &self.reads {
            let read = self.needs.point(id);
            let Some(write) = self.needs.relations.read_from(id).map(|w| self.needs.point(w)) else { continue };
            if !self.inside(write) || !self.needs.is_strict(id, self.slice[read.thread]) {
                continue;
            }
            for writes in self.needs.writes(id) {
                let low = self.low[writes.thread];
                let begin = self.first_writes.of(writes.number, || writes.ranks.partition_point(|&rank| rank < low));
                if writes.ranks.get(begin).is_none_or(|&rank| rank >= self.slice[writes.thread]) {
                    continue;
                }
                let before = self.order.row(write)[writes.thread].max(self.low[writes.thread]);
                let before = if writes.thread == write.thread { write.rank + 1 } else { before };
                let after = self.order.first_after(read, writes.thread).min(self.slice[writes.thread]);
                let range = |end: u32| writes.ranks.partition_point(|&rank| rank < end);
                count += range(after).saturating_sub(range(before)) as u32;
            }
        }
        count
    }

    /// Decides constraints that the linearised order breaks, depth first.
    fn search(&mut self) -> Answer {
        let schedule = linearise(self.needs, &self.order, &self.low, &self.slice);
        self.work += schedule.len() as u64;
        let Some(sides) = self.broken(&schedule) else {
            self.explored += 1;
            return Answer::Order(schedule);
        };
        for side in sides {
            let late = || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if self.work > self.most_work || late() {
                self.budget = 0;
            }
            if self.budget == 0 {
                return Answer::Unknown;
            }
            self.budget -= 1;
            let mark = (self.order.mark(), self.grown.len());
            if self.take(side).and_then(|()| self.saturate()).is_ok() {
                match self.search() {
                    Answer::None => {}
                    found => return found,
                }
            } else {
                self.explored += 1;
            }
            self.undo(mark);
        }
        Answer::None
    }

    /// The solution runs after what was left aside: nothing observed before the window joined it.
    pub(super) fn follows(&self, start: usize) -> bool {
        self.grown.iter().all(|e| e.index() >= start)
    }

    /// Runs a linear order of the window and returns the first constraint that it breaks, the observed side first.
    fn broken(&mut self, schedule: &[EventId]) -> Option<[Side; 2]> {
        self.run += 1;
        let found = schedule.iter().find_map(|&id| self.breaks(id));
        for held in &self.sections {
            self.open[held.lock as usize].clear();
        }
        found
    }

    fn breaks(&mut self, id: EventId) -> Option<[Side; 2]> {
        let needs = self.needs;
        let event = needs.trace.event(id);
        let (point, object) = (needs.point(id), event.object as usize);
        match event.op {
            Op::Write => self.written[object] = (self.run, point),
            Op::Read if needs.is_strict(id, self.slice[point.thread]) => {
                let (run, seen) = self.written[object];
                let write = needs.relations.read_from(id).map(|w| needs.point(w))?;
                if run == self.run && seen != write && self.inside(write) {
                    let sides = [Side::Edge(seen, write), Side::Edge(point, seen)];
                    let observed = needs.event(seen) < needs.event(write);
                    return Some(if observed { sides } else { [sides[1], sides[0]] });
                }
            }
            Op::Acquire | Op::SharedAcquire => {
                let mine = held(needs, id);
                if let Some(holder) = self.open[object].iter().find(|h| excludes(h, &mine)) {
                    let (a, b) = (holder.scope, mine.scope);
                    let sides = [Side::Scopes(a, b), Side::Scopes(b, a)];
                    let observed = needs.event(a.first()) < id;
                    return Some(if observed { sides } else { [sides[1], sides[0]] });
                }
                self.open[object].push(mine);
            }
            Op::Release | Op::SharedRelease => {
                let acquire = needs.relations.acquire_of(id).map(|a| needs.point(a));
                self.open[object].retain(|held| Some(held.scope.first()) != acquire);
            }
            _ => {}
        }
        None
    }
}

fn held(needs: &Needs<'_>, acquire: EventId) -> Held {
    let event = needs.trace.event(acquire);
    let mode = if event.op.is_shared() { Mode::Shared } else { Mode::Exclusive };
    Held { lock: event.object, mode, scope: needs.scope_of(acquire) }
}

fn excludes(a: &Held, b: &Held) -> bool {
    a.scope.thread != b.scope.thread && (a.mode == Mode::Exclusive || b.mode == Mode::Exclusive)
}

/// The lists of scopes that a scope excludes.
fn lists<'s>(needs: &'s Needs<'_>, held: &Held) -> impl Iterator<Item = &'s List> {
    let (thread, mode) = (held.scope.thread, held.mode);
    needs.scopes.lists[held.lock as usize]
        .iter()
        .filter(move |l| l.thread != thread && (l.mode == Mode::Exclusive || mode == Mode::Exclusive))
}
