//! Properties of an event beyond its operation: memory order, indivisibility, where a written value comes from, and how an
//! acquire was attempted.
//!
//! They are one number of 16 bits, which is part of the native format:
//!
//! | bits | property |
//! |---|---|
//! | 0–2 | memory order of an atomic access or a fence; 0: not atomic |
//! | 3 | joined: runs in one step with the previous event of its thread |
//! | 4 | constant: the written value is a constant of the code |
//! | 5 | independent: the written value does not come from the reads of the same step |
//! | 6–7 | attempt: 0 blocking, 1 try, 2 timed |
//! | 8 | free: the write represents freeing the memory |
//! | 9 | implicit: a branch without a basic block |

use std::fmt;

use crate::op::Op;

/// The memory order of an atomic access or a fence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MemoryOrder {
    /// Orders nothing.
    Relaxed = 1,
    /// Treated as acquire.
    Consume = 2,
    /// Takes over what the release that it reads from published.
    Acquire = 3,
    /// Publishes what came before it.
    Release = 4,
    /// Acquire and release.
    AcquireRelease = 5,
    /// Acquire and release, in one total order with all others of its kind.
    SequentiallyConsistent = 6,
}

impl MemoryOrder {
    /// All orders, by their codes from 1.
    pub const ALL: [MemoryOrder; 6] = [
        MemoryOrder::Relaxed,
        MemoryOrder::Consume,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcquireRelease,
        MemoryOrder::SequentiallyConsistent,
    ];

    /// The order's word in the STD format.
    pub const fn word(self) -> &'static str {
        match self {
            MemoryOrder::Relaxed => "rlx",
            MemoryOrder::Consume => "con",
            MemoryOrder::Acquire => "acq",
            MemoryOrder::Release => "rel",
            MemoryOrder::AcquireRelease => "ar",
            MemoryOrder::SequentiallyConsistent => "sc",
        }
    }

    /// Whether the order has acquire semantics.
    #[inline]
    pub const fn acquires(self) -> bool {
        !matches!(self, MemoryOrder::Relaxed | MemoryOrder::Release)
    }

    /// Whether the order has release semantics.
    #[inline]
    pub const fn releases(self) -> bool {
        matches!(self, MemoryOrder::Release | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent)
    }
}

/// How an acquire or a wait was attempted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Attempt {
    /// It waits as long as it takes.
    Blocking,
    /// It does not wait.
    Try,
    /// It waits for a limited time.
    Timed,
}

/// The properties of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// No property.
    pub const NONE: Flags = Flags(0);
    /// The event runs in one step with the previous event of its thread: nothing at all runs between the two.
    pub const JOINED: Flags = Flags(1 << 3);
    /// The written value is a constant of the code.
    pub const CONSTANT: Flags = Flags(1 << 4);
    /// The written value does not come from the reads of the same step, as in an exchange.
    pub const INDEPENDENT: Flags = Flags(1 << 5);
    /// An acquire or wait that does not wait.
    pub const TRY: Flags = Flags(1 << 6);
    /// An acquire or wait that waits for a limited time.
    pub const TIMED: Flags = Flags(2 << 6);
    /// The write represents freeing the memory.
    pub const FREE: Flags = Flags(1 << 8);
    /// A branch without a basic block: a computed address, a call target, a lock at a computed address.
    pub const IMPLICIT: Flags = Flags(1 << 9);

    const ORDER: u16 = 0b111;
    const ATTEMPT: u16 = 0b11 << 6;
    const KNOWN: u16 = (1 << 10) - 1;

    /// Returns the properties in a column cell; `None` if it has bits without a meaning.
    #[inline]
    pub const fn from_bits(bits: u16) -> Option<Flags> {
        let valid = bits & !Self::KNOWN == 0 && bits & Self::ORDER != 7 && bits & Self::ATTEMPT != Self::ATTEMPT;
        if valid { Some(Flags(bits)) } else { None }
    }

    /// The properties as a column stores them.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Atomic, with this memory order.
    #[inline]
    pub const fn atomic(order: MemoryOrder) -> Flags {
        Flags(order as u16)
    }

    /// These properties and those of `other`.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These properties without those of `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// Whether all properties of `other` are among these.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the event is an atomic access or a fence.
    #[inline]
    pub const fn is_atomic(self) -> bool {
        self.0 & Self::ORDER != 0
    }

    /// The memory order of an atomic access or a fence.
    #[inline]
    pub const fn order(self) -> Option<MemoryOrder> {
        match self.0 & Self::ORDER {
            0 => None,
            code => Some(MemoryOrder::ALL[code as usize - 1]),
        }
    }

    /// Whether [`Flags::JOINED`] is set.
    #[inline]
    pub const fn is_joined(self) -> bool {
        self.has(Self::JOINED)
    }

    /// How an acquire or a wait was attempted.
    #[inline]
    pub const fn attempt(self) -> Attempt {
        match self.0 & Self::ATTEMPT {
            0 => Attempt::Blocking,
            bits if bits == Self::TRY.0 => Attempt::Try,
            _ => Attempt::Timed,
        }
    }

    /// All properties that an event with this operation can have.
    pub const fn allowed(op: Op) -> Flags {
        let bits = match op {
            Op::Read => Self::ORDER | Self::JOINED.0,
            Op::Write => Self::ORDER | Self::JOINED.0 | Self::CONSTANT.0 | Self::INDEPENDENT.0 | Self::FREE.0,
            Op::Branch => Self::JOINED.0 | Self::IMPLICIT.0,
            Op::Fence => Self::ORDER,
            Op::Acquire | Op::SharedAcquire | Op::Wait => Self::ATTEMPT,
            Op::FailedAcquire | Op::FailedSharedAcquire | Op::FailedWait => Self::ATTEMPT,
            _ => 0,
        };
        Flags(bits)
    }

    /// The words of the STD format, in the order in which they are written.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let order = self.order().map(MemoryOrder::word);
        order.into_iter().chain(WORDS.iter().filter(move |(flag, _)| self.has(*flag)).map(|&(_, word)| word))
    }

    /// The property that the STD format writes as `word`.
    pub fn from_word(word: &[u8]) -> Option<Flags> {
        let order = MemoryOrder::ALL.into_iter().find(|order| order.word().as_bytes() == word).map(Flags::atomic);
        order.or_else(|| WORDS.iter().find(|(_, text)| text.as_bytes() == word).map(|&(flag, _)| flag))
    }
}

const WORDS: [(Flags, &str); 7] = [
    (Flags::JOINED, "joined"),
    (Flags::CONSTANT, "const"),
    (Flags::INDEPENDENT, "indep"),
    (Flags::TRY, "try"),
    (Flags::TIMED, "timed"),
    (Flags::FREE, "free"),
    (Flags::IMPLICIT, "implicit"),
];

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({})", self.words().collect::<Vec<_>>().join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_has_a_word_that_reads_back() {
        for bits in 0..1 << 10 {
            let Some(flags) = Flags::from_bits(bits) else { continue };
            let read = flags.words().map(|word| Flags::from_word(word.as_bytes()).unwrap());
            assert_eq!(read.fold(Flags::NONE, Flags::with), flags);
            assert_eq!(flags.bits(), bits);
        }
    }

    #[test]
    fn bits_without_a_meaning_are_refused() {
        for bits in [7, 3 << 6, 1 << 10, u16::MAX] {
            assert_eq!(Flags::from_bits(bits), None);
        }
    }
}
