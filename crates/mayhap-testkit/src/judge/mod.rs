//! A second opinion on schedules: the definition of a correct reordering and of the targets, stated as conditions on the
//! places of events in a schedule.
//!
//! The kernel runs a schedule step by step; this looks at it as a whole, clause by clause, so that the two share neither
//! code nor structure: waits are matched with notifies by augmenting paths, what is changed is a least fixpoint
//! ([`changes`]), happens-before is a path in a graph ([`happens_before`]). Cubic in the schedule.

mod changes;
mod happens_before;

use mayhap_trace::{Attempt, ConditionKind, EventId, Flags, Op, Trace};
use mayhap_witness::{Model, Target};

use crate::Facts;

/// Judges schedules of one trace.
pub struct Judge {
    facts: Facts,
}

/// A schedule with the place of each event.
struct Run<'a> {
    facts: &'a Facts,
    schedule: Vec<usize>,
    place: Vec<Option<usize>>,
}

impl Judge {
    /// Returns a judge for a well-formed trace.
    pub fn new(trace: &Trace) -> Judge {
        Judge { facts: Facts::of(trace) }
    }

    /// Whether the schedule is a correct reordering that reaches the target, which makes sense for the trace.
    pub fn accepts(&self, target: &Target, model: Model, schedule: &[EventId]) -> bool {
        self.makes_sense(target)
            && self.run(schedule).is_some_and(|run| run.is_correct(model, &free_reads(target)) && run.reaches(target))
    }

    /// Whether the schedule is a correct reordering.
    pub fn is_reordering(&self, model: Model, schedule: &[EventId]) -> bool {
        self.run(schedule).is_some_and(|run| run.is_correct(model, &[]))
    }

    /// The schedule as places, if it has each event at most once and only events that take part.
    fn run(&self, schedule: &[EventId]) -> Option<Run<'_>> {
        let facts = &self.facts;
        let schedule: Vec<usize> = schedule.iter().map(|e| e.index()).collect();
        let mut place = vec![None; facts.events.len()];
        for (i, &event) in schedule.iter().enumerate() {
            facts.rank.get(event).copied().flatten()?;
            if place[event].replace(i).is_some() {
                return None;
            }
        }
        Some(Run { facts, schedule, place })
    }

    /// Whether the target names events of the right sort.
    pub fn makes_sense(&self, target: &Target) -> bool {
        let facts = &self.facts;
        let named = target.events();
        if !named.iter().all(|e| facts.rank.get(e.index()).is_some_and(Option::is_some)) {
            return false;
        }
        let at = |e: &EventId| facts.events[e.index()];
        let distinct = |keys: Vec<usize>| keys.iter().enumerate().all(|(i, k)| !keys[..i].contains(k));
        match target {
            Target::Race(a, b) | Target::UnorderedRace(a, b) => at(a).races_with(&at(b)),
            Target::UseAfterFree { free, access } => {
                let freed = at(free).op == Op::Write && at(free).flags.has(Flags::FREE);
                freed && at(access).op.is_access() && at(access).object == at(free).object && free != access
            }
            Target::Deadlock(requests) => {
                requests.len() > 1
                    && requests.iter().all(|e| at(e).op.is_acquire() && at(e).flags.attempt() == Attempt::Blocking)
                    && distinct(requests.iter().map(|e| at(e).thread.index()).collect())
            }
            Target::Atomicity { first, remote, second } => {
                let local =
                    at(first).op.is_access() && at(second).op.is_access() && at(first).object == at(second).object;
                let conflicts = at(remote).conflicts(&at(first)) || at(remote).conflicts(&at(second));
                local && at(first).thread == at(second).thread && first < second && conflicts
            }
            Target::Sequence { events, adjacent } => {
                !events.is_empty()
                    && distinct(events.iter().map(|e| e.index()).collect())
                    && adjacent.iter().all(|&(x, y)| events.windows(2).any(|pair| pair == [x, y]))
            }
            Target::Nondeterminism { write, read, other } => {
                let same = |c: &EventId| at(c).op == Op::Write && at(c).object == at(read).object;
                at(read).op == Op::Read
                    && facts.saw[read.index()].map(EventId::at) == *write
                    && write != other
                    && other.as_ref().is_none_or(same)
            }
        }
    }
}

