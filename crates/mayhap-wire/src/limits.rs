//! How large things may be. A file that says more is malformed, whatever its checksums say.

/// Events in one block.
pub const BLOCK_EVENTS: usize = 1 << 16;
/// Bytes of a block's contents before compression.
pub const BLOCK_RAW: usize = 1 << 24;
/// Bytes of a block's contents as stored: what compression may add to contents that do not compress.
pub const BLOCK_STORED: usize = BLOCK_RAW + (BLOCK_RAW >> 8) + 1024;
/// Bytes of a name.
pub const NAME: usize = 1 << 16;
/// Objects in one block of facts.
pub const FACTS: usize = 1 << 23;
/// Threads of a trace.
pub const THREADS: usize = u16::MAX as usize;
/// Names in any other table, and events of a trace.
pub const IDS: usize = u32::MAX as usize;

/// The most bytes that the contents of a block of `events` events can take before compression.
pub const fn events_raw(events: usize) -> usize {
    // Segment count, a thread and a run length each; operations; two columns of a width and at most four planes; which
    // columns follow; two more, of which that of the flags needs its four planes while it is written.
    5 + events * 6 + events + 2 * (1 + 4 * events) + 1 + 2 * (1 + 4 * events)
}

const _: () = assert!(events_raw(BLOCK_EVENTS) <= BLOCK_RAW);
const _: () = assert!(NAME + 8 <= BLOCK_RAW);
const _: () = assert!(FACTS / 8 + 16 <= BLOCK_RAW);
