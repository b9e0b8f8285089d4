//! What later events can tell apart, so that states which differ in nothing else are explored once.
//!
//! That a thread is changed matters to it until its last event that decides something or hands the change on: a branch, a
//! write that a read depends on, a fork of a thread that can decide; and to a thread that joins it. Which reads depend on
//! something depends on that in turn: a least fixpoint.

use mayhap_trace::{Flags, Op};
use mayhap_witness::Model;

use crate::Facts;

/// What matters at which positions.
pub(super) struct Relevance {
    /// Per thread: at positions below, its change matters.
    bounds: Vec<usize>,
    /// Per thread and variable: at positions below, it has a read to come that matters.
    readers: Vec<Vec<usize>>,
}

impl Relevance {
    pub(super) fn new(facts: &Facts, model: Model) -> Self {
        // A thread is at its end until it is joined.
        let whole = |t: usize| facts.threads[t].len() + usize::from(facts.join[t].is_some());
        let threads = facts.threads.len();
        let mut bounds = match model {
            Model::Data | Model::Value => (0..threads).map(whole).collect(),
            Model::Branch | Model::Causal | Model::Sync => vec![0; threads],
        };
        while model.allows_change() {
            let readers = readers(facts, &bounds);
            let next: Vec<usize> = (0..threads)
                .map(|t| {
                    let joined = facts.join[t].is_some_and(|join| {
                        let (by, rank) = (facts.events[join].thread.index(), facts.rank[join]);
                        rank.is_some_and(|rank| rank < bounds[by])
                    });
                    let matters = |&e: &usize| is_decisive(facts, &bounds, &readers, e);
                    let own = facts.threads[t].iter().rposition(matters).map_or(0, |rank| rank + 1);
                    if joined { whole(t) } else { own }
                })
                .collect();
            if next == bounds {
                break;
            }
            bounds = next;
        }
        Relevance { readers: readers(facts, &bounds), bounds }
    }

    /// Whether the thread is changed matters at this position.
    pub(super) fn decides(&self, thread: usize, position: u8) -> bool {
        (position as usize) < self.bounds[thread]
    }

    /// Whether the thread has a read of the variable to come, from this position on, that matters.
    pub(super) fn reads(&self, thread: usize, variable: usize, position: u8) -> bool {
        (position as usize) < self.readers[thread][variable]
    }
}

/// Whether the event decides something by what its thread read, or hands it on to something that does.
fn is_decisive(facts: &Facts, bounds: &[usize], readers: &[Vec<usize>], e: usize) -> bool {
    let event = facts.events[e];
    let object = event.object as usize;
    match event.op {
        Op::Branch => true,
        Op::Fork => bounds[object] > 0,
        Op::Write => !event.flags.has(Flags::CONSTANT) && readers.iter().any(|of_thread| of_thread[object] > 0),
        _ => false,
    }
}

/// Per thread and variable, one past the last read whose value can matter.
fn readers(facts: &Facts, bounds: &[usize]) -> Vec<Vec<usize>> {
    let of_thread = |(events, &bound): (&Vec<usize>, &usize)| {
        let mut last = vec![0; facts.initial.len()];
        for (rank, &e) in events.iter().enumerate().take(bound) {
            if facts.events[e].op == Op::Read {
                last[facts.events[e].object as usize] = rank + 1;
            }
        }
        last
    };
    facts.threads.iter().zip(bounds).map(of_thread).collect()
}
