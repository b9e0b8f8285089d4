//! The one answer type, and what an engine is.

use std::fmt;
use std::time::Duration;

use mayhap_trace::{EventId, LockId, VarId};
use mayhap_witness::{Checked, Model, Target};

use crate::EngineCounters;

/// What may be spent on one question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Steps of a search with backtracking (decisions of the exact engine, pairs of a pair search).
    pub nodes: u64,
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Events of the largest part of a run that may be taken out of its observed order: what a search costs grows with it.
    pub region: u32,
    /// Events and nodes of graphs that may be looked at: a decision costs as many as its graph has.
    pub work: u64,
}

impl Budget {
    /// The least number of steps that is worth a search.
    const LEAST: u64 = 1_000;

    /// What is left of it for a further question about the same candidate, after so many that it was spent on: all of them
    /// together take about twice as much as one.
    pub fn shared(self, undecided: u32) -> Budget {
        let nodes = self.nodes.checked_shr(undecided).unwrap_or(0).max(Self::LEAST.min(self.nodes));
        Budget { nodes, ..self }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget { nodes: 1_000_000, time: None, region: u32::MAX, work: u64::MAX }
    }
}

/// The stage of the ladder that settled a question, cheapest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rung {
    /// Must-order (and, where the model demands it, reads-from) orders the events.
    MustOrder,
    /// A common lock keeps the threads apart.
    Lockset,
    /// The observed order, or one that keeps each lock's order of sections, shows it.
    SyncPreserving,
    /// The events that must come along include the target's own, or leave one lock open twice.
    Slice,
    /// Saturation of the constraints: a cycle, or nothing left to choose.
    Saturation,
    /// A greedy linearisation close to the observed order.
    Greedy,
    /// Search with backtracking, to its end.
    Search,
    /// The method of the one engine that was asked for.
    Engine,
}

impl Rung {
    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Rung::MustOrder => "must-order",
            Rung::Lockset => "lockset",
            Rung::SyncPreserving => "sync-preserving",
            Rung::Slice => "slice",
            Rung::Saturation => "saturation",
            Rung::Greedy => "greedy",
            Rung::Search => "search",
            Rung::Engine => "engine",
        }
    }
}

/// Why one event must come before another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Why {
    /// Program order, fork, join or notify.
    Must,
    /// The second reads what the first wrote.
    ReadsFrom(VarId),
    /// A write may not come between another write and its read.
    Interference(VarId),
    /// Sections of one lock exclude each other.
    Lock(LockId),
    /// Whatever runs the second must have run the first: must-order and, as far as the model asks, what reads saw.
    /// [`crate::explain::chain`] has the steps.
    Demand,
    /// The target demands it.
    Target,
}

/// One step of a chain of reasons: `before` must come before `after`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The earlier event.
    pub before: EventId,
    /// The later event.
    pub after: EventId,
    /// The reason.
    pub why: Why,
}

/// Why a step holds that neither must-order nor what a read saw gives: by what was known before, `from` comes before `to`,
/// so the other way round of the choice is a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Premise {
    /// The step: an order of two sections of a lock, or of a write and what it must not come between.
    pub step: Step,
    /// The steps by which it follows, steps within a thread included. Empty if the step follows from the target alone: a section
    /// that stays open comes after all others of its lock, a read of an early value before all other writes.
    pub path: Vec<Step>,
}

/// A limit that a question met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Short {
    /// [`Budget::region`].
    Region,
    /// [`Budget::work`].
    Work,
}

/// Why no correct reordering reaches the target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// The stage that found it.
    pub rung: Rung,
    /// In one sentence, with event numbers.
    pub reason: String,
    /// A cycle of reasons where there is one: each step begins where the one before ends, the last leads to the first.
    pub cycle: Vec<Step>,
    /// Why the steps hold that are not given, of the cycle and of these themselves: what others follow from comes first.
    pub premises: Vec<Premise>,
}

impl fmt::Display for Refutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Why a question stayed open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undecided {
    /// What would have had to be larger, if it is a limit that grows with the effort.
    pub short: Option<Short>,
    /// In one sentence.
    pub reason: String,
    /// The engine's own criterion, which proves nothing, says that the target is reachable.
    pub suspected: bool,
}

/// The answer to one question. Never a bool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A schedule that the kernel accepted, and the stage that found it.
    Proven(Checked, Rung),
    /// No correct reordering reaches the target.
    Refuted(Refutation),
    /// Neither was shown.
    Unknown(Undecided),
}

/// A way of deciding targets on one trace. Engines keep what they learn between questions.
pub trait Engine {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Decides one target.
    fn decide(&mut self, target: &Target, model: Model, budget: &Budget) -> Verdict;

    /// From now on, say of refutations why their steps hold ([`Refutation::premises`]) where the engine can. Costs time.
    fn explain(&mut self) {}

    /// What the engine counted over all questions so far. Empty where it counts nothing.
    fn counters(&self) -> EngineCounters {
        EngineCounters::default()
    }

    /// How many events and nodes of graphs all questions so far have taken: what they cost, whatever the machine. 0 where the
    /// engine does not count them.
    fn work(&self) -> u64 {
        0
    }
}
