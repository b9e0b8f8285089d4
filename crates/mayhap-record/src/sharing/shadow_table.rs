//! A word for each 8-byte granule of the program's memory, by address.
//!
//! Two levels of flat tables: regions of 16 MiB, each with an array of cells that the operating system fills with zeros when
//! they are first touched. A lookup is three loads and no search; a region costs memory only where it was touched.

/// Bytes of a granule.
pub(crate) const GRANULE: u64 = 8;
const REGION_BITS: u32 = 24;
const CELLS: usize = 1 << (REGION_BITS - 3);
const REGIONS: usize = 1 << (47 - REGION_BITS);
/// Cells of a page: what [`Table::each`] skips at a time where nothing was ever set.
const PAGE: usize = 512;
const PAGES: usize = CELLS / PAGE;

struct Region {
    cells: Vec<u64>,
    /// Bit per page: some cell was set.
    set: Vec<u64>,
    /// By page: the last stamp of a visit.
    stamps: Vec<u32>,
}

/// One word per granule, zero until set.
pub(crate) struct Table {
    /// Index into `regions` plus 1.
    top: Vec<u32>,
    regions: Vec<Region>,
}

impl Default for Table {
    fn default() -> Self {
        Table { top: vec![0; REGIONS], regions: Vec::new() }
    }
}

/// The number of the page that an address lies in.
#[inline]
pub(crate) fn page(address: u64) -> u64 {
    address / (PAGE as u64 * GRANULE)
}

#[inline]
fn place(address: u64) -> (usize, usize) {
    ((address >> REGION_BITS) as usize % REGIONS, (address / GRANULE) as usize % CELLS)
}

impl Table {
    /// Returns the cell of the granule at `address`; 0 where none was set.
    #[inline]
    pub(crate) fn get(&self, address: u64) -> u64 {
        let (top, cell) = place(address);
        match self.top[top] {
            0 => 0,
            region => self.regions[region as usize - 1].cells[cell],
        }
    }

    /// The cell of the granule at `address`, to be changed only where it is not 0; calls `first` with the number of the page where no visit with this stamp came there before.
    #[inline]
    pub(crate) fn visit(&mut self, address: u64, stamp: u32, first: impl FnOnce(u64)) -> &mut u64 {
        let (top, cell) = place(address);
        if self.top[top] == 0 {
            self.add_region(top);
        }
        let region = &mut self.regions[self.top[top] as usize - 1];
        let last = &mut region.stamps[cell / PAGE];
        if *last != stamp {
            *last = stamp;
            first(page(address));
        }
        &mut region.cells[cell]
    }

    #[cold]
    fn add_region(&mut self, top: usize) {
        let (cells, pages) = (vec![0; CELLS], CELLS / PAGE);
        self.regions.push(Region { cells, set: vec![0; pages / 64], stamps: vec![0; pages] });
        self.top[top] = self.regions.len() as u32;
    }

    /// Sets the cell of the granule at `address`.
    pub(crate) fn set(&mut self, address: u64, value: u64) {
        let (top, cell) = place(address);
        if self.top[top] == 0 {
            self.add_region(top);
        }
        let region = &mut self.regions[self.top[top] as usize - 1];
        region.cells[cell] = value;
        region.set[cell / PAGE / 64] |= 1 << (cell / PAGE % 64);
    }

    /// Calls `f` with the address and the value of each granule of `range` that is set; what it returns is the new value.
    pub(crate) fn each(&mut self, range: std::ops::Range<u64>, mut f: impl FnMut(u64, u64) -> u64) {
        let mut granule = range.start / GRANULE * GRANULE;
        while granule < range.end {
            let (top, cell) = place(granule);
            let Some(region) = (self.top[top] as usize).checked_sub(1).map(|index| &mut self.regions[index]) else {
                granule = ((granule >> REGION_BITS) + 1) << REGION_BITS;
                continue;
            };
            let page_end = (granule / (PAGE as u64 * GRANULE) + 1) * PAGE as u64 * GRANULE;
            if region.set[cell / PAGE / 64] & 1 << (cell / PAGE % 64) == 0 {
                granule = page_end;
                continue;
            }
            let end = range.end.min(page_end);
            for cell in &mut region.cells[cell..cell + (end - granule).div_ceil(GRANULE) as usize] {
                if *cell != 0 {
                    *cell = f(granule, *cell);
                }
                granule += GRANULE;
            }
        }
    }

    /// [`Self::each`] for all granules.
    pub(crate) fn all(&mut self, mut f: impl FnMut(u64, u64) -> u64) {
        for top in (0..REGIONS).filter(|&top| self.top[top] != 0).collect::<Vec<_>>() {
            let start = (top as u64) << REGION_BITS;
            self.each(start..start + (1 << REGION_BITS), &mut f);
        }
    }
}

