//! What all engines share about one trace: sections, accesses, demands. Each table is built once, when a question first needs it, and read by many
//! threads.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use mayhap_trace::{EventId, Execution, Flags, LockId, Mode, Op, Relations, ThreadId, Trace};
use mayhap_witness::Model;

use crate::accesses::Accesses;
use crate::always_ordered::AlwaysOrdered;
use crate::demands::{Demands, Pairing, Rules};
use crate::sections::{Section, Sections};
use crate::value_classes::ValueClasses;

/// A trace with the tables that deciding targets needs.
#[derive(Debug)]
pub struct Context<'a> {
    /// The trace and what follows from it.
    pub execution: &'a Execution<'a>,
    /// The trace.
    pub trace: &'a Trace,
    /// What follows from it.
    pub relations: &'a Relations,
    /// Its critical sections.
    pub sections: OnDemand<'a, Sections>,
    /// Its writes and their readers.
    pub accesses: OnDemand<'a, Accesses>,
    waits: OnDemand<'a, Waits>,
    /// Ranks of the branches of each thread.
    branches: OnDemand<'a, Vec<Vec<u32>>>,
    /// Some event is joined to the one before it.
    pub(crate) has_blocks: bool,
    values: OnceLock<ValueClasses>,
    /// The waits and notifies of each condition.
    signals: OnceLock<Vec<Vec<EventId>>>,
    /// By what the model asks of reads, and what is left open.
    demands: [OnceLock<Demands>; 9],
    /// By model: what happens before each event in every reordering that has it.
    always_ordered: [OnceLock<AlwaysOrdered>; 4],
    /// Where the events that take part in schedules stand in the trace.
    relevant: OnceLock<Vec<Range<usize>>>,
}

/// A table that is made when a question first needs it: many traces have no candidates.
pub type OnDemand<'a, T> = LazyLock<T, Box<dyn FnOnce() -> T + Send + 'a>>;

/// What of waits, and of attempts that fail, could go another way.
#[derive(Debug, Default)]
struct Waits {
    /// Waits by notify, as pairs sorted by notify.
    wakes: Vec<(EventId, EventId)>,
    /// Some wait could be served by another notify, or must have begun before its notify.
    any_free: bool,
    /// Some attempt to take a lock or a semaphore failed.
    any_failed: bool,
}

impl Waits {
    fn new(execution: &Execution<'_>) -> Self {
        let (trace, relations) = execution.parts();
        let mut waits = Waits::default();
        for (id, event) in trace.events_of(|op| op == Op::Wait || op.is_failed_attempt()) {
            if event.op == Op::Wait {
                waits.wakes.extend(relations.notify_of(id).map(|notify| (notify, id)));
                waits.any_free |= !trace.tables().condition_kinds.get(event.object as usize).has_fixed_pairs();
            } else {
                waits.any_failed = true;
            }
        }
        waits.wakes.sort_unstable();
        waits
    }
}

fn branches(execution: &Execution<'_>) -> Vec<Vec<u32>> {
    let (trace, relations) = execution.parts();
    let columns = trace.columns();
    let mut branches = vec![Vec::new(); relations.threads()];
    for (at, (&op, &thread)) in columns.ops.iter().zip(&columns.threads).enumerate() {
        if op == Op::Branch {
            branches[usize::from(thread)].push(relations.rank(EventId::at(at)) as u32);
        }
    }
    branches
}

impl<'a> Context<'a> {
    /// A context whose tables are made when they are needed.
    pub fn new(execution: &'a Execution<'a>) -> Self {
        let (trace, relations) = execution.parts();
        let joined = Flags::JOINED.bits();
        Context {
            execution,
            trace,
            relations,
            sections: LazyLock::new(Box::new(move || Sections::new(execution))),
            accesses: LazyLock::new(Box::new(move || Accesses::new(execution))),
            waits: LazyLock::new(Box::new(move || Waits::new(execution))),
            branches: LazyLock::new(Box::new(move || branches(execution))),
            has_blocks: trace.columns().flags.iter().any(|flags| flags & joined != 0),
            values: OnceLock::new(),
            signals: OnceLock::new(),
            demands: Default::default(),
            always_ordered: Default::default(),
            relevant: OnceLock::new(),
        }
    }

