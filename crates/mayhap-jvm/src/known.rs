//! The blocks of objects that a thread has used lately. To ask the machine for an object's tag takes a lock and a search; where an object lies is known at once.
//!
//! A reference that native code gets points to the object's address. Objects move, and their memory is used again, only while the machine stands still to
//! collect garbage, which it announces before and after. So between two such events an address stands for one object. Machines that move objects while
//! the program runs are recognised by the names of their threads, and there nothing is remembered.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::jvm::Ref;

/// Added when a collection begins and when it ends.
const EVENT: u64 = 1 << 16;
/// How many collections are under way; not 0 where nothing may be remembered.
const UNDER_WAY: u64 = EVENT - 1;

/// Events of collections. It begins as if one were under way, so nothing is remembered before [`start`].
static COLLECTIONS: AtomicU64 = AtomicU64::new(1);

/// How many objects a thread remembers.
const MOST: usize = 256;
/// The length of what is no array, or of an array whose length was not asked for.
const NO_LENGTH: i32 = -1;

/// An object that the thread has used.
#[derive(Clone, Copy)]
struct Entry {
    address: u64,
    /// The events of collections at that time.
    collections: u64,
    block: u64,
    length: i32,
}

const NOTHING: Entry = Entry { address: 0, collections: UNDER_WAY, block: 0, length: NO_LENGTH };

thread_local! { static KNOWN: [Cell<Entry>; MOST] = const { [const { Cell::new(NOTHING) }; MOST] }; }

/// Objects may be remembered from here on if this machine moves them only while it stands still.
pub(crate) fn start() {
    if stands_still() {
        COLLECTIONS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether the machine is one that is known to move objects only while all its threads stand.
fn stands_still() -> bool {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return false };
    let names: Vec<String> =
        tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok()).collect();
    is_of_known_kind(&names)
}

/// The collectors G1 and Parallel name their threads so; others that move objects while the program runs have names of their own.
fn is_of_known_kind(threads: &[String]) -> bool {
    let any = |begin: &str| threads.iter().any(|name| name.starts_with(begin));
    any("VM Thread") && (any("G1 ") || any("GC Thread")) && !any("Shenandoah") && !any("Z")
}

/// A collection begins.
pub(crate) fn collects() {
    COLLECTIONS.fetch_add(EVENT + 1, Ordering::AcqRel);
}

/// A collection has ended.
pub(crate) fn collected() {
    COLLECTIONS.fetch_add(EVENT - 1, Ordering::AcqRel);
}

/// Where an object lies, and the events of collections at that time; `None` where that may change at any moment.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    address: u64,
    collections: u64,
}

/// Returns where an object lies.
#[inline]
pub(crate) fn position(object: Ref) -> Option<Position> {
    let collections = COLLECTIONS.load(Ordering::Acquire);
    // References of some kinds have marks in their lowest bits.
    if collections & UNDER_WAY != 0 || !(object as usize).is_multiple_of(8) {
        return None;
    }
    // SAFETY: a reference of this kind points to a word of the machine, which is there as long as the native method runs.
    let address = unsafe { AtomicU64::from_ptr(object.cast()) }.load(Ordering::Acquire);
    (COLLECTIONS.load(Ordering::Acquire) == collections).then_some(Position { address, collections })
}

impl Position {
    fn slot(self) -> usize {
        (self.address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % MOST
    }

    /// The block of the object that lies there, and its length if it is an array whose length is known.
    #[inline]
    pub(crate) fn known(self) -> Option<(u64, Option<i32>)> {
        let entry = KNOWN.with(|known| known[self.slot()].get());
        let is_same = entry.address == self.address && entry.collections == self.collections;
        is_same.then_some((entry.block, (entry.length >= 0).then_some(entry.length)))
    }

    /// The object has this block, which was found after its position.
    #[inline]
    pub(crate) fn has_block(self, block: u64, length: Option<i32>) {
        // What a collection in between has done to the position is not known.
        if COLLECTIONS.load(Ordering::Acquire) == self.collections {
            let length = length.unwrap_or(NO_LENGTH);
            let entry = Entry { address: self.address, collections: self.collections, block, length };
            KNOWN.with(|known| known[self.slot()].set(entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_that_move_objects_at_any_moment_are_recognised() {
        let of = |names: &[&str]| is_of_known_kind(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert!(of(&["java", "VM Thread", "GC Thread#0", "G1 Main Marker"]));
        assert!(of(&["java", "VM Thread", "GC Thread#0"]));
        assert!(!of(&["java", "VM Thread", "ZDriver", "ZWorker#0"]));
        assert!(!of(&["java", "VM Thread", "Shenandoah GC T", "GC Thread#0"]));
        assert!(!of(&["java", "another machine"]));
    }

    #[test]
    fn nothing_is_remembered_over_a_collection() {
        let mut cell = 4096u64;
        let object: Ref = core::ptr::from_mut(&mut cell).cast();
        assert!(position(object).is_none());
        COLLECTIONS.fetch_sub(1, Ordering::AcqRel);
        let before = position(object).unwrap();
        before.has_block(7, None);
        assert_eq!(position(object).unwrap().known(), Some((7, None)));
        before.has_block(7, Some(3));
        assert_eq!(position(object).unwrap().known(), Some((7, Some(3))));
        collects();
        assert!(position(object).is_none());
        collected();
        assert_eq!(position(object).unwrap().known(), None);
        before.has_block(8, None);
        assert_eq!(position(object).unwrap().known(), None);
    }
}
