//! Atomic operations and fences: accesses with a memory order and, where the recording has them, values.
//!
//! An operation that reads and writes is one step: its later events are joined to the first. A compare-exchange decides by what
//! it reads, so a branch follows its read. An exchange writes what does not depend on what it reads.

use mayhap_trace::{Flags, MemoryOrder, NONE, NameError, Op, Value, VariableKind};
use mayhap_wire::ring::{AtomicForm, AtomicKind};

use super::Lowering;
use crate::sharing::shadow_table::granules;
use crate::sharing::sharing_state::CUTS;

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
        if !granules(address, size.into()).any(|(granule, _, _)| self.kept.get(granule) != 0) {
            return Ok(());
        }
        if self.limits.choose_places() && self.is_excluded(site) {
            self.excluded += 1;
            return Ok(());
        }
        if !self.marks(site).constant {
            self.implicit_branch()?;
        }
        let flags = Flags::atomic(memory_order(order));
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
            let written = values.map(|(_, written)| written);
            self.atomic_access(site, Op::Write, atomic, written, flags.with(joined).with(independent))?;
        }
        Ok(())
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
            let cuts = (cell & CUTS) as u32;
            let mut start = from;
            while start < to {
                let end = (start + 1..to).find(|&byte| cuts & (1 << byte) != 0).unwrap_or(to);
                let piece = base + (cuts & ((2 << start) - 1)).count_ones();
                self.tables.variable_kinds.set(piece as usize, VariableKind::Atomic);
                let offset = granule + start - atomic.address;
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

    /// The cell of the value of some bytes of a number.
    fn value(&mut self, number: u64, offset: u64, bytes: u64) -> Result<u32, NameError> {
        let shifted = number >> (8 * offset.min(7));
        let mask = if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
        Ok(self.tables.values.intern(Value::Bits(shifted & mask))?.cell())
    }

    pub(crate) fn fence(&mut self, site: u32, order: u8) -> Result<(), NameError> {
        self.emit_with(Op::Fence, NONE, site, Flags::atomic(memory_order(order)), NONE)
    }
}

/// The memory order that compilers number so.
fn memory_order(order: u8) -> MemoryOrder {
    MemoryOrder::ALL.get(usize::from(order)).copied().unwrap_or(MemoryOrder::SequentiallyConsistent)
}
