//! Translates event numbers of a window into event numbers of the whole trace.

use mayhap_trace::EventId;

use crate::finding::Finding;

impl Finding {
    /// Gives every event its number in the whole trace, as `whole` returns it. Events for which it returns 0 are dropped from the
    /// schedule. The schedule continues after the first `after` events, which run as recorded.
    pub fn renumber(&mut self, after: u64, whole: &dyn Fn(u64) -> u64) {
        for side in &mut self.events {
            side.event = whole(side.event);
            side.locks.iter_mut().for_each(|lock| lock.event = whole(lock.event));
            side.created.iter_mut().for_each(|created| created.event = whole(created.event));
        }
        let after = self.witness_after.map_or(after, |within| after.max(whole(within)));
        let numbers = self.witness.iter().map(|event| whole(event.number())).filter(|&number| number > after);
        self.witness = numbers.filter_map(EventId::from_number).collect();
        self.witness_after = Some(after);
        for step in self.story.iter_mut().flat_map(|story| story.observed.iter_mut().chain(&mut story.possible)) {
            step.event = whole(step.event);
        }
        if let Some(schedules) = &mut self.schedules {
            for row in &mut schedules.rows {
                row.event = whole(row.event);
                row.partner = row.partner.map(whole).filter(|&event| event > 0);
            }
            for changed in &mut schedules.changed {
                changed.event = whole(changed.event);
                changed.sees = changed.sees.map(whole).filter(|&event| event > 0);
            }
            // Rows that the whole trace does not contain are dropped.
            let mut place = 0;
            let places: Vec<Option<u32>> = (schedules.rows.iter())
                .map(|row| {
                    let kept = (row.event > 0).then_some(place);
                    place += u32::from(kept.is_some());
                    kept
                })
                .collect();
            schedules.rows.retain(|row| row.event > 0);
            schedules.witness =
                schedules.witness.iter().filter_map(|&row| places.get(row as usize).copied().flatten()).collect();
        }
        self.certainty.push_str(&format!(
            " That schedule follows the recorded run up to event {after} and continues from there."
        ));
    }
}
