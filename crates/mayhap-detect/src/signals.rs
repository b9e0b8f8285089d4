//! Which notify a wait sees: the latest of another thread, as [`mayhap_trace::validate`] pairs them.

/// The two latest notifies of each condition that come from different threads, newest first. Two suffice: a wait of the
/// newest one's thread sees the other.
pub(crate) struct Signals<S> {
    latest: Vec<[Option<(usize, S)>; 2]>,
}

impl<S> Default for Signals<S> {
    fn default() -> Self {
        Signals { latest: Vec::new() }
    }
}

impl<S> Signals<S> {
    pub(crate) fn grow(&mut self, conditions: usize) {
        self.latest.resize_with(self.latest.len().max(conditions), || [None, None]);
    }

    /// Enters a notify; returns the one that it displaces.
    pub(crate) fn notify(&mut self, condition: usize, thread: usize, signal: S) -> Option<S> {
        let [newest, other] = &mut self.latest[condition];
        let before = newest.replace((thread, signal));
        let out = match before {
            Some((from, _)) if from != thread => std::mem::replace(other, before),
            same => same,
        };
        out.map(|(_, signal)| signal)
    }

    /// What a wait of `thread` sees.
    pub(crate) fn seen_by(&self, condition: usize, thread: usize) -> Option<&S> {
        self.latest[condition].iter().flatten().find(|(from, _)| *from != thread).map(|(_, signal)| signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_sees_the_latest_notify_of_another_thread() {
        let mut signals = Signals::default();
        signals.grow(1);
        assert_eq!(signals.seen_by(0, 1), None);
        assert_eq!(signals.notify(0, 1, 'a'), None);
        assert_eq!(signals.notify(0, 2, 'b'), None);
        assert_eq!(signals.notify(0, 2, 'c'), Some('b'));
        assert_eq!(
            (signals.seen_by(0, 1), signals.seen_by(0, 2), signals.seen_by(0, 3)),
            (Some(&'c'), Some(&'a'), Some(&'c'))
        );
        assert_eq!(signals.notify(0, 1, 'd'), Some('a'));
        assert_eq!((signals.seen_by(0, 1), signals.seen_by(0, 2)), (Some(&'c'), Some(&'d')));
    }
}
