//! Findings as plain data, and their renderings for people and programs.
//!
//! A [`Report`] contains everything that is shown: titles, sides, stories and sentences, as text and lists. [`describe`] builds
//! it from traces, targets and proofs. The renderings read only the report and decide nothing.
//!
//! In: findings with their traces and replays. Out: text, HTML, JSON, SARIF, JUnit and Perfetto files. This crate must never know how findings
//! are found, or options of a command line.
#![forbid(unsafe_code)]

mod baseline;
mod consequences;
mod data;
pub mod describe;
pub mod escape;
mod expression;
mod finding;
pub mod fingerprint;
mod fold;
pub mod html;
mod json_layout;
pub mod junit;
mod life;
mod merge;
mod numbers;
mod observed;
mod occurs;
pub mod perfetto;
pub mod places;
pub mod prediction;
mod refutation;
mod renumber;
pub mod rules;
mod same_bug;
pub mod sarif;
mod schedules;
mod sources;
pub mod stacks;
mod stored;
pub mod suppress;
pub mod text;

pub use data::{
    Corpus, Exploration, FORMAT, NotAnalysed, ReadError, Report, Rung, SourceText, Summary, Tool, TraceInfo, VERSION,
};
pub use describe::words::{counted, grouped};
pub use describe::{Describer, Evidence, Recorded, place, sources};
pub use finding::{
    Baseline, Blocked, Creation, Finding, Kind, Lock, Mark, Moment, ObjectKind, Replay, Severity, Side, Source, Step,
    Story, Verdict,
};
pub use json_layout::Layout;
pub use observed::PANICKED;
pub use occurs::occurs;
pub use places::function_name;
pub use refutation::{Needed, Premise, Refutation};
pub use schedules::{Changed, Row, Schedules};
