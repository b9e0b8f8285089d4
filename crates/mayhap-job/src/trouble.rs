//! What becomes of a job when a part of it cannot be done: the report of the rest.

use mayhap_replay::Outcome;
use mayhap_report::Blocked;

use super::{Error, Work};

impl Work<'_> {
    /// Passes an error on, unless there is a report: it is not lost for it.
    pub(super) fn unless_found(&mut self, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(error) if self.report.is_some() || !self.observed.is_empty() => {
                self.cut_short(&error);
                Ok(())
            }
            other => other,
        }
    }

    /// Notes what kept a part of the job from being done. What was found before stays.
    pub(super) fn cut_short(&mut self, error: &Error) {
        // Temporary names say nothing to the user.
        let folder = format!("{}/", self.job.folder.display());
        let why = if self.job.keep { error.to_string() } else { error.to_string().replace(&folder, "") };
        let advice =
            if why.contains("No space left") { "; TMPDIR selects another folder for temporary files" } else { "" };
        let note = format!("not everything was done: {why}{advice}");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        self.undecided = true;
    }
}

/// What a thread waited for that the trace does not know.
pub(super) fn blocked(outcome: &Outcome) -> Option<Blocked> {
    let Outcome::Blocked { thread, how, stack, .. } = outcome else { return None };
    Some(Blocked { thread: thread.clone(), how: how.clone(), stack: stack.clone() })
}
