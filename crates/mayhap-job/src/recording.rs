//! A recorded run that is to be analysed.

use std::cell::Cell;
use std::path::PathBuf;

use mayhap_replay::session::Recorded;
use mayhap_trace::{Trace, format};

use crate::Error;
use crate::observed::Seen;

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
