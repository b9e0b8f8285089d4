//! The ring in shared memory through which the runtime inside the program passes events to `mayhap record`.
//!
//! One writer (the thread that holds the runtime's token), one reader (the recording process). The ring is memory that
//! both share, so whatever was written before the program died, however it died, is still there to be read.
//!
//! Layout: one page with the [`Header`], then [`Header::units`] (a power of two) little-endian *units* of 32 bits.
//! `head` and `tail` count units since the beginning; the unit numbered `n` is in cell `n mod units`. Most units are one access each,
//! stored as the distance from the last access of its site; everything else is stored in *words* of 64 bits, two units each: see [`unit`].
//!
//! A word is an *access* or starts a *record*. An access has an address in the low 47 bits, above it a site number of 16 bits that
//! is not 0, and the highest bit ([`BRANCHED`]) where the thread entered a basic block since its last read; what the site does there,
//! and how wide it is, was recorded when the site was defined. A record has site number 0, its [`Tag`] in the low 8 bits, the number of words that follow in the next 8, and an argument of 31 bits.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Distinguishes a ring from other memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"mayhapR2");

/// Where the words start in the shared memory.
pub const DATA_OFFSET: usize = 4096;

/// How many low bits of a word an address takes.
pub const ADDRESS_BITS: u32 = 47;

/// Sites are numbered from 1 up to here; accesses from further sites share this number's site.
pub const MAX_SITE: u32 = BRANCHED - 1;

/// Added to the site number of an access: a value read before it may have decided that the thread came there.
pub const BRANCHED: u32 = 1 << (63 - ADDRESS_BITS);

/// Units of a ring: 2 MiB, which stay in the processor's cache until the recorder takes them.
pub const UNITS: u64 = 1 << 19;

/// The most words that may follow the first word of a record.
pub const MAX_FOLLOWING: usize = 255;

/// Set in the program counters of sites of kind [`SiteKind::Call`], so that they are others than those of what else is done there.
pub const CALL: u64 = 1 << 47;

/// How many nested calls of a thread are recorded with their places; deeper calls are only counted.
pub const MAX_FRAMES: usize = 1 << 15;

/// The environment variable that names the ring to the program.
pub const ENVIRONMENT: &str = "MAYHAP_RING";
/// How long the path in it is: as long as that of any descriptor of any process.
pub const PATH_LENGTH: usize = 32;

/// The first page of the ring. Writer and reader use separate cache lines.
#[repr(C, align(64))]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// How many units the ring has.
    pub units: u64,
    /// Seed of the scheduler.
    pub seed: u64,
    /// A [`Schedule`] as a number.
    pub schedule: u32,
    /// Mean number of hooks that a thread passes before it gives the token up.
    pub slice: u32,
    /// The recording process.
    pub recorder: u32,
    /// 1: record what differs from run to run by itself, see [`source`].
    pub inputs: u32,
    /// 1: record values of plain accesses.
    pub values: u32,
    /// Milliseconds that threads get which are still at work when the program ends.
    pub linger: u32,
    /// How many threads wait in the kernel, without a time limit, for what only other threads of the program can do to a channel.
    pub channel_waits: AtomicU32,
    _reserved: u32,
    /// How many units were written, and perhaps [`HEAD_INVALID`]. Only the writer stores here, any thread of its process may seal.
    pub head: Line<AtomicU64>,
    /// How many units were read. Only the reader stores here.
    pub tail: Line<AtomicU64>,
    /// The process that writes; 0 while there is none. The first process to claim the ring keeps it.
    pub writer: Line<AtomicU32>,
    /// Bits of [`state`].
    pub state: Line<AtomicU32>,
    /// Hooks in signal handlers that interrupted the runtime and so were not recorded.
    pub unrecorded: Line<AtomicU64>,
    /// The complement of [`Header::tail`], stored after it: a reader that stores through a file may store a word in parts,
    /// and only a tail that agrees with this one counts.
    pub tail_check: Line<AtomicU64>,
}

/// Added to the head: hooks that know what it was look again.
pub const HEAD_INVALID: u64 = 1 << 63;

