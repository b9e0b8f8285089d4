//! Runs that other machines make.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use mayhap_explore::{Faults, Next, Outcome};

use crate::Error;

/// Machines that make runs of the program.
pub trait Elsewhere: Debug + Send + Sync {
    /// How many runs they make at the same time.
    fn at_once(&self) -> usize;

    /// The program and its arguments as all machines have it, this one too: where it is decides what its addresses are.
    fn program(&self) -> Vec<OsString>;

    /// The folder in which all machines have its libraries.
    fn libraries(&self) -> PathBuf;

    /// What every run is given, before the first: whether inputs are recorded, which failures are tried, and what there is to read.
    fn begin(&self, inputs: bool, faults: Faults, stdin: &[u8]);

    /// Makes a run; `None` if it did not end well, and is to be made here.
    fn make(&self, next: &Next, limit: Duration) -> Result<Option<There>, Error>;
}

/// A run that ended well on another machine.
#[derive(Debug)]
pub struct There {
    /// What was learnt from it.
    pub outcome: Outcome,
    /// The name of the machine.
    pub machine: String,
}
