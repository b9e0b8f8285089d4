//! The corrected decision: for each triplet (w, r, c), is there a correct reordering after which r is next, c has run, and
//! w ran before c (kind 2) or not at all (kind 3)?
//!
//! Deviations from the paper, and why: only what must run before the cut counts (`nondet_whole_trace.std`); other writes
//! keep out of kept couples (`nondet_interference.std`); kind 1 (c before r before w) has no schedule of its own, because
//! r's thread stops at its changed read, and where it holds kind 3 does. So kinds 2 and 3 are decided here.
//!
//! # Groups
//! For a read, the writes c of one thread, in program order, are decided together. With D the mandatory set of the question
//! without c ([`Needs`]), these are the monotonicities used:
//! - *Kind 3, and kind 2 where w is the initial write*: a schedule for c holds all earlier writes of its thread, and w no
//!   more than before. So feasible writes are a prefix. The mandatory set grows with c, so the writes that it refutes are a
//!   suffix; the sync-preserving ideal grows with c, so the writes that it proves are a prefix. All three borders are found
//!   by bisection, and one schedule serves the whole prefix. If c = init is refuted (kind 3), so is every c.
//! - *Kind 2, c observed after w*: the ideal of {w, c} in observed order proves a prefix of them, the mandatory set refutes a
//!   suffix, as above. What lies between is decided by ranges: a schedule with w before the first and with the last of a
//!   range proves the range; a range that fails is halved; only a single write is ever refuted.
//! - *Kind 2, c observed before w and in D*: a schedule with w before c has all later writes of D after w too, so feasible
//!   writes are a suffix: bisection, one schedule for the suffix. Needs of w refute a prefix at once.
//! - *Kind 2, c observed before w and not in D*: ranges.
//!
//! What is left of a group after needs and ideals goes to the exact [`Window`], small windows first.
//!
//! What an answer proves: `Proven` once the kernel accepted the schedule (the caller's part); `Refuted` always.
//! Cost: O(log writes) closures a group, each O(threads + locks held); windows only for what is left.

use std::cell::Cell;
use std::time::Instant;

use mayhap_trace::{EventId, Op, ThreadId};

use super::answers::{Choices, Plan, ReadAnswers, Status};
use super::galloping::{near_end, near_start};
use super::needs::{Frontier, Needs};
use super::order::Point;
use super::window::{Answer, Aside, Question, Window};
use crate::{Budget, Rung};

/// Decides reads one after the other.
pub(super) struct Corrected<'n, 'a> {
    needs: &'n Needs<'a>,
    window: Window<'n, 'a>,
    /// What one question may take.
    budget: Budget,
    /// What all questions together may take, in the window's work.
    pub(super) allowance: u64,
    /// What one question may take, in the window's work.
    pub(super) most_work: u64,
    /// The size of the first window; small in tests, to exercise widening.
    pub(super) first_window: usize,
    /// The read at hand.
    read: EventId,
    plans: Vec<Plan>,
    choices: Vec<Choices>,
    /// Choices of the question asked last.
    last_choices: Option<Choices>,
    /// What closing sets has taken, in the window's work: next to nothing but where there are many threads.
    closing: Cell<u64>,
}

/// Closing a set looks at so many threads for one unit of work.
const THREADS_CLOSED: usize = 16;

/// What one question may take, in the window's work.
pub(super) const MOST_WORK: u64 = 200_000_000;

/// What refuting by needs takes for each thread that writes the variable, in the window's work.
const NEEDS_WORK: u64 = 8;

/// How an exact question ended.
enum Exact {
    Plan(Plan),
    Refuted(Rung),
    Unknown,
}

/// The frame of a group: what holds for all its writes.
struct Frame {
    /// Mandatory for every write of the group.
    slice: Frontier,
    /// The same closed in observed order, if that keeps below the caps.
    ideal: Option<Frontier>,
    caps: Vec<u32>,
}

