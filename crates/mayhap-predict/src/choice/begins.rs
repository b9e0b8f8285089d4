//! Where a window begins in lists that span the whole trace.
//!
//! The scopes of a lock and the writes of a variable are sorted lists, one a thread, of the whole trace; a window touches few
//! of their entries, and none of most lists. The first entry that it can touch depends on the window alone, so it is looked
//! for once a question and not at every constraint.
//!
//! Cost: 12 bytes a list; a question costs nothing for the lists that it does not meet.

/// The first entries of lists that the present window can touch.
pub(super) struct Begins {
    question: u64,
    /// Of each list, the question that it was looked up for, and its first entry then.
    known: Vec<(u64, u32)>,
}

impl Begins {
    pub(super) fn new(lists: usize) -> Self {
        Begins { question: 0, known: vec![(0, 0); lists] }
    }

    /// Another window.
    pub(super) fn next_question(&mut self) {
        self.question += 1;
    }

    /// The first entry of a list, which `find` knows.
    #[inline]
    pub(super) fn of(&mut self, list: u32, find: impl FnOnce() -> usize) -> usize {
        let known = &mut self.known[list as usize];
        if known.0 != self.question {
            *known = (self.question, find() as u32);
        }
        known.1 as usize
    }
}
