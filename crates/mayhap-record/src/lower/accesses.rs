//! Accesses to memory, and memory that begins and ends its life.

use mayhap_trace::{Flags, NONE, NameError, Op};

use super::Lowering;
use crate::memory::Block;
use crate::sharing::shadow_table::granules;
use crate::sharing::sharing_state::{CUTS, KEPT};

impl Lowering {
    pub(super) fn access(&mut self, site: u32, address: u64, bytes: u64, op: Op) -> Result<(), NameError> {
        self.access_with(site, address, bytes, op, Flags::NONE)
    }

    pub(super) fn access_with(
        &mut self,
        site: u32,
        address: u64,
        bytes: u64,
        op: Op,
        flags: Flags,
    ) -> Result<(), NameError> {
        if self.limits.choose_places() && self.is_excluded(site) {
            let kept = granules(address, bytes).any(|(granule, _, _)| self.kept.get(granule) != 0);
            self.excluded += u64::from(kept);
            return Ok(());
        }
        let said = if self.annotations.is_any() { self.annotated(address, bytes, op) } else { Some(Flags::NONE) };
        let Some(flags) = said.map(|said| flags.with(said)) else { return Ok(()) };
        let mut first = true;
        for (granule, from, to) in granules(address, bytes) {
            let cell = self.kept.get(granule);
            if cell == 0 {
                continue;
            }
            if std::mem::take(&mut first) && !self.marks(site).constant {
                self.implicit_branch()?;
            }
            let base = self.variable(granule, cell)?;
            // Cuts at 1..=from are starts of pieces up to the one that `from` starts.
            let cuts = (cell & CUTS) as u32;
            let mut piece = base + (cuts & ((2 << from) - 1)).count_ones();
            self.emit_with(op, piece, site, flags, NONE)?;
            for _ in 0..(cuts & ((1 << to) - 1) & !((2 << from) - 1)).count_ones() {
                piece += 1;
                self.emit_with(op, piece, site, flags, NONE)?;
            }
            if op == Op::Read {
                self.thread().dirty = true;
            }
        }
        Ok(())
    }

    /// The variable of a granule's first piece; the others follow it.
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
                self.kept.set((block.start / 8 + u64::from(granule)) * 8, 0);
            }
        }
        self.objects.forget(block.start..block.end);
        self.rust_locks.forget_if_any(block.start, block.end);
    }

    pub(super) fn retire_overlapping(&mut self, start: u64, end: u64) {
        for block in self.blocks.overlapping(start, end) {
            self.retire(&block);
        }
    }

    pub(super) fn free(&mut self, site: u32, address: u64) -> Result<(), NameError> {
        let Some(block) = self.blocks.starting(address) else { return Ok(()) };
        let granules: Vec<u64> = match self.facts.kept.get(block.number) {
            Some(kept) => kept.iter().map(|&(granule, _)| (block.start / 8 + u64::from(granule)) * 8).collect(),
            None => Vec::new(),
        };
        for granule in granules {
            self.access_with(site, granule, 8, Op::Write, Flags::FREE)?;
        }
        Ok(())
    }

    /// Memory is given back to the kernel, by a call that need not know how it was allocated.
    pub(super) fn unmapped(&mut self, site: u32, start: u64, bytes: u64) -> Result<(), NameError> {
        self.stacks.frees(site);
        let end = start.saturating_add(bytes);
        for block in self.blocks.within(start, end) {
            let kept = self.facts.kept.get(block.number).map(|kept| kept.to_vec()).unwrap_or_default();
            for (granule, _) in kept {
                let address = (block.start / 8 + u64::from(granule)) * 8;
                if (start..end).contains(&address) {
                    self.access_with(site, address, 8, Op::Write, Flags::FREE)?;
                }
            }
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
}