impl<'n, 'a> Corrected<'n, 'a> {
    pub(super) fn new(needs: &'n Needs<'a>, budget: Budget) -> Self {
        Corrected {
            needs,
            window: Window::new(needs),
            budget,
            allowance: u64::MAX,
            most_work: MOST_WORK,
            first_window: 24,
            read: EventId::at(0),
            plans: Vec::new(),
            choices: Vec::new(),
            last_choices: None,
            closing: Cell::new(0),
        }
    }

    /// What the questions so far have taken.
    pub(super) fn work(&self) -> u64 {
        self.window.work + self.closing.get()
    }

    /// Counts the closing of a set as work.
    fn count_closing(&self) {
        self.closing.set(self.closing.get() + (self.needs.threads() / THREADS_CLOSED) as u64);
    }

    /// Nothing is left of what the questions may take.
    fn is_spent(&self) -> bool {
        self.work() >= self.allowance
    }

    /// Decides all triplets of a read. `groups` are the writes of its variable, by thread.
    pub(super) fn read(&mut self, read: EventId, groups: &[Vec<EventId>]) -> ReadAnswers {
        let groups: Vec<&[EventId]> = groups.iter().map(Vec::as_slice).collect();
        self.read_of(read, &groups)
    }

    /// Decides the triplets of a read that needs do not refute. Returns how many others there are: those are refuted.
    pub(super) fn open_read(&mut self, read: EventId, groups: &[Vec<EventId>]) -> (ReadAnswers, u64) {
        let all: usize = groups.iter().map(Vec::len).sum();
        let own = self.needs.point(read).thread;
        if groups.iter().all(|group| group.first().is_none_or(|&c| self.needs.point(c).thread == own)) {
            // Program order refutes all.
            return (ReadAnswers { others: Vec::new(), plans: Vec::new(), choices: Vec::new() }, all as u64);
        }
        if self.is_spent() && self.needs.threads() >= THREADS_CLOSED {
            // Among many threads, even what needs refute would take too long.
            return (ReadAnswers::unknown(self.needs.relations.read_from(read), groups), 0);
        }
        self.closing.set(self.closing.get() + NEEDS_WORK * groups.len() as u64);
        let open = self.not_refuted(read, groups);
        let answers = self.read_of(read, &open);
        // There are as many others as writes: with the initial value, but without what the read saw.
        let refuted = (all - answers.others.len()) as u64;
        (answers, refuted)
    }

