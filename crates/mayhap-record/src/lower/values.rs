//! Values of plain accesses: what lay in memory when the thread came to its next hook.

use std::collections::HashSet;

use mayhap_trace::{Flags, NONE, NameError, Op, Value};

use super::Lowering;

/// The bits of addresses that values name.
const LOW: u64 = 0x7fff_ffff;
/// Different values that a trace may have. Further ones are not known.
const MOST: usize = 1 << 22;

/// A thread's latest accesses, which may get a value yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Latest {
    /// Address, size and event.
    accesses: [(u64, u64, u64); 8],
    next: usize,
}

impl Latest {
    /// An access of one piece became an event.
    #[inline]
    pub(super) fn put(&mut self, address: u64, bytes: u64, event: u64) {
        self.accesses[self.next % self.accesses.len()] = (address, bytes, event);
        self.next += 1;
    }

    /// Size and event of the latest access to an address.
    fn find(&mut self, low: u64) -> Option<(u64, u64)> {
        let count = self.accesses.len();
        let latest = (0..count).map(|back| (self.next + count - 1 - back) % count);
        let at = latest.into_iter().find(|&at| self.accesses[at].1 != 0 && self.accesses[at].0 & LOW == low)?;
        let (_, bytes, event) = self.accesses[at];
        self.accesses[at].1 = 0;
        Some((bytes, event))
    }
}

/// What variables hold by what was recorded.
#[derive(Default)]
pub(super) struct Held {
    /// The value cell of each variable's last write.
    last: Vec<u32>,
    /// Variables that held what no recorded write explains: what is written there says nothing of what is read.
    unexplained: HashSet<u32>,
}

impl Held {
    /// A write of a value, or of one that is not known; what of it can be relied on.
    #[inline]
    pub(super) fn write(&mut self, variable: u32, value: u32) -> u32 {
        let index = variable as usize;
        if self.last.len() <= index {
            self.last.resize(index + 1, NONE);
        }
        let value = if self.unexplained.is_empty() || !self.unexplained.contains(&variable) { value } else { NONE };
        self.last[index] = value;
        value
    }

    /// A read found this.
    fn read(&mut self, variable: u32, value: u32) {
        let last = self.last.get(variable as usize).copied().unwrap_or(NONE);
        if last != NONE && last != value {
            self.unexplained.insert(variable);
        }
    }
}

impl Lowering {
    /// What lay in memory after the current thread's latest access to an address.
    pub(super) fn observed(&mut self, low: u32, number: u64) -> Result<(), NameError> {
        let Some((bytes, event)) = self.thread().latest.find(low.into()) else { return Ok(()) };
        let first = self.count - self.out.len() as u64;
        // Events before have been written.
        let Some(index) = event.checked_sub(first).map(|index| index as usize) else { return Ok(()) };
        let value = self.value(number, 0, bytes)?;
        let known = self.out.value_at(index);
        if known != NONE && known != value {
            // Something that is not seen wrote there.
            let flags = self.out.flags_at(index).without(Flags::CONSTANT);
            self.out.set_flags(index, flags);
            self.out.set_value(index, NONE);
            return Ok(());
        }
        let variable = self.out.objects[index];
        let value = if self.out.ops[index] == Op::Write {
            self.held_values.write(variable, value)
        } else {
            self.held_values.read(variable, value);
            value
        };
        self.out.set_value(index, value);
        Ok(())
    }

    /// The cell of the value of some bytes of a number. An address in an allocated block, on a thread's stack or in a library is the block
    /// and the distance from its start: the same address is another one when its memory was allocated anew, or has become another
    /// thread's stack. What a part of such an address is equal to is not known.
    pub(super) fn value(&mut self, number: u64, offset: u64, bytes: u64) -> Result<u32, NameError> {
        let is_whole = bytes == 8 && offset == 0;
        let is_long = number > u64::from(u32::MAX);
        let block = if is_whole || is_long { self.blocks.containing(number) } else { None };
        let pointer = block.filter(|_| is_whole).and_then(|block| {
            let (number, offset) = (u32::try_from(block.number).ok()?, u32::try_from(number - block.start).ok()?);
            Some(Value::Pointer { block: number, offset })
        });
        let shifted = number >> (8 * offset.min(7));
        let mask = if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
        let is_part = block.is_some() && !is_whole;
        if is_part || self.tables.values.len() >= MOST {
            return Ok(NONE);
        }
        Ok(self.tables.values.intern(pointer.unwrap_or(Value::Bits(shifted & mask)))?.cell())
    }
}
