//! Engines that decide whether a correct reordering of a trace reaches a target.
//!
//! One question type, one answer type: every [`Engine`] takes a target, a model and a budget, and answers a [`Verdict`].
//! A [`Verdict::Proven`] holds a [`mayhap_witness::Checked`], which only the proof checker (kernel) can make.
//!
//! In: a trace with its relations, and a question. Out: a verdict. This crate must never know where questions come from, files, or
//! how a verdict is shown.
#![forbid(unsafe_code)]

pub mod accesses;
mod alternatives;
mod always_ordered;
pub mod auto;
mod budget;
pub mod choice;
pub mod closure;
mod commuting;
pub mod context;
mod counters;
mod deciding;
pub mod demands;
pub mod exact;
pub mod explain;
mod guide;
pub mod ipa;
mod judge;
mod keyed_lists;
mod learn;
mod linearise;
mod lock_words;
mod nearby;
pub mod polygraph;
pub mod polygraph_engine;
pub mod problem;
mod queries;
pub mod reorderable;
mod runs;
mod saturate;
pub mod sections;
pub mod seqcheck;
pub mod slice;
mod solver;
mod states;
mod ucg;
mod unordered;
mod value_classes;
mod verdict;

pub use auto::Auto;
pub use choice::Choice;
pub use context::Context;
pub use counters::EngineCounters;
pub use demands::Pairing;
pub use exact::Exact;
pub use ipa::{Ipa, Strategy};
pub use polygraph_engine::PolygraphEngine;
pub use problem::{Problem, Repair, Supplier};
pub use seqcheck::SeqCheck;
pub use slice::{Query, Slice};
pub use solver::{Answer, Search, Solver};
pub use ucg::Ucg;
pub use verdict::{Budget, Engine, Premise, Refutation, Rung, Short, Step, Undecided, Verdict, Why};
