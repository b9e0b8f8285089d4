//! Dense 32-bit ids.
//!
//! Every id is an index into a table, so state on hot paths is a `Vec` indexed by id.
//! Construction is checked: `u32::MAX` is never a valid id, which lets columns use it for "none".

use std::fmt;

/// The column value for "no id".
pub const NONE: u32 = u32::MAX;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// How many different ids of this kind there can be.
            pub const LIMIT: usize = $max;

            /// The id for `index`, or `None` where `index` is beyond [`Self::LIMIT`].
            #[inline]
            pub const fn new(index: usize) -> Option<Self> {
                if index < Self::LIMIT { Some(Self(index as u32)) } else { None }
            }

            /// The id for an index that is known to come from a table of this kind.
            ///
            /// # Panics
            /// If `index` is beyond [`Self::LIMIT`].
            #[inline]
            #[track_caller]
            pub const fn at(index: usize) -> Self {
                match Self::new(index) {
                    Some(id) => id,
                    None => panic!("id out of range"),
                }
            }

            /// The id in a column cell, where [`NONE`] means that there is none.
            #[inline]
            pub const fn from_cell(cell: u32) -> Option<Self> {
                Self::new(cell as usize)
            }

            /// Returns the position in the table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id as a column stores it.
            #[inline]
            pub const fn cell(self) -> u32 {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

id!(
    /// An event: its position in the trace, from 0. Shown to people from 1 ([`EventId::number`]).
    EventId,
    NONE as usize
);
id!(
    /// A thread.
    ThreadId,
    u16::MAX as usize
);
id!(
    /// A lock (mutex, monitor, reader-writer lock).
    LockId,
    NONE as usize
);
id!(
    /// A shared memory location.
    VarId,
    NONE as usize
);
id!(
    /// What `wait` and `notify` name: a condition variable, a semaphore, any sticky signal.
    CondId,
    NONE as usize
);
id!(
    /// A place in the program's source.
    LocId,
    NONE as usize
);

id!(
    /// A value that an access read or wrote.
    ValueId,
    NONE as usize
);

impl EventId {
    /// The number people see: the 1-based position in the trace.
    #[inline]
    pub const fn number(self) -> u64 {
        self.0 as u64 + 1
    }

    /// The event with the number people see, or `None` for 0 and beyond the limit.
    #[inline]
    pub const fn from_number(number: u64) -> Option<Self> {
        if number == 0 || number > Self::LIMIT as u64 { None } else { Some(Self((number - 1) as u32)) }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_never_an_id() {
        assert_eq!(VarId::new(NONE as usize), None);
        assert_eq!(VarId::from_cell(NONE), None);
        assert_eq!(ThreadId::new(65_535), None);
        assert_eq!(ThreadId::new(65_534).map(ThreadId::index), Some(65_534));
    }

    #[test]
    fn event_numbers_count_from_one() {
        assert_eq!(EventId::from_number(0), None);
        assert_eq!(EventId::from_number(1), EventId::new(0));
        assert_eq!(EventId::at(41).to_string(), "42");
        assert_eq!(EventId::from_number(u64::from(NONE) + 1), None);
    }
}
