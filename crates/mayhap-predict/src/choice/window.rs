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
//! Invariants: rows of the order contain needs; `grown` lists the window's events in the order of their growth.
//! Cost: O(constraints of the window) a round of saturation; `budget` bounds the decisions.

use mayhap_trace::{EventId, Mode, Op, ThreadId};

use super::needs::{Frontier, Needs};
use super::order::{Mark, Order, Point};
use super::scopes::{OPEN, Scope};

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
    pub(super) last: Option<(EventId, Point)>,
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

#[derive(Clone, Copy, Debug)]
struct Section {
    scope: Scope,
    mode: Mode,
}

/// A constraint that is still open: put the first pair in order, or the second.
#[derive(Clone, Copy)]
struct Choice {
    first: Side,
    second: Side,
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

fn excludes(a: &Section, b: &Section) -> bool {
    a.scope.thread != b.scope.thread && (a.mode == Mode::Exclusive || b.mode == Mode::Exclusive)
}

/// The solver, which keeps its tables between questions.
pub(super) struct Window<'n, 'a> {
    needs: &'n Needs<'a>,
    aside: Aside,
    order: Order,
    low: Frontier,
    slice: Frontier,
    caps: Vec<u32>,
    last: Option<(EventId, Point)>,
    grown: Vec<EventId>,
    /// Sections with their acquire in the window, or open where the window begins; per lock.
    sections: Vec<Vec<Section>>,
    locks: Vec<u32>,
    /// Writes in the window, per variable.
    writes: Vec<Vec<Point>>,
    reads: Vec<EventId>,
    /// Choice graphs looked at: complete ones and contradictions.
    pub(super) explored: u64,
    /// Decisions that may still be made.
    pub(super) budget: u64,
    /// Constraints that saturation left open in the last question.
    pub(super) open_pairs: u32,
}

impl<'n, 'a> Window<'n, 'a> {
    pub(super) fn new(needs: &'n Needs<'a>) -> Self {
        let threads = needs.threads();
        Window {
            needs,
            aside: Aside::First,
            order: Order::new(vec![0; threads]),
            low: vec![0; threads],
            slice: vec![0; threads],
            caps: vec![0; threads],
            last: None,
            grown: Vec::new(),
            sections: vec![Vec::new(); needs.trace.tables().locks.len()],
            locks: Vec::new(),
            writes: vec![Vec::new(); needs.trace.tables().variables.len()],
            reads: Vec::new(),
            explored: 0,
            budget: u64::MAX,
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
            Ok(()) => self.search(),
        }
    }

    /// Sets up the window and takes what is forced.
    fn start(&mut self, question: &Question, low: &[u32], aside: Aside) -> Result<(), Contradiction> {
        self.clear();
        self.aside = aside;
        self.low.copy_from_slice(low);
        self.slice.copy_from_slice(low);
        self.caps.copy_from_slice(&question.caps);
        self.order.reset(low);
        self.open_pairs = 0;
        self.last = question.last;
        for thread in 0..self.needs.threads() {
            self.add_open_sections(thread);
        }
        self.extend(&question.slice)?;
        if let Some((a, b)) = question.edge {
            self.insert(a, b)?;
        }
        self.saturate()
    }

    fn clear(&mut self) {
        for lock in self.locks.drain(..) {
            self.sections[lock as usize].clear();
        }
        for &event in &self.grown {
            let object = self.needs.trace.columns().objects[event.index()];
            if self.needs.trace.columns().ops[event.index()] == Op::Write {
                self.writes[object as usize].clear();
            }
        }
        self.grown.clear();
        self.reads.clear();
    }

    /// Sections that a thread has open where the window begins.
    fn add_open_sections(&mut self, thread: usize) {
        let (needs, low) = (self.needs, self.low[thread]);
        if low == 0 || low == needs.length(thread) {
            return;
        }
        let next = needs.event(Point { thread, rank: low });
        for &(lock, mode) in needs.relations.locksets().get(needs.relations.held(next)) {
            let lists = &needs.scopes.lists[lock.index()];
            let list = lists.iter().find(|l| l.thread == thread && l.mode == mode).expect("a held lock was acquired");
            let scope = *list.latest(low).expect("a held lock was acquired");
            self.add_section(lock.cell(), Section { scope, mode });
        }
    }

    fn add_section(&mut self, lock: u32, section: Section) {
        let sections = &mut self.sections[lock as usize];
        if sections.is_empty() {
            self.locks.push(lock);
        }
        sections.push(section);
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
        let mut row = needs.row(id).to_vec();
        for thread in (0..row.len()).filter(|&t| t != point.thread) {
            if let Some(rank) = needs.row(id)[thread].checked_sub(1).filter(|&rank| rank >= self.low[thread]) {
                super::needs::join(&mut row, self.order.row(Point { thread, rank }));
            }
            if self.aside == Aside::First {
                row[thread] = row[thread].max(self.low[thread]);
            }
        }
        self.order.grow(point.thread, &row);
        self.slice[point.thread] += 1;
        self.grown.push(id);
        let event = needs.trace.event(id);
        match event.op {
            Op::Read => self.reads.push(id),
            Op::Write => self.writes[event.object as usize].push(point),
            op if op.is_acquire() => {
                let release = needs.relations.partner(id).map_or(OPEN, |r| needs.relations.rank(r) as u32);
                let mode = if op.is_shared() { Mode::Shared } else { Mode::Exclusive };
                let scope = Scope { thread: point.thread, acquire: point.rank, release };
                self.add_section(event.object, Section { scope, mode });
            }
            _ => {}
        }
    }