impl Run<'_> {
    /// Whether `x` is in the schedule before position `end`.
    fn runs_before(&self, x: usize, end: usize) -> bool {
        self.place[x].is_some_and(|at| at < end)
    }

    fn is_correct(&self, model: Model, free: &[EventId]) -> bool {
        self.keeps_must_order()
            && self.keeps_steps()
            && self.keeps_locks()
            && self.waits_are_served()
            && self.keeps_values(model, free)
    }

    /// Program order as prefixes, forks, joins, waits whose notify is fixed.
    fn keeps_must_order(&self) -> bool {
        let facts = self.facts;
        self.schedule.iter().enumerate().all(|(at, &e)| {
            let event = facts.events[e];
            let thread = event.thread.index();
            let rank = facts.rank[e].expect("only events that take part");
            let follows = rank == 0 || self.runs_before(facts.threads[thread][rank - 1], at);
            let forked = facts.fork[thread].is_none_or(|f| self.runs_before(f, at));
            let awaited = match event.op {
                Op::Join => {
                    let child = event.object as usize;
                    let whole = facts.threads[child].iter().all(|&c| self.runs_before(c, at));
                    whole && facts.fork[child].is_none_or(|f| self.runs_before(f, at))
                }
                Op::Wait if self.kind(e).has_fixed_pairs() => facts.notify[e].is_some_and(|n| self.runs_before(n, at)),
                _ => true,
            };
            follows && forked && awaited
        })
    }

    /// Nothing runs between an event and the one that is joined to it.
    fn keeps_steps(&self) -> bool {
        self.schedule.windows(2).all(|pair| self.facts.joined_to(pair[0]).is_none_or(|joined| joined == pair[1]))
    }

    /// Whether, of two sections that exclude each other, one ends before the other begins.
    fn keeps_locks(&self) -> bool {
        let facts = self.facts;
        let acquires: Vec<usize> = self.schedule.iter().copied().filter(|&e| facts.events[e].op.is_acquire()).collect();
        acquires.iter().enumerate().all(|(i, &a)| {
            acquires[i + 1..].iter().all(|&b| {
                let (first, second) = (facts.events[a], facts.events[b]);
                let apart = first.object != second.object || first.thread == second.thread;
                let readers = first.op.is_shared() && second.op.is_shared();
                let starts = self.place[b].expect("b is in the schedule");
                apart || readers || facts.section[a].is_some_and(|release| self.runs_before(release, starts))
            })
        })
    }

    /// Returns the kind of a wait's or notify's condition.
    fn kind(&self, event: usize) -> ConditionKind {
        self.facts.kinds[self.facts.events[event].object as usize]
    }

    /// Whether the events before a place that do this to the condition of `event`.
    fn earlier(&self, event: usize, at: usize, wanted: fn(Op) -> bool) -> impl Iterator<Item = usize> {
        let of = move |&&e: &&usize| {
            let other = self.facts.events[e];
            wanted(other.op) && other.object == self.facts.events[event].object
        };
        self.schedule[..at].iter().filter(of).copied()
    }

    /// What a semaphore or token has to take at a place; `None` for other conditions.
    fn to_take(&self, event: usize, at: usize) -> Option<usize> {
        let waits = || self.earlier(event, at, |op| op == Op::Wait);
        let notifies = || self.earlier(event, at, Op::is_notify);
        match self.kind(event) {
            ConditionKind::Semaphore { initial } => {
                Some((initial as usize + notifies().count()).saturating_sub(waits().count()))
            }
            ConditionKind::Token => {
                let place = |e: usize| self.place[e].expect("it is in the schedule");
                let taken = waits().map(place).max();
                Some(usize::from(notifies().map(place).max().is_some_and(|set| taken.is_none_or(|t| t < set))))
            }
            _ => None,
        }
    }

    /// Semaphores and tokens have something to take; the waits for condition variables can all be matched.
    fn waits_are_served(&self) -> bool {
        let mut waits = self.schedule.iter().enumerate().filter(|&(_, &e)| self.facts.events[e].op == Op::Wait);
        let taken = waits.clone().all(|(at, &e)| self.to_take(e, at).is_none_or(|left| left > 0));
        let windows: Vec<Vec<usize>> = waits
            .by_ref()
            .filter(|&(_, &e)| self.kind(e) == ConditionKind::Condition)
            .map(|(at, &e)| self.suitable(e, at))
            .collect();
        taken && can_be_matched(&windows, |notify| self.facts.events[notify].op == Op::NotifyAll)
    }

    /// The notifies that ran after a wait for a condition variable began and before it returned, in order.
    fn suitable(&self, wait: usize, at: usize) -> Vec<usize> {
        let began = self.facts.began(wait).and_then(|began| self.place[began]);
        let after = |&n: &usize| self.place[n] > began;
        self.earlier(wait, at, Op::is_notify).filter(after).collect()
    }

    /// Whether the event is what its started thread would do next.
    fn is_next(&self, event: EventId) -> bool {
        let facts = self.facts;
        let thread = facts.events[event.index()].thread.index();
        let ran = facts.threads[thread].iter().filter(|&&e| self.place[e].is_some()).count();
        let started = facts.fork[thread].is_none_or(|f| self.place[f].is_some());
        started && facts.rank[event.index()] == Some(ran)
    }

    /// Whether the thread is inside a section that keeps others from this acquire.
    fn blocks(&self, thread: usize, request: EventId) -> bool {
        let facts = self.facts;
        let wanted = facts.events[request.index()];
        facts.threads[thread].iter().any(|&a| {
            let event = facts.events[a];
            let open = self.place[a].is_some() && facts.section[a].is_none_or(|r| self.place[r].is_none());
            let excludes = !(event.op.is_shared() && wanted.op.is_shared());
            event.op.is_acquire() && event.object == wanted.object && open && excludes
        })
    }

    fn reaches(&self, target: &Target) -> bool {
        let place = |e: &EventId| self.place[e.index()];
        let in_order = |events: &[EventId]| {
            events.iter().all(|e| place(e).is_some()) && events.windows(2).all(|p| place(&p[0]) < place(&p[1]))
        };
        match target {
            Target::Race(a, b) => self.is_next(*a) && self.is_next(*b),
            Target::UnorderedRace(a, b) => {
                place(a).is_some() && place(b).is_some() && !self.is_ordered(a.index(), b.index())
            }
            Target::UseAfterFree { free, access } => place(free).is_some() && self.is_next(*access),
            Target::Deadlock(requests) => requests.iter().all(|&request| {
                let others = requests.iter().filter(|&&other| other != request);
                let mut threads = others.map(|other| self.facts.events[other.index()].thread.index());
                self.is_next(request) && threads.any(|thread| self.blocks(thread, request))
            }),
            Target::Atomicity { first, remote, second } => {
                in_order(&[*first, *remote, *second]) && self.schedule.last() == Some(&second.index())
            }
            Target::Sequence { events, adjacent } => {
                in_order(events) && adjacent.iter().all(|(x, y)| place(x).map(|at| at + 1) == place(y))
            }
            Target::Nondeterminism { write, read, other } => {
                let replaced = match (write.map(|w| place(&w)), other.map(|c| place(&c))) {
                    (_, Some(None)) => false,
                    (None | Some(None), _) => true,
                    (Some(Some(_)), None) => false,
                    (Some(Some(w)), Some(Some(c))) => w < c,
                };
                self.is_next(*read) && replaced
            }
        }
    }
}

