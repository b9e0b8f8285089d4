//! The program's memory as people know it: modules, heap blocks and stacks, and which of them an address lies in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mayhap_symbols::Module;
use mayhap_wire::ring::{CALL, SiteKind, split_site};

use crate::ring_words::following;

/// A loaded file, from the words of its record.
pub(crate) fn module(length: u32, body: &[u64]) -> Module {
    let bytes: Vec<u8> = body.iter().skip(3).flat_map(|word| word.to_le_bytes()).take(length as usize).collect();
    let path = PathBuf::from(std::ffi::OsString::from(String::from_utf8_lossy(&bytes).into_owned()));
    let (base, low, end) = (following(body, 0), following(body, 1), following(body, 2));
    // One that makes no sense lies nowhere.
    let (low, end) = if base <= low && low <= end { (low, end) } else { (base, base) };
    Module { base, low, end, path, changed: false }
}

/// A place in the code and what happens there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    pub(crate) pc: u64,
    pub(crate) kind: SiteKind,
    pub(crate) size: u8,
}

/// Sites by number.
#[derive(Clone, Default)]
pub(crate) struct Sites(Vec<Site>);

const NO_SITE: Site = Site { pc: 0, kind: SiteKind::Other, size: 0 };

impl Sites {
    /// Enters a site from its record.
    pub(crate) fn define(&mut self, number: u32, word: u64) {
        let Some((pc, kind, size)) = split_site(word) else { return };
        if self.0.len() <= number as usize {
            self.0.resize(number as usize + 1, NO_SITE);
        }
        let pc = if kind == SiteKind::Call { pc & !CALL } else { pc };
        self.0[number as usize] = Site { pc, kind, size };
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// What happens at a site, and to how many bytes. Faster than [`Self::get`], which copies the site before it is looked at.
    #[inline]
    pub(crate) fn kind(&self, number: u32) -> (SiteKind, u8) {
        match self.0.get(number as usize) {
            Some(site) => (site.kind, site.size),
            None => (NO_SITE.kind, NO_SITE.size),
        }
    }

    /// Returns a site; one that does nothing where the number was never defined.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Site {
        self.0.get(number as usize).copied().unwrap_or(NO_SITE)
    }
}

/// What a piece of memory with a life of its own is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockKind {
    /// From `malloc` and the like: the n-th allocation of the thread, and where.
    Heap {
        /// Counted from 1.
        nth: u32,
        /// The site of the call.
        site: u32,
    },
    /// A thread's stack, and where its frames begin.
    Stack(u64),
    /// A library that the program has loaded by itself.
    Library,
}

/// A piece of memory with a life of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    /// Counts all blocks of the run from 0, the same in both passes.
    pub(crate) number: usize,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Who allocated it, or whose stack it is.
    pub(crate) thread: u16,
    pub(crate) kind: BlockKind,
}

/// The blocks alive at a moment, and those freed whose memory has not been used again.
#[derive(Default)]
pub(crate) struct Blocks {
    live: BTreeMap<u64, Block>,
    count: usize,
    /// Allocations of each thread.
    allocations: Vec<u32>,
    /// Where the modules begin that are loaded, and whether those that the program began with are known.
    modules: BTreeSet<u64>,
    began: bool,
}

impl Blocks {
    /// A block is allocated. Its thread's next number is used even where it is never asked for.
    pub(crate) fn allocate(&mut self, thread: u16, site: u32, start: u64, bytes: u64) -> Block {
        let index = usize::from(thread);
        if self.allocations.len() <= index {
            self.allocations.resize(index + 1, 0);
        }
        self.allocations[index] += 1;
        let kind = BlockKind::Heap { nth: self.allocations[index], site };
        self.enter(thread, kind, start, start.saturating_add(bytes.max(1)))
    }

    /// A thread begins, with this stack, and its frames begin there.
    pub(crate) fn stack(&mut self, thread: u16, start: u64, end: u64, frames: u64) -> Block {
        self.enter(thread, BlockKind::Stack(frames), start, end)
    }

    /// Something other than a module was recorded: modules that are new from here on were loaded by the program.
    #[inline]
    pub(crate) fn goes_on(&mut self) {
        self.began |= !self.modules.is_empty();
    }

    /// Whether a module is a library that the program loads now.
    pub(crate) fn is_new_library(&mut self, low: u64, end: u64) -> bool {
        self.modules.insert(low) && self.began && low < end
    }

