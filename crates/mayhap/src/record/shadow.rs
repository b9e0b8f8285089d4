//! What is known of each 8-byte granule of the program's memory, by address.
//!
//! Two levels: a map from page numbers to pages of 512 cells, with a direct-mapped cache in front. 4 KiB of shadow
//! for 4 KiB of memory that the program touched.

use std::collections::HashMap;

/// Bytes of a granule.
pub(super) const GRANULE: u64 = 8;
const PAGE: u64 = 4096;
const CELLS: usize = (PAGE / GRANULE) as usize;
const CACHE: usize = 1 << 10;

/// One granule. In the first pass: who touched it and how; in the second: its first variable.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    /// Bit i: an access starts or ends before byte i.
    pub(super) cuts: u8,
    /// See the constants below.
    pub(super) flags: u8,
    /// The only thread that touched it.
    pub(super) thread: u16,
    /// In the second pass, if it has one: the variable of the granule's first piece, plus 1.
    pub(super) variable: u32,
}

/// Some thread touched the granule.
pub(super) const TOUCHED: u8 = 1;
/// Two threads touched it.
pub(super) const SHARED: u8 = 2;
/// Some thread wrote it.
pub(super) const WRITTEN: u8 = 4;

impl Cell {
    /// Its accesses are worth keeping: two threads touch it and one writes. Other accesses conflict with nothing, and
    /// what they read is the same in every reordering.
    #[inline]
    pub(super) fn is_kept(self) -> bool {
        self.flags & (SHARED | WRITTEN) == SHARED | WRITTEN
    }

    /// A thread touches bytes `from..to` of the granule.
    #[inline]
    pub(super) fn touch(&mut self, thread: u16, writes: bool, from: u64, to: u64) {
        // Byte 0 and 8 always bound a piece; bit 8 falls off.
        self.cuts |= ((1u32 << from) | (1u32 << to)) as u8 & !1;
        if self.flags & TOUCHED == 0 {
            self.thread = thread;
            self.flags |= TOUCHED;
        } else if self.thread != thread {
            self.flags |= SHARED;
        }
        if writes {
            self.flags |= WRITTEN;
        }
    }
}

/// The cells of all granules.
pub(super) struct Shadow {
    pages: Vec<Box<[Cell; CELLS]>>,
    index: HashMap<u64, u32, foldhash::fast::FixedState>,
    /// Page number plus 1, and its index.
    cache: Vec<(u64, u32)>,
}

impl Default for Shadow {
    fn default() -> Self {
        Shadow { pages: Vec::new(), index: HashMap::default(), cache: vec![(0, 0); CACHE] }
    }
}

impl Shadow {
    /// The cell of the granule at `address`.
    #[inline]
    pub(super) fn cell(&mut self, address: u64) -> &mut Cell {
        let page = address / PAGE;
        let slot = page as usize % CACHE;
        let (key, index) = self.cache[slot];
        let index = if key == page + 1 { index } else { self.find(page, slot) };
        &mut self.pages[index as usize][(address % PAGE / GRANULE) as usize]
    }

    #[cold]
    fn find(&mut self, page: u64, slot: usize) -> u32 {
        let index = *self.index.entry(page).or_insert_with(|| {
            self.pages.push(Box::new([Cell::default(); CELLS]));
            (self.pages.len() - 1) as u32
        });
        self.cache[slot] = (page + 1, index);
        index
    }

    /// Calls `f` for each granule of `range` whose page is there.
    pub(super) fn each(&mut self, range: std::ops::Range<u64>, mut f: impl FnMut(u64, &mut Cell)) {
        let mut granule = range.start / GRANULE * GRANULE;
        while granule < range.end {
            let page = granule / PAGE;
            let Some(&index) = self.index.get(&page) else {
                granule = (page + 1) * PAGE;
                continue;
            };
            let end = range.end.min((page + 1) * PAGE);
            while granule < end {
                f(granule, &mut self.pages[index as usize][(granule % PAGE / GRANULE) as usize]);
                granule += GRANULE;
            }
        }
    }
}

/// Splits an access into granules: the granule's address, and the bytes of it from where to where.
#[inline]
pub(super) fn granules(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let end = address.saturating_add(bytes);
    let mut at = address;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let granule = at / GRANULE * GRANULE;
        let from = at - granule;
        let to = (end - granule).min(GRANULE);
        at = granule.saturating_add(GRANULE);
        Some((granule, from, to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_split_at_granules() {
        assert_eq!(granules(16, 8).collect::<Vec<_>>(), [(16, 0, 8)]);
        assert_eq!(granules(20, 8).collect::<Vec<_>>(), [(16, 4, 8), (24, 0, 4)]);
        assert_eq!(granules(19, 1).collect::<Vec<_>>(), [(16, 3, 4)]);
        assert_eq!(granules(19, 0).count(), 0);
        assert_eq!(granules(u64::MAX - 1, 8).count(), 1);
    }

    #[test]
    fn only_what_two_threads_touch_and_one_writes_is_kept() {
        let mut shadow = Shadow::default();
        let touch = |s: &mut Shadow, thread, writes| {
            s.cell(0x1234).touch(thread, writes, 4, 8);
            s.cell(0x1234).is_kept()
        };
        assert!(!touch(&mut shadow, 1, true));
        assert!(!touch(&mut shadow, 1, false));
        assert!(touch(&mut shadow, 2, false));
        assert_eq!(shadow.cell(0x1230).cuts, 1 << 4);
        assert!(!shadow.cell(0x1238).is_kept());
        let mut seen = 0;
        shadow.each(0..0x4000, |_, _| seen += 1);
        assert_eq!(seen, CELLS);
    }
}