/// The reads whose values a target leaves open.
fn free_reads(target: &Target) -> Vec<EventId> {
    match target {
        Target::Atomicity { remote, second, .. } => vec![*remote, *second],
        Target::UnorderedRace(a, b) => vec![*a, *b],
        _ => Vec::new(),
    }
}

/// Whether every window can be given one of its notifies, such that only notifies of all are given twice. Augmenting paths.
fn can_be_matched(windows: &[Vec<usize>], wakes_all: impl Fn(usize) -> bool + Copy) -> bool {
    fn augment(
        windows: &[Vec<usize>],
        window: usize,
        tried: &mut Vec<usize>,
        given: &mut Vec<(usize, usize)>,
        wakes_all: impl Fn(usize) -> bool + Copy,
    ) -> bool {
        for &notify in &windows[window] {
            if wakes_all(notify) {
                return true;
            }
            if tried.contains(&notify) {
                continue;
            }
            tried.push(notify);
            let owner = given.iter().position(|&(n, _)| n == notify);
            let free = owner.is_none_or(|at| augment(windows, given[at].1, tried, given, wakes_all));
            if free {
                given.retain(|&(n, w)| n != notify && w != window);
                given.push((notify, window));
                return true;
            }
        }
        false
    }
    let mut given = Vec::new();
    (0..windows.len()).all(|window| augment(windows, window, &mut Vec::new(), &mut given, wakes_all))
}
