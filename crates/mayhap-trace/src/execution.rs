//! A trace together with what follows from it.

use crate::error::Error;
use crate::relations::Relations;
use crate::trace::Trace;

/// A well-formed trace and its own relations. Deriving is the only way to make one, so the two always belong together.
#[derive(Clone, Debug)]
pub struct Execution<'t> {
    trace: &'t Trace,
    relations: Relations,
}

impl<'t> Execution<'t> {
    /// Checks that the trace is well-formed and derives its relations.
    pub fn derive(trace: &'t Trace) -> Result<Self, Error> {
        Ok(Execution { trace, relations: Relations::derive(trace)? })
    }

    /// The trace.
    #[inline]
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// What follows from the trace.
    #[inline]
    pub fn relations(&self) -> &Relations {
        &self.relations
    }
}
