//! Accesses to memory, and memory that begins and ends its life.

use mayhap_trace::{Flags, NONE, NameError, Op};

use super::Lowering;
use crate::memory::{Block, BlockKind};
use crate::sharing::shadow_table::{GRANULE, granules};
use crate::sharing::sharing_state::{CUTS, KEPT};

/// The piece of a granule that `start` lies in, counted from the first, and where it ends; none beyond `to`.
#[inline]
pub(super) fn piece_of(cell: u64, start: u64, to: u64) -> Option<(u32, u64)> {
    if start >= to {
        return None;
    }
    let cuts = (cell & CUTS) as u32;
    // Cuts at 1..=start are starts of pieces up to the one that `start` is in.
    let piece = (cuts & ((2 << start) - 1)).count_ones();
    let later = cuts & !((2 << start) - 1);
    Some((piece, u64::from(later.trailing_zeros()).min(to)))
}

impl Lowering {
    pub(super) fn access(&mut self, site: u32, address: u64, bytes: u64, op: Op) -> Result<(), NameError> {
        self.use_library(site)?;
        let stores = self.marks(site).stores.filter(|_| op == Op::Write);
        let flags = if stores.is_some() { Flags::CONSTANT } else { Flags::NONE };
        let before = self.count;
        self.access_with(site, address, bytes, op, flags, stores)?;
        if self.count > before && self.is_piece(address, bytes) && self.out.ops.last() == Some(&op) {
            let event = self.count - 1;
            self.thread().latest.put(address, bytes, event);
        }
        Ok(())
    }

    /// The bytes are one piece of memory for all accesses.
    fn is_piece(&self, address: u64, bytes: u64) -> bool {
        let (from, to) = (address % GRANULE, address % GRANULE + bytes);
        to <= GRANULE && piece_of(self.kept.get(address - from), from, to).is_some_and(|(_, end)| end == to)
    }

    pub(super) fn access_with(
        &mut self,
        site: u32,
        address: u64,
        bytes: u64,
        op: Op,
        flags: Flags,
        value: Option<u64>,
    ) -> Result<(), NameError> {
        // Also where the memory is one thread's own: with another value the access goes elsewhere, or the program ends there.
        if !self.marks(site).constant {
            self.implicit_branch()?;
        }
        self.access_anyway(site, address, bytes, op, flags, value)
    }

    /// An access that comes without an implicit branch.
    pub(super) fn access_anyway(
        &mut self,
        site: u32,
        address: u64,
        bytes: u64,
        op: Op,
        flags: Flags,
        value: Option<u64>,
    ) -> Result<(), NameError> {
        if self.limits.choose_places() && self.is_excluded(site) {
            let kept = granules(address, bytes).any(|(granule, _, _)| self.kept.get(granule) != 0);
            if kept {
                self.left_out_here(site);
            }
            return Ok(());
        }
        let said = if self.annotations.is_any() { self.annotated(address, bytes, op) } else { Some(Flags::NONE) };
        let Some(flags) = said.map(|said| flags.with(said)) else { return Ok(()) };
        for (granule, from, to) in granules(address, bytes) {
            let cell = self.kept.get(granule);
            if cell == 0 {
                continue;
            }
            let base = self.variable(granule, cell)?;
            let mut start = from;
            while let Some((piece, end)) = piece_of(cell, start, to) {
                let value = match value {
                    Some(value) => self.value(value, granule + start - address, end - start)?,
                    None => NONE,
                };
                self.emit_with(op, base + piece, site, flags, value)?;
                start = end;
            }
            if op == Op::Write {
                self.doubts.forget(granule);
            }
            if op == Op::Read {
                self.thread().dirty = true;
            }
        }
        Ok(())
    }

    /// A thread begins on this stack; `frames` is where its frames begin.
    pub(super) fn begin(&mut self, thread: u16, start: u64, end: u64, frames: Option<u64>) -> Result<(), NameError> {
        self.retire_overlapping(start, end);
        let frames = frames.unwrap_or(end);
        let block = self.blocks.stack(thread, start, end, frames);
        self.revive(&block);
        self.steps.begun(thread, frames);
        self.emit(Op::Begin, NONE, 0)?;
        // What a thread was started with counts as read.
        self.thread().dirty = true;
        self.thread().stack = start..end;
        if thread == 0 && self.writes { self.tell_branches() } else { Ok(()) }
    }

