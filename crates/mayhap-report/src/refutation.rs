//! Why what somebody asked about cannot happen: orders that it would need, each with its reason, which lead back to where they
//! began.

use serde::{Deserialize, Serialize};

use crate::finding::{Kind, Side};

/// A refuted question.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Refutation {
    /// The kind of what was asked about.
    pub kind: Kind,
    /// Its events.
    pub events: Vec<Side>,
    /// In a sentence: why not.
    pub reason: String,
    /// The orders that it would need; each begins where the one before ends, and the last ends where the first begins. Empty
    /// where the reason says it all.
    #[serde(default)]
    pub cycle: Vec<Needed>,
    /// Why those of them hold that are derived.
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
    /// The order in words: who does what before whom.
    #[serde(default)]
    pub order: String,
    /// The reason in words.
    pub reason: String,
    /// Where it is derived: its place in [`Refutation::premises`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub premise: Option<usize>,
}

/// Why a derived order holds: the other way round is impossible.
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
    /// Where no further orders are behind it: why it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// The orders that the other way round contradicts.
    pub because: Vec<Needed>,
}

impl Refutation {
    /// The letter by which a derived order is referred to: `A`, `B`, … `Z`, `A2`, …
    pub fn letter(index: usize) -> String {
        let name = char::from(b'A' + (index % 26) as u8);
        if index < 26 { name.to_string() } else { format!("{name}{}", index / 26 + 1) }
    }
}
