//! What hooks that are part of the program's own code know of the runtime.
//!
//! The assembler ([`mayhap`](../../mayhap/src/compile/assembly/quick.rs)) writes into loops what the runtime's quickest hooks do; everything that
//! is not as it nearly always is they leave to those. All begin and end alike, so that the runtime knows one that a signal interrupted by
//! the code around it.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU64};

use crate::ring::{Header, unit};

/// Whose hooks may write to the ring without asking. The program's code finds it by the name [`SYMBOL`].
#[repr(C, align(64))]
pub struct Gate {
    /// The thread, by its thread pointer; 0: nobody's. Only the thread itself stores that here, anybody may store 0.
    pub owner: AtomicU64,
    /// Up to where the ring's head may come.
    pub room: AtomicU64,
    /// The ring.
    pub ring: AtomicPtr<Header>,
    /// Where the unit numbered 0 would be if those up to [`Gate::room`] lay behind it.
    pub base: AtomicU64,
    /// Nothing: who takes the gate for a ring reads a head here that is none.
    pub nothing: [AtomicU64; 5],
}

const _: () = assert!(size_of::<Gate>() > offset_of!(Header, head) + 8);

/// The gate's name. Code is linked with a runtime that knows what it does: whoever changes the gate, a place or a unit changes this.
pub const SYMBOL: &str = "mayhap_gate_2";

/// Byte offset of [`Gate::owner`].
pub const OWNER: usize = offset_of!(Gate, owner);
/// Byte offset of [`Gate::room`].
pub const ROOM: usize = offset_of!(Gate, room);
/// Byte offset of [`Gate::ring`].
pub const RING: usize = offset_of!(Gate, ring);
/// Byte offset of [`Gate::base`].
pub const BASE: usize = offset_of!(Gate, base);

/// How a hook goes on behind its first instruction, which asks for the gate and has [`ASKING_BYTES`] bytes: it asks for the thread pointer, into one
/// of two registers that differ in the byte [`OWN_AT`], and for the ring.
pub const BEGINNING: [u8; 13] = [0x64, 0x48, 0x8b, 0x0c, 0x25, 0, 0, 0, 0, 0x4d, 0x8b, 0x4b, RING as u8];
/// See [`BEGINNING`].
pub const OWN_AT: usize = 3;
/// See [`BEGINNING`].
pub const ASKING_BYTES: usize = 7;
/// How a hook begins that comes behind another: it compares the head with what that one made it, and goes on by a jump of one of these kinds
/// and with [`FOLLOWER_GOES_ON`].
pub const FOLLOWER: [u8; 4] = [0x4d, 0x3b, 0x51, offset_of!(Header, head) as u8];
/// The short and the long jump behind [`FOLLOWER`]: its first bytes, and how many it has.
pub const FOLLOWER_JUMPS: [(&[u8], usize); 2] = [(&[0x75], 2), (&[0x0f, 0x85], 6)];
/// See [`FOLLOWER`].
pub const FOLLOWER_GOES_ON: [u8; 7] = {
    let half = (unit::HALF as u32).to_le_bytes();
    [0x48, 0x8d, 0x87, half[0], half[1], half[2], half[3]]
};
/// The most units that a hook that asked and those that only follow it add together.
pub const TOGETHER: u64 = 48;
/// The instruction that moves the ring's head. Behind it each access is noted, and the hook ends.
pub const COMMIT: [u8; 4] = [0x4d, 0x89, 0x51, offset_of!(Header, head) as u8];
/// No hook is longer.
pub const MAX_BYTES: usize = 512;
