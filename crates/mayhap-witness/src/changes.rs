//! Where a schedule changes a thread for the first time.
//!
//! A rejection names the step that a change forbids; a search wants to know which earlier read caused it. Steps are judged by the
//! checker's own rules, from its checkpoints on. This proves nothing.
//!
//! Cost: as for a check.

use mayhap_trace::{EventId, Op};

use crate::{Checker, Model, Schedule};

impl Checker<'_> {
    /// Returns the first read of a schedule that changes its thread and for which that `matters`. `None` if there is none before a
    /// step that may not run.
    pub fn first_change(
        &mut self,
        model: Model,
        schedule: &Schedule,
        matters: impl Fn(EventId) -> bool,
    ) -> Option<EventId> {
        // No thread is changed in the steps of a checkpoint.
        let (_, saved) = self.begin(schedule);
        let found = self.find_change(model, schedule, saved, matters);
        self.end(schedule, saved);
        found
    }

    fn find_change(
        &mut self,
        model: Model,
        schedule: &Schedule,
        saved: usize,
        matters: impl Fn(EventId) -> bool,
    ) -> Option<EventId> {
        for id in schedule.skip(saved) {
            let event = self.rules.trace.event(id);
            let thread = event.thread.index();
            let before = self.state.changed[thread].is_some();
            let ran = self.rules.step(&mut self.state, model, &[None, None], id);
            if event.op == Op::Read && !before && self.state.changed[thread].is_some() && matters(id) {
                return Some(id);
            }
            ran.ok()?;
        }
        None
    }
}