    fn undo(&mut self, mark: (Mark, usize)) {
        while self.grown.len() > mark.1 {
            let id = self.grown.pop().expect("longer than the mark");
            let event = self.needs.trace.event(id);
            self.slice[event.thread.index()] -= 1;
            match event.op {
                Op::Read => drop(self.reads.pop()),
                Op::Write => drop(self.writes[event.object as usize].pop()),
                op if op.is_acquire() => {
                    let sections = &mut self.sections[event.object as usize];
                    sections.pop();
                    if sections.is_empty() {
                        self.locks.retain(|&lock| lock != event.object);
                    }
                }
                _ => {}
            }
        }
        self.order.undo(mark.0);
    }

    fn insert(&mut self, a: Point, b: Point) -> Result<(), Contradiction> {
        if self.order.insert(a, b) { Ok(()) } else { Err(Contradiction) }
    }

    fn inside(&self, point: Point) -> bool {
        point.rank >= self.low[point.thread]
    }

    /// `a` is known to come before `b`, which is in the window; `a` may have been left aside.
    fn before(&self, a: Point, b: Point) -> bool {
        self.order.before(a, b)
    }

    /// Takes forced sides until none is left, or finds a contradiction.
    fn saturate(&mut self) -> Result<(), Contradiction> {
        while self.round()? {}
        Ok(())
    }

    /// Looks at all constraints once. `true` if something was forced.
    fn round(&mut self) -> Result<bool, Contradiction> {
        let mut changed = false;
        let mut i = 0;
        while i < self.locks.len() {
            let lock = self.locks[i] as usize;
            let mut second = 1;
            while second < self.sections[lock].len() {
                for first in 0..second {
                    let (a, b) = (self.sections[lock][first], self.sections[lock][second]);
                    if excludes(&a, &b) {
                        changed |= self.force(self.lock_constraint(a.scope, b.scope))?;
                    }
                }
                second += 1;
            }
            i += 1;
        }
        changed |= self.force_last()?;
        let mut i = 0;
        while i < self.reads.len() {
            changed |= self.force_read(self.reads[i])?;
            i += 1;
        }
        Ok(changed)
    }

    /// The sides of a constraint that are still possible; `None` if it holds already or is not for this window.
    fn lock_constraint(&self, a: Scope, b: Scope) -> Option<(Option<Side>, Option<Side>)> {
        if !self.inside(a.first()) && !self.inside(b.first()) || self.holds(a, b) || self.holds(b, a) {
            return None;
        }
        // Leaving a scope aside says nothing about who comes first, unless what was left aside runs first.
        let unknown = |x: Scope, y: Scope| {
            self.aside == Aside::Anywhere && !self.inside(y.first()) && !self.before_any(y.first(), x)
        };
        if unknown(a, b) || unknown(b, a) {
            return None;
        }
        let side = |x: Scope, y: Scope| self.can_precede(x, y).then_some(Side::Scopes(x, y));
        Some((side(a, b), side(b, a)))
    }

    /// `point`, left aside, is known to come before some event of the scope that is in the slice.
    fn before_any(&self, point: Point, scope: Scope) -> bool {
        let last = scope.release.min(self.slice[scope.thread] - 1);
        self.before(point, Point { thread: scope.thread, rank: last })
    }

    /// All of `a` is known to come before all of `b`.
    fn holds(&self, a: Scope, b: Scope) -> bool {
        a.release < self.slice[a.thread] && self.inside(b.first()) && self.before(a.last(), b.first())
    }

    /// All of `a` may come before all of `b`.
    fn can_precede(&self, a: Scope, b: Scope) -> bool {
        if a.release >= self.caps[a.thread] || !self.inside(b.first()) {
            return false;
        }
        let last = a.release.min(self.slice[a.thread] - 1);
        let last = Point { thread: a.thread, rank: last };
        let overtaken = self.inside(last) && self.before(b.first(), last);
        !overtaken && !self.needs.needed(b.first(), self.needs.event(a.last()))
    }

    fn force(&mut self, sides: Option<(Option<Side>, Option<Side>)>) -> Result<bool, Contradiction> {
        match sides {
            None | Some((Some(_), Some(_))) => Ok(false),
            Some((Some(side), None) | (None, Some(side))) => self.take(side).map(|()| true),
            Some((None, None)) => Err(Contradiction),
        }
    }

