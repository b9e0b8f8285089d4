//! The `try` marks of older traces.
//!
//! Such a mark says that the next acquire of its thread was a try or timed lock. The mark keeps its event number; the
//! acquire gets the attempt that says the same, so that the two may be parted later.

use crate::columns::Columns;
use crate::flags::{Attempt, Flags};
use crate::op::Op;
use crate::summary::Bits;

/// Hands marks on to their acquires, chunk by chunk.
#[derive(Default)]
pub(crate) struct Tries {
    /// Threads with a mark that no acquire has followed.
    pending: Bits,
}

impl Tries {
    /// Takes the next events.
    pub(crate) fn settle(&mut self, chunk: &mut Columns) {
        // Looks at all of them, since that takes less time than to stop at the first.
        let has_marks = chunk.ops.iter().fold(false, |found, &op| found | (op == Op::Try));
        if !has_marks && self.pending.count() == 0 {
            return;
        }
        for i in 0..chunk.len() {
            let thread = usize::from(chunk.threads[i]);
            match chunk.ops[i] {
                Op::Try => self.pending.insert(thread),
                Op::Acquire | Op::SharedAcquire if self.pending.contains(thread) => {
                    self.pending.remove(thread);
                    let flags = chunk.flags_at(i);
                    if flags.attempt() == Attempt::Blocking {
                        chunk.set_flags(i, flags.with(Flags::TRY));
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NONE;

    #[test]
    fn a_mark_reaches_the_next_acquire_of_its_thread_in_a_later_chunk() {
        let mut tries = Tries::default();
        let mut chunk = Columns::default();
        chunk.push_cells(0, Op::Try, NONE, NONE);
        chunk.push_cells(1, Op::Acquire, 0, NONE);
        tries.settle(&mut chunk);
        assert!(chunk.flags.is_empty());
        chunk.clear();
        for _ in 0..2 {
            chunk.push_cells(0, Op::SharedAcquire, 1, NONE);
        }
        tries.settle(&mut chunk);
        assert_eq!([0, 1].map(|i| chunk.flags_at(i)), [Flags::TRY, Flags::NONE]);
    }
}
