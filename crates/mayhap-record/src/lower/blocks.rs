//! Variables of blocks within functions: they live until the function is seen after the block.
//!
//! Nothing is recorded when a block ends. When the function is seen outside the block, its variables are set aside: from then on another
//! variable, perhaps one without a name, may lie in their place. The first call or write of the function at a place that surely comes after
//! the block ([`LocalBlock::is_left_at`]) ends them. If a thread has accessed the place in between, it is not known which variable it used,
//! and the block is forgotten: its variables then live until the function returns. So variables may be taken to live too long, never too
//! short. Where a block of a loop is entered again without such a step, its variables stay the same ones.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use mayhap_symbols::LocalBlock;
use mayhap_trace::{NameError, VariableKind};
use mayhap_wire::call_frame;
use mayhap_wire::ring::{SiteKind, Tag};

use super::Lowering;
use super::steps::{Left, View};
use crate::ring_words::Word;
use crate::sharing::lifetimes::has_site;
use crate::sharing::sharing_state::CUTS;

/// The variables of blocks that are alive.
#[derive(Default)]
pub(super) struct Blocks {
    /// Of each thread.
    live: Vec<Vec<Live>>,
    /// How many there are in all.
    count: usize,
    /// The granules of those that are set aside.
    aside: HashSet<u64, FixedState>,
    /// The blocks that had such variables, and where program counters are.
    known: Vec<LocalBlock>,
    places: HashMap<(usize, u64), Place, FixedState>,
}

/// Variables of one block in one call of its function.
struct Live {
    /// The depth of the function.
    depth: usize,
    /// The number of the block.
    block: usize,
    granules: Vec<u64>,
    /// What the cells of granules had been before they were set aside.
    aside: Vec<(u64, u64)>,
}

/// Where a function is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    /// Outside the block, or perhaps still at its end.
    Outside,
    /// Surely after the block.
    After,
}

impl Blocks {
    /// A granule is a variable of a block of a thread's function at a depth.
    pub(super) fn begins(&mut self, thread: u16, depth: usize, granule: u64, block: LocalBlock) {
        let index = usize::from(thread);
        if self.live.len() <= index {
            self.live.resize_with(index + 1, Vec::new);
        }
        let block = self.known.iter().position(|known| *known == block).unwrap_or_else(|| {
            self.known.push(block);
            self.known.len() - 1
        });
        match self.live[index].iter_mut().find(|live| (live.depth, live.block) == (depth, block)) {
            Some(live) => live.granules.push(granule),
            None => {
                self.live[index].push(Live { depth, block, granules: vec![granule], aside: Vec::new() });
                self.count += 1;
            }
        }
    }

    fn place(&mut self, block: usize, pc: u64) -> Place {
        let known = &self.known[block];
        *self.places.entry((block, pc)).or_insert_with(|| match known.contains(pc) {
            true => Place::Inside,
            false if known.is_left_at(pc) => Place::After,
            false => Place::Outside,
        })
    }
}

impl Lowering {
    /// Before a word: if it says that a function is after a block, the variables of the block are gone.
    #[inline]
    pub(super) fn leave_blocks(&mut self, word: Word<'_>) -> Result<(), NameError> {
        self.noted = self.count;
        if self.locals.blocks.count == 0 { Ok(()) } else { self.leave_blocks_at(word) }
    }

    #[cold]
    fn leave_blocks_at(&mut self, word: Word<'_>) -> Result<(), NameError> {
        let innermost = |lowering: &Lowering| lowering.stacks.depth(lowering.current)?.checked_sub(1);
        // Compilers may move reads, but not past calls and writes.
        let (site, depth, is_fixed) = match word {
            Word::Access(site, address) => match self.sites.kind(site).0 {
                SiteKind::Call => (site, (call_frame::depth(address) as usize).checked_sub(1), true),
                SiteKind::Return => return Ok(()),
                kind => (site, innermost(self), kind == SiteKind::Write),
            },
            Word::Record(Tag::End, ..) => {
                self.forget_blocks(0);
                return Ok(());
            }
            Word::Record(tag, site, _) => {
                let is_call = has_site(tag) || matches!(tag, Tag::Fork | Tag::Join | Tag::WaitBegin);
                if !is_call {
                    return Ok(());
                }
                (site, innermost(self), tag != Tag::RangeRead)
            }
        };
        let pc = self.sites.get(site).pc;
        let Some(depth) = depth.filter(|_| pc != 0) else { return Ok(()) };
        let thread = usize::from(self.current);
        let mut at = 0;
        while let Some(live) = self.locals.blocks.live.get(thread).and_then(|all| all.get(at)) {
            let (is_here, block) = (live.depth == depth, live.block);
            match is_here.then(|| self.locals.blocks.place(block, pc)) {
                Some(Place::Inside) => self.take_back(thread, at),
                Some(Place::After) if is_fixed => {
                    self.take_back(thread, at);
                    self.end_block(site, thread, at)?;
                    continue;
                }
                Some(_) => self.put_aside(thread, at),
                None => {}
            }
            at += 1;
        }
        Ok(())
    }

