//! Which states on the observed way the checker keeps, so that witnesses which begin as that run did need not all run their
//! common beginning.
//!
//! Only the choice is made here. The checker makes the states and decides whether a schedule begins with their steps.
//!
//! Cost: copies of at most [`MEMORY`] bytes, [`SPACING`] events apart or more; none for shorter traces.

/// A state on the observed way.
pub(crate) trait Passed {
    /// Returns the place of the trace before which all relevant events, and no others, have run.
    fn place(&self) -> usize;
}

/// Bytes that all checkpoints of a checker may take.
const MEMORY: usize = 32 << 20;
/// Events between checkpoints, at least.
const SPACING: usize = 1 << 13;

/// The checkpoints of a trace that have been passed, in the order of the trace.
pub(crate) struct Checkpoints<S> {
    passed: Vec<S>,
    spacing: usize,
}

impl<S: Passed> Checkpoints<S> {
    /// None yet, for a trace of so many events whose states are of so many bytes.
    pub(crate) fn new(events: usize, bytes: usize) -> Self {
        let most = (MEMORY / bytes.max(1)).max(1);
        Checkpoints { passed: Vec::new(), spacing: SPACING.max(events / most) }
    }

    /// Returns the last checkpoint at or before a place of the trace.
    pub(crate) fn last_before(&self, place: usize) -> Option<&S> {
        let before = self.passed.partition_point(|checkpoint| checkpoint.place() <= place);
        before.checked_sub(1).map(|last| &self.passed[last])
    }

    /// The next checkpoint is due at this place.
    #[inline]
    pub(crate) fn is_due(&self, place: usize) -> bool {
        place >= self.passed.last().map_or(0, S::place) + self.spacing
    }

    /// Keeps a checkpoint beyond all others.
    pub(crate) fn keep(&mut self, checkpoint: S) {
        self.passed.push(checkpoint);
    }
}
