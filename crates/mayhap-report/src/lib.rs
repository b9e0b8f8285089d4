//! Findings as plain data, and their renderings for people and programs.
//!
//! A [`Report`] contains everything that is shown: titles, sides, stories and sentences, as text and lists. [`describe`] builds
//! it from traces, targets and proofs. The renderings read only the report and decide nothing.
#![forbid(unsafe_code)]

mod baseline;
mod data;
pub mod describe;
pub mod escape;
mod finding;
pub mod fingerprint;
pub mod html;
pub mod junit;
mod observed;
pub mod perfetto;
pub mod places;
pub mod prediction;
mod refutation;
mod renumber;
pub mod rules;
pub mod sarif;
mod schedules;
mod sources;
pub mod stacks;
pub mod suppress;
pub mod text;

pub use data::{FORMAT, ReadError, Report, Rung, SourceText, Summary, Tool, TraceInfo, VERSION};
pub use describe::words::{counted, grouped};
pub use describe::{Describer, Evidence, Recorded, place, sources};
pub use finding::{
    Baseline, Creation, Finding, Kind, Lock, Mark, Replay, Severity, Side, Source, Step, Story, Verdict,
};
pub use places::function_name;
pub use refutation::{Needed, Premise, Refutation};
pub use schedules::{Changed, Row, Schedules};
