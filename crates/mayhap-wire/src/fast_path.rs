//! What inline hooks know of the runtime, and the runtime of inline hooks.
//!
//! In loops the assembler rewriting puts the runtime's fastest path into the program's own code; every rarer case calls the runtime.
//! Each such *inline hook* is described by an [`InlineHook`] in a note of its module, as Linux describes restartable sequences:
//! where it begins, where it commits, where it ends. The runtime looks a hook up there when a signal has interrupted it.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU64};

use crate::ring::Header;

/// The thread whose hooks may write to the ring without asking the scheduler. The program's code finds it by the name [`SYMBOL`].
#[repr(C, align(64))]
pub struct FastPath {
    /// The thread for which the fast path is open, by its thread pointer; 0: none. Only that thread stores its pointer here; any
    /// thread may store 0.
    pub owner: AtomicU64,
    /// The ring's head may come up to here.
    pub room: AtomicU64,
    /// The ring.
    pub ring: AtomicPtr<Header>,
    /// The address at which the unit numbered 0 would be if those up to [`FastPath::room`] followed it without a break.
    pub base: AtomicU64,
    /// Zeros: a hook that was given the fast path instead of a ring reads an impossible head here.
    pub no_head: [AtomicU64; 5],
}

const _: () = assert!(size_of::<FastPath>() > offset_of!(Header, head) + 8);

/// The symbol of the [`FastPath`]. Code must be linked with a runtime that agrees on what inline hooks do: a change of the fast path,
/// of places, of units or of [`InlineHook`] changes this name.
pub const SYMBOL: &str = "mayhap_fast_path_3";

/// Byte offset of [`FastPath::owner`].
pub const OWNER: usize = offset_of!(FastPath, owner);
/// Byte offset of [`FastPath::room`].
pub const ROOM: usize = offset_of!(FastPath, room);
/// Byte offset of [`FastPath::ring`].
pub const RING: usize = offset_of!(FastPath, ring);
/// Byte offset of [`FastPath::base`].
pub const BASE: usize = offset_of!(FastPath, base);

/// The most units that an inline hook that checked for room and those chained to it add together.
pub const TOGETHER: u64 = 48;

/// The section of the notes that describe inline hooks.
pub const NOTE_SECTION: &str = "mayhap.hooks";
/// The owner's name in these notes. With its final zero it takes 8 bytes, so that notes need no padding.
pub const NOTE_NAME: &str = "mayhap!";
/// The type of these notes.
pub const NOTE_TYPE: u32 = 1;

const _: () = assert!(NOTE_NAME.len() == 7);

/// The content of a note: one inline hook. No field needs relocation when the module is loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InlineHook {
    /// The distance from this field to the hook's first instruction. Up to the commit, a hook can begin again from there.
    pub begin: i32,
    /// The distance from the first instruction to the one that moves the ring's head: the commit.
    pub commit: u16,
    /// The distance from the first instruction to the one after the last note of an access.
    pub end: u16,
    /// The distance from this field to the [`Place`](PLACE_BYTES) of the hook's first access; those of the others follow it.
    pub places: i32,
    /// How many accesses the hook records. Their addresses are in `rdi`, `rdx`, `rcx` and `r8`.
    pub accesses: u32,
}

const _: () = assert!(size_of::<InlineHook>() == 16);

/// The size of a place: the memory that an access in the program's code has for itself.
pub const PLACE_BYTES: usize = 24;
/// Byte offset of a place's last address.
pub const PLACE_LAST: usize = 8;
