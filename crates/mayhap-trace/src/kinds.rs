//! What the locks, conditions and variables of a trace are in the program.
//!
//! Kinds decide what a schedule may do with an object (how a wait finds its notify) and what reports call it. The codes are
//! part of the native format.

/// What a lock is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum LockKind {
    /// The trace does not say.
    #[default]
    Unspecified = 0,
    /// A mutex.
    Mutex = 1,
    /// A reader-writer lock.
    RwLock = 2,
    /// A spin lock.
    SpinLock = 3,
    /// A lock of a library whose code is not instrumented.
    Library = 4,
    /// A lock of a file or of a part of it.
    File = 5,
    /// The lock of the dynamic loader.
    Loader = 6,
    /// The lock of a stream of the C library.
    Stream = 7,
    /// A lock of OpenMP.
    OpenMp = 8,
    /// The indivisibility of an atomic variable. Only traces of version 1 have it.
    Atomic = 9,
}

/// What a condition is, and so how its waits find their notifies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ConditionKind {
    /// The trace does not say: each wait needs the notify that it had in the trace, which is remembered.
    #[default]
    Unspecified,
    /// A condition variable: a notify wakes a thread that waits at that moment, and is otherwise lost.
    Condition,
    /// A semaphore with its initial count: each notify adds one, each wait takes one.
    Semaphore {
        /// The count before the first event.
        initial: u32,
    },
    /// A token that a notify sets and a wait takes, as of a parked thread.
    Token,
    /// One round of a barrier.
    Barrier,
    /// An initialisation that is done once.
    Once,
    /// The end of a scope's threads.
    Scope,
    /// A pipe, socket, queue or other channel that hands data over.
    Channel,
    /// A signal of the operating system.
    Signal,
    /// A release that acquires take over. Only traces of version 1 have it.
    Atomic,
}

impl ConditionKind {
    /// Each wait needs the very notify that it had in the trace; a notify is remembered. Such pairs are must-order.
    #[inline]
    pub const fn has_fixed_pairs(self) -> bool {
        !matches!(self, ConditionKind::Condition | ConditionKind::Semaphore { .. } | ConditionKind::Token)
    }
}

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum VariableKind {
    /// The trace does not say.
    #[default]
    Unspecified = 0,
    /// Ordinary memory.
    Memory = 1,
    /// An atomic variable.
    Atomic = 2,
    /// The life of a lock, a condition or the like: a use reads it, the end frees it.
    Object = 3,
    /// The life of a descriptor: a use reads it, the close frees it.
    Descriptor = 4,
    /// The life of a library that the program loads: code that runs in it reads it, unloading frees it.
    Library = 5,
    /// A variable of a function, which frees it when it returns.
    Local = 6,
    /// A variable of a block within a function, which frees it when it leaves the block.
    BlockLocal = 7,
}

macro_rules! codes {
    ($kind:ident, $($name:ident),*) => {
        impl $kind {
            /// Returns the kind with this code.
            pub const fn from_code(code: u8) -> Option<Self> {
                $(if code == Self::$name as u8 { return Some(Self::$name); })*
                None
            }

            /// The code of the kind in the native format.
            pub const fn code(self) -> u8 {
                self as u8
            }
        }
    };
}

codes!(LockKind, Unspecified, Mutex, RwLock, SpinLock, Library, File, Loader, Stream, OpenMp, Atomic);
codes!(VariableKind, Unspecified, Memory, Atomic, Object, Descriptor, Library, Local, BlockLocal);

impl ConditionKind {
    /// Returns the kind with this code; `initial` is the initial count of a semaphore and 0 for all others.
    pub const fn from_code(code: u8, initial: u32) -> Option<Self> {
        let kind = match code {
            2 => return Some(ConditionKind::Semaphore { initial }),
            _ if initial != 0 => return None,
            0 => ConditionKind::Unspecified,
            1 => ConditionKind::Condition,
            3 => ConditionKind::Token,
            4 => ConditionKind::Barrier,
            5 => ConditionKind::Once,
            6 => ConditionKind::Scope,
            7 => ConditionKind::Channel,
            8 => ConditionKind::Signal,
            9 => ConditionKind::Atomic,
            _ => return None,
        };
        Some(kind)
    }

    /// The code of the kind in the native format, and the initial count of a semaphore.
    pub const fn code(self) -> (u8, u32) {
        match self {
            ConditionKind::Unspecified => (0, 0),
            ConditionKind::Condition => (1, 0),
            ConditionKind::Semaphore { initial } => (2, initial),
            ConditionKind::Token => (3, 0),
            ConditionKind::Barrier => (4, 0),
            ConditionKind::Once => (5, 0),
            ConditionKind::Scope => (6, 0),
            ConditionKind::Channel => (7, 0),
            ConditionKind::Signal => (8, 0),
            ConditionKind::Atomic => (9, 0),
        }
    }
}

/// What is known of each object of one table, such as its kind, by index; of those beyond the end it is the default.
#[derive(Clone, Debug)]
pub struct Kinds<K>(Vec<K>);

impl<K> Default for Kinds<K> {
    fn default() -> Self {
        Kinds(Vec::new())
    }
}

impl<K: Copy + Default + PartialEq> Kinds<K> {
    /// Returns the kind of the object with this index.
    #[inline]
    pub fn get(&self, index: usize) -> K {
        self.0.get(index).copied().unwrap_or_default()
    }

    /// Sets the kind of the object with this index.
    pub fn set(&mut self, index: usize, kind: K) {
        if self.0.len() <= index {
            if kind == K::default() {
                return;
            }
            self.0.resize(index + 1, K::default());
        }
        self.0[index] = kind;
    }

    /// Sets a kind that is not the default one, of an object that has the default one; `false` if it is otherwise.
    pub(crate) fn set_once(&mut self, index: usize, kind: K) -> bool {
        let is_new = kind != K::default() && self.get(index) == K::default();
        if is_new {
            self.set(index, kind);
        }
        is_new
    }

    /// The objects that are not of the default kind.
    pub fn iter(&self) -> impl Iterator<Item = (usize, K)> + '_ {
        self.0.iter().copied().enumerate().filter(|(_, kind)| *kind != K::default())
    }

    /// Whether all objects are of the default kind.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl<K: Copy + Default + PartialEq> PartialEq for Kinds<K> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: Copy + Default + PartialEq> Eq for Kinds<K> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back() {
        for code in 0..=u8::MAX {
            if let Some(kind) = LockKind::from_code(code) {
                assert_eq!(kind.code(), code);
            }
            if let Some(kind) = VariableKind::from_code(code) {
                assert_eq!(kind.code(), code);
            }
            for initial in [0, 3] {
                if let Some(kind) = ConditionKind::from_code(code, initial) {
                    assert_eq!(kind.code(), (code, initial));
                }
            }
        }
        assert_eq!(ConditionKind::from_code(1, 3), None);
    }

    #[test]
    fn kinds_that_were_never_set_are_the_default() {
        let mut kinds = Kinds::default();
        kinds.set(3, LockKind::Mutex);
        kinds.set(9, LockKind::Unspecified);
        assert_eq!([0, 3, 9].map(|i| kinds.get(i)), [LockKind::Unspecified, LockKind::Mutex, LockKind::Unspecified]);
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [(3, LockKind::Mutex)]);
        kinds.set(3, LockKind::Unspecified);
        assert!(kinds.is_empty() && kinds == Kinds::default());
    }
}