/// A value on a separate cache line.
#[repr(C, align(64))]
pub struct Line<T>(pub T);

const _: () = assert!(size_of::<Header>() == 7 * 64);

/// Byte offsets of the fields that the reader reads and writes through a file descriptor.
pub mod offset {
    use super::Header;
    use core::mem::offset_of;
    /// Of [`Header::magic`].
    pub const MAGIC: u64 = offset_of!(Header, magic) as u64;
    /// Of [`Header::units`].
    pub const UNITS: u64 = offset_of!(Header, units) as u64;
    /// Of [`Header::seed`].
    pub const SEED: u64 = offset_of!(Header, seed) as u64;
    /// Of [`Header::schedule`].
    pub const SCHEDULE: u64 = offset_of!(Header, schedule) as u64;
    /// Of [`Header::slice`].
    pub const SLICE: u64 = offset_of!(Header, slice) as u64;
    /// Of [`Header::channel_waits`].
    pub const CHANNEL_WAITS: u64 = offset_of!(Header, channel_waits) as u64;
    /// Of [`Header::recorder`].
    pub const RECORDER: u64 = offset_of!(Header, recorder) as u64;
    /// Of [`Header::inputs`].
    pub const INPUTS: u64 = offset_of!(Header, inputs) as u64;
    /// Of [`Header::values`].
    pub const VALUES: u64 = offset_of!(Header, values) as u64;
    /// Of [`Header::linger`].
    pub const LINGER: u64 = offset_of!(Header, linger) as u64;
    /// Of [`Header::head`].
    pub const HEAD: u64 = offset_of!(Header, head) as u64;
    /// Of [`Header::tail`].
    pub const TAIL: u64 = offset_of!(Header, tail) as u64;
    /// Of [`Header::writer`].
    pub const WRITER: u64 = offset_of!(Header, writer) as u64;
    /// Of [`Header::state`].
    pub const STATE: u64 = offset_of!(Header, state) as u64;
    /// Of [`Header::unrecorded`].
    pub const UNRECORDED: u64 = offset_of!(Header, unrecorded) as u64;
    /// Of [`Header::tail_check`].
    pub const TAIL_CHECK: u64 = offset_of!(Header, tail_check) as u64;
}

/// What the writer reports about its end, and about what it could not record.
pub mod state {
    /// The program left through `exit` or the end of `main`.
    pub const EXITED: u32 = 1;
    /// The program called `_exit`.
    pub const EXITED_AT_ONCE: u32 = 1 << 1;
    /// The program replaced itself by `exec`.
    pub const EXECUTED: u32 = 1 << 2;
    /// The program forked a process, which is not recorded.
    pub const FORKED: u32 = 1 << 3;
    /// More threads than a trace can number.
    pub const TOO_MANY_THREADS: u32 = 1 << 4;
    /// The program reports its basic blocks.
    pub const TELLS_BRANCHES: u32 = 1 << 5;
    /// The program synchronises in a way that the writer does not see.
    pub const UNSEEN_ORDER: u32 = 1 << 6;
    /// An OpenMP library reports to the writer what it does.
    pub const OPENMP_TELLS: u32 = 1 << 7;
    /// No thread could go on, as far as the writer knows; the threads wait in the kernel from there on.
    pub const STUCK: u32 = 1 << 8;
    /// The program did not go as the list of turns says.
    pub const LEFT_TURNS: u32 = 1 << 9;
    /// The kernel, or code without hooks, decided when a thread goes on.
    pub const KERNEL_DECIDED: u32 = 1 << 10;
    /// A Java program synchronises or changes memory in a way that the agent in its virtual machine does not see.
    pub const UNSEEN_JAVA: u32 = 1 << 11;
    /// The program reads the clock.
    pub const READS_CLOCK: u32 = 1 << 16;
    /// The program asks the kernel for random bytes.
    pub const USES_RANDOM: u32 = 1 << 17;
    /// The program uses the C library's random numbers.
    pub const USES_RAND: u32 = 1 << 18;
    /// The program asks for its process id.
    pub const USES_PROCESS_ID: u32 = 1 << 19;
}

