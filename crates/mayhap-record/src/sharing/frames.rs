//! What lies on stacks, is shared, and goes when functions return.

use std::collections::BTreeSet;
use std::ops::Range;

use mayhap_wire::call_frame;

/// The functions that threads are in, and what of their stacks other threads have touched.
#[derive(Default)]
pub(crate) struct Frames {
    threads: Vec<Thread>,
}

#[derive(Default)]
struct Thread {
    stack: Range<u64>,
    /// How far below the end of the stack each function begins; 0 if it is not known.
    distances: Vec<u64>,
    /// Granules that other threads have touched, and objects.
    shared: BTreeSet<u64>,
}

impl Frames {
    fn thread(&mut self, thread: u16) -> &mut Thread {
        let index = usize::from(thread);
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        &mut self.threads[index]
    }

    /// A thread begins on a stack.
    pub(crate) fn begins(&mut self, thread: u16, stack: Range<u64>) {
        *self.thread(thread) = Thread { stack, ..Thread::default() };
    }

    /// Several threads have touched an address on the stack of one, or one uses an object there.
    pub(crate) fn is_shared(&mut self, thread: u16, address: u64) {
        self.thread(thread).shared.insert(address);
    }

    /// A thread is in as many functions as the word of a call or a return says. Returns what is shared and gone.
    #[inline]
    pub(crate) fn change(&mut self, thread: u16, word: u64, calls: bool) -> Vec<u64> {
        let (depth, distance) = (call_frame::depth(word) as usize, call_frame::distance(word));
        let thread = self.thread(thread);
        let mut gone = Vec::new();
        if depth < thread.distances.len() && !thread.shared.is_empty() {
            let innermost = depth.checked_sub(1).map_or(0, |at| thread.distances[at]);
            // Without functions the thread ends, which ends the stack.
            if innermost != 0 {
                let range = thread.stack.start..thread.stack.end.saturating_sub(innermost);
                gone.extend(thread.shared.range(range));
                gone.iter().for_each(|address| _ = thread.shared.remove(address));
            }
        }
        thread.distances.resize(depth, 0);
        if calls {
            thread.distances.push(distance);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_goes_with_its_function() {
        let mut frames = Frames::default();
        frames.begins(1, 0x1000..0x2000);
        let call = |depth, distance| call_frame::address(depth, distance);
        assert!(frames.change(1, call(0, 0x100), true).is_empty());
        assert!(frames.change(1, call(1, 0x200), true).is_empty());
        frames.is_shared(1, 0x1f40);
        frames.is_shared(1, 0x1e40);
        assert_eq!(frames.change(1, call(1, 0), false), [0x1e40]);
        assert!(frames.change(1, call(1, 0x200), true).is_empty());
        frames.is_shared(1, 0x1e40);
        assert_eq!(frames.change(1, call(1, 0x180), true), [0x1e40]);
    }
}
