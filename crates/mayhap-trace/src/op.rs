//! What a step of a thread does, and what it does it to.

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $word:literal, $kind:ident;)*) => {
        /// The operation of an event. The discriminants are part of the native format.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $name = $code,)* }

        impl Op {
            /// All operations, in the order of their codes.
            pub const ALL: &'static [Op] = &[$(Op::$name,)*];

            /// Returns the operation with this code.
            #[inline]
            pub const fn from_code(code: u8) -> Option<Op> {
                match code { $($code => Some(Op::$name),)* _ => None }
            }

            /// The word of the STD format.
            #[inline]
            pub const fn word(self) -> &'static str {
                match self { $(Op::$name => $word,)* }
            }

            /// The operation that the STD format writes as `word`.
            #[inline]
            pub const fn from_word(word: &[u8]) -> Option<Op> {
                $(if eq(word, $word.as_bytes()) { return Some(Op::$name); })*
                None
            }

            /// What kind of thing the operation names.
            #[inline]
            pub const fn names(self) -> ObjectKind {
                match self { $(Op::$name => ObjectKind::$kind,)* }
            }
        }
    };
}

ops! {
    /// Reads a variable.
    Read = 0, "r", Variable;
    /// Writes a variable.
    Write = 1, "w", Variable;
    /// Takes a lock for itself alone.
    Acquire = 2, "acq", Lock;
    /// Gives up what `Acquire` took.
    Release = 3, "rel", Lock;
    /// Takes a reader lock together with other readers.
    SharedAcquire = 4, "racq", Lock;
    /// Gives up what `SharedAcquire` took.
    SharedRelease = 5, "rrel", Lock;
    /// Starts a thread.
    Fork = 6, "fork", Thread;
    /// Waits for a thread's end.
    Join = 7, "join", Thread;
    /// Returns from waiting on a condition.
    Wait = 8, "wait", Condition;
    /// Wakes one waiter.
    Notify = 9, "notify", Condition;
    /// Wakes all waiters.
    NotifyAll = 10, "notifyall", Condition;
    /// Decides, by values read before, where the thread continues.
    Branch = 11, "br", Nothing;
    /// Marks the start of a thread. A mark: it constrains nothing.
    Begin = 12, "begin", Nothing;
    /// Marks the end of a thread. A mark: it constrains nothing.
    End = 13, "end", Nothing;
    /// Marks that the next acquire of the thread was a try or timed lock. Only older traces have it: since version 2 the
    /// acquire itself carries its [`Attempt`]. A mark: it constrains nothing.
    Try = 14, "try", Nothing;
    /// A try or timed lock that failed because the lock was held.
    FailedAcquire = 15, "facq", Lock;
    /// A try or timed reader lock that failed because the lock was held exclusively.
    FailedSharedAcquire = 16, "fracq", Lock;
    /// A try or timed wait for a semaphore that failed because its count was zero.
    FailedWait = 17, "fwait", Condition;
    /// A fence of the memory order in its flags.
    Fence = 18, "fence", Nothing;
}

const fn eq(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

impl Op {
    /// Whether the operation is a read or a write.
    #[inline]
    pub const fn is_access(self) -> bool {
        matches!(self, Op::Read | Op::Write)
    }

    /// Whether the operation is an acquire, in either mode.
    #[inline]
    pub const fn is_acquire(self) -> bool {
        matches!(self, Op::Acquire | Op::SharedAcquire)
    }

    /// Whether the operation is a release, in either mode.
    #[inline]
    pub const fn is_release(self) -> bool {
        matches!(self, Op::Release | Op::SharedRelease)
    }

    /// Whether the operation is one of the four lock operations.
    #[inline]
    pub const fn is_lock(self) -> bool {
        self.is_acquire() || self.is_release()
    }

    /// Whether the operation is on a lock in shared (reader) mode.
    #[inline]
    pub const fn is_shared(self) -> bool {
        matches!(self, Op::SharedAcquire | Op::SharedRelease | Op::FailedSharedAcquire)
    }

    /// Whether the operation notifies one waiter or all.
    #[inline]
    pub const fn is_notify(self) -> bool {
        matches!(self, Op::Notify | Op::NotifyAll)
    }

    /// Whether the operation is a failed attempt: it reads the state of a lock or semaphore and changes nothing.
    #[inline]
    pub const fn is_failed_attempt(self) -> bool {
        matches!(self, Op::FailedAcquire | Op::FailedSharedAcquire | Op::FailedWait)
    }

    /// Whether the operation is a mark (`begin`, `end` or `try`), which constrains nothing and takes no part in schedules.
    #[inline]
    pub const fn is_mark(self) -> bool {
        matches!(self, Op::Begin | Op::End | Op::Try)
    }
}

/// The table an operation's object belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ObjectKind {
    /// Variables.
    Variable,
    /// Locks.
    Lock,
    /// Threads.
    Thread,
    /// Conditions.
    Condition,
    /// The operation has no object.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_words_round_trip() {
        for (code, &op) in Op::ALL.iter().enumerate() {
            assert_eq!(op as usize, code);
            assert_eq!(Op::from_code(code as u8), Some(op));
            assert_eq!(Op::from_word(op.word().as_bytes()), Some(op));
        }
        assert_eq!(Op::from_code(Op::ALL.len() as u8), None);
        assert_eq!(Op::from_word(b"lock"), None);
    }
}
