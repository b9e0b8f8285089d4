//! Why a witness was rejected, in words.

use std::fmt;

use mayhap_trace::{EventId, ThreadId};

use crate::TargetError;

/// Why a witness was rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// The step, from 1, or `None` where the schedule runs but does not reach the target.
    pub step: Option<usize>,
    /// The event of that step.
    pub event: Option<EventId>,
    /// The broken rule.
    pub why: Why,
}

/// A rule that a witness broke.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// The trace has no such event.
    NoSuchEvent,
    /// A mark or a re-entrant lock operation.
    NotSchedulable,
    /// The thread has another event to run first (`None`: it has run this one already).
    NotNext(Option<EventId>),
    /// This event, of another thread, runs in one step with the event before.
    SplitsStep(EventId),
    /// The thread's fork has not run.
    NotForked(EventId),
    /// The joined thread has not finished; this is its next event, or its fork.
    NotFinished(EventId),
    /// The notify of this wait has not run.
    NotNotified(EventId),
    /// No notify of the condition variable that is left for this wait ran since the wait began.
    NoWakeUp,
    /// The semaphore's count is zero, or the token is not set.
    NothingToTake,
    /// Another thread, of this name, holds the lock.
    LockHeld(ThreadId, String),
    /// The attempt failed in the observed run but could succeed here.
    AttemptMaySucceed,
    /// The read sees another write than observed, whose value is not known to be the same; `None` is the initial value.
    WrongWrite {
        /// What it saw in the observed run.
        observed: Option<EventId>,
        /// What it sees here.
        here: Option<EventId>,
    },
    /// The thread decides something after this event, which may have returned something else than observed.
    BranchAfterChangedRead(EventId),
    /// The thread goes on after this event of the target, which may have returned something else than observed.
    GoesOnAfterChangedRead(EventId),
    /// The target makes no sense for this trace.
    BadTarget(TargetError),
    /// The schedule is correct but does not end in the target's state.
    TargetNotReached(String),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.step {
            write!(f, "step {step}")?;
            if let Some(event) = self.event {
                write!(f, " (event {event})")?;
            }
            f.write_str(": ")?;
        }
        let write_name = |w: &Option<EventId>| w.map_or("the initial value".to_string(), |w| format!("event {w}"));
        match &self.why {
            Why::NoSuchEvent => f.write_str("the trace has no such event"),
            Why::NotSchedulable => f.write_str("a mark or re-entrant lock operation takes no part in schedules"),
            Why::NotNext(Some(next)) => write!(f, "event {next} of the same thread must run first"),
            Why::NotNext(None) => f.write_str("the event has run already"),
            Why::SplitsStep(joined) => {
                write!(f, "event {joined} must run first: it is one step with the event before it")
            }
            Why::NotForked(fork) => write!(f, "its thread is forked by event {fork}, which has not run"),
            Why::NotFinished(next) => write!(f, "the joined thread still has to run event {next}"),
            Why::NotNotified(notify) => write!(f, "it waits for event {notify}, which has not run"),
            Why::NoWakeUp => f.write_str("no unused notify of the condition ran since the wait began"),
            Why::NothingToTake => f.write_str("the semaphore or token has nothing to take"),
            Why::LockHeld(_, name) => write!(f, "{name} holds the lock"),
            Why::AttemptMaySucceed => f.write_str("the attempt failed in the trace but could succeed here"),
            Why::WrongWrite { observed, here } => {
                write!(f, "the read sees {} instead of {}", write_name(here), write_name(observed))
            }
            Why::BranchAfterChangedRead(cause) => {
                write!(f, "the branch depends on event {cause}, which may return something else than in the trace")
            }
            Why::GoesOnAfterChangedRead(cause) => {
                write!(f, "the thread goes on after event {cause}, which may return something else than in the trace")
            }
            Why::BadTarget(error) => write!(f, "{error}"),
            Why::TargetNotReached(what) => write!(f, "the schedule is correct but misses the target: {what}"),
        }
    }
}

impl std::error::Error for Rejection {}