    /// One leading branch event marks a trace that contains branches.
    pub(super) fn tell_branches(&mut self) -> Result<(), NameError> {
        self.thread().dirty |= self.facts.tells_branches;
        self.branch(0)
    }

    /// Returns the variable of a granule's first piece; the others follow it.
    #[inline]
    pub(super) fn variable(&mut self, granule: u64, cell: u64) -> Result<u32, NameError> {
        if cell >> 32 != 0 {
            return Ok((cell >> 32) as u32 - 1);
        }
        self.new_variable(granule, cell)
    }

    /// A block's life begins: its granules are as the first pass found them.
    pub(super) fn revive(&mut self, block: &Block) {
        let Some(kept) = self.facts.kept.get(block.number) else { return };
        for &(granule, cuts) in kept {
            let address = (block.start / 8 + u64::from(granule)) * 8;
            self.kept.set(address, KEPT | u64::from(cuts));
        }
    }

    pub(super) fn retire(&mut self, block: &Block) {
        if let Some(kept) = self.facts.kept.get(block.number) {
            for &(granule, _) in kept {
                let address = (block.start / 8 + u64::from(granule)) * 8;
                self.kept.set(address, 0);
                self.doubts.forget(address);
            }
        }
        self.allocated_at.remove(&block.number);
        self.objects.forget(block.start..block.end);
        self.rust_locks.forget_if_any(block.start, block.end);
    }

    pub(super) fn retire_overlapping(&mut self, start: u64, end: u64) {
        for block in self.blocks.overlapping(start, end) {
            self.retire(&block);
        }
    }

    pub(super) fn free(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        // With another value something else is freed, or what was freed before.
        self.implicit_branch()?;
        let Some(block) = self.blocks.starting(address) else { return Ok(()) };
        let granules: Vec<u64> = match self.facts.kept.get(block.number) {
            Some(kept) => kept.iter().map(|&(granule, _)| (block.start / 8 + u64::from(granule)) * 8).collect(),
            None => Vec::new(),
        };
        self.doubt_count(site, block.start);
        for granule in granules {
            self.access_with(site, granule, 8, Op::Write, Flags::FREE, None)?;
        }
        self.end_objects(site, block.start..block.end, true)
    }

    /// Memory is given back to the kernel, by a call that need not know how it was allocated.
    pub(super) fn unmapped(&mut self, site: u32, start: u64, bytes: u64) -> Result<(), NameError> {
        self.stacks.frees(site);
        let end = start.saturating_add(bytes);
        self.doubts.unmapped(&(start..end));
        // A thread that ends gives its stack back; libraries are unloaded.
        let whole = self.blocks.given_back(start, end);
        for block in self.blocks.within(start, end).into_iter().chain(whole) {
            let kept = self.facts.kept.get(block.number).map(|kept| kept.to_vec()).unwrap_or_default();
            for (granule, _) in kept {
                let address = (block.start / 8 + u64::from(granule)) * 8;
                // What its functions have left is gone.
                let is_stack = matches!(block.kind, BlockKind::Stack(_));
                match (start..end).contains(&address) {
                    true if !is_stack => self.access_with(site, address, 8, Op::Write, Flags::FREE, None)?,
                    true if !self.has_left(address) => self.end_by_return(site, address)?,
                    _ => {}
                }
            }
        }
        if let Some(library) = whole.filter(|block| block.kind == BlockKind::Library) {
            self.end_objects(site, library.start..library.end, true)?;
        }
        let (gone, left) = self.blocks.cut(start, end);
        for block in gone {
            self.retire(&block);
        }
        for block in left {
            self.revive(&block);
        }
        Ok(())
    }

    /// A module lies in memory from here on.
    pub(super) fn loaded(&mut self, low: u64, end: u64) {
        self.module_loaded(low);
        if self.blocks.is_new_library(low, end) {
            self.retire_overlapping(low, end);
            let block = self.blocks.library(self.current, low, end);
            self.revive(&block);
            self.mark_library(low..end);
        }
    }
}
