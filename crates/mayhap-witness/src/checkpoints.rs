//! States of the checker on its way along the observed run, so that witnesses which begin as that run did need not all run
//! their common beginning.
//!
//! A checkpoint is a copy of the state that the checker's own steps led to, after exactly the relevant events before some
//! place of the trace, in observed order. Such a run is correct in every model and leaves no read changed, so the state
//! depends neither on the model nor on the target. A schedule may start from a checkpoint only if its first steps are those
//! events: [`observed`] compares them, run by run.
//!
//! Cost: copies of at most [`MEMORY`] bytes, [`SPACING`] events apart or more; none for shorter traces.

use mayhap_trace::{Relations, Trace};

use crate::Schedule;
use crate::check::State;

/// Bytes that all checkpoints of a checker may take.
const MEMORY: usize = 32 << 20;
/// Events between checkpoints, at least.
const SPACING: usize = 1 << 15;

struct Checkpoint {
    /// The relevant events before this place of the trace have run.
    place: usize,
    /// How many those are.
    steps: usize,
    state: State,
}

/// The checkpoints of a trace that have been passed.
pub(crate) struct Checkpoints {
    passed: Vec<Checkpoint>,
    spacing: usize,
}

impl Checkpoints {
    /// None yet.
    pub(crate) fn new(trace: &Trace, state: &State) -> Self {
        let most = (MEMORY / state.bytes().max(1)).max(1);
        Checkpoints { passed: Vec::new(), spacing: SPACING.max(trace.len() / most) }
    }

    /// Sets the state to that of the last checkpoint on the schedule's way, and says how many steps that saves.
    pub(crate) fn resume(&self, schedule: &Schedule, observed: usize, state: &mut State) -> usize {
        let on_the_way = self.passed.partition_point(|m| m.place <= observed);
        let Some(checkpoint) = on_the_way.checked_sub(1).map(|last| &self.passed[last]) else { return 0 };
        // As many steps as the checkpoint has, and none of them missing: no other event is among them.
        if steps_before(schedule, checkpoint.place) != checkpoint.steps {
            return 0;
        }
        state.clone_from(&checkpoint.state);
        checkpoint.steps
    }

    /// Where the next checkpoint is due.
    pub(crate) fn due(&self) -> usize {
        self.passed.last().map_or(0, |m| m.place) + self.spacing
    }

    /// Keeps the state after all relevant events before `place` as a checkpoint.
    pub(crate) fn pass(&mut self, place: usize, steps: usize, state: &State) {
        self.passed.push(Checkpoint { place, steps, state: state.clone() });
    }
}

/// How far the schedule begins as the observed run did: no relevant event before this place of the trace is missing, and
/// none comes out of turn.
pub(crate) fn observed(trace: &Trace, relations: &Relations, schedule: &Schedule) -> usize {
    let mut place = 0;
    for range in schedule.ranges() {
        while place < range.start && place < trace.len() && !relations.is_relevant(mayhap_trace::EventId::at(place)) {
            place += 1;
        }
        if place != range.start {
            return place;
        }
        place = range.end;
    }
    place
}

/// How many of the first steps are events before this place, as long as the schedule ascends.
fn steps_before(schedule: &Schedule, place: usize) -> usize {
    schedule.ranges().take_while(|range| range.start < place).map(|range| range.end.min(place) - range.start).sum()
}
