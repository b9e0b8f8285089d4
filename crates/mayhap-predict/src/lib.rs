//! Engines that decide whether a correct reordering of a trace reaches a target.
//!
//! One question type, one answer type: every [`Engine`] takes a target, a model and a budget, and answers a [`Verdict`].
//! A [`Verdict::Proven`] holds a [`mayhap_witness::Checked`], which only the kernel can make.
#![forbid(unsafe_code)]

pub mod accesses;
pub mod auto;
pub mod choice;
pub mod closure;
pub mod context;
mod counters;
pub mod demands;
pub mod exact;
pub mod explain;
pub mod ipa;
pub mod late;
mod learn;
mod linearise;
pub mod polygraph;
pub mod polygraph_engine;
mod saturate;
pub mod sections;
pub mod seqcheck;
pub mod slice;
mod ucg;
mod verdict;

pub use auto::Auto;
pub use choice::Choice;
pub use context::Context;
pub use counters::EngineCounters;
pub use exact::{Answer, Exact, Search, Solver};
pub use ipa::{Ipa, Strategy};
pub use polygraph_engine::PolygraphEngine;
pub use seqcheck::SeqCheck;
pub use slice::{Query, Slice};
pub use ucg::Ucg;
pub use verdict::{Budget, Engine, Premise, Refutation, Rung, Step, Undecided, Verdict, Why};
