//! What a trace carries besides its events.

/// The innermost frame of an event that frees memory.
pub const FREES: &str = "[free]";
