//! What a schedule changes, as a least fixpoint: events that may return something else than observed, threads that are
//! changed from some event on, writes that may store another value.

use mayhap_trace::{EventId, Flags, Op};
use mayhap_witness::Model;

use super::Run;

/// Events of a schedule by what may differ from the observed run.
#[derive(Default, PartialEq)]
struct Changes {
    /// Reads and failed attempts that may return something else.
    differ: Vec<usize>,
    /// Events before which their thread is changed.
    after_change: Vec<usize>,
    /// Writes that may store another value.
    unclean: Vec<usize>,
}

impl Run<'_> {
    /// Reads and failed attempts return what the model wants them to; free reads may return anything in `data` and `value`
    /// if their threads end there.
    pub(super) fn keeps_values(&self, model: Model, free: &[EventId]) -> bool {
        if model == Model::Sync {
            return true;
        }
        let changes = self.changes(model);
        match model {
            Model::Sync => true,
            Model::Branch | Model::Causal => {
                let op = |&e: &usize| self.facts.events[e].op;
                // An attempt that may succeed takes what it tried to take, which no event stands for.
                changes.differ.iter().all(|e| op(e) == Op::Read)
                    && changes.after_change.iter().all(|e| op(e) != Op::Branch)
            }
            Model::Data | Model::Value => {
                changes.after_change.is_empty() && changes.differ.iter().all(|&e| self.is_free(free, e))
            }
        }
    }

    fn is_free(&self, free: &[EventId], event: usize) -> bool {
        self.facts.events[event].op == Op::Read && free.contains(&EventId::at(event))
    }

    /// Applies the definitions to ever larger sets until nothing is added.
    fn changes(&self, model: Model) -> Changes {
        let mut changes = Changes::default();
        loop {
            let next = Changes {
                differ: self.those(|e| self.differs(model, &changes, e)),
                after_change: self.those(|e| self.comes_after_change(&changes, e)),
                unclean: self.those(|e| self.is_unclean(&changes, e)),
            };
            if next == changes {
                return changes;
            }
            changes = next;
        }
    }

    fn those(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        self.schedule.iter().copied().filter(|&e| wanted(e)).collect()
    }

    /// Whether the read or failed attempt may return something else than observed.
    fn differs(&self, model: Model, changes: &Changes, e: usize) -> bool {
        let (facts, event) = (self.facts, self.facts.events[e]);
        let at = self.place[e].expect("it is in the schedule");
        match event.op {
            Op::Read => {
                let sees = self.sees(e);
                let stored = facts.stored(event.object as usize, sees);
                let compares = matches!(model, Model::Value | Model::Causal);
                let equal = compares && stored.is_some() && stored == facts.value[e];
                sees.is_some_and(|w| changes.unclean.contains(&w)) || (sees != facts.saw[e] && !equal)
            }
            Op::FailedAcquire | Op::FailedSharedAcquire => !self.schedule[..at].iter().any(|&a| {
                let holds = facts.events[a];
                let excludes = match event.op {
                    Op::FailedAcquire => holds.op.is_acquire(),
                    _ => holds.op == Op::Acquire,
                };
                excludes && holds.object == event.object && !facts.section[a].is_some_and(|r| self.runs_before(r, at))
            }),
            Op::FailedWait => self.to_take(e, at).is_some_and(|left| left > 0),
            _ => false,
        }
    }

    /// The last write of a read's variable before the read.
    pub(super) fn sees(&self, read: usize) -> Option<usize> {
        let (facts, event) = (self.facts, self.facts.events[read]);
        let writes = |&&w: &&usize| facts.events[w].op == Op::Write && facts.events[w].object == event.object;
        self.schedule[..self.place[read]?].iter().rev().find(writes).copied()
    }

    fn comes_after_change(&self, changes: &Changes, e: usize) -> bool {
        let rank = self.facts.rank[e].expect("it takes part");
        self.is_changed(changes, self.facts.events[e].thread.index(), rank)
    }

    /// Whether the thread is changed after its first events: by one of them, by its fork, or by a changed thread that it joined.
    fn is_changed(&self, changes: &Changes, thread: usize, events: usize) -> bool {
        let facts = self.facts;
        let joins_changed = |e: usize| {
            let child = facts.events[e].object as usize;
            facts.events[e].op == Op::Join && self.is_changed(changes, child, facts.threads[child].len())
        };
        facts.fork[thread].is_some_and(|fork| changes.after_change.contains(&fork))
            || facts.threads[thread][..events].iter().any(|&e| changes.differ.contains(&e) || joins_changed(e))
    }

    fn is_unclean(&self, changes: &Changes, e: usize) -> bool {
        let event = self.facts.events[e];
        let independent = event.flags.has(Flags::INDEPENDENT) && !changes.after_change.contains(&self.facts.step_of(e));
        event.op == Op::Write && changes.after_change.contains(&e) && !event.flags.has(Flags::CONSTANT) && !independent
    }
}
