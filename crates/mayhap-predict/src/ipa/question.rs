//! One question to the lock histories, and the searches that serve it.
//!
//! What most targets need is tried first, with some lookups each: straight legs from where the observed run stood, from the
//! start of the search, from the nearest target reached before. Only then pairs are walked ([`super::search`]).

use mayhap_trace::{EventId, Execution, LockId, Relations, ThreadId, Trace};

use super::backward::Found;
use super::checks::{Bystander, Check, Pair, Table};
use super::counters::IpaCounters;
use super::history::Histories;
use super::search::{Memory, Run, Search};
use super::start::{Start, Starts, bystanders};
use crate::Budget;

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

/// Searches kept per two threads and kind of start; the oldest goes first.
const KEPT: usize = 16;

/// A search with the third threads it assumes.
pub(super) struct Kept {
    pub(super) search: Search,
    pub(super) snapshot: Option<EventId>,
    bystanders: Vec<Bystander>,
}

/// One search to be made.
pub(super) struct Question {
    pub(super) events: (EventId, EventId),
    pub(super) threads: (ThreadId, ThreadId),
    pub(super) target: Pair,
    pub(super) start: Start,
    pub(super) from: From,
}

/// What all questions share.
pub(super) struct Ground<'a> {
    pub(super) execution: &'a Execution<'a>,
    pub(super) trace: &'a Trace,
    pub(super) relations: &'a Relations,
    pub(super) strategy: Strategy,
    pub(super) histories: Histories,
    pub(super) starts: Starts,
    pub(super) memory: Memory,
    pub(super) literal: bool,
}

impl Ground<'_> {
    /// Returns the threads of two events.
    pub(super) fn threads(&self, a: EventId, b: EventId) -> (ThreadId, ThreadId) {
        let thread = |event: EventId| ThreadId::at(self.trace.columns().threads[event.index()] as usize);
        (thread(a), thread(b))
    }

    /// Returns the locations of two events.
    #[inline]
    pub(super) fn locations(&self, a: EventId, b: EventId) -> Pair {
        Pair { a: self.histories.location(a), b: self.histories.location(b) }
    }

    /// The start of a kind for two events.
    pub(super) fn start(&self, a: EventId, b: EventId, from: From) -> Option<Start> {
        match from {
            From::Signal => self.starts.signalled(self.trace, &self.histories, a, b),
            From::Snapshot => self.starts.snapshot(self.trace, &self.histories, a, b),
            From::Beginning => Some(Starts::sound(self.execution, &self.histories, a, b)),
        }
    }

    fn table<'t>(&'t self, question: &Question, bystanders: &'t [Bystander]) -> Table<'t> {
        Table {
            trace: self.trace,
            relations: self.relations,
            histories: &self.histories,
            a: self.histories.of(question.threads.0),
            b: self.histories.of(question.threads.1),
            events: question.events,
            target: question.target,
            bystanders,
            literal: self.literal,
            straight: self.memory == Memory::Full && !self.literal,
        }
    }

    /// Answers a question with the searches kept for its threads and start.
    pub(super) fn search_in(
        &self,
        kept: &mut Vec<Kept>,
        question: &Question,
        counters: &mut IpaCounters,
        budget: &Budget,
        observe: &mut dyn FnMut(Pair, Check),
    ) -> Reach {
        let (at, known) = self.choose(kept, question);
        let chosen = &mut kept[at];
        let mut table = self.table(question, &chosen.bystanders);
        if table.interfered_from(chosen.search.start) {
            counters.count(Check::StrategyTwo);
            observe(question.target, Check::StrategyTwo);
            return Reach::Unreached { exact: false };
        }
        if table.straight {
            table.bystanders = &[];
        }
        let found = match known {
            Some(found) => {
                counters.by_memory += 1;
                if found { Found::Reached } else { Found::Unreached }
            }
            None => {
                counters.potential_moves += grid(chosen.search.start, question.target);
                let observed = table.straight && chosen.bystanders.is_empty();
                let mut run = Run { table: &table, observed, left: budget.nodes, counters, observe };
                if table.straight && self.straight_way(&mut chosen.search, question, &mut run) {
                    chosen.search.note_reached(question.target);
                    Found::Reached
                } else {
                    chosen.search.run(&mut run)
                }
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

    /// Straight legs to the target from where the observed run stood when it came to the first of the two events, or when
    /// its thread took a lock that it holds there; where third threads matter, from the start; or from the nearest target
    /// reached before.
    fn straight_way(&self, search: &mut Search, question: &Question, run: &mut Run<'_>) -> bool {
        if !run.observed {
            return search.try_legs(search.start, None, run) || search.try_legs_from_near(run);
        }
        let first = question.events.0.min(question.events.1);
        let mut from = |stop: EventId| match self.stood_before(question, stop) {
            Some((pair, last)) => search.try_legs(pair, Some(last), run),
            None => false,
        };
        if from(first) {
            return true;
        }
        let held = self.relations.locksets().get(self.relations.held(first));
        let history = self.histories.of(self.threads(first, first).0);
        let location = self.histories.location(first);
        let mut stops: Vec<u32> = held.iter().filter_map(|&hold| history.acquire_before(hold, location)).collect();
        stops.sort_unstable();
        stops.into_iter().rev().any(|stop| from(history.events()[stop as usize])) || search.try_legs_from_near(run)
    }

    /// Where the two threads stood when the observed run came to an event, if that is not before the start, and the event
    /// before.
    fn stood_before(&self, question: &Question, stop: EventId) -> Option<(Pair, EventId)> {
        let own = self.threads(stop, stop).0;
        let stood = |thread| match thread == own {
            true => self.histories.location(stop),
            false => self.histories.of(thread).stood(stop),
        };
        let pair = Pair { a: stood(question.threads.0), b: stood(question.threads.1) };
        let last = EventId::new(stop.index().checked_sub(1)?)?;
        pair.covers(question.start.pair).then_some((pair, last))
    }

    /// The kept search that can serve a target, and what it knows of it: one that knows it, else the one from the same
    /// start, else a new one.
    fn choose(&self, kept: &mut Vec<Kept>, question: &Question) -> (usize, Option<bool>) {
        let same = |k: &Kept| k.search.start == question.start.pair && k.snapshot == question.start.snapshot;
        // What was reached stays reached, also from another start, unless a third thread stands in the way there.
        let knows = |k: &Kept| {
            k.search.known(question.target).filter(|&reached| match reached {
                true => !self.table(question, &k.bystanders).interfered_from(k.search.start),
                false => same(k),
            })
        };
        if let Some(known) = kept.iter().enumerate().find_map(|(at, k)| Some((at, Some(knows(k)?)))) {
            return known;
        }
        if let Some(at) = kept.iter().position(same) {
            return (at, None);
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
        (kept.len() - 1, None)
    }
}

/// Moves of a search over the whole grid from `start` to `target`.
fn grid(start: Pair, target: Pair) -> u64 {
    let (m, n) = (u64::from(target.a.saturating_sub(start.a)), u64::from(target.b.saturating_sub(start.b)));
    m * (n + 1) + n * (m + 1)
}