    /// Which writes wrote equal values.
    pub(crate) fn values(&self) -> &ValueClasses {
        self.values.get_or_init(|| ValueClasses::new(self.execution))
    }

    /// The waits and notifies of a condition, in observed order.
    pub(crate) fn signals_of(&self, condition: usize) -> &[EventId] {
        let signals = self.signals.get_or_init(|| {
            let mut signals = vec![Vec::new(); self.trace.tables().conditions.len()];
            for (id, event) in self.trace.events_of(|op| op == Op::Wait || op.is_notify()) {
                signals[event.object as usize].push(id);
            }
            signals
        });
        &signals[condition]
    }

    /// In this model, something in the trace could be served by something else than in the observed run, so that there is
    /// more to search than an order.
    pub(crate) fn has_alternatives(&self, model: Model) -> bool {
        self.waits.any_free
            || (self.waits.any_failed && model != Model::Sync)
            || (model.compares_values() && self.values().any_open())
    }

    /// How many events of `thread`, another thread than the event's, every reordering with `event` must have before it.
    #[inline]
    pub fn demanded(&self, model: Model, event: EventId, thread: usize) -> u32 {
        match self.demands(model, Pairing::Open) {
            Some(demands) => demands.before(event, thread),
            None => self.relations.before(self.trace, event, ThreadId::at(thread)) as u32,
        }
    }

    /// `a` comes before `b` in every correct reordering that has `b`.
    pub fn demands_event(&self, model: Model, b: EventId, a: EventId) -> bool {
        let (thread, rank) = (self.thread(a), self.relations.rank(a) as u32);
        if thread == self.thread(b) {
            rank < self.relations.rank(b) as u32
        } else {
            rank < self.demanded(model, b, thread)
        }
    }

    /// Returns the demand clocks of a model; `None` where must-order is all there is.
    pub(crate) fn demands(&self, model: Model, pairing: Pairing) -> Option<&Demands> {
        let values = model.compares_values() && pairing == Pairing::Open && self.values().any_open();
        let open = values || (pairing == Pairing::Open && self.waits.any_free);
        let class = match model {
            Model::Data | Model::Value => 0,
            Model::Branch | Model::Causal => 1,
            Model::Sync if open || !self.waits.any_free => return None,
            Model::Sync => 2,
        };
        let slot = 3 * class + usize::from(open) + usize::from(values);
        let rules = Rules { model, open, values: values.then(|| self.values()) };
        Some(self.demands[slot].get_or_init(|| Demands::new(self.execution, rules)))
    }

    /// In every reordering of the model that has `b`, `a` of another thread happens before it by the C11 memory model. May be
    /// false of a pair of which it is true.
    pub(crate) fn always_ordered(&self, model: Model, a: EventId, b: EventId) -> bool {
        let slot = match model {
            Model::Data => 0,
            Model::Value => 1,
            Model::Branch => 2,
            Model::Causal => 3,
            Model::Sync => return false,
        };
        let open = model.compares_values() && self.values().any_open();
        let rules = Rules { model, open, values: open.then(|| self.values()) };
        let orders = self.always_ordered[slot].get_or_init(|| AlwaysOrdered::new(self.execution, rules));
        orders.orders((self.thread(a), self.rank(a)), b)
    }

