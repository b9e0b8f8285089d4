//! What a trace carries besides its events.

pub mod waiting;

/// The innermost frame of an event that frees memory.
pub const FREES: &str = "[free]";
