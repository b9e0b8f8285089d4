//! What is known of the triplets of a read: plans, and how each kind of each triplet ended.

use mayhap_trace::EventId;

use super::needs::Frontier;
use crate::Rung;

/// A schedule: the first events of each thread in observed order, then `tail`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) ideal: Frontier,
    pub(super) tail: Vec<EventId>,
    /// What found it.
    pub(super) rung: Rung,
}

impl Plan {
    /// A set that runs in observed order.
    pub(super) fn observed(ideal: Frontier) -> Self {
        Plan { ideal, tail: Vec::new(), rung: Rung::SyncPreserving }
    }

    /// How many steps it has.
    pub(super) fn len(&self) -> usize {
        self.ideal.iter().map(|&count| count as usize).sum::<usize>() + self.tail.len()
    }
}

/// What is known of one kind of one triplet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// The plan with this number shows it.
    Planned(u32),
    Refuted(Rung),
    Unknown,
}

/// A question that saturation left choices to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choices {
    /// Constraints with two possible sides.
    pub(super) pairs: u32,
    /// Choice graphs looked at.
    pub(super) explored: u64,
    /// Kinds of triplets that the answer settled, and how.
    pub(super) witnesses: u32,
    pub(super) feasible: Option<bool>,
}

/// One read's triplets.
pub(super) struct ReadAnswers {
    /// Other writes in the order of [`super::Triplets::others`], with kinds 2 and 3.
    pub(super) others: Vec<(Option<EventId>, [Status; 2])>,
    pub(super) plans: Vec<Plan>,
    pub(super) choices: Vec<Choices>,
}

impl ReadAnswers {
    /// The answers to a read that nothing was asked about. `groups` are the writes of its variable, `write` is the one it saw.
    pub(super) fn unknown(write: Option<EventId>, groups: &[Vec<EventId>]) -> Self {
        let others = std::iter::once(None).chain(groups.iter().flatten().map(|&c| Some(c))).filter(|&c| c != write);
        let others = others.map(|c| (c, [Status::Unknown; 2])).collect();
        ReadAnswers { others, plans: Vec::new(), choices: Vec::new() }
    }
}