    /// The relevant events before a place of the trace, as runs of places that follow each other.
    pub fn relevant_before(&self, place: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let runs = self.relevant.get_or_init(|| {
            let is_relevant = |i: &usize| self.relations.is_relevant(EventId::at(*i));
            let mut runs: Vec<Range<usize>> = Vec::new();
            for i in (0..self.trace.len()).filter(is_relevant) {
                match runs.last_mut() {
                    Some(run) if run.end == i => run.end += 1,
                    _ => runs.push(i..i + 1),
                }
            }
            runs
        });
        runs.iter().take_while(move |run| run.start < place).map(move |run| run.start..run.end.min(place))
    }

    /// The waits that a notify woke.
    pub fn woken(&self, notify: EventId) -> impl Iterator<Item = EventId> + '_ {
        let wakes = &self.waits.wakes;
        let start = wakes.partition_point(|&(n, _)| n < notify);
        wakes[start..].iter().take_while(move |&&(n, _)| n == notify).map(|&(_, wait)| wait)
    }

    /// How many of the first `cut` events of `thread` come before a branch among them: the part whose reads must see what
    /// they saw in the `branch` model.
    pub fn decided(&self, thread: usize, cut: u32) -> u32 {
        let ranks = &self.branches[thread];
        match ranks.partition_point(|&r| r < cut) {
            0 => 0,
            n => ranks[n - 1],
        }
    }

    /// The sections that a thread has open after its first `cut` events, in a model.
    pub(crate) fn open_sections(
        &self,
        model: Model,
        thread: ThreadId,
        cut: u32,
    ) -> impl Iterator<Item = &Section> + '_ {
        let words = (model != Model::Sync).then(|| self.sections.open_words(thread, cut));
        self.open_locks(thread, cut).chain(words.into_iter().flatten())
    }

    /// The sections of locks that a thread has open after its first `cut` events.
    fn open_locks(&self, thread: ThreadId, cut: u32) -> impl Iterator<Item = &Section> + '_ {
        let events = self.relations.thread_events(thread);
        let (at, after) = match events.get(cut as usize) {
            Some(&next) => (Some(next), None),
            None => (events.last().copied(), events.last().copied().filter(|_| cut > 0)),
        };
        let held = at.map(|e| self.relations.locksets().get(self.relations.held(e))).unwrap_or_default();
        let last = after.map(|e| self.trace.event(e)).filter(|e| e.op.is_acquire());
        let extra = last.map(|e| (LockId::at(e.object as usize), e.op.is_shared()));
        let held = held.iter().map(|&(lock, mode)| (lock, mode == Mode::Shared));
        held.chain(extra).filter_map(move |(lock, shared)| self.sections.open_at(lock, shared, thread, cut))
    }

    /// The event runs in one step with the previous one of its thread.
    #[inline]
    pub(crate) fn is_joined(&self, event: EventId) -> bool {
        self.has_blocks && self.trace.columns().flags_at(event.index()).is_joined()
    }

    /// The rank of the event that begins the step of the event with this rank.
    pub(crate) fn step_start(&self, thread: usize, mut rank: u32) -> u32 {
        while rank > 0 && self.is_joined(self.event_at(thread, rank)) {
            rank -= 1;
        }
        rank
    }

    /// The count of events of a thread up to the end of the step that the first `count` events begin.
    pub(crate) fn step_end(&self, thread: usize, mut count: u32) -> u32 {
        let events = self.relations.thread_events(ThreadId::at(thread));
        while count > 0 && events.get(count as usize).is_some_and(|&next| self.is_joined(next)) {
            count += 1;
        }
        count
    }

    /// Returns the thread of an event, as an index.
    #[inline]
    pub fn thread(&self, event: EventId) -> usize {
        self.trace.columns().threads[event.index()] as usize
    }

    /// Returns the rank of a relevant event.
    #[inline]
    pub fn rank(&self, event: EventId) -> u32 {
        self.relations.rank(event) as u32
    }

    /// Returns the event of a thread with this rank.
    #[inline]
    pub fn event_at(&self, thread: usize, rank: u32) -> EventId {
        self.relations.thread_events(ThreadId::at(thread))[rank as usize]
    }
}
