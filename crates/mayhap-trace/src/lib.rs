//! Traces of concurrent programs.
//!
//! A [`Trace`] is what one run did: events as columns, names as interned tables. This crate reads and writes it in
//! several formats ([`format`]), checks that it keeps the rules of locks, threads and conditions ([`validate`]),
//! derives what every later stage needs ([`Relations`]), and counts what it contains ([`stats`]).
//!
//! In: the bytes of a trace file, or events that a recorder or generator delivers. Out: events in chunks ([`Source`]), a whole
//! [`Trace`], or a file. This crate must never know bugs, schedules, or how a program was recorded.

#![forbid(unsafe_code)]

pub mod attachments;
pub mod clocks;
mod columns;
mod error;
mod event;
mod execution;
mod fingerprint;
mod flags;
pub mod format;
mod holds;
mod id;
mod kinds;
mod locksets;
mod name_error;
mod names;
mod op;
mod pairing;
mod relations;
mod rules;
mod source;
pub mod stats;
mod summary;
mod trace;
mod tries;
pub mod validate;
mod values;

pub use columns::{CHUNK, Columns};
pub use error::{Error, ErrorKind, Position};
pub use event::Event;
pub use execution::Execution;
pub use fingerprint::{Fingerprint, FingerprintBuilder};
pub use flags::{Attempt, Flags, MemoryOrder};
pub use holds::{Hold, Holds, Mode};
pub use id::{CondId, EventId, LocId, LockId, NONE, ThreadId, ValueId, VarId};
pub use kinds::{ConditionKind, Kinds, LockKind, VariableKind};
pub use locksets::{LocksetId, Locksets};
pub use name_error::NameError;
pub use names::{Names, Tables};
pub use op::{ObjectKind, Op};
pub use pairing::{Pairing, Served};
pub use relations::Relations;
pub use source::{Missing, Progress, Source};
pub use summary::{Bits, Summary, SummaryBuilder};
pub use trace::Trace;
pub use values::{Value, Values};
