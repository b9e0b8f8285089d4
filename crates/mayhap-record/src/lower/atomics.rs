//! Atomic operations and fences: accesses with a memory order and, where the recording has them, values.
//!
//! An operation that reads and writes is one step: its later events are joined to the first. A compare-exchange decides by what
//! it reads, so a branch follows its read. An exchange writes what does not depend on what it reads.

use mayhap_trace::{Flags, MemoryOrder, NONE, NameError, Op, ValueId, VariableKind};
use mayhap_wire::ring::{AtomicForm, AtomicKind};

use super::Lowering;
use super::accesses::piece_of;
use crate::sharing::shadow_table::granules;

/// An atomic operation as it was recorded.
#[derive(Clone, Copy)]
pub(crate) struct Atomic {
    pub(crate) address: u64,
    pub(crate) kind: AtomicKind,
    pub(crate) form: AtomicForm,
    /// The memory order as compilers number it.
    pub(crate) order: u8,
    pub(crate) size: u8,
    /// The values before and after the operation, if they were recorded.
    pub(crate) values: Option<(u64, u64)>,
}

impl Lowering {
    pub(crate) fn atomic(&mut self, site: u32, atomic: Atomic) -> Result<(), NameError> {
        let Atomic { address, kind, form, order, size, values } = atomic;
        if !self.marks(site).constant {
            self.implicit_branch()?;
        }
        if !granules(address, size.into()).any(|(granule, _, _)| self.kept.get(granule) != 0) {
            self.explain_shared(&atomic);
            return Ok(());
        }
        if self.limits.choose_places() && self.is_excluded(site) {
            self.left_out_here(site);
            return Ok(());
        }
        // It gives its lock up without an order where it has only read. That cannot be meant, and processors keep the order.
        let is_unlock =
            kind == AtomicKind::Update && order == 0 && self.code.unlocks.contains(&self.sites.get(site).pc);
        let order = if is_unlock { MemoryOrder::AcquireRelease } else { memory_order(order) };
        let flags = Flags::atomic(order);
        self.explain(site, &atomic);
        let mut joined = Flags::NONE;
        if kind != AtomicKind::Store {
            self.atomic_access(site, Op::Read, atomic, values.map(|(found, _)| found), flags.with(joined))?;
            joined = Flags::JOINED;
            self.thread().dirty = true;
        }
        if form == AtomicForm::Compare && self.facts.tells_branches && self.writes {
            self.thread().dirty = false;
            self.emit_with(Op::Branch, NONE, site, Flags::JOINED.with(Flags::IMPLICIT), NONE)?;
        }
        if kind != AtomicKind::Load {
            let independent = if form == AtomicForm::Exchange { Flags::INDEPENDENT } else { Flags::NONE };
            let constant = if self.writes_constant(site, atomic) { Flags::CONSTANT } else { Flags::NONE };
            let written = values.map(|(_, written)| written);
            let flags = flags.with(joined).with(independent).with(constant);
            self.atomic_access(site, Op::Write, atomic, written, flags)?;
        }
        Ok(())
    }

    /// The operation writes a constant of the code: what the code says is what was written.
    fn writes_constant(&self, site: u32, atomic: Atomic) -> bool {
        let pc = self.sites.get(site).pc;
        let Some(&[second, third]) = self.code.written.arguments.get(&pc) else { return false };
        let given = match (atomic.kind, atomic.form) {
            (AtomicKind::Store, _) | (AtomicKind::Update, AtomicForm::Exchange) => second,
            (AtomicKind::Update, AtomicForm::Compare) => third,
            _ => None,
        };
        let same = |given: u64, written: u64| (given ^ written) << (64 - 8 * u32::from(atomic.size.clamp(1, 8))) == 0;
        given.zip(atomic.values).is_some_and(|(given, (_, written))| atomic.size <= 8 && same(given, written))
    }

    /// One access of an atomic operation, an event for each piece of memory that accesses anywhere distinguish.
    fn atomic_access(
        &mut self,
        site: u32,
        op: Op,
        atomic: Atomic,
        value: Option<u64>,
        mut flags: Flags,
    ) -> Result<(), NameError> {
        for (granule, from, to) in granules(atomic.address, atomic.size.into()) {
            let cell = self.kept.get(granule);
            if cell == 0 {
                continue;
            }
            let base = self.variable(granule, cell)?;
            let is_first = cell >> 32 == 0 && self.blocks.containing(granule).is_none();
            let held = atomic.values.filter(|_| is_first && atomic.kind == AtomicKind::Store && atomic.size <= 8);
            let mut start = from;
            while let Some((piece, end)) = piece_of(cell, start, to) {
                let piece = base + piece;
                self.tables.variable_kinds.set(piece as usize, VariableKind::Atomic);
                let offset = granule + start - atomic.address;
                if let Some((held, _)) = held {
                    // No event reads what memory of the program's own files held.
                    let held = ValueId::from_cell(self.value(held, offset, end - start)?);
                    self.tables.initial_values.set(piece as usize, held);
                }
                let value = match value {
                    Some(value) if atomic.size <= 8 => self.value(value, offset, end - start)?,
                    _ => NONE,
                };
                self.emit_with(op, piece, site, flags, value)?;
                flags = flags.with(Flags::JOINED);
                start = end;
            }
        }
        Ok(())
    }

    pub(crate) fn fence(&mut self, site: u32, order: u8) -> Result<(), NameError> {
        self.emit_with(Op::Fence, NONE, site, Flags::atomic(memory_order(order)), NONE)
    }
}

/// The memory order that compilers number so.
fn memory_order(order: u8) -> MemoryOrder {
    MemoryOrder::ALL.get(usize::from(order)).copied().unwrap_or(MemoryOrder::SequentiallyConsistent)
}
