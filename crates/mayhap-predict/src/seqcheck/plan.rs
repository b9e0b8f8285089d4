//! Bugs as cuts and sequences (SeqCheck, Algorithm 5, corrected).
//!
//! - Race: both threads stop just before their accesses. The paper's real neighbours over-constrain (a branch after the
//!   second access would force what it reads).
//! - Deadlock: every thread of the cycle stops just before the acquire it is blocked in. The paper's sequences of inner
//!   acquires are never lock-consistent (`counterexamples/seqcheck_deadlock_encoding.std`).
//! - Atomicity: first, remote, second run in this order, second last of all; what the last accesses read is open.
//! - Sequence: the events run in this order.

use mayhap_trace::{EventId, Op, ThreadId};
use mayhap_witness::{Model, Target};

use super::cut::{Cut, Overrun};
use super::index::Index;

/// What a target asks for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan {
    /// Events that run.
    pub(crate) run: Vec<EventId>,
    /// Events that their threads are about to run.
    pub(crate) next: Vec<EventId>,
    /// Events that run last in their threads and may read anything.
    pub(crate) last: Vec<EventId>,
    /// Order between events that run.
    pub(crate) order: Vec<(EventId, EventId)>,
    /// Pairs with nothing in between.
    pub(crate) adjacent: Vec<(EventId, EventId)>,
    /// An event that runs after all others.
    pub(crate) final_event: Option<EventId>,
}

impl Plan {
    /// The plans of which one must succeed; `None` for a kind of target that has none.
    pub(crate) fn of_target(index: &Index<'_>, target: &Target, model: Model) -> Option<Vec<Plan>> {
        match target {
            Target::Race(a, b) => Some(vec![Plan { next: vec![*a, *b], ..Plan::default() }]),
            Target::UseAfterFree { free, access } => {
                Some(vec![Plan { next: vec![*access], run: vec![*free], ..Plan::default() }])
            }
            Target::Deadlock(requests) => Some(vec![Plan { next: requests.clone(), ..Plan::default() }]),
            Target::Atomicity { first, remote, second } => Some(atomicity(index, [*first, *remote, *second], model)),
            Target::Sequence { events, adjacent } => Some(vec![Plan {
                run: events.clone(),
                order: events.windows(2).map(|w| (w[0], w[1])).collect(),
                adjacent: adjacent.clone(),
                ..Plan::default()
            }]),
            Target::UnorderedRace(..) | Target::Nondeterminism { .. } => None,
        }
    }

    /// The least cut that has what the plan asks for.
    pub(crate) fn least_cut(&self, index: &Index<'_>, model: Model) -> Result<Cut, Overrun> {
        let mut cut = Cut::empty(index, model);
        for (&event, runs) in self.next.iter().map(|e| (e, 0)).chain(self.last.iter().map(|e| (e, 1))) {
            let thread = index.thread(event).index();
            cut.limits[thread] = cut.limits[thread].min(index.rank(event) + runs);
            cut.free_from[thread] = cut.free_from[thread].min(index.rank(event));
        }
        // A thread that may have read something else passes that on to the thread that joins it, which must stop there.
        for join in self.last.iter().filter_map(|&event| index.relations.join_of(index.thread(event))) {
            let thread = index.thread(join).index();
            cut.limits[thread] = cut.limits[thread].min(index.rank(join));
        }
        for &event in &self.next {
            let thread = index.thread(event);
            let before = match index.rank(event) {
                0 => index.relations.fork_of(thread),
                rank => Some(index.at(thread, rank - 1)),
            };
            before.map_or(Ok(()), |event| cut.add(index, event))?;
        }
        for &event in self.run.iter().chain(&self.last) {
            cut.add(index, event)?;
        }
        Ok(cut)
    }

    /// The target says where this thread stands.
    pub(crate) fn stops(&self, index: &Index<'_>, thread: ThreadId) -> bool {
        self.run.iter().chain(&self.next).chain(&self.last).any(|&e| index.thread(e) == thread)
    }

    /// Orders that put the final event last.
    pub(crate) fn before_final(&self, index: &Index<'_>, cut: &Cut) -> Vec<(EventId, EventId)> {
        let Some(end) = self.final_event else { return Vec::new() };
        let ends = index.all_threads().filter(|t| cut.counts[t.index()] > 0);
        let last = ends.map(|t| index.at(t, cut.counts[t.index()] - 1));
        last.filter(|&e| e != end).map(|e| (e, end)).collect()
    }
}

/// In `data` a remote read either ends its thread and may read anything, or reads what it read and its thread may go on.
fn atomicity(index: &Index<'_>, [first, remote, second]: [EventId; 3], model: Model) -> Vec<Plan> {
    let strict = Plan {
        run: vec![first, remote],
        last: vec![second],
        order: vec![(first, remote), (remote, second)],
        final_event: Some(second),
        ..Plan::default()
    };
    if !matches!(model, Model::Data | Model::Value) || index.trace.event(remote).op != Op::Read {
        return vec![strict];
    }
    vec![Plan { run: vec![first], last: vec![remote, second], ..strict.clone() }, strict]
}
