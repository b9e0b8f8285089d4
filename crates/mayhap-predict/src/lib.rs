//! Engines that decide whether a correct reordering of a trace reaches a target.
//!
//! One question type, one answer type: every [`Engine`] takes a target, a model and a budget, and answers a [`Verdict`].
//! A [`Verdict::Proven`] holds a [`mayhap_witness::Checked`], which only the kernel can make.
#![forbid(unsafe_code)]

pub mod choice;
mod counters;
pub mod ipa;
mod verdict;

pub use counters::EngineCounters;
pub use ipa::{Ipa, Strategy};
pub use verdict::{Budget, Engine, Refutation, Rung, Step, Undecided, Verdict, Why};