/// A set of granules.
pub(crate) struct Granules {
    /// Index into `regions` plus 1.
    top: Vec<u32>,
    regions: Vec<Vec<u64>>,
    /// By region: the pages that have some.
    pages: Vec<[u64; PAGES / 64]>,
}

impl Default for Granules {
    fn default() -> Self {
        Granules { top: vec![0; REGIONS], regions: Vec::new(), pages: Vec::new() }
    }
}

impl Granules {
    /// Puts the granule at `address` into the set.
    pub(crate) fn insert(&mut self, address: u64) {
        let (top, cell) = place(address);
        if self.top[top] == 0 {
            self.regions.push(vec![0; CELLS / 64]);
            self.pages.push([0; PAGES / 64]);
            self.top[top] = self.regions.len() as u32;
        }
        let region = self.top[top] as usize - 1;
        self.regions[region][cell / 64] |= 1 << (cell % 64);
        self.pages[region][cell / PAGE / 64] |= 1 << (cell / PAGE % 64);
    }

    /// Some granule from the one at `first` to the one at `last` is in the set.
    pub(crate) fn any(&self, first: u64, last: u64) -> bool {
        let mut at = first / GRANULE * GRANULE;
        while at <= last {
            let (top, cell) = place(at);
            let page = cell / PAGE;
            let Some(region) = (self.top[top] as usize).checked_sub(1) else {
                at += (CELLS - cell) as u64 * GRANULE;
                continue;
            };
            if self.pages[region][page / 64] >> (page % 64) & 1 == 0 {
                at += (PAGE - cell % PAGE) as u64 * GRANULE;
                continue;
            }
            let granules = ((last - at) / GRANULE + 1).min(64 - cell as u64 % 64);
            if self.regions[region][cell / 64] >> (cell % 64) & (u64::MAX >> (64 - granules)) != 0 {
                return true;
            }
            at += granules * GRANULE;
        }
        false
    }

    /// The granule at `address` is in the set.
    #[inline]
    pub(crate) fn contains(&self, address: u64) -> bool {
        let (top, cell) = place(address);
        match self.top[top] {
            0 => false,
            region => self.regions[region as usize - 1][cell / 64] >> (cell % 64) & 1 != 0,
        }
    }
}

/// Splits an access into granules: the granule's address, and the bytes of it from where to where.
#[inline]
pub(crate) fn granules(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
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
    fn a_table_holds_what_was_set_and_visits_only_that() {
        let mut table = Table::default();
        let places = [0x1000, 0x1008, 0x00ff_fff8, 0x0100_0000, 0x7fff_ffff_fff8];
        for (i, &address) in places.iter().enumerate() {
            assert_eq!(table.get(address), 0);
            table.set(address + 3, i as u64 + 1);
        }
        assert_eq!(places.map(|address| table.get(address)), [1, 2, 3, 4, 5]);
        let mut pages = Vec::new();
        let mut visit = |address, stamp| *table.visit(address, stamp, |page| pages.push(page));
        assert_eq!([visit(0x1008, 1), visit(0x1ff8, 1), visit(0x2000, 1), visit(0x1000, 1)], [2, 0, 0, 1]);
        assert_eq!([visit(0x1000, 2), visit(0x5000_0000, 2)], [1, 0]);
        assert_eq!(pages, [1, 2, 1, 0x5_0000]);
        let mut seen = Vec::new();
        table.each(0x1004..0x0100_0001, |granule, value| {
            seen.push((granule, value));
            if value == 2 { 0 } else { value }
        });
        assert_eq!(seen, [(0x1000, 1), (0x1008, 2), (0x00ff_fff8, 3), (0x0100_0000, 4)]);
        seen.clear();
        table.all(|granule, value| {
            seen.push((granule, value));
            value
        });
        assert_eq!(seen, [(0x1000, 1), (0x00ff_fff8, 3), (0x0100_0000, 4), (0x7fff_ffff_fff8, 5)]);
    }

    #[test]
    fn a_set_of_granules_tells_neighbours_apart() {
        let mut set = Granules::default();
        set.insert(0x7fff_0000_0010);
        assert!(set.contains(0x7fff_0000_0017));
        assert!(!set.contains(0x7fff_0000_0018) && !set.contains(0x10));
        assert!(set.any(0x7fff_0000_0017, 0x7fff_0000_0017) && set.any(0x10, 0x7fff_0000_0010));
        assert!(!set.any(0x7fff_0000_0018, 0x7fff_ffff_ffff) && !set.any(0x10, 0x7fff_0000_000f));
    }
}