    /// The function is outside a block: other variables may lie where its own are.
    fn put_aside(&mut self, thread: usize, at: usize) {
        let Some(live) = self.locals.blocks.live.get_mut(thread).and_then(|all| all.get_mut(at)) else { return };
        if !live.aside.is_empty() {
            return;
        }
        for &granule in &live.granules {
            let cell = self.kept.get(granule);
            if cell >> 32 != 0 {
                live.aside.push((granule, cell));
                self.kept.set(granule, cell & u64::from(u32::MAX));
                self.locals.blocks.aside.insert(granule);
            }
        }
    }

    /// What was set aside of a block's variables is theirs again.
    fn take_back(&mut self, thread: usize, at: usize) {
        let Some(live) = self.locals.blocks.live.get_mut(thread).and_then(|all| all.get_mut(at)) else { return };
        for (granule, cell) in live.aside.drain(..) {
            self.locals.blocks.aside.remove(&granule);
            // The memory may be something else by now, or nothing that is recorded.
            if self.kept.get(granule) == cell & u64::from(u32::MAX) {
                self.kept.set(granule, cell);
            }
        }
    }

    /// The variable of a granule that was set aside and is now accessed. Whose it is by now is not known, so its block is forgotten.
    pub(super) fn accessed_aside(&mut self, granule: u64) -> Option<u32> {
        if !self.locals.blocks.aside.contains(&granule) {
            return None;
        }
        let has = |live: &Live| live.aside.iter().any(|(other, _)| *other == granule);
        let mut all = self.locals.blocks.live.iter().enumerate();
        let (thread, at) = all.find_map(|(thread, all)| Some((thread, all.iter().position(has)?)))?;
        self.take_back(thread, at);
        self.locals.blocks.live[thread].remove(at);
        self.locals.blocks.count -= 1;
        (self.kept.get(granule) >> 32).checked_sub(1).map(|id| id as u32)
    }

    /// The current thread's functions from a depth on return: what belongs to blocks in them ends with them.
    #[inline]
    pub(super) fn forget_blocks(&mut self, depth: usize) {
        if self.locals.blocks.count > 0 {
            self.forget_blocks_from(depth);
        }
    }

    #[cold]
    fn forget_blocks_from(&mut self, depth: usize) {
        let thread = usize::from(self.current);
        let mut at = 0;
        while let Some(live) = self.locals.blocks.live.get(thread).and_then(|all| all.get(at)) {
            if live.depth < depth {
                at += 1;
                continue;
            }
            self.take_back(thread, at);
            self.locals.blocks.live[thread].swap_remove(at);
            self.locals.blocks.count -= 1;
        }
    }

    /// The variables of a block are gone: the thread is at a site after it.
    fn end_block(&mut self, site: u32, thread: usize, at: usize) -> Result<(), NameError> {
        let live = self.locals.blocks.live[thread].swap_remove(at);
        self.locals.blocks.count -= 1;
        for &granule in &live.granules {
            self.end_variable(site, granule)?;
        }
        self.forget_variables(live.depth, &live.granules);
        if let (Some(&highest), Some(&lowest)) = (live.granules.iter().max(), live.granules.iter().min())
            && self.count > self.noted
        {
            let left = Left { is_block: true, site, highest, lowest };
            let view = View { sites: &self.sites, blocks: &self.blocks, symbols: &self.symbols };
            self.steps.left(&view, self.current, &left, self.count - self.noted);
            self.noted = self.count;
        }
        Ok(())
    }

    /// The variables in a granule are gone.
    fn end_variable(&mut self, site: u32, granule: u64) -> Result<(), NameError> {
        let cell = self.kept.get(granule);
        if cell >> 32 == 0 {
            return Ok(());
        }
        let first = (cell >> 32) as u32 - 1;
        for variable in first..=first + (cell & CUTS).count_ones() {
            if self.tables.variable_kinds.get(variable as usize) == VariableKind::Unspecified {
                self.tables.variable_kinds.set(variable as usize, VariableKind::BlockLocal);
            }
        }
        self.end_by_return(site, granule)
    }
}
