//! What was found, as plain data, and how people and programs get to see it.
//!
//! A [`Report`] says everything that is to be said: titles, sides, stories and sentences are in it as text and lists.
//! [`describe`] makes it from traces, targets and proofs. The renderings read the report alone and decide nothing.
#![forbid(unsafe_code)]

mod data;
mod finding;
pub mod html;
mod schedules;

pub use data::{FORMAT, ReadError, Report, Rung, Summary, Tool, TraceInfo, VERSION};
pub use finding::{
    Baseline, Creation, Finding, Kind, Lock, Mark, Replay, Severity, Side, Source, Step, Story, Verdict,
};
pub use schedules::{Changed, Row, Schedules};
