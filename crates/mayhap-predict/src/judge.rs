//! What says whether a schedule that the solver found is one.

use mayhap_trace::EventId;
use mayhap_witness::{Checked, Checker, Model, Rejection, Schedule, Target, Witness};

/// Judges schedules, where more than an order is searched.
pub(crate) trait Judge {
    /// Says what is wrong with a schedule.
    fn judge(&mut self, schedule: &Schedule) -> Result<(), Rejection>;

    /// Returns the first read that changes its thread, of those that matter.
    fn first_change(&mut self, schedule: &Schedule, matters: &dyn Fn(EventId) -> bool) -> Option<EventId>;
}

/// The kernel judges whether schedules reach a target.
pub(crate) struct Kernel<'j, 'a> {
    pub(crate) checker: &'j mut Checker<'a>,
    pub(crate) target: &'j Target,
    pub(crate) model: Model,
    /// What was accepted last.
    pub(crate) accepted: Option<Checked>,
}

impl Judge for Kernel<'_, '_> {
    fn judge(&mut self, schedule: &Schedule) -> Result<(), Rejection> {
        let witness = Witness { schedule: schedule.clone() };
        self.accepted = Some(self.checker.check(self.target, self.model, witness)?);
        Ok(())
    }

    fn first_change(&mut self, schedule: &Schedule, matters: &dyn Fn(EventId) -> bool) -> Option<EventId> {
        self.checker.first_change(self.model, schedule, matters)
    }
}

/// Takes every schedule: questions that no [`Target`] stands for have no other judge.
pub(crate) struct Unjudged;

impl Judge for Unjudged {
    fn judge(&mut self, _: &Schedule) -> Result<(), Rejection> {
        Ok(())
    }

    fn first_change(&mut self, _: &Schedule, _: &dyn Fn(EventId) -> bool) -> Option<EventId> {
        None
    }
}