    /// A library is loaded.
    pub(crate) fn library(&mut self, thread: u16, low: u64, end: u64) -> Block {
        self.enter(thread, BlockKind::Library, low, end)
    }

    /// The library that a program counter lies in, by where it begins.
    pub(crate) fn library_of(&self, pc: u64) -> Option<u64> {
        self.containing(pc).filter(|block| block.kind == BlockKind::Library).map(|block| block.start)
    }

    /// The block of a stack or a library that is given back whole. A library can be loaded again.
    pub(crate) fn given_back(&mut self, start: u64, end: u64) -> Option<Block> {
        let block = self.starting(start).filter(|block| block.end == end)?;
        self.modules.remove(&start);
        (!matches!(block.kind, BlockKind::Heap { .. })).then_some(block)
    }

    fn enter(&mut self, thread: u16, kind: BlockKind, start: u64, end: u64) -> Block {
        let block = Block { number: self.count, start, end, thread, kind };
        self.count += 1;
        self.live.insert(start, block);
        block
    }

    /// Ends the life of blocks that overlap a new one: they were given back where no hook saw it.
    pub(crate) fn overlapping(&mut self, start: u64, end: u64) -> Vec<Block> {
        let mut gone = Vec::new();
        while let Some((&key, &block)) = self.live.range(..end).next_back() {
            if block.end <= start {
                break;
            }
            self.live.remove(&key);
            gone.push(block);
        }
        gone
    }

    /// Allocated blocks that lie in a range at least in part.
    pub(crate) fn within(&self, start: u64, end: u64) -> Vec<Block> {
        let blocks = self.live.range(..end).rev().map(|(_, block)| *block).take_while(|block| block.end > start);
        blocks.filter(|block| matches!(block.kind, BlockKind::Heap { .. })).collect()
    }

    /// A part of the memory is given back. Blocks that lose only a part end their lives, and what is left of them goes on as
    /// blocks of its own: the ones that end, and the others. A block that is given back whole stays, as one that is freed.
    pub(crate) fn cut(&mut self, start: u64, end: u64) -> (Vec<Block>, Vec<Block>) {
        let is_cut = |block: &Block| !(start <= block.start && block.end <= end);
        let gone: Vec<Block> = self.within(start, end).into_iter().filter(is_cut).collect();
        let mut left = Vec::new();
        for block in &gone {
            self.live.remove(&block.start);
            for (from, to) in [(block.start, start), (end, block.end)] {
                if from < to {
                    left.push(self.enter(block.thread, block.kind, from, to));
                }
            }
        }
        (gone, left)
    }

    /// The block that starts at `start`. Freed blocks stay until their memory is used again, so that an access after the
    /// free, or a second free, still belongs to the block.
    pub(crate) fn starting(&self, start: u64) -> Option<Block> {
        self.live.get(&start).copied()
    }

    /// The block that an address lies in.
    pub(crate) fn containing(&self, address: u64) -> Option<&Block> {
        self.live.range(..=address).next_back().map(|(_, block)| block).filter(|block| address < block.end)
    }

    /// The addresses around one that lies in no block, up to the blocks on either side.
    pub(crate) fn gap(&self, address: u64) -> std::ops::Range<u64> {
        let start = self.live.range(..=address).next_back().map_or(0, |(_, block)| block.end);
        let end = self.live.range(address..).next().map_or(u64::MAX, |(&start, _)| start);
        start..end
    }

    /// Ends all lives.
    pub(crate) fn drain(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.live).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_address_is_another_block() {
        let mut blocks = Blocks::default();
        let first = blocks.allocate(0, 1, 0x1000, 16);
        assert_eq!(blocks.containing(0x100f), Some(&first));
        assert_eq!(blocks.containing(0x1010), None);
        assert_eq!(blocks.starting(0x1000), Some(first));
        assert_eq!((blocks.gap(0x1010), blocks.gap(0xfff)), (0x1010..u64::MAX, 0..0x1000));
        assert_eq!(blocks.overlapping(0x1000, 0x1008), [first]);
        let second = blocks.allocate(0, 1, 0x1000, 8);
        assert_eq!((second.number, second.kind), (1, BlockKind::Heap { nth: 2, site: 1 }));
        assert_eq!(blocks.overlapping(0x0f00, 0x1001), [second]);
        assert_eq!(blocks.containing(0x1000), None);
    }
}
