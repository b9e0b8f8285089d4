//! Why a state cannot be reached: the orders that it would need, each with its reason, which form a cycle.

use serde::{Deserialize, Serialize};

use crate::finding::{Kind, Side};

/// A question that was refuted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Refutation {
    /// The kind of bug that was asked about.
    pub kind: Kind,
    /// The events of the question.
    pub events: Vec<Side>,
    /// The reason in one sentence.
    pub reason: String,
    /// The orders that the state would need. Each starts where the previous one ends, and the last ends where the first
    /// starts. Empty where the reason is complete without it.
    #[serde(default)]
    pub cycle: Vec<Needed>,
    /// The justifications of the derived orders.
    #[serde(default)]
    pub premises: Vec<Premise>,
}

/// One event would have to come before another.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Needed {
    /// The number of the event that comes first.
    pub before: u64,
    /// The number of the other.
    pub after: u64,
    /// The sort of reason: `program-order`, `fork`, `join`, `notify`, `reads-from`, `interference`, `lock`, `target`, …
    pub why: String,
    /// The order in words: which thread does what before which other.
    #[serde(default)]
    pub order: String,
    /// The reason in words.
    pub reason: String,
    /// For a derived order: its position in [`Refutation::premises`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub premise: Option<usize>,
}

/// Why a derived order holds: the opposite order is impossible.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Premise {
    /// The number of the event that comes first.
    pub before: u64,
    /// The number of the other.
    pub after: u64,
    /// The order in words.
    #[serde(default)]
    pub order: String,
    /// The reason in words.
    pub reason: String,
    /// Why the order holds, if it does not follow from other orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The orders that the opposite order would contradict.
    pub because: Vec<Needed>,
}

impl Refutation {
    /// The letter by which a derived order is referred to: `A`, `B`, … `Z`, `A2`, …
    pub fn letter(index: usize) -> String {
        let name = char::from(b'A' + (index % 26) as u8);
        if index < 26 { name.to_string() } else { format!("{name}{}", index / 26 + 1) }
    }
}
