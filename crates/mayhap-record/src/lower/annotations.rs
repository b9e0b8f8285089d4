//! What programs say of their own accesses: races that are meant, and accesses that are to be ignored.

use std::collections::{BTreeMap, HashMap};

use mayhap_trace::{Flags, MemoryOrder, Op};

use super::Lowering;

/// What the program has said so far.
#[derive(Default)]
pub(super) struct Annotations {
    /// Memory on which races are meant: from where to where.
    meant: BTreeMap<u64, u64>,
    /// How often each thread has said that its reads, or its writes, are not to be looked at.
    unheeded: HashMap<(u16, bool), u32>,
}

impl Annotations {
    /// Something was said.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        !self.meant.is_empty() || !self.unheeded.is_empty()
    }

    /// Races on this memory are meant.
    pub(super) fn mean(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let known = self.meant.entry(address).or_insert(end);
        *known = end.max(*known);
    }

    /// Accesses of a thread are to be looked at again, or no longer.
    pub(super) fn heed(&mut self, thread: u16, writes: bool, heeds: bool) {
        let depth = self.unheeded.entry((thread, writes)).or_insert(0);
        *depth = if heeds { depth.saturating_sub(1) } else { *depth + 1 };
        if *depth == 0 {
            self.unheeded.remove(&(thread, writes));
        }
    }

    fn is_meant(&self, address: u64, bytes: u64) -> bool {
        self.meant.range(..address.saturating_add(bytes)).next_back().is_some_and(|(_, &end)| end > address)
    }
}

impl Lowering {
    /// What the program has said of an access, as flags of its events; `None` where it is not to be looked at.
    pub(super) fn annotated(&self, address: u64, bytes: u64, op: Op) -> Option<Flags> {
        if self.annotations.unheeded.contains_key(&(self.current, op == Op::Write)) {
            return None;
        }
        // A race that is meant is one of atomic accesses that order nothing.
        let is_meant = self.annotations.is_meant(address, bytes);
        Some(if is_meant { Flags::atomic(MemoryOrder::Relaxed) } else { Flags::NONE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_holds_until_it_is_taken_back() {
        let mut annotations = Annotations::default();
        assert!(!annotations.is_any());
        annotations.heed(1, false, false);
        annotations.heed(1, false, false);
        annotations.heed(1, false, true);
        assert!(annotations.unheeded.contains_key(&(1, false)) && !annotations.unheeded.contains_key(&(1, true)));
        annotations.heed(1, false, true);
        assert!(!annotations.is_any());
        annotations.mean(0x1000, 8);
        assert!(annotations.is_meant(0x1004, 4) && annotations.is_meant(0xffc, 8) && !annotations.is_meant(0x1008, 4));
    }
}
