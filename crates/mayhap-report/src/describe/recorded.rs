//! Long schedules are stored as a difference from the recorded run.
//!
//! A schedule mostly runs the recorded events in their recorded order and differs near its end. A long one is therefore
//! stored as the number of events it shares with the run and the steps that follow. Nothing is lost, and the size of a
//! finding depends on how much its schedule differs, not on how long it is.

use mayhap_trace::{EventId, Relations};
use mayhap_witness::Schedule;

/// Schedules with up to this many steps are stored in full.
const WHOLE: usize = 10_000;

/// A long schedule: the events that it shares with the run, and the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// This many events of the trace run first, in recorded order.
    pub after: u64,
    /// The steps that follow.
    pub rest: Schedule,
}

impl Recorded {
    /// Splits off the beginning that a schedule shares with the run; `None` if the schedule is short enough to be stored in full.
    pub fn of(schedule: &Schedule, relations: &Relations) -> Option<Recorded> {
        if schedule.len() <= WHOLE {
            return None;
        }
        let (mut events, mut steps) = (0, 0);
        for range in schedule.ranges() {
            let skipped = events..range.start;
            if range.start < events || skipped.into_iter().any(|i| relations.is_relevant(EventId::at(i))) {
                break;
            }
            events = range.end;
            steps += range.len();
        }
        Some(Recorded { after: events as u64, rest: schedule.skip(steps).collect() })
    }
}

#[cfg(test)]
mod tests {
    use mayhap_trace::format::parse_std;

    use super::*;

    /// Two threads with writes, and marks between them, which take no part in schedules.
    fn trace(events: usize) -> String {
        let line = |i: usize| match i % 5 {
            0 => format!("T{}|br\n", i % 2),
            1 => format!("T{}|w(x)\n", i % 2),
            _ => format!("T{}|begin\n", i % 2),
        };
        (0..events).map(line).collect()
    }

    #[test]
    fn short_schedules_are_stored_in_full() {
        let relations = Relations::derive(&parse_std("A|w(x)\nB|w(x)\n").unwrap()).unwrap();
        assert_eq!(Recorded::of(&(0..2).map(EventId::at).collect(), &relations), None);
    }

    #[test]
    fn long_schedules_are_stored_from_where_they_leave_the_run() {
        let trace = parse_std(&trace(50_000)).unwrap();
        let relations = Relations::derive(&trace).unwrap();
        let mut events: Vec<EventId> =
            (0..trace.len()).map(EventId::at).filter(|&e| relations.is_relevant(e)).collect();
        let last = events.len() - 1;
        events.swap(last - 2, last);
        let schedule: Schedule = events.iter().copied().collect();
        let recorded = Recorded::of(&schedule, &relations).unwrap();
        assert_eq!(recorded.rest.iter().collect::<Vec<_>>(), &events[last - 2..]);
        let before = (0..recorded.after as usize).map(EventId::at).filter(|&e| relations.is_relevant(e));
        assert_eq!(before.chain(recorded.rest.iter()).collect::<Schedule>(), schedule);
        // A schedule that skips the first event shares nothing with the run.
        let left_out = Recorded::of(&events[1..].iter().copied().collect(), &relations).unwrap();
        assert_eq!((left_out.after, left_out.rest.len()), (0, last));
    }
}
