//! An order of events, kept as runs of successive ones.
//!
//! A witness mostly follows the observed order: of a trace of ten million events it holds nearly all, and differs from it
//! near its end. Runs of events that follow each other in the trace are kept as one entry, so such a schedule costs what it
//! differs, not what it is long.
//!
//! Cost: 8 bytes a run; a run never holds less than one event.

use std::ops::Range;

use mayhap_trace::EventId;

/// Events in the order in which they are to run.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    runs: Vec<Run>,
    len: usize,
}

/// Successive events of the trace.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Run {
    start: u32,
    end: u32,
}

impl Run {
    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Schedule {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event at the end.
    pub fn push(&mut self, event: EventId) {
        self.push_range(event.index()..event.index() + 1);
    }

    /// Takes the last event away.
    pub fn pop(&mut self) -> Option<EventId> {
        let run = self.runs.last_mut()?;
        run.end -= 1;
        let event = EventId::at(run.end as usize);
        if run.start == run.end {
            self.runs.pop();
        }
        self.len -= 1;
        Some(event)
    }

    /// Adds successive events, given by their positions in the trace, at the end.
    ///
    /// # Panics
    /// If there cannot be such events.
    pub fn push_range(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (start, last) = (EventId::at(range.start).cell(), EventId::at(range.end - 1).cell());
        self.len += range.len();
        match self.runs.last_mut() {
            Some(run) if run.end == start => run.end = last + 1,
            _ => self.runs.push(Run { start, end: last + 1 }),
        }
    }

    /// The events as maximal runs of positions in the trace that follow each other.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + '_ {
        self.runs.iter().map(Run::range)
    }

    /// The events, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = EventId> + '_ {
        self.ranges().flat_map(|range| range.map(EventId::at))
    }

    /// All events but the first `steps`.
    pub fn skip(&self, steps: usize) -> impl Iterator<Item = EventId> + '_ {
        let mut left = steps;
        let rest = self.ranges().flat_map(move |range| {
            let skipped = left.min(range.len());
            left -= skipped;
            range.start + skipped..range.end
        });
        rest.map(EventId::at)
    }

    /// The last `steps` events, or all if there are fewer.
    pub fn tail(&self, steps: usize) -> Vec<EventId> {
        let mut tail: Vec<EventId> = self.iter().rev().take(steps).collect();
        tail.reverse();
        tail
    }

    /// The step of an event, from 0.
    pub fn position(&self, event: EventId) -> Option<usize> {
        let mut before = 0;
        for range in self.ranges() {
            if range.contains(&event.index()) {
                return Some(before + event.index() - range.start);
            }
            before += range.len();
        }
        None
    }
}

impl FromIterator<EventId> for Schedule {
    fn from_iter<I: IntoIterator<Item = EventId>>(events: I) -> Self {
        let mut schedule = Schedule::default();
        schedule.extend(events);
        schedule
    }
}

impl Extend<EventId> for Schedule {
    fn extend<I: IntoIterator<Item = EventId>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

impl<T: AsRef<[EventId]>> From<T> for Schedule {
    fn from(events: T) -> Self {
        events.as_ref().iter().copied().collect()
    }
}

impl<T: AsRef<[EventId]>> PartialEq<T> for Schedule {
    fn eq(&self, events: &T) -> bool {
        self.len == events.as_ref().len() && self.iter().eq(events.as_ref().iter().copied())
    }
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(indices: &[usize]) -> Vec<EventId> {
        indices.iter().map(|&i| EventId::at(i)).collect()
    }

    #[test]
    fn a_schedule_is_the_list_it_was_made_of() {
        for list in [&[][..], &[3], &[0, 1, 2, 7, 8, 4, 5, 6, 5], &[2, 1, 0]] {
            let list = events(list);
            let schedule = Schedule::from(&list);
            assert_eq!(schedule, list);
            assert_eq!(schedule.iter().collect::<Vec<_>>(), list);
            for steps in 0..=list.len() + 1 {
                let from = steps.min(list.len());
                assert_eq!(schedule.skip(steps).collect::<Vec<_>>(), list[from..]);
                assert_eq!(schedule.tail(steps), list[list.len() - from..]);
            }
            for event in events(&[0, 1, 5, 6, 9]) {
                assert_eq!(schedule.position(event), list.iter().position(|&e| e == event));
            }
        }
    }

    #[test]
    fn events_are_taken_away_from_the_end() {
        let list = events(&[0, 1, 2, 9, 10, 4]);
        let mut schedule = Schedule::from(&list);
        for length in (0..list.len()).rev() {
            assert_eq!(schedule.pop(), Some(list[length]));
            assert_eq!(schedule, Schedule::from(&list[..length]));
        }
        assert_eq!((schedule.pop(), schedule.len()), (None, 0));
    }

    #[test]
    fn runs_are_kept_as_one() {
        let schedule = Schedule::from(events(&[0, 1, 2, 3, 9, 10, 4]));
        assert_eq!(schedule.ranges().collect::<Vec<_>>(), [0..4, 9..11, 4..5]);
    }
}
