//! iPA: incremental search on time-stamped lock histories (Ganai, ASE 2013). Engines `ipa1` and `ipa2`.
//!
//! Computes: whether two threads can stand before two given events at the same time. It walks pairs of locations in the
//! lock histories of these two threads ([`checks`](Check), [`search`]), prunes with what the rest of the histories holds,
//! and keeps what it learnt for the next pair of events of the same two threads.
//!
//! Model: `sync` only (the paper's data abstraction); race targets. Anything else is Unknown.
//!
//! Strategy I looks at the two threads alone. A failure refutes; a success is a guess where a third thread matters.
//! Strategy II starts from a snapshot of the observed run and gives up where a third thread would have to move or holds
//! a lock that is needed. For two threads both are exact.
//!
//! Deviations (each with its counterexample): failures count only from a start that no signal can have skipped
//! (`ipa_start_pair.std`); row 7 is applied to the target before searching (`ipa_strategy2_terminal.std`); default pairs
//! with an untried branch are stored (`ipa_incremental_default.std`); a pair not visited on the way to another target
//! is searched for, not taken as unreachable; must-order never steps over a held lock (see `checks.rs`); reader locks.
//! Table III's strategy II is kept as published otherwise, so its failure stays Unknown wherever row 7 cut the search.
//!
//! What an answer proves: Proven — a schedule that the kernel accepted. Refuted — must-order, a common lock, or an
//! exhausted search from a sound start without row 7. A success without an accepted schedule is Unknown, suspected.
//!
//! Cost: see [`search`]; a schedule is linear in the events it runs.

mod backward;
mod checks;
mod counters;
mod engine;
mod history;
mod legs;
mod question;
mod schedule;
mod search;
mod start;

pub use checks::{Check, Pair};
pub use counters::IpaCounters;
pub use engine::Ipa;
pub use history::{Histories, History};
pub use question::{From, Reach, Strategy};
pub use search::Memory;

pub(crate) use history::{blocks, mode_of};
