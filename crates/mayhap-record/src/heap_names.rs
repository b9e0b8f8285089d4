//! Names for addresses of blocks of the heap and of stacks that do not depend on the order in which threads did what they did.
//!
//! Where a block lies depends on what other threads have allocated before, and where a stack lies on which threads have ended, which nobody can tell from what a thread does. So a
//! value that is an address in a block is named by the thread that allocated the block, by how many it had allocated before, and by the place in it; an address in a stack, such as
//! a `pthread_t`, by its thread and the place. A thread is named by the one that started it, and by how many that had started before.

use std::collections::{BTreeMap, HashMap};

/// The blocks of the heap, also those that were freed and whose memory was not used again, and the stacks.
#[derive(Default)]
pub(crate) struct Heap {
    /// By address.
    blocks: BTreeMap<u64, Block>,
    /// The name of each thread, and how many blocks it has allocated and threads it has started.
    threads: HashMap<u32, Thread>,
    /// The stacks of threads: low end and high end.
    stacks: HashMap<u32, (u64, u64)>,
}

struct Block {
    size: u64,
    /// Stands for the thread and the number of the block.
    name: u64,
    is_live: bool,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    name: u64,
    blocks: u64,
    started: u64,
}

/// Names begin with these bits: no address of a program does. The last bits are the place in the block.
const MARK: u64 = 0xb1 << 56;
const PLACE_BITS: u32 = 20;

fn mix(name: u64, part: u64) -> u64 {
    let mixed = (name ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

impl Heap {
    /// The stack of a thread, which may be known before the thread starts.
    pub(crate) fn stack(&mut self, thread: u32, low: u64, end: u64) {
        self.stacks.insert(thread, (low, end));
    }

    /// A thread starts another one: what lies in its stack is known by its name from now on.
    pub(crate) fn start(&mut self, thread: u32, child: u32) {
        let parent = self.threads.entry(thread).or_default();
        parent.started += 1;
        let name = mix(mix(parent.name, parent.started), 1);
        self.threads.insert(child, Thread { name, ..Thread::default() });
        if let Some((low, end)) = self.stacks.get(&child).copied() {
            self.put(low, Block { size: end.saturating_sub(low), name, is_live: false });
        }
    }

    pub(crate) fn allocate(&mut self, thread: u32, address: u64, size: u64) {
        let thread = self.threads.entry(thread).or_default();
        thread.blocks += 1;
        let name = mix(mix(thread.name, thread.blocks), 2);
        self.put(address, Block { size, name, is_live: true });
    }

    fn put(&mut self, address: u64, block: Block) {
        let size = block.size;
        // What lay there before is gone.
        let end = address.saturating_add(size.max(1));
        let before = self.blocks.range(..end).rev();
        let gone = before.take_while(|(start, old)| **start + old.size.max(1) > address).map(|(start, _)| *start);
        for start in gone.collect::<Vec<_>>() {
            self.blocks.remove(&start);
        }
        self.blocks.insert(address, block);
    }

    /// A block ends its life; its size, if it was known.
    pub(crate) fn free(&mut self, address: u64) -> Option<u64> {
        let block = self.blocks.get_mut(&address).filter(|block| block.is_live)?;
        block.is_live = false;
        Some(block.size)
    }

    /// The name of a value that was found in so many bytes; the value itself if it is no address of the heap.
    pub(crate) fn name(&self, value: u64, bytes: u32) -> u64 {
        let block = self.blocks.range(..=value).next_back().filter(|_| bytes == 8);
        let Some((start, block)) = block.filter(|(start, block)| value - *start < block.size.max(1)) else {
            return value;
        };
        let block = mix(block.name, 3) >> 8 >> PLACE_BITS << PLACE_BITS;
        (MARK | block).wrapping_add(value - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_depend_on_where_blocks_lie() {
        let (mut one, mut other) = (Heap::default(), Heap::default());
        for heap in [&mut one, &mut other] {
            heap.start(0, 1);
            heap.start(0, 2);
        }
        one.allocate(1, 0x1000, 16);
        one.allocate(2, 0x1010, 16);
        other.allocate(2, 0x1000, 16);
        other.allocate(1, 0x1010, 16);
        assert_eq!(one.name(0x1004, 8), other.name(0x1014, 8));
        assert_eq!(one.name(0x1010, 8), other.name(0x1000, 8));
        assert_ne!(one.name(0x1000, 8), one.name(0x1010, 8));
        assert_ne!(one.name(0x1000, 8), one.name(0x1001, 8));
        assert_eq!(one.name(0x1020, 8), 0x1020);
        assert_eq!(one.name(0x1000, 4), 0x1000);
    }

    #[test]
    fn stacks_are_known_by_their_threads() {
        let (mut one, mut other) = (Heap::default(), Heap::default());
        // Thread 0 starts 1, which starts 2; in the other run, 1 is started by another thread between.
        one.stack(1, 0x7000, 0x8000);
        one.stack(2, 0x6000, 0x7000);
        one.start(0, 1);
        one.start(1, 2);
        other.stack(1, 0x6000, 0x7000);
        other.stack(2, 0x6000, 0x7000);
        other.start(0, 1);
        let first = other.name(0x6f00, 8);
        other.start(1, 2);
        assert_eq!(one.name(0x7f00, 8), first);
        assert_eq!(one.name(0x6f00, 8), other.name(0x6f00, 8));
        assert_ne!(one.name(0x6f00, 8), first);
    }

    #[test]
    fn memory_that_is_used_again_has_another_name() {
        let mut heap = Heap::default();
        heap.allocate(1, 0x1000, 16);
        let first = heap.name(0x1008, 8);
        assert_eq!(heap.free(0x1000), Some(16));
        assert_eq!((heap.name(0x1008, 8), heap.free(0x1000)), (first, None));
        heap.allocate(1, 0x1008, 8);
        assert_ne!(heap.name(0x1008, 8), first);
        assert_eq!(heap.name(0x1000, 8), 0x1000);
    }
}
