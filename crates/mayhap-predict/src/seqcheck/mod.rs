//! SeqCheck: whether a sequence of events can run in a given order (Cai, Yun, Wang, Qiao, Palsberg, FSE 2021).
//! Engine `seqcheck`.
//!
//! Computes, for a target: the events that must come along, the orders that every linearisation of them must keep, closed
//! under observation, lock and adjacency rules, and then one linearisation by deciding what is open as observed.
//!
//! Models: `branch` is the paper's (a read is strict if a later branch of its thread runs); `data` and `sync` are its two
//! ends. Targets: races, deadlocks of any number of threads, atomicity violations, sequences with adjacent pairs.
//!
//! Deviations, each with its counterexample: all ways to leave sections open are tried instead of one
//! (`seqcheck_2thread_incomplete.std`, `close_third_thread.std`); a relaxed read may see the initial value, and a strict
//! read of it precedes all writes (`seqcheck_initial_value.std`, the paper's own Fig. 1); deadlocks stop before the inner
//! acquires (`seqcheck_deadlock_encoding.std`); races have no neighbours that run. Fork, join, notify, reader locks and
//! non-nested locks are added. For a sequence the paper's own candidate set is tried first.
//! The literal engine keeps the printed decisions, to be compared with; it never refutes.
//!
//! What an answer proves: Proven — a schedule that the kernel accepted. Refuted — must-order, a common lock, or a
//! contradiction in every way to leave sections open. A failure of the greedy linearisation is Unknown.
//!
//! Cost: O(n·k·log n) for a cut of `n` events in `k` threads plus what the rules add, for each way to leave sections open
//! (at most 64 are tried).

mod analysis;
mod candidate;
mod chains;
mod closure;
mod cut;
mod encode;
mod engine;
mod index;
mod linearise;
mod plan;
mod variants;

pub use analysis::{Analysis, Decision};
pub use engine::SeqCheck;

pub(crate) use engine::{no_cycle, refuted};
pub(crate) use index::Index;
pub(crate) use plan::Plan;
pub(crate) use variants::{Clash, Outcome, Want, decide};
