//! What is known of each 8 bytes of memory, in tables that are mapped where there is something to say.

use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::sys;

/// All of it may be used, or nothing is known.
const USABLE: u8 = 0;
/// The first so many bytes may be used: 1 to this.
const MOST_PARTLY: u8 = 7;
/// It lies before a block.
pub(super) const BEFORE: u8 = 0xf1;
/// It lies after a block.
pub(super) const AFTER: u8 = 0xf2;
/// It is of a block that was freed.
pub(super) const DEAD: u8 = 0xfd;

/// What one cell is about.
const GRANULE: u64 = 8;
/// Bytes of memory that one table is about, as a power of 2.
const TABLE_BITS: u32 = 20;
/// Bits of an address that a program can use.
const ADDRESS_BITS: u32 = 47;
const TABLES: usize = 1 << (ADDRESS_BITS - TABLE_BITS);
const CELLS: usize = 1 << (TABLE_BITS - 3);

type Table = [AtomicU8; CELLS];

static TABLES_AT: AtomicPtr<AtomicPtr<Table>> = AtomicPtr::new(core::ptr::null_mut());

/// Makes room for the tables; `false` if there is none.
pub(super) fn prepare() -> bool {
    let place = sys::map(TABLES * size_of::<AtomicPtr<Table>>());
    TABLES_AT.store(place.cast(), Ordering::Release);
    !place.is_null()
}

fn slot(address: u64) -> Option<&'static AtomicPtr<Table>> {
    let tables = TABLES_AT.load(Ordering::Relaxed);
    let index = (address >> TABLE_BITS) as usize;
    // SAFETY: there are so many, and they are never given back.
    (!tables.is_null() && index < TABLES).then(|| unsafe { &*tables.add(index) })
}

#[inline]
fn table(address: u64) -> Option<&'static Table> {
    // SAFETY: tables are never given back.
    unsafe { slot(address)?.load(Ordering::Acquire).as_ref() }
}

#[inline]
fn cell(address: u64) -> usize {
    (address / GRANULE) as usize % CELLS
}

/// What is known of the 8 bytes at an address.
#[inline]
pub(super) fn at(address: u64) -> u8 {
    table(address).map_or(USABLE, |table| table[cell(address)].load(Ordering::Relaxed))
}

/// Marks the granules from `start` up to `end`, both multiples of 8. Callers hold the judge's lock.
pub(super) fn mark(start: u64, end: u64, mark: u8) {
    let mut address = start;
    while address < end {
        let Some(slot) = slot(address) else { return };
        let mut place = slot.load(Ordering::Acquire);
        if place.is_null() {
            place = sys::map(size_of::<Table>()).cast();
            if place.is_null() {
                return;
            }
            slot.store(place, Ordering::Release);
        }
        let stop = end.min((address >> TABLE_BITS << TABLE_BITS) + (1 << TABLE_BITS));
        // SAFETY: tables are never given back.
        let table = unsafe { &*place };
        for granule in (address..stop).step_by(GRANULE as usize) {
            table[cell(granule)].store(mark, Ordering::Relaxed);
        }
        address = stop;
    }
}

/// Marks a block of `bytes` bytes as one that may be used.
pub(super) fn mark_usable(start: u64, bytes: u64) {
    let whole = start + bytes / GRANULE * GRANULE;
    mark(start, whole, USABLE);
    if !bytes.is_multiple_of(GRANULE) {
        mark(whole, whole + GRANULE, (bytes % GRANULE) as u8);
    }
}

/// The first of these bytes that must not be used.
pub(super) fn first_unusable(address: u64, bytes: u64) -> Option<u64> {
    let end = address.checked_add(bytes)?;
    let mut granule = address / GRANULE * GRANULE;
    while granule < end {
        let Some(table) = table(granule) else {
            granule = (granule >> TABLE_BITS).wrapping_add(1) << TABLE_BITS;
            if granule == 0 {
                return None;
            }
            continue;
        };
        match table[cell(granule)].load(Ordering::Relaxed) {
            USABLE => {}
            partly @ 1..=MOST_PARTLY if end <= granule + u64::from(partly) => {}
            partly @ 1..=MOST_PARTLY => return Some(address.max(granule + u64::from(partly))),
            _ => return Some(address.max(granule)),
        }
        granule += GRANULE;
    }
    None
}

/// Where the block begins that an unusable address belongs to.
pub(super) fn block_of(address: u64) -> Option<u64> {
    /// Granules of the largest block that is looked for.
    const MOST: u64 = 1 << 26;
    let start = address / GRANULE * GRANULE;
    if at(start) == BEFORE {
        return (1..MOST).map(|n| start + n * GRANULE).find(|&granule| at(granule) != BEFORE);
    }
    block_before(address, MOST)
}

/// Where the nearest block begins that does so before an address, and within so many granules.
pub(super) fn block_before(address: u64, most: u64) -> Option<u64> {
    let start = address / GRANULE * GRANULE;
    let before = (1..most).map(|n| start.saturating_sub(n * GRANULE)).find(|&granule| at(granule) == BEFORE)?;
    Some(before + GRANULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_at_its_last_byte_and_is_found_from_around_it() {
        assert!(prepare());
        // No memory lies there; only what is known of it is looked at.
        let (raw, block, bytes) = (0x0100_0000_u64, 0x0100_0020_u64, 13_u64);
        mark(raw, block, BEFORE);
        mark_usable(block, bytes);
        mark(block + 16, block + 48, AFTER);
        assert_eq!(first_unusable(block, bytes), None);
        assert_eq!(first_unusable(block + 8, 8), Some(block + 13));
        assert_eq!(first_unusable(block - 4, 8), Some(block - 4));
        assert_eq!(first_unusable(raw - 64, 8), None);
        assert_eq!([block - 1, block + 13, block + 20].map(block_of), [Some(block); 3]);
        mark(block, block + 16, DEAD);
        assert_eq!((first_unusable(block + 4, 4), at(block)), (Some(block + 4), DEAD));
        mark(raw, block + 48, 0);
        assert_eq!(first_unusable(raw, 64), None);
    }
}
