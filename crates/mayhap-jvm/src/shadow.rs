//! Memory that stands for the program's objects: the machine moves those, and their addresses mean nothing in another run. Each object that a hook
//! has seen has a block here; its tag, or a field of it, is the block's address.

use core::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where parts of a block are.
pub(crate) const CONDITION: u64 = 48;
/// A word for what a kind of object needs: the record of a thread, the block that a view belongs to.
pub(crate) const EXTRA: u64 = 96;
/// A word that operations change whose order is kept.
pub(crate) const ORDER: u64 = 104;
/// Where fields and elements begin; of objects of the library, what they hold.
pub(crate) const FIELDS: u64 = 112;

const BYTES: u64 = 1 << 38;
/// How much of that is for classes.
const CLASSES: u64 = 1 << 34;

static BASE: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);
static NEXT_CLASS: AtomicU64 = AtomicU64::new(0);

/// Reserves the memory. Only what is used takes any.
pub(crate) fn reserve() -> bool {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a fresh mapping.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), BYTES as usize, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return false;
    }
    let base = base as u64;
    BASE.store(base, Ordering::Release);
    NEXT_CLASS.store(base, Ordering::Release);
    NEXT.store(base + CLASSES, Ordering::Release);
    true
}

/// A new block for an object; `None` when all is used.
pub(crate) fn block(bytes: u64) -> Option<u64> {
    let size = (FIELDS + bytes).next_multiple_of(16);
    let at = NEXT.fetch_add(size, Ordering::Relaxed);
    (at + size <= BASE.load(Ordering::Relaxed) + BYTES).then_some(at)
}

/// Memory for the places and static fields of a class.
pub(crate) fn class_block(bytes: u64) -> Option<u64> {
    let size = bytes.next_multiple_of(4096);
    let at = NEXT_CLASS.fetch_add(size, Ordering::Relaxed);
    (at + size <= BASE.load(Ordering::Relaxed) + CLASSES).then_some(at)
}

/// A word of the shadow memory.
pub(crate) fn word(address: u64) -> &'static AtomicU64 {
    // SAFETY: blocks lie in the reserved memory, which stays, and words in them are aligned.
    unsafe { AtomicU64::from_ptr(address as *mut u64) }
}

/// Who has the lock of a block, as its number, and how often: only the owner changes it.
pub(crate) fn owner(block: u64) -> (&'static AtomicU32, &'static AtomicU32) {
    // SAFETY: as above.
    unsafe { (AtomicU32::from_ptr((block + 40) as *mut u32), AtomicU32::from_ptr((block + 44) as *mut u32)) }
}

/// The lock of a block.
pub(crate) fn mutex(block: u64) -> *mut c_void {
    block as *mut c_void
}

/// The condition of a block.
pub(crate) fn condition(block: u64) -> *mut c_void {
    (block + CONDITION) as *mut c_void
}
