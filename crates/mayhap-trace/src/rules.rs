//! The rules of well-formedness, and what breaking one looks like.

use std::fmt;

use crate::id::EventId;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A rule of well-formedness.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[$(Rule::$name,)*];

            /// The rule's name in messages and JSON.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$name => $text,)* }
            }
        }
    };
}

rules! {
    /// A lock is acquired while another thread holds it.
    AcquireOfHeldLock = "acquire-of-held-lock";
    /// A lock is released by a thread that does not hold it.
    ReleaseWithoutAcquire = "release-without-acquire";
    /// An attempt to acquire a lock fails though nothing was in its way.
    FailedAcquireOfFreeLock = "failed-acquire-of-free-lock";
    /// A thread forks itself.
    ForkOfItself = "fork-of-itself";
    /// A thread is forked a second time.
    ForkTwice = "fork-twice";
    /// A thread is forked that has already run.
    ForkOfRunningThread = "fork-of-running-thread";
    /// A thread is forked that was joined before.
    ForkAfterJoin = "fork-after-join";
    /// A thread joins itself.
    JoinOfItself = "join-of-itself";
    /// A thread is joined a second time.
    JoinTwice = "join-twice";
    /// A thread is joined that runs on later.
    JoinOfUnfinishedThread = "join-of-unfinished-thread";
    /// A thread runs on after it was joined.
    EventAfterJoin = "event-after-join";
    /// A wait returns though no notify can have ended it: of another thread, since the wait began, or not yet taken, by the
    /// kind of its condition.
    WaitWithoutNotify = "wait-without-notify";
    /// An attempt to wait fails though the count was above zero, or on a condition that does not count.
    FailedWaitOfPositiveCount = "failed-wait-of-positive-count";
    /// An event runs in one step with the previous event of its thread, but that is not the previous event of the trace.
    JoinedStepInterrupted = "joined-step-interrupted";
    /// An event has a property or a value that its operation cannot have, or lacks one that it needs.
    MisplacedProperty = "misplaced-property";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A broken rule, with both events that break it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The event that breaks it.
    pub event: EventId,
    /// The event it clashes with, where there is one.
    pub other: Option<EventId>,
    pub(crate) message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {} [rule {}]", self.event, self.message, self.rule)
    }
}

impl std::error::Error for Violation {}
