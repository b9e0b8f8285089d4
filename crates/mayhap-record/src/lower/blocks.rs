//! Variables of blocks within functions: they live until the function is seen outside the block.
//!
//! Nothing is recorded when a block ends. The first step of the function at a place that surely comes after the block ends its variables
//! ([`LocalBlock::is_left_at`]), so they may be taken to live too long, never too short. Where blocks of a loop are entered again without
//! such a step, their variables stay the same ones.

use std::collections::HashMap;

use mayhap_symbols::LocalBlock;
use mayhap_trace::{Flags, NameError, Op, VariableKind};
use mayhap_wire::call_frame;
use mayhap_wire::ring::{SiteKind, Tag};

use super::Lowering;
use super::locals::Left;
use super::steps::View;
use crate::ring_words::Word;
use crate::sharing::lifetimes::has_site;
use crate::sharing::sharing_state::CUTS;

/// The variables of blocks that are alive.
#[derive(Default)]
pub(super) struct Blocks {
    /// Of each thread.
    live: Vec<Vec<Live>>,
    count: usize,
    /// The blocks that had such variables, and whether a program counter is after one.
    known: Vec<LocalBlock>,
    is_after: HashMap<(usize, u64), bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Live {
    /// The depth of the function.
    depth: usize,
    granule: u64,
    /// The number of the block.
    block: usize,
}

impl Blocks {
    /// A granule is a variable of a block of a thread's function at a depth.
    pub(super) fn begins(&mut self, thread: u16, depth: usize, granule: u64, block: LocalBlock) {
        let index = usize::from(thread);
        if self.live.len() <= index {
            self.live.resize(index + 1, Vec::new());
        }
        let block = self.known.iter().position(|known| *known == block).unwrap_or_else(|| {
            self.known.push(block);
            self.known.len() - 1
        });
        self.live[index].retain(|live| (live.depth, live.granule) != (depth, granule));
        self.live[index].push(Live { depth, granule, block });
        self.recount();
    }

    /// The thread's functions from a depth on have returned.
    pub(super) fn forget(&mut self, thread: u16, depth: usize) {
        if let Some(live) = self.live.get_mut(usize::from(thread)) {
            live.retain(|live| live.depth < depth);
            self.recount();
        }
    }

    fn recount(&mut self) {
        self.count = self.live.iter().map(Vec::len).sum();
    }

    /// The variables that are gone when the thread's function at a depth is at a program counter.
    fn leave(&mut self, thread: u16, depth: usize, pc: u64) -> Vec<u64> {
        let Blocks { live, known, is_after, .. } = self;
        let Some(live) = live.get_mut(usize::from(thread)) else { return Vec::new() };
        let mut gone = Vec::new();
        live.retain(|variable| {
            let is_gone = variable.depth == depth
                && *is_after.entry((variable.block, pc)).or_insert_with(|| known[variable.block].is_left_at(pc));
            gone.extend(is_gone.then_some(variable.granule));
            !is_gone
        });
        if !gone.is_empty() {
            self.recount();
        }
        gone
    }
}

impl Lowering {
    /// Before a word: if it says that a function is outside a block, the variables of the block are gone.
    #[inline]
    pub(super) fn leave_blocks(&mut self, word: Word<'_>) -> Result<(), NameError> {
        self.noted = self.count;
        if self.locals.blocks.count == 0 { Ok(()) } else { self.leave_blocks_at(word) }
    }

    #[cold]
    fn leave_blocks_at(&mut self, word: Word<'_>) -> Result<(), NameError> {
        let innermost = |lowering: &Lowering| lowering.stacks.depth(lowering.current)?.checked_sub(1);
        // Compilers may move reads, but not past calls and writes.
        let (site, depth) = match word {
            Word::Access(site, address) => match self.sites.kind(site).0 {
                SiteKind::Write => (site, innermost(self)),
                SiteKind::Call => (site, (call_frame::depth(address) as usize).checked_sub(1)),
                _ => return Ok(()),
            },
            Word::Record(tag, site, _) => {
                let is_called = matches!(tag, Tag::Fork | Tag::Join | Tag::WaitBegin);
                if tag == Tag::RangeRead || !(is_called || has_site(tag)) {
                    return Ok(());
                }
                (site, innermost(self))
            }
        };
        let pc = self.sites.get(site).pc;
        let Some(depth) = depth.filter(|_| pc != 0) else { return Ok(()) };
        let gone = self.locals.blocks.leave(self.current, depth, pc);
        for &granule in &gone {
            self.end_variable(site, depth, granule)?;
        }
        if let (Some(&highest), Some(&lowest)) = (gone.iter().max(), gone.iter().min())
            && self.count > self.noted
        {
            let left = Left { is_block: true, site, highest, lowest };
            let view = View { sites: &self.sites, blocks: &self.blocks, symbols: &self.symbols };
            self.steps.left(&view, self.current, &left, self.count - self.noted);
            self.noted = self.count;
        }
        Ok(())
    }

    /// The variables in a granule are gone: the thread is at a site outside their block.
    fn end_variable(&mut self, site: u32, depth: usize, granule: u64) -> Result<(), NameError> {
        let cell = self.kept.get(granule);
        if cell >> 32 != 0 {
            let first = (cell >> 32) as u32 - 1;
            for variable in first..=first + (cell & CUTS).count_ones() {
                if self.tables.variable_kinds.get(variable as usize) == VariableKind::Unspecified {
                    self.tables.variable_kinds.set(variable as usize, VariableKind::BlockLocal);
                }
            }
            self.doubt_return();
            self.access_anyway(site, granule, 8, Op::Write, Flags::FREE, None)?;
        }
        self.forget_variable(depth, granule);
        Ok(())
    }
}
