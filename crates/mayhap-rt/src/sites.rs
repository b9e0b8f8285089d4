//! Numbers for program counters. A site is a place in the code with what happens there; the record of an access has room
//! for a number of 14 or 16 bits, not for an address. Everything here is for the holder of the token only.
//!
//! A direct-mapped cache answers nearly always; otherwise an open hash table does, filled to at most half.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use mayhap_wire::ring::{MAX_SITE, SiteKind, Tag, site_word, unit};

use crate::sched::Token;
use crate::{ring, sys};

const CACHE: usize = 1 << 12;
const TABLE: usize = 1 << 18;

/// A program counter (0: none) and its number.
#[repr(C, align(16))]
struct Entry {
    key: AtomicU64,
    number: AtomicU32,
}

#[expect(clippy::declare_interior_mutable_const, reason = "only ever used to fill the static below")]
const EMPTY: Entry = Entry { key: AtomicU64::new(0), number: AtomicU32::new(0) };
static CACHED: [Entry; CACHE] = [EMPTY; CACHE];
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicU32 = AtomicU32::new(0);
/// The addresses that sites without a place accessed last.
static LAST: [AtomicU64; unit::MAX_SITE as usize + 1] = [const { AtomicU64::new(0) }; unit::MAX_SITE as usize + 1];
/// One bit for each number: whether the site writes.
static WRITES: [AtomicU64; MAX_SITE as usize / 64 + 1] = [const { AtomicU64::new(0) }; MAX_SITE as usize / 64 + 1];

/// The number of the site at `pc` if the cache has it, else 0. The entry may change while it is read only if this thread does not hold the
/// token, and then the number is not used.
#[inline(always)]
pub(crate) fn cached(pc: u64) -> u32 {
    let cached = &CACHED[slot(pc)];
    if cached.key.load(Ordering::Relaxed) == pc { cached.number.load(Ordering::Relaxed) } else { 0 }
}

/// Returns the address that the site of this number accessed last. Sites that are always recorded in words share one.
#[inline(always)]
pub(crate) fn last(number: u32) -> &'static AtomicU64 {
    &LAST[if number <= unit::MAX_SITE { number as usize } else { 0 }]
}

/// Where the addresses that sites accessed last begin.
pub(crate) fn first_last() -> u64 {
    LAST.as_ptr() as u64
}

/// Whether the site of this number writes.
pub(crate) fn writes(number: u32) -> bool {
    WRITES.get(number as usize / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (number % 64) & 1 != 0)
}

fn note(number: u32, kind: SiteKind) {
    if let Some(word) = WRITES.get(number as usize / 64) {
        let bit = 1 << (number % 64);
        let others = word.load(Ordering::Relaxed) & !bit;
        word.store(if kind == SiteKind::Write { others | bit } else { others }, Ordering::Relaxed);
    }
}

#[inline(always)]
fn slot(pc: u64) -> usize {
    (pc ^ (pc >> 12)) as usize % CACHE
}

/// Returns the number of the site at `pc`; the ring learns of it if it is new.
#[inline(always)]
pub(crate) fn number(token: Token<'_>, pc: u64, kind: SiteKind, size: u8) -> u32 {
    let cached = &CACHED[slot(pc)];
    if cached.key.load(Ordering::Relaxed) == pc {
        return cached.number.load(Ordering::Relaxed);
    }
    look_up(token, pc, kind, size, cached)
}

#[cold]
#[inline(never)]
fn look_up(token: Token<'_>, pc: u64, kind: SiteKind, size: u8, cached: &Entry) -> u32 {
    let number = match find(pc) {
        Some(entry) if entry.key.load(Ordering::Relaxed) == pc => entry.number.load(Ordering::Relaxed),
        Some(entry) if COUNT.load(Ordering::Relaxed) < MAX_SITE => {
            let number = COUNT.load(Ordering::Relaxed) + 1;
            COUNT.store(number, Ordering::Relaxed);
            entry.key.store(pc, Ordering::Relaxed);
            entry.number.store(number, Ordering::Relaxed);
            note(number, kind);
            ring::record(token, Tag::Site, number, &[site_word(pc, kind, size)]);
            number
        }
        // All numbers are in use: the last one is redefined each time, which the reader follows.
        _ => {
            note(MAX_SITE, kind);
            ring::record(token, Tag::Site, MAX_SITE, &[site_word(pc, kind, size)]);
            return MAX_SITE;
        }
    };
    cached.key.store(pc, Ordering::Relaxed);
    cached.number.store(number, Ordering::Relaxed);
    number
}

/// Where the search for `pc` begins. Places in one page of code lie together, since a process pays for each page of the table that it touches.
fn place(pc: u64) -> usize {
    const TOGETHER: u32 = 9;
    let page = ((pc >> 12).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    page << TOGETHER | (pc >> 3) as usize & ((1 << TOGETHER) - 1)
}

/// The entry of `pc`, or the empty one where it belongs; `None` without memory for the table.
fn find(pc: u64) -> Option<&'static Entry> {
    let mut entries = ENTRIES.load(Ordering::Relaxed);
    if entries.is_null() {
        entries = sys::map(TABLE * size_of::<Entry>()).cast();
        ENTRIES.store(entries, Ordering::Relaxed);
    }
    if entries.is_null() {
        return None;
    }
    let mut at = place(pc);
    loop {
        // SAFETY: the index is within the table, which is never more than half full, so the search ends.
        let entry = unsafe { &*entries.add(at % TABLE) };
        let key = entry.key.load(Ordering::Relaxed);
        if key == pc || key == 0 {
            return Some(entry);
        }
        at += 1;
    }
}
