//! What becomes of a job when a part of it cannot be done: the report of the rest.

use std::io::ErrorKind;
use std::path::Path;

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
        let is_temporary = !self.job.keep && error.path().is_some_and(|path| path.starts_with(&self.job.folder));
        let folder = format!("{}/", self.job.folder.display());
        let why = match error.path() {
            // What could not be written may first be missed when it is read.
            _ if error.to_string().contains("No space left") || is_full(&self.job.folder) => match self.job.keep {
                true => format!("the disk with {} is full", self.job.folder.display()),
                false => "the disk with temporary files is full; TMPDIR selects another folder for them".to_string(),
            },
            Some(_) if is_temporary => format!("a temporary file: {}", error.message()),
            _ => error.to_string().replace(&folder, ""),
        };
        let note = format!("not everything was done: {why}");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        self.undecided = true;
    }
}

/// Whether nothing more can be written to a folder.
fn is_full(folder: &Path) -> bool {
    let file = folder.join("room");
    let full = std::fs::write(&file, [0; ROOM]).is_err_and(|error| error.kind() == ErrorKind::StorageFull);
    let _ = std::fs::remove_file(&file);
    full
}

/// Bytes for which there is room where a disk is not full.
const ROOM: usize = 64 << 10;

/// What a thread waited for that the trace does not know.
pub(super) fn blocked(outcome: &Outcome) -> Option<Blocked> {
    let Outcome::Blocked { thread, how, stack, .. } = outcome else { return None };
    Some(Blocked { thread: thread.clone(), how: how.clone(), stack: stack.clone() })
}
