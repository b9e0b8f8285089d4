//! A recorded run that is to be analysed.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use mayhap_record as record;
use mayhap_replay::session::Recorded;
use mayhap_trace::{Trace, format};
use mayhap_wire::ring::Schedule;

use crate::observed::Seen;
use crate::{Error, Work};

/// A trace to be analysed, with what its run came to.
pub(crate) struct Recording {
    pub(crate) path: PathBuf,
    pub(crate) recorded: Recorded,
    /// What went wrong in the run itself.
    pub(crate) failed: Option<Seen>,
    /// The trace as it was made, until it is asked for.
    pub(crate) made: Cell<Option<Trace>>,
}

impl Recording {
    /// A run that ended well, and whose trace is in a file.
    pub(crate) fn in_file(path: PathBuf, recorded: Recorded) -> Recording {
        Recording { path, recorded, failed: None, made: Cell::new(None) }
    }

    /// The trace: as it was made if it is still there, else read from its file.
    pub(crate) fn trace(&self) -> Result<Trace, Error> {
        match self.made.take() {
            Some(trace) => Ok(trace),
            None => Ok(format::read(&self.path).map_err(|error| Error::at(&self.path, error))?.trace),
        }
    }
}

impl Work<'_> {
    /// How a run of the job is recorded.
    pub(crate) fn recording_options(&self, schedule: Schedule, output: PathBuf) -> record::Options {
        let slice = record::usual_slice(schedule);
        let limits = record::Limits::default();
        record::Options {
            output,
            seed: self.job.seed,
            schedule,
            slice,
            inputs: self.job.inputs,
            values: self.job.values,
            linger: self.job.linger,
            limits,
            finish: true,
            root: self.job.root.clone(),
        }
    }

    /// Says that a run used up its share of the budget.
    pub(crate) fn note_share(&mut self, run: u32, share: Duration) {
        let seconds = share.as_secs_f64();
        self.notes.push(format!(
            "run {run} was stopped after {seconds:.1} s, its share of the budget, and analysed up to there"
        ));
        self.undecided = true;
    }
}
