//! The waiters of a condition and the notices they may still take.
//!
//! Waits and notices stand in the order in which they began. A waiter may return if a notice stands after it: a signal
//! serves one waiter, a broadcast any number. Waiters that return take the earliest notice after them, which never keeps
//! another waiter from returning: the thread that could have taken it may take a later one in turn.

/// A condition's waiters and notices; each notice carries something.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WaitQueue<N> {
    entries: Vec<Entry<N>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Entry<N> {
    Waiter(usize),
    Notice { all: bool, carries: N },
}

impl<N: Clone> WaitQueue<N> {
    pub(crate) fn new() -> Self {
        WaitQueue { entries: Vec::new() }
    }

    /// A thread begins to wait.
    pub(crate) fn begin(&mut self, thread: usize) {
        self.entries.push(Entry::Waiter(thread));
    }

    /// One waiter is woken, or all are. With no waiter there, the notice is lost.
    pub(crate) fn notify(&mut self, all: bool, carries: N) {
        self.entries.push(Entry::Notice { all, carries });
        self.tidy();
    }

    /// A notice stands after the thread's wait.
    pub(crate) fn may_return(&self, thread: usize) -> bool {
        self.notice_of(thread).is_some()
    }

    /// The thread returns; what its notice carries.
    ///
    /// # Panics
    /// If there is no notice for it.
    pub(crate) fn take(&mut self, thread: usize) -> N {
        let at = self.notice_of(thread).expect("a waiter returns only if it was woken");
        let Entry::Notice { all, carries } = self.entries[at].clone() else { unreachable!("found as a notice") };
        if !all {
            self.entries.remove(at);
        }
        self.leave(thread);
        carries
    }

    /// The thread waits no longer.
    pub(crate) fn leave(&mut self, thread: usize) {
        self.entries.retain(|entry| !matches!(entry, Entry::Waiter(t) if *t == thread));
        self.tidy();
    }

    fn notice_of(&self, thread: usize) -> Option<usize> {
        let began = self.entries.iter().position(|entry| matches!(entry, Entry::Waiter(t) if *t == thread))?;
        let after = self.entries[began..].iter().position(|entry| matches!(entry, Entry::Notice { .. }))?;
        Some(began + after)
    }

    /// Drops notices that no waiter can take, so that equal queues look equal.
    fn tidy(&mut self) {
        let first = self.entries.iter().position(|entry| matches!(entry, Entry::Waiter(_)));
        self.entries.drain(..first.unwrap_or(self.entries.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_before_the_wait_is_lost() {
        let mut queue = WaitQueue::new();
        queue.notify(false, 'a');
        queue.begin(1);
        assert!(!queue.may_return(1));
        queue.notify(false, 'b');
        assert_eq!(queue.take(1), 'b');
        assert_eq!(queue, WaitQueue::new());
    }

    #[test]
    fn a_signal_serves_one_and_a_broadcast_all() {
        let mut queue = WaitQueue::new();
        queue.begin(1);
        queue.begin(2);
        queue.notify(false, 'a');
        assert!(queue.may_return(1) && queue.may_return(2));
        queue.take(2);
        assert!(!queue.may_return(1));
        queue.begin(2);
        queue.notify(true, 'b');
        assert_eq!((queue.take(1), queue.take(2)), ('b', 'b'));
    }
}
