//! The first pass, while the program runs: who touches which memory.
//!
//! Memory with a life of its own (heap blocks, stacks) is judged when its addresses get a new life, so that an address used again by
//! another thread does not count as shared. What is found is kept per block and only for granules worth keeping.
//!
//! Cost: constant time an access (a cached table lookup), time linear in a block's pages that were ever touched when it is freed.

use std::collections::HashSet;

use mayhap_wire::ring::{AtomicKind, SiteKind, Tag, split_atomic};

use super::modules::{Block, Blocks, Module, Sites};
use super::shadow::{GRANULE, Shadow, granules};
use super::words::{Word, Words, following};

/// Granules of a block that are worth keeping: the number within the block, and the cuts.
pub(super) type Kept = Box<[(u32, u8)]>;

/// What the first pass learns.
#[derive(Default)]
pub(super) struct Survey {
    sites: Sites,
    modules: Vec<Module>,
    /// Program counters of all sites.
    pcs: Vec<u64>,
    /// Those where threads wait on conditions.
    waits: HashSet<u64>,
    tells_branches: bool,
    blocks: Blocks,
    shadow: Shadow,
    kept: Vec<Kept>,
    thread: u16,
    carried: Vec<u64>,
    atomics: Atomics,
    /// The words stopped making sense: nothing after that is read.
    broken: bool,
}

/// What the second pass needs of the first.
pub(super) struct Facts {
    /// Per block, by number.
    pub(super) kept: Vec<Kept>,
    /// Of memory outside blocks.
    pub(super) shadow: Shadow,
    pub(super) modules: Vec<Module>,
    /// Program counters of all sites but those where threads wait on conditions.
    pub(super) pcs: Vec<u64>,
    /// The run tells its basic blocks.
    pub(super) tells_branches: bool,
    pub(super) atomics: Atomics,
}

/// Where atomic operations are, and which of them read which addresses without changing them.
#[derive(Default)]
pub(super) struct Atomics {
    /// Program counter and width.
    pub(super) places: HashSet<(u64, u8)>,
    /// Program counter and address.
    pub(super) reads: HashSet<(u64, u64)>,
    last: (u64, u64, bool),
}

impl Atomics {
    #[inline]
    fn note(&mut self, pc: u64, address: u64, size: u8, reads: bool) {
        if self.last == (pc, address, reads) {
            return;
        }
        self.last = (pc, address, reads);
        self.places.insert((pc, size));
        if reads {
            self.reads.insert((pc, address));
        }
    }
}

impl Survey {
    /// Takes the next words of the run.
    pub(super) fn take(&mut self, words: &[u64]) {
        if self.broken {
            return;
        }
        // Nearly always nothing was carried over.
        let mut joined = std::mem::take(&mut self.carried);
        let all = if joined.is_empty() {
            words
        } else {
            joined.extend_from_slice(words);
            &joined
        };
        let mut split = Words::new(all);
        for word in split.by_ref() {
            match word {
                Word::Access(site, address) => self.access(site, address),
                Word::Record(tag, argument, body) => self.record(tag, argument, body),
            }
        }
        self.broken = split.is_broken();
        self.carried = all[split.done()..].to_vec();
    }

    #[inline]
    fn access(&mut self, site: u32, address: u64) {
        let site = self.sites.get(site);
        let writes = site.kind == SiteKind::Write;
        if writes || site.kind == SiteKind::Read {
            self.touch(address, u64::from(site.size), writes);
        }
    }

    #[inline]
    fn touch(&mut self, address: u64, bytes: u64, writes: bool) {
        for (granule, from, to) in granules(address, bytes) {
            self.shadow.cell(granule).touch(self.thread, writes, from, to);
        }
    }

    fn record(&mut self, tag: Tag, argument: u32, body: &[u64]) {
        let (first, second) = (following(body, 0), following(body, 1));
        match tag {
            Tag::Switch => self.thread = argument as u16,
            Tag::Site => {
                self.sites.define(argument, first);
                let site = self.sites.get(argument);
                self.pcs.push(site.pc);
                self.tells_branches |= site.kind == SiteKind::Branch;
            }
            // Of the call's two objects the first is the condition: it says nothing of the mutex.
            Tag::WaitBegin | Tag::WaitEnd | Tag::Woken => _ = self.waits.insert(self.sites.get(argument).pc),
            Tag::Module => self.modules.push(Module::decode(argument, body)),
            Tag::Begin => {
                self.retire_overlapping(first, second);
                self.blocks.stack(argument as u16, first, second);
            }
            Tag::Alloc => {
                self.retire_overlapping(first, first.saturating_add(second.max(1)));
                self.blocks.allocate(self.thread, argument, first, second);
            }
            Tag::Free => {
                if let Some(block) = self.blocks.starting(first) {
                    self.free(block);
                }
            }
            Tag::RangeRead => self.touch(first, second, false),
            Tag::RangeWrite => self.touch(first, second, true),
            Tag::Atomic => {
                if let Some((kind, _, size)) = split_atomic(second) {
                    self.atomics.note(self.sites.get(argument).pc, first, size, kind == AtomicKind::Load);
                    self.touch(first, size.into(), kind != AtomicKind::Load);
                }
            }
            _ => {}
        }
    }

    /// Freeing writes whatever of the block was touched.
    fn free(&mut self, block: Block) {
        let thread = self.thread;
        self.shadow.each(block.start..block.end, |_, cell| {
            if cell.flags != 0 {
                cell.touch(thread, true, 0, GRANULE);
            }
        });
    }

    fn retire_overlapping(&mut self, start: u64, end: u64) {
        for block in self.blocks.overlapping(start, end) {
            self.retire(block);
        }
    }

    /// A block's life ends: what is worth keeping is kept, and its memory is as new.
    fn retire(&mut self, block: Block) {
        let mut kept = Vec::new();
        let first = block.start / GRANULE;
        self.shadow.each(block.start..block.end, |granule, cell| {
            if cell.is_kept() {
                kept.push(((granule / GRANULE - first) as u32, cell.cuts));
            }
            *cell = Default::default();
        });
        if self.kept.len() <= block.number {
            self.kept.resize(block.number + 1, Kept::default());
        }
        self.kept[block.number] = kept.into();
    }

    /// The files that were loaded so far.
    pub(super) fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The run is over.
    pub(super) fn finish(mut self) -> Facts {
        for block in self.blocks.drain() {
            self.retire(block);
        }
        self.kept.resize(self.blocks.count(), Kept::default());
        Facts {
            kept: self.kept,
            shadow: self.shadow,
            modules: self.modules,
            pcs: self.pcs.into_iter().filter(|pc| !self.waits.contains(pc)).collect(),
            tells_branches: self.tells_branches,
            atomics: self.atomics,
        }
    }
}
