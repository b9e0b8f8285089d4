//! A trace together with what follows from it.

use std::borrow::Cow;

use crate::error::Error;
use crate::relations::Relations;
use crate::trace::Trace;

/// A well-formed trace and its own relations.
///
/// Deriving is the only way to make one, so the two always belong together. The proof checker and the engines take nothing
/// else: a schedule that is correct under the relations of another trace would prove nothing about this one.
///
/// ```
/// # use mayhap_trace::{Execution, Trace};
/// fn races(execution: &Execution<'_>) {}
/// races(&Execution::derive(Trace::default()).unwrap());
/// ```
///
/// A pair that was put together by hand does not compile:
///
/// ```compile_fail,E0451
/// # use std::borrow::Cow;
/// # use mayhap_trace::{Execution, Relations, Trace};
/// let (trace, other) = (Trace::default(), Trace::default());
/// let relations = Relations::derive(&other).unwrap();
/// let mismatched = Execution { trace: Cow::Owned(trace), relations };
/// ```
#[derive(Clone, Debug)]
pub struct Execution<'t> {
    trace: Cow<'t, Trace>,
    relations: Relations,
}

impl<'t> Execution<'t> {
    /// Checks that the trace is well-formed and derives its relations. Takes the trace, or a reference to it.
    pub fn derive(trace: impl Into<Cow<'t, Trace>>) -> Result<Self, Error> {
        let trace = trace.into();
        let relations = Relations::derive(&trace)?;
        Ok(Execution { trace, relations })
    }

    /// Returns the trace.
    #[inline]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns what follows from the trace.
    #[inline]
    pub fn relations(&self) -> &Relations {
        &self.relations
    }

    /// Returns the trace and what follows from it.
    #[inline]
    pub fn parts(&self) -> (&Trace, &Relations) {
        (&self.trace, &self.relations)
    }
}

impl<'t> From<&'t Trace> for Cow<'t, Trace> {
    fn from(trace: &'t Trace) -> Self {
        Cow::Borrowed(trace)
    }
}

impl From<Trace> for Cow<'_, Trace> {
    fn from(trace: Trace) -> Self {
        Cow::Owned(trace)
    }
}
