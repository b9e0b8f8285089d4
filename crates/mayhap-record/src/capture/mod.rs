//! From the ring to a recording: runs the program, takes units while it runs, packs and keeps them.

pub(crate) mod ending;
pub(crate) mod packing;
pub(crate) mod program;
pub mod raw;
pub(crate) mod ring;
pub(crate) mod spool;
pub(crate) mod stuck;
pub(crate) mod unit_packing;
pub(crate) mod units;
