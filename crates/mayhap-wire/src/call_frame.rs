//! How a call is stored where an access has its address: the number of frames below it, and where its own begins.
//!
//! The low bits of both come first, so that calls from one site differ by little.

use crate::ring::ADDRESS_BITS;

/// The low bits of the depth, of the distance, and the high bits of the depth.
const LOW_DEPTH: u32 = 6;
const LOW_DISTANCE: u32 = 10;
const HIGH_DEPTH: u32 = 10;
/// Where the high bits of the depth and of the distance begin.
const DEPTH_AT: u32 = LOW_DEPTH + LOW_DISTANCE;
const DISTANCE_AT: u32 = DEPTH_AT + HIGH_DEPTH;
/// The bytes that a distance counts.
const WORD: u64 = 8;

const fn low(value: u64, bits: u32) -> u64 {
    value & ((1 << bits) - 1)
}

/// What stands for a call with this many frames below it, whose stack pointer is so many bytes below the end of its thread's stack. A
/// distance that does not fit is stored as 0, which means that it is not known.
#[inline]
pub const fn address(depth: u64, distance: u64) -> u64 {
    let words = distance / WORD;
    let words = if words >> (ADDRESS_BITS - LOW_DEPTH - HIGH_DEPTH) == 0 { words } else { 0 };
    low(depth, LOW_DEPTH)
        | low(words, LOW_DISTANCE) << LOW_DEPTH
        | low(depth >> LOW_DEPTH, HIGH_DEPTH) << DEPTH_AT
        | (words >> LOW_DISTANCE) << DISTANCE_AT
}

/// The number of frames.
#[inline]
pub const fn depth(address: u64) -> u64 {
    low(address, LOW_DEPTH) | low(address >> DEPTH_AT, HIGH_DEPTH) << LOW_DEPTH
}

/// The distance in bytes; 0 if it is not known.
#[inline]
pub const fn distance(address: u64) -> u64 {
    (low(address >> LOW_DEPTH, LOW_DISTANCE) | (address >> DISTANCE_AT) << LOW_DISTANCE) * WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_distance_come_back() {
        for (frames, bytes) in
            [(0, 0), (1, 8), (63, 8 * 1023), (64, 8 * 1024), (32_768, 8 << 20), (40_000, (1 << 34) - 8)]
        {
            let stored = address(frames, bytes);
            assert!(stored >> ADDRESS_BITS == 0);
            assert_eq!((depth(stored), distance(stored)), (frames, bytes));
        }
        assert_eq!(distance(address(3, 1 << 40)), 0, "too far to be stored");
        // A call one deeper, a little further down, fits into a unit.
        assert!(address(6, 800).abs_diff(address(5, 720)) < 1 << 16);
    }
}