/// Where an input comes from.
pub mod source {
    /// `time`.
    pub const TIME: u8 = 1;
    /// `clock_gettime`.
    pub const CLOCK: u8 = 2;
    /// `gettimeofday`.
    pub const DAY: u8 = 3;
    /// `getrandom`.
    pub const RANDOM: u8 = 4;
    /// `getentropy`.
    pub const ENTROPY: u8 = 5;
    /// `rand`.
    pub const RAND: u8 = 6;
    /// `random`.
    pub const RANDOM_LONG: u8 = 7;
    /// `getpid`.
    pub const PROCESS: u8 = 8;
    /// `read`, `pread`, `recv`.
    pub const READ: u8 = 9;
    /// `std::random_device`.
    pub const DEVICE: u8 = 10;
    /// `arc4random` and its like.
    pub const ARC4: u8 = 11;
    /// `fgets`, `getline`, `fread`, `fgetc` of streams that are no files.
    pub const STREAM: u8 = 12;
    /// Sources are numbered below.
    pub const COUNT: usize = 16;
}

pub use crate::turns::{
    CHOICE_SHIFT, Schedule, TURN_CHOICE, TURN_FAULTS, TURN_WEIGHT, TURNS_ENVIRONMENT, choice, futex,
};

macro_rules! codes {
    ($(#[$top:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$top])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant = $code,)* }

        impl $name {
            /// Returns the value with this number.
            #[inline]
            pub const fn from_code(code: u8) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    /// What a site does.
    SiteKind {
        /// Reads.
        Read = 0,
        /// Writes.
        Write = 1,
        /// Enters a basic block.
        Branch = 2,
        /// Anything that takes a record: synchronisation, atomics, ranges, allocation.
        Other = 3,
        /// Calls a function: the address of an access there is `call_frame::address` of the number of frames that stay below the called function.
        Call = 4,
        /// Returns: the address of an access there is `call_frame::address` of the number of frames that stay.
        Return = 5,
    }
}

codes! {
    /// What a record means. `arg` is the argument; the words that follow are in brackets.
    Tag {
        /// The events from here on are of thread `arg`.
        Switch = 1,
        /// Site number `arg` is at [`site_word`].
        Site = 2,
        /// Thread `arg` begins, with its stack: [lowest address, end, kernel's thread id, where its frames begin].
        Begin = 3,
        /// The current thread ends.
        End = 4,
        /// At site `arg` the current thread starts a thread: [thread].
        Fork = 5,
        /// At site `arg` the current thread has waited for the end of a thread: [thread].
        Join = 6,
        /// At site `arg` a lock was taken: [address].
        Acquire = 7,
        /// At site `arg` a lock is released: [address].
        Release = 8,
        /// At site `arg` a reader lock was taken together with others: [address].
        SharedAcquire = 9,
        /// At site `arg` a reader-writer lock is released in the mode in which it is held: [address].
        AnyRelease = 10,
        /// At site `arg` the synchronisation object at an address begins or ends its life:
        /// [address, 1 if it belongs to the runtime, not to the program].
        Renew = 11,
        /// At site `arg` the thread starts to wait on a condition: [condition].
        WaitBegin = 12,
        /// At site `arg` the thread has waited, who woke it is not known: [condition, 0 if time ran out].
        WaitEnd = 13,
        /// At site `arg` one waiter is woken: [condition].
        Notify = 14,
        /// At site `arg` all waiters are woken: [condition].
        NotifyAll = 15,
        /// At site `arg` a semaphore is raised: [semaphore].
        SemPost = 16,
        /// At site `arg` a semaphore was lowered: [semaphore].
        SemWait = 17,
        /// At site `arg` the thread arrives at a barrier: [barrier].
        BarrierArrive = 18,
        /// At site `arg` the thread leaves a barrier: [barrier].
        BarrierLeave = 19,
        /// At site `arg` the thread has completed a once-initialisation: [control].
        OnceDone = 20,
        /// At site `arg` the thread has found it done: [control].
        OnceSeen = 21,
        /// At site `arg` an atomic operation: [address, [`atomic_word`], value before, value after]; the values may be missing.
        Atomic = 22,
        /// At site `arg` a fence: [order].
        Fence = 23,
        /// At site `arg` a range is read: [address, bytes].
        RangeRead = 24,
        /// At site `arg` a range is written: [address, bytes].
        RangeWrite = 25,
        /// At site `arg` a block is allocated: [address, bytes].
        Alloc = 26,
        /// At site `arg` a block is freed: [address, 0 if there is none].
        Free = 27,
        /// A module of `arg` bytes of path is loaded: [base, lowest address, end, path...].
        Module = 28,
        /// At site `arg` a barrier begins its life: [barrier, how many take part].
        BarrierInit = 29,
        /// The latest notify woke a thread that waits at site `arg`: [condition, thread].
        Woken = 30,
        /// At site `arg` an attempt failed: [object, error number, tag of what was attempted].
        Failed = 40,
        /// At site `arg` a semaphore begins its life: [semaphore, count].
        SemInit = 44,
        /// At site `arg` the thread begins to wait, for as long as it takes: [object, tag of what it waits for, 1 for a mutex of Rust's standard library].
        Blocked = 43,
        /// At site `arg` the thread got something that differs from run to run: [[`source`], bytes above its 8 bits and whether
        /// more follow in the highest bit; result; bytes...].
        Input = 41,
        /// At site `arg` a lock of Rust's standard library was taken after waiting: [address, 1 if shared with others].
        StdLocked = 50,
        /// At site `arg` a mutex of Rust's standard library is released to wait on a condition: [address].
        StdUnlocked = 51,
        /// At site `arg` a Rust thread has been parked: [the word it slept on, 0 if it did not].
        Parked = 52,
        /// At site `arg` a thread of a Rust scope ends: [the scope].
        ScopeLeft = 53,
        /// What lay in memory after the current thread's latest access to an address whose low 31 bits are `arg`: [value].
        Value = 61,
        /// The next acquire or wait of the current thread does not wait for as long as it takes: [1 if it waits for some time].
        Tried = 60,
        /// At site `arg` a channel of the kernel or of a library comes into use: [[`crate::channel`] key, kind, bytes of its name, name...].
        Channel = 70,
        /// At site `arg` something is put into a channel: [key, amount, [`crate::channel::mark`], [`crate::channel::flag`]].
        Send = 71,
        /// The latest send of this amount into a channel by the current thread moved less: [key, amount announced, amount moved].
        SendEnd = 72,
        /// At site `arg` something was taken from a channel: [key, amount, [`crate::channel::mark`], [`crate::channel::flag`]].
        Receive = 73,
        /// At site `arg` the thread found channels ready, and took nothing: [two words for each: key, [`crate::channel::flag`]].
        Ready = 74,
        /// At site `arg` no more comes through a channel from this end: [key].
        HangUp = 75,
        /// At site `arg` a signal is sent: [signal, thread, or [`crate::channel::PROCESS`]].
        SignalSent = 76,
        /// At site `arg` the current thread has got a signal: [signal, or 0 for any].
        SignalTaken = 77,
        /// At site `arg` a lock of the kernel or the C library was taken: [key, 1 if shared, its owner].
        KeyedAcquire = 78,
        /// At site `arg` such a lock is given up: [key, its owner].
        KeyedRelease = 79,
        /// At site `arg` memory is given back to the kernel: [address, bytes].
        Unmap = 80,
        /// At site `arg` something happens that the recording cannot see into: [a [`crate::channel::doubt`]].
        Doubt = 81,
        /// At site `arg` the program says that races on some memory are meant: [address, bytes].
        Benign = 82,
        /// At site `arg` the program says whether accesses of the current thread are to be looked at: [1 for writes, 1 if so].
        Heeded = 83,
        /// At site `arg` an object that is no memory is about to be used: [[`crate::channel`] key, its number].
        Use = 84,
        /// At site `arg` such an object ends its life: [key, its number].
        Close = 85,
        /// At site `arg` such an object begins its life: [key, its number].
        Open = 86,
        /// Thread `arg` gets a name: [two words with its bytes, and zeros].
        ThreadName = 87,
        /// The current thread begins a step, before which another thread could have come.
        Step = 91,
        /// Thread `arg`, which could not go on, can try again.
        Unparked = 92,
        /// What the last access of the current thread, a read, finds: [value].
        Found = 93,
        /// The current thread's last step made a [`choice`]: [kind, how many alternatives, the one taken].
        Choice = 94,
        /// At site `arg` something is done with threads that sleep on a word: [word, a [`futex`]]. Recorded where threads go in turns.
        Futex = 95,
    }
}

/// What an atomic operation did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AtomicKind {
    /// Only read (a load, or a compare-exchange that failed).
    Load = 0,
    /// Only wrote.
    Store = 1,
    /// Read and wrote.
    Update = 2,
}

/// What an atomic operation that reads and writes computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AtomicForm {
    /// It writes what it computes from what it read, or only reads or writes.
    Plain = 0,
    /// It writes a value that does not depend on what it read.
    Exchange = 1,
    /// It writes only if it read what it expected.
    Compare = 2,
}

impl AtomicForm {
    /// Returns the form in the second word of an atomic operation.
    pub const fn of(word: u64) -> AtomicForm {
        match (word >> 24) as u8 {
            1 => AtomicForm::Exchange,
            2 => AtomicForm::Compare,
            _ => AtomicForm::Plain,
        }
    }

    /// Returns the second word of an atomic operation with this form.
    pub const fn in_word(self, word: u64) -> u64 {
        word | (self as u64) << 24
    }
}

/// Memory orders as the compilers number them.
pub mod order {
    /// `memory_order_relaxed`.
    pub const RELAXED: u8 = 0;
    /// `memory_order_consume`, which compilers treat as acquire.
    pub const CONSUME: u8 = 1;
    /// `memory_order_acquire`.
    pub const ACQUIRE: u8 = 2;
    /// `memory_order_release`.
    pub const RELEASE: u8 = 3;
    /// `memory_order_acq_rel`.
    pub const ACQ_REL: u8 = 4;
    /// `memory_order_seq_cst`.
    pub const SEQ_CST: u8 = 5;

    /// Whether the order has acquire semantics.
    pub const fn acquires(order: u8) -> bool {
        matches!(order, CONSUME | ACQUIRE | ACQ_REL | SEQ_CST)
    }

    /// Whether the order has release semantics.
    pub const fn releases(order: u8) -> bool {
        matches!(order, RELEASE | ACQ_REL | SEQ_CST)
    }
}

/// How accesses and records are stored in units of 32 bits.
///
/// Where the highest 14 bits are not 0, the unit is an access: they are its site, the next bit is [`unit::BRANCHED`], and the low 17 bits are the
/// distance of its address from that of the last access from this site, by any thread, plus half of their range. All other accesses are
/// [`unit::ACCESS`] and the word that [`access_word`] makes, which says what the site accessed last from there on. A record is
/// [`unit::RECORD`] and its words. Of a word the low half comes first.
pub mod unit {
    use super::{ADDRESS_BITS, split_record};

    /// How many low bits store the difference of addresses.
    pub const DIFFERENCE_BITS: u32 = 17;
    /// Added to the difference, so that the stored number is never negative.
    pub const HALF: u64 = 1 << (DIFFERENCE_BITS - 1);
    /// Set where [`super::BRANCHED`] is in a word.
    pub const BRANCHED: u32 = 1 << DIFFERENCE_BITS;
    /// Where the site begins.
    pub const SITE_SHIFT: u32 = DIFFERENCE_BITS + 1;
    /// Sites above this one are stored in words.
    pub const MAX_SITE: u32 = (1 << (32 - SITE_SHIFT)) - 1;
    /// The word of an access follows.
    pub const ACCESS: u32 = 1;
    /// A record follows.
    pub const RECORD: u32 = 2;
    /// The most units that an access or a record takes.
    pub const LONGEST: usize = 1 + 2 * (1 + super::MAX_FOLLOWING);

    /// The unit of an access from a site, whose number may have [`super::BRANCHED`] added, this far from the last one; `None` where it
    /// takes a word.
    #[inline(always)]
    pub const fn access(site: u32, difference: u64) -> Option<u32> {
        let number = site & !super::BRANCHED;
        let shifted = difference.wrapping_add(HALF);
        if number == 0 || number > MAX_SITE || shifted >= 2 * HALF {
            return None;
        }
        let branched = if site == number { 0 } else { BRANCHED };
        Some(number << SITE_SHIFT | branched | shifted as u32)
    }

    /// The site of an access that is one unit, with [`super::BRANCHED`] added where it says so, and the difference; `None` for other units.
    #[inline(always)]
    pub const fn split(unit: u32) -> Option<(u32, u64)> {
        let number = unit >> SITE_SHIFT;
        if number == 0 {
            return None;
        }
        let branched = if unit & BRANCHED == 0 { 0 } else { super::BRANCHED };
        Some((number | branched, ((unit & (BRANCHED - 1)) as u64).wrapping_sub(HALF)))
    }

    /// The address that is this far from another.
    #[inline(always)]
    pub const fn moved(address: u64, difference: u64) -> u64 {
        address.wrapping_add(difference) & ((1 << ADDRESS_BITS) - 1)
    }

    /// How many units that begin like this belong together; `None` if there are too few to decide, or if they were never written.
    #[inline]
    pub fn length(units: &[u32]) -> Option<usize> {
        match *units {
            [first, ..] if first >> SITE_SHIFT != 0 => Some(1),
            [ACCESS, ..] => Some(3),
            [RECORD, low, high, ..] => {
                let (_, following, _) = split_record(low as u64 | (high as u64) << 32)?;
                Some(3 + 2 * following)
            }
            _ => None,
        }
    }
}

/// Returns the word of an access.
#[inline(always)]
pub const fn access_word(site: u32, address: u64) -> u64 {
    ((site as u64) << ADDRESS_BITS) | (address & ((1 << ADDRESS_BITS) - 1))
}

/// Site and address of an access; `None` for the first word of a record.
#[inline(always)]
pub const fn split_access(word: u64) -> Option<(u32, u64)> {
    let site = (word >> ADDRESS_BITS) as u32;
    if site == 0 { None } else { Some((site, word & ((1 << ADDRESS_BITS) - 1))) }
}

/// The first word of a record.
#[inline(always)]
pub const fn record_word(tag: Tag, following: usize, argument: u32) -> u64 {
    tag as u64 | ((following as u64) << 8) | (((argument & 0x7fff_ffff) as u64) << 16)
}

/// Tag, number of following words and argument of a record's first word; `None` for a tag that does not exist.
#[inline(always)]
pub const fn split_record(word: u64) -> Option<(Tag, usize, u32)> {
    match Tag::from_code(word as u8) {
        Some(tag) => Some((tag, (word >> 8) as u8 as usize, (word >> 16) as u32 & 0x7fff_ffff)),
        None => None,
    }
}

/// Returns the word that defines a site.
pub const fn site_word(pc: u64, kind: SiteKind, size: u8) -> u64 {
    (pc & 0xffff_ffff_ffff) | ((kind as u64) << 48) | ((size as u64) << 56)
}

/// Program counter, kind and size of a site; `None` for a kind that does not exist.
pub const fn split_site(word: u64) -> Option<(u64, SiteKind, u8)> {
    match SiteKind::from_code((word >> 48) as u8) {
        Some(kind) => Some((word & 0xffff_ffff_ffff, kind, (word >> 56) as u8)),
        None => None,
    }
}

/// Returns the second word of an atomic operation.
pub const fn atomic_word(kind: AtomicKind, order: u8, size: u8) -> u64 {
    kind as u64 | ((order as u64) << 8) | ((size as u64) << 16)
}

/// Kind, order and size of an atomic operation; `None` for a kind that does not exist.
pub const fn split_atomic(word: u64) -> Option<(AtomicKind, u8, u8)> {
    let kind = match word as u8 {
        0 => AtomicKind::Load,
        1 => AtomicKind::Store,
        2 => AtomicKind::Update,
        _ => return None,
    };
    Some((kind, (word >> 8) as u8, (word >> 16) as u8))
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