    /// Of each group, the part outside of which needs refute both kinds.
    fn not_refuted<'g>(&mut self, read: EventId, groups: &'g [Vec<EventId>]) -> Vec<&'g [EventId]> {
        let needs = self.needs;
        self.read = read;
        let reads = needs.point(read);
        let write = needs.relations.read_from(read);
        let absent = write.map(|w| self.frame_slice(None, Some(w))).filter(|(slice, caps)| below(slice, caps));
        let (slice, caps) = self.frame_slice(write, None);
        let part = |group: &'g Vec<EventId>| {
            let possible = |slice: &Frontier, caps: &[u32], from: usize| {
                // What needs the read comes after it; that is cheaper to see than what is mandatory.
                let after = group.partition_point(|&c| c < read);
                let end = after + near_start(&group[after..], |&c| !needs.needed(reads, c));
                let rest = &group[from.min(end)..end];
                from.min(end) + rest.partition_point(|&c| self.mandatory_of(slice, caps, c).is_some())
            };
            let (start, end) = match write {
                None => (0, possible(&slice, &caps, 0)),
                Some(write) => {
                    let split = group.partition_point(|&c| c < write);
                    let needed = near_end(&group[..split], |&c| needs.needed(needs.point(c), write));
                    (needed, split.max(possible(&slice, &caps, split)))
                }
            };
            match &absent {
                None => &group[start..end],
                Some((slice, caps)) => &group[..end.max(possible(slice, caps, 0))],
            }
        };
        groups.iter().map(part).filter(|part| !part.is_empty()).collect()
    }

    fn read_of(&mut self, read: EventId, groups: &[&[EventId]]) -> ReadAnswers {
        self.read = read;
        self.plans = Vec::new();
        self.choices = Vec::new();
        let write = self.needs.relations.read_from(read);
        let start = std::iter::once(None).chain(groups.iter().copied().flatten().map(|&c| Some(c)));
        let unset = Status::Refuted(Rung::MustOrder);
        let mut others: Vec<_> = start.map(|c| (c, [unset; 2])).collect();
        self.kind2(write, groups, &mut others);
        if let Some(write) = write {
            self.kind3(write, groups, &mut others);
        }
        others.retain(|&(c, _)| c != write);
        let plans = std::mem::take(&mut self.plans);
        ReadAnswers { others, plans, choices: std::mem::take(&mut self.choices) }
    }

    /// The frame of the cut before the read, with `with` in the slice and `without` kept out.
    fn frame(&self, with: Option<EventId>, without: Option<EventId>) -> Frame {
        let (slice, caps) = self.frame_slice(with, without);
        let mut frame = Frame { ideal: Some(slice.clone()), slice, caps };
        frame.ideal = frame.ideal.take().and_then(|ideal| self.observed(ideal, &frame.caps));
        frame
    }

    /// The slice and the caps of a frame.
    fn frame_slice(&self, with: Option<EventId>, without: Option<EventId>) -> (Frontier, Vec<u32>) {
        let needs = self.needs;
        let mut slice = needs.enabling(self.read);
        with.into_iter().for_each(|e| needs.include(&mut slice, e));
        needs.close_at(&mut slice, self.read);
        let mut caps: Vec<u32> = (0..needs.threads()).map(|t| needs.length(t)).collect();
        for event in [Some(self.read), without].into_iter().flatten() {
            let point = needs.point(event);
            caps[point.thread] = caps[point.thread].min(point.rank);
        }
        (slice, caps)
    }

    /// Closes a set in observed order, if that keeps below the caps.
    fn observed(&self, mut set: Frontier, caps: &[u32]) -> Option<Frontier> {
        self.count_closing();
        // Closing at the cut first: what the observed closure adds may hold the cut's locks.
        loop {
            if !self.needs.close_observed(&mut set) || !below(&set, caps) {
                return None;
            }
            let before = set.clone();
            self.needs.close_at(&mut set, self.read);
            if set == before {
                return Some(set);
            }
        }
    }

    /// The mandatory set with `c` as well, if it keeps below the caps.
    fn mandatory(&self, frame: &Frame, c: EventId) -> Option<Frontier> {
        self.mandatory_of(&frame.slice, &frame.caps, c)
    }

    fn mandatory_of(&self, slice: &Frontier, caps: &[u32], c: EventId) -> Option<Frontier> {
        let mut set = slice.clone();
        if contains(slice, self.needs.point(c)) {
            // The slice is closed already.
            return below(&set, caps).then_some(set);
        }
        self.needs.include(&mut set, c);
        if !below(&set, caps) {
            return None;
        }
        self.count_closing();
        self.needs.close_at(&mut set, self.read);
        below(&set, caps).then_some(set)
    }

    /// The ideal with `c` as well, if it keeps below the caps.
    fn ideal_with(&self, frame: &Frame, c: EventId) -> Option<Frontier> {
        let mut set = frame.ideal.clone()?;
        self.needs.include(&mut set, c);
        if !below(&set, &frame.caps) {
            return None;
        }
        self.needs.close_at(&mut set, self.read);
        self.observed(set, &frame.caps)
    }

    fn plan(&mut self, plan: Plan) -> Status {
        self.plans.push(plan);
        Status::Planned(self.plans.len() as u32 - 1)
    }

    fn kind3(&mut self, write: EventId, groups: &[&[EventId]], others: &mut [(Option<EventId>, [Status; 2])]) {
        let frame = self.frame(None, Some(write));
        if !below(&frame.slice, &frame.caps) {
            return;
        }
        let alone = match &frame.ideal {
            Some(ideal) => self.plan(Plan::observed(ideal.clone())),
            None => {
                let exact = self.exact(&frame, frame.slice.clone(), None, &[write]);
                self.status(exact, 1)
            }
        };
        others[0].1[1] = alone;
        if let Status::Refuted(rung) = alone {
            others.iter_mut().for_each(|(_, kinds)| kinds[1] = Status::Refuted(rung));
            return;
        }
        let mut at = 1;
        for group in groups {
            self.prefix(&frame, group, Some(alone), &[write], &mut others[at..at + group.len()], 1);
            at += group.len();
        }
    }

    /// A group whose feasible writes are a prefix; `alone` is the plan of the frame's own ideal.
    fn prefix(
        &mut self,
        frame: &Frame,
        group: &[EventId],
        alone: Option<Status>,
        near: &[EventId],
        out: &mut [(Option<EventId>, [Status; 2])],
        kind: usize,
    ) {
        let possible = group.partition_point(|&c| self.mandatory(frame, c).is_some());
        let mut proven = 0;
        if let (Some(alone), Some(ideal)) = (alone, &frame.ideal) {
            proven = group[..possible].partition_point(|&c| contains(ideal, self.needs.point(c)));
            out[..proven].iter_mut().for_each(|(_, kinds)| kinds[kind] = alone);
        }
        proven = self.observed_prefix(frame, group, proven..possible, out, kind);
        let mut end = possible;
        let mut middle = end.saturating_sub(1);
        while proven < end {
            let set = self.mandatory(frame, group[middle]).expect("possible");
            let near: Vec<EventId> = near.iter().copied().chain([group[middle]]).collect();
            let exact = self.exact(frame, set, None, &near);
            let found = matches!(exact, Exact::Plan(_));
            let range = if found { proven..middle + 1 } else { middle..end };
            let status = self.status(exact, range.len() as u32);
            out[range].iter_mut().for_each(|(_, kinds)| kinds[kind] = status);
            if found {
                proven = middle + 1;
            } else {
                end = middle;
            }
            middle = (proven + end) / 2;
        }
    }

    /// Proves as long a prefix of `range` as ideals in observed order can, and says where it ends.
    fn observed_prefix(
        &mut self,
        frame: &Frame,
        group: &[EventId],
        range: std::ops::Range<usize>,
        out: &mut [(Option<EventId>, [Status; 2])],
        kind: usize,
    ) -> usize {
        let (mut proven, mut end) = (range.start, range.end);
        let mut best = None;
        let mut middle = end.saturating_sub(1);
        while proven < end {
            match self.ideal_with(frame, group[middle]) {
                Some(ideal) => (best, proven) = (Some(ideal), middle + 1),
                None => end = middle,
            }
            middle = (proven + end) / 2;
        }
        if let Some(ideal) = best {
            let status = self.plan(Plan::observed(ideal));
            out[range.start..proven].iter_mut().for_each(|(_, kinds)| kinds[kind] = status);
        }
        proven
    }

    fn kind2(&mut self, write: Option<EventId>, groups: &[&[EventId]], others: &mut [(Option<EventId>, [Status; 2])]) {
        let frame = self.frame(write, None);
        let mut at = 1;
        for group in groups {
            let out = &mut others[at..at + group.len()];
            at += group.len();
            let Some(write) = write else {
                self.prefix(&frame, group, None, &[], out, 0);
                continue;
            };
            let split = group.partition_point(|&c| c < write);
            let needed = group[..split].partition_point(|&c| self.needs.needed(self.needs.point(c), write));
            let inside = group[..split].partition_point(|&c| contains(&frame.slice, self.needs.point(c)));
            let inside = inside.max(needed);
            self.suffix(&frame, write, &group[needed..inside], &mut out[needed..inside]);
            self.range(&frame, write, &group[inside..split], &mut out[inside..split]);
            let after = split + usize::from(group.get(split) == Some(&write));
            let (group, out) = (&group[after..], &mut out[after..]);
            let possible = group.partition_point(|&c| self.mandatory(&frame, c).is_some());
            let proven = self.observed_prefix(&frame, group, 0..possible, out, 0);
            self.range(&frame, write, &group[proven..possible], &mut out[proven..possible]);
        }
    }

    /// Writes that the slice has anyway, observed before `write`: the feasible ones are a suffix.
    fn suffix(&mut self, frame: &Frame, write: EventId, group: &[EventId], out: &mut [(Option<EventId>, [Status; 2])]) {
        let (mut start, mut proven) = (0, group.len());
        let mut middle = proven.saturating_sub(1);
        while start < proven {
            let exact = self.exact(frame, frame.slice.clone(), Some((write, group[middle])), &[]);
            let found = matches!(exact, Exact::Plan(_));
            let range = if found { middle..proven } else { start..middle + 1 };
            let status = self.status(exact, range.len() as u32);
            out[range].iter_mut().for_each(|(_, kinds)| kinds[0] = status);
            if found {
                proven = middle;
            } else {
                start = middle + 1;
            }
            middle = (start + proven) / 2;
        }
    }

    /// Writes in no monotone order: a schedule with `write` before the first and with the last proves all.
    fn range(&mut self, frame: &Frame, write: EventId, group: &[EventId], out: &mut [(Option<EventId>, [Status; 2])]) {
        let (Some(&first), Some(&last)) = (group.first(), group.last()) else { return };
        if self.is_spent() {
            out.iter_mut().for_each(|(_, kinds)| kinds[0] = Status::Unknown);
            return;
        }
        let exact = match self.mandatory(frame, last) {
            Some(set) => self.exact(frame, set, Some((write, first)), &[]),
            None => Exact::Refuted(Rung::Slice),
        };
        if group.len() == 1 || matches!(exact, Exact::Plan(_)) {
            let status = self.status(exact, group.len() as u32);
            out.iter_mut().for_each(|(_, kinds)| kinds[0] = status);
            return;
        }
        let middle = group.len() / 2;
        let (early, late) = out.split_at_mut(middle);
        self.range(frame, write, &group[..middle], early);
        self.range(frame, write, &group[middle..], late);
    }

    fn status(&mut self, exact: Exact, answers: u32) -> Status {
        if let Some(choices) = self.last_choices.take() {
            let feasible = match exact {
                Exact::Plan(_) => Some(true),
                Exact::Refuted(_) => Some(false),
                Exact::Unknown => None,
            };
            self.choices.push(Choices { witnesses: answers, feasible, ..choices });
        }
        match exact {
            Exact::Plan(plan) => self.plan(plan),
            Exact::Refuted(rung) => Status::Refuted(rung),
            Exact::Unknown => Status::Unknown,
        }
    }

    /// The exact answer, by windows that grow backwards until one is enough.
    fn exact(&mut self, frame: &Frame, slice: Frontier, edge: Option<(EventId, EventId)>, near: &[EventId]) -> Exact {
        let needs = self.needs;
        let ends = edge.into_iter().flat_map(|(a, b)| [a, b]);
        let first = ends.chain(near.iter().copied()).min().map_or(self.read.index(), EventId::index);
        let edge = edge.map(|(a, b)| (needs.point(a), needs.point(b)));
        let question = Question { slice, caps: frame.caps.clone(), edge, last: None };
        self.ask(&question, first)
    }

    /// Answers a question; `first` is the index of the first event that must be in the window.
    fn ask(&mut self, question: &Question, first: usize) -> Exact {
        let mut start = first.min(self.read.index()).saturating_sub(self.first_window);
        let mut size = self.first_window.max(1);
        if self.is_spent() {
            self.last_choices = None;
            return Exact::Unknown;
        }
        let allowed = self.allowance.saturating_sub(self.closing.get());
        self.window.most_work = allowed.min(self.window.work.saturating_add(self.most_work));
        self.window.budget = self.budget.nodes;
        self.window.deadline = self.budget.time.map(|time| Instant::now() + time);
        let before = self.window.explored;
        self.last_choices = None;
        loop {
            let low = self.below_event(start, &question.slice);
            let refuted = match self.window.solve(question, &low, Aside::First) {
                Answer::Order(tail) if self.runs_first(&low, start) => {
                    self.note_choices(before);
                    return Exact::Plan(Plan { ideal: low, tail, rung: self.rung() });
                }
                Answer::None if start == 0 => true,
                Answer::None => self.window.solve(question, &low, Aside::Anywhere) == Answer::None,
                Answer::Order(_) | Answer::Unknown => false,
            };
            if refuted {
                self.note_choices(before);
                return Exact::Refuted(self.rung());
            }
            if self.window.budget == 0 || self.window.work > self.window.most_work {
                self.note_choices(before);
                return Exact::Unknown;
            }
            size *= 4;
            start = start.saturating_sub(size);
        }
    }

    /// What was left aside can run in observed order, before the window's solution.
    fn runs_first(&self, low: &[u32], start: usize) -> bool {
        let mut closed = low.to_vec();
        self.needs.close_observed(&mut closed) && closed == low && self.window.follows(start)
    }

    /// What the last window took.
    fn rung(&self) -> Rung {
        if self.window.open_pairs > 0 { Rung::Search } else { Rung::Saturation }
    }

    fn note_choices(&mut self, before: u64) {
        let pairs = self.window.open_pairs;
        let explored = self.window.explored - before;
        self.last_choices = (pairs > 0).then_some(Choices { pairs, explored, witnesses: 0, feasible: None });
    }

    /// A plan after which the read sees exactly this write, if there is one and the budget finds it.
    pub(super) fn sees(&mut self, read: EventId, other: Option<EventId>) -> Option<Plan> {
        self.read = read;
        let needs = self.needs;
        let saw = needs.relations.read_from(read);
        let Some(other) = other else {
            return self.sees_initial(read);
        };
        let mut frame = self.frame(Some(other), None);
        let first = [Some(other), saw].into_iter().flatten().min().unwrap_or(other).index();
        let slice = std::mem::take(&mut frame.slice);
        if !below(&slice, &frame.caps) {
            return None;
        }
        let question = Question { slice, caps: frame.caps, edge: None, last: Some(other) };
        match self.ask(&question, first) {
            Exact::Plan(plan) => Some(plan),
            _ => None,
        }
    }

    /// A plan without any write of the read's variable.
    fn sees_initial(&mut self, read: EventId) -> Option<Plan> {
        let needs = self.needs;
        let mut frame = self.frame(None, None);
        let variable = needs.trace.event(read).object;
        for thread in 0..needs.threads() {
            let events = needs.relations.thread_events(ThreadId::at(thread));
            let writes = |e: &EventId| {
                let event = needs.trace.event(*e);
                event.op == Op::Write && event.object == variable
            };
            if let Some(rank) = events.iter().position(writes) {
                frame.caps[thread] = frame.caps[thread].min(rank as u32);
            }
        }
        if !below(&frame.slice, &frame.caps) {
            return None;
        }
        let question = Question { slice: frame.slice, caps: frame.caps, edge: None, last: None };
        match self.ask(&question, read.index()) {
            Exact::Plan(plan) => Some(plan),
            _ => None,
        }
    }

    /// The part of a set that was observed before the event with this index.
    fn below_event(&self, start: usize, set: &[u32]) -> Frontier {
        let part = |(thread, &count): (usize, &u32)| {
            let events = self.needs.relations.thread_events(ThreadId::at(thread));
            events[..count as usize].partition_point(|e| e.index() < start) as u32
        };
        set.iter().enumerate().map(part).collect()
    }
}

fn below(set: &[u32], caps: &[u32]) -> bool {
    set.iter().zip(caps).all(|(count, cap)| count <= cap)
}

fn contains(set: &[u32], point: Point) -> bool {
    set[point.thread] > point.rank
}