    fn take(&mut self, side: Side) -> Result<(), Contradiction> {
        match side {
            Side::Edge(a, b) => self.insert(a, b),
            Side::Scopes(a, b) => {
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
        let Some((id, last)) = self.last else { return Ok(false) };
        let variable = self.needs.trace.columns().objects[id.index()] as usize;
        let mut changed = false;
        for i in 0..self.writes[variable].len() {
            let other = self.writes[variable][i];
            if other != last && !self.before(other, last) {
                self.insert(other, last)?;
                changed = true;
            }
        }
        Ok(changed)
    }

    /// All constraints of one read.
    fn force_read(&mut self, id: EventId) -> Result<bool, Contradiction> {
        let needs = self.needs;
        let read = needs.point(id);
        if !needs.is_strict(id, self.slice[read.thread]) {
            return Ok(false);
        }
        let write = needs.relations.partner(id).map(|w| needs.point(w));
        let mut changed = false;
        if let Some(write) = write.filter(|&w| self.inside(w) && !self.before(w, read)) {
            self.insert(write, read)?;
            changed = true;
        }
        let variable = needs.trace.columns().objects[id.index()] as usize;
        for i in 0..self.writes[variable].len() {
            let other = self.writes[variable][i];
            changed |= self.force(self.read_constraint(read, write, other))?;
        }
        Ok(changed)
    }

    /// `other` comes before the write that the strict read saw, or after the read.
    fn read_constraint(&self, read: Point, write: Option<Point>, other: Point) -> Option<(Option<Side>, Option<Side>)> {
        if write == Some(other) || self.before(read, other) {
            return None;
        }
        let after = (!self.before(other, read)).then_some(Side::Edge(read, other));
        let before = match write {
            None => None,
            Some(write) if self.inside(write) => {
                if self.before(other, write) {
                    return None;
                }
                (!self.before(write, other)).then_some(Side::Edge(other, write))
            }
            // The write was left aside: it runs before `other`, or nothing is known.
            Some(write) => {
                if self.aside == Aside::Anywhere && !self.before(write, other) {
                    return None;
                }
                None
            }
        };
        Some((before, after))
    }

    /// Visits the constraints with two possible sides, the observed one first, until `visit` says to stop.
    fn each_open(&self, visit: &mut dyn FnMut(Choice) -> bool) {
        let observed = |a: Point, b: Point| self.needs.event(a) < self.needs.event(b);
        for &lock in &self.locks {
            let sections = &self.sections[lock as usize];
            for (i, b) in sections.iter().enumerate() {
                for a in sections[..i].iter().filter(|a| excludes(a, b)) {
                    if let Some((Some(first), Some(second))) = self.lock_constraint(a.scope, b.scope) {
                        let in_order = observed(a.scope.first(), b.scope.first());
                        let (first, second) = if in_order { (first, second) } else { (second, first) };
                        if visit(Choice { first, second }) {
                            return;
                        }
                    }
                }
            }
        }
        for &id in &self.reads {
            let read = self.needs.point(id);
            if !self.needs.is_strict(id, self.slice[read.thread]) {
                continue;
            }
            let write = self.needs.relations.partner(id).map(|w| self.needs.point(w));
            for &other in &self.writes[self.needs.trace.columns().objects[id.index()] as usize] {
                if let Some((Some(before), Some(after))) = self.read_constraint(read, write, other) {
                    let in_order = write.is_some_and(|w| observed(other, w));
                    let (first, second) = if in_order { (before, after) } else { (after, before) };
                    if visit(Choice { first, second }) {
                        return;
                    }
                }
            }
        }
    }

    fn open_choice(&self) -> Option<Choice> {
        let mut found = None;
        self.each_open(&mut |choice| {
            found = Some(choice);
            true
        });
        found
    }

    fn count_open(&self) -> u32 {
        let mut count = 0;
        self.each_open(&mut |_| {
            count += 1;
            false
        });
        count
    }

    /// Decides open constraints, depth first.
    fn search(&mut self) -> Answer {
        let Some(choice) = self.open_choice() else {
            self.explored += 1;
            let runnable = self.aside == Aside::First;
            return Answer::Order(if runnable { self.linearise() } else { Vec::new() });
        };
        if self.open_pairs == 0 {
            self.open_pairs = self.count_open();
        }
        for side in [choice.first, choice.second] {
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

    /// The window's events in an order that keeps the closed order, close to the observed one.
    fn linearise(&self) -> Vec<EventId> {
        let mut done = self.low.clone();
        let mut schedule = Vec::with_capacity(self.grown.len());
        while schedule.len() < self.grown.len() {
            let ready =
                (0..done.len()).filter(|&t| done[t] < self.slice[t]).map(|t| Point { thread: t, rank: done[t] });
            let ready = ready.filter(|&p| {
                let row = self.order.row(p);
                row.iter().zip(&done).all(|(&need, &have)| need <= have)
            });
            let next = ready.map(|p| (self.needs.event(p), p)).min_by_key(|&(id, _)| id);
            let (id, point) = next.expect("a closed order without cycle has a first event");
            done[point.thread] += 1;
            schedule.push(id);
        }
        schedule
    }
}
