//! The byte layout of the native trace format (`.mhp`), shared by its writers (recorder, converter) and its
//! readers. `docs/formats/native.md` is the specification; this crate is that text as code.
//!
//! In: numbers. Out: bytes, and the other way round. This crate must never know what events mean, or where bytes are kept.
//!
//! Ground rules
//! - No `std`, no allocation: the recorder calls this from inside the program under test.
//! - A file can be written front to back in bounded memory: no earlier part depends on a later one.
//! - All integers are little-endian. Every byte of a file is covered by a checksum or has one allowed value.
//! - Every length is checked against a limit of [`limits`] before memory is allocated for it.

#![no_std]
#![forbid(unsafe_code)]

pub mod call_frame;
pub mod channel;
pub mod events;
pub mod fast_path;
pub mod fork_server;
pub mod frame;
pub mod inline_assembly;
pub mod judgement;
pub mod limits;
pub mod properties;
pub mod ring;
pub mod schedule;
mod turns;
pub mod varint;

pub use frame::{BlockHeader, Codec, FileHeader, Footer, FrameError, Kind};

/// The version of the layout that this crate describes. A reader refuses files of a greater version.
///
/// Version 2 added flags and values of events ([`properties`]), kinds of objects ([`record`]) and four operations. A file of
/// version 1 that has any of these is malformed.
pub const VERSION: u16 = 2;
/// The operations that version 1 has: the first so many codes.
pub const FIRST_VERSION_OPS: usize = 15;

/// Returns the CRC-32 (IEEE) of `bytes`: the one checksum of the format.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The tables that names and facts belong to, by their number in the file.
pub mod table {
    /// Threads.
    pub const THREADS: u8 = 0;
    /// Locks.
    pub const LOCKS: u8 = 1;
    /// Variables.
    pub const VARIABLES: u8 = 2;
    /// Conditions.
    pub const CONDITIONS: u8 = 3;
    /// Source locations.
    pub const LOCATIONS: u8 = 4;
    /// How many tables there are.
    pub const COUNT: usize = 5;
}

/// What the records of a block of names begin with, besides the tables of names: since version 2, values and kinds.
pub mod record {
    /// A value as a number: it defines the next value.
    pub const BITS: u8 = 5;
    /// A value as a pointer into a block of memory: it defines the next value.
    pub const POINTER: u8 = 6;
    /// The kind of an object that has a name; the number of the object's table is added.
    pub const KIND: u8 = 8;
    /// The value that a variable had before its first event.
    pub const INITIAL: u8 = 12;
}

/// Kinds of optional blocks: what goes with a trace without being events of it.
pub mod attachment {
    /// Which step of which thread each event belongs to: what a replay needs ([`crate::schedule`]).
    pub const STEPS: u8 = 16;
    /// How the recorded program was started and how it ended.
    pub const RUN: u8 = 17;
    /// Which calls each thread was in at each event.
    pub const STACKS: u8 = 18;
    /// What the recorded program was given as its standard input.
    pub const STDIN: u8 = 19;
    /// The threads that were waiting when the recording ended.
    pub const WAITING: u8 = 20;
    /// What the recording could not see or left out.
    pub const DOUBTS: u8 = 21;
    /// What the program called its threads.
    pub const THREADS: u8 = 22;
    /// All of them, with what they are for.
    pub const ALL: [(u8, &str); 7] = [
        (STEPS, "the steps that replays follow"),
        (RUN, "how the program was run"),
        (STACKS, "its call stacks"),
        (STDIN, "its standard input"),
        (WAITING, "the threads that were waiting at its end"),
        (DOUBTS, "what the recording could not see"),
        (THREADS, "the names of its threads"),
    ];
}

/// The facts that a [`Kind::Facts`] block may state of objects, one bit each.
pub mod fact {
    /// More than one thread touches the object.
    pub const SHARED: u8 = 0;
    /// Some event writes the variable.
    pub const WRITTEN: u8 = 1;
}
