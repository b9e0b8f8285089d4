//! Many traces, one report.
//!
//! In: files and folders ([`inputs`]), what to look for ([`Settings`]), a folder for results ([`Store`]). Each trace is a task. Tasks
//! run in worker processes ([`pool`], [`worker`]), here or on a cluster ([`ray`]), so that one that crashes, hangs or needs too much memory ends alone. A result is
//! kept by the fingerprint of the trace, the settings and the build of the tool: nothing is done twice. Out: one report
//! ([`merge`]), which depends on the traces and the settings alone, not on the number of workers, shards or runs that it took.
//!
//! This crate must never know a terminal or options of a command line.
#![forbid(unsafe_code)]

mod analyse;
mod error;
pub mod inputs;
pub mod merge;
#[cfg_attr(not(feature = "object-stores"), path = "no_objects.rs")]
mod objects;
pub mod pool;
mod process;
pub mod ray;
mod run;
mod settings;
mod store;
mod task;
mod url;
pub mod worker;

pub use analyse::{Suggest, analyse};
pub use error::Error;
pub use process::Program;
pub use run::{Job, Progress, run};
pub use settings::{Limits, Settings};
pub use store::{Entry, Key, Manifest, Seen, Shard, Store, fingerprint};
pub use task::{Failed, How, Outcome};
pub use url::is_url;
