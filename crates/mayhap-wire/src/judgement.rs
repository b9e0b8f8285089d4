//! What the runtime found wrong with the program's use of memory, and where a signal ended it: shared memory that a replay gives the
//! program and reads when it has ended.
//!
//! Its presence asks the runtime to judge: freed blocks stay out of use, blocks lie apart, and the first access that is none of
//! the program's business is described here.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Tells a judgement from other memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"mayhapJ2");

/// The environment variable that names the memory to the program.
pub const ENVIRONMENT: &str = "MAYHAP_JUDGEMENT";
/// How long the path in it is: as long as that of any descriptor of any process.
pub const PATH_LENGTH: usize = 32;

/// How deep a stack is shown.
pub const STACK: usize = 32;

/// What was found.
#[repr(C, align(64))]
pub struct Judgement {
    /// [`MAGIC`].
    pub magic: u64,
    /// An [`error`]; stored last.
    pub error: AtomicU32,
    /// A [`usage`].
    pub usage: AtomicU32,
    /// The first byte that is used.
    pub address: AtomicU64,
    /// How many bytes are used.
    pub bytes: AtomicU64,
    /// Where the block begins; 0 if the error is about none.
    pub block: AtomicU64,
    /// How many bytes the block has.
    pub size: AtomicU64,
    /// Not 0: new blocks are filled with a pattern, and a read that is the goal of the schedule must not find it.
    pub fills: AtomicU32,
    /// What the block is: a [`memory`].
    pub memory: AtomicU32,
    /// The signal that ended the program; stored after [`Judgement::crashed`]. 0: none did, or the program handles it itself.
    pub signal: AtomicU32,
    /// Not 0: a thread has begun to describe how the program ends.
    pub is_ending: AtomicU32,
    /// Where the block was allocated.
    pub allocated: Stack,
    /// Where it was freed.
    pub freed: Stack,
    /// Where it is used.
    pub used: Stack,
    /// What the thread was doing that the signal came to.
    pub crashed: Stack,
}

/// A thread and the calls that it was in.
#[repr(C)]
pub struct Stack {
    /// The thread's lane in the schedule ([`crate::schedule::Lane`]) plus 1; 0 if it has none.
    pub lane: AtomicU32,
    /// The thread's number in the recording plus 1; 0 if it is not known.
    pub thread: AtomicU32,
    /// How many entries are there.
    pub depth: AtomicU32,
    /// Nothing.
    pub unused: AtomicU32,
    /// Program counters, innermost first.
    pub frames: [AtomicU64; STACK],
}

impl Stack {
    /// Nothing is known.
    #[expect(clippy::new_without_default, reason = "statics need a constant function")]
    pub const fn new() -> Stack {
        Stack {
            lane: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            depth: AtomicU32::new(0),
            unused: AtomicU32::new(0),
            frames: [const { AtomicU64::new(0) }; STACK],
        }
    }
}

/// What is wrong.
pub mod error {
    /// Nothing was found.
    pub const NONE: u32 = 0;
    /// Memory is used that was freed.
    pub const USE_AFTER_FREE: u32 = 1;
    /// A block is freed that was freed before.
    pub const DOUBLE_FREE: u32 = 2;
    /// Memory next to a block is used.
    pub const OVERFLOW: u32 = 3;
    /// A pointer is used that is null, or as good as null.
    pub const NULL: u32 = 4;
    /// A block is freed by a function that does not go with the one that allocated it.
    pub const MISMATCH: u32 = 5;
    /// Memory is read that no thread has written.
    pub const UNINITIALISED: u32 = 6;
    /// A variable is used of a function that has returned.
    pub const USE_AFTER_RETURN: u32 = 7;
    /// A variable is used of a block within a function that the function has left.
    pub const USE_AFTER_SCOPE: u32 = 8;
}

/// What memory is that an error is about.
pub mod memory {
    /// A block of the heap, or unknown.
    pub const BLOCK: u32 = 0;
    /// The stack of a thread that has ended, with its thread-local variables.
    pub const STACK: u32 = 1;
    /// What the program had mapped.
    pub const MAPPING: u32 = 2;
    /// A library.
    pub const LIBRARY: u32 = 3;
    /// A lock that was initialised again.
    pub const RENEWED: u32 = 4;
}

/// How memory is used.
pub mod usage {
    /// It is read.
    pub const READ: u32 = 0;
    /// It is written.
    pub const WRITE: u32 = 1;
    /// It is freed.
    pub const FREE: u32 = 2;
    /// It holds a lock that is used.
    pub const LOCK: u32 = 3;
    /// It is not known.
    pub const UNKNOWN: u32 = 4;
    /// It is no memory but a descriptor that is used.
    pub const DESCRIPTOR: u32 = 5;
    /// It is no memory but a descriptor that is closed.
    pub const CLOSE: u32 = 6;
    /// It is code of a library that runs.
    pub const CODE: u32 = 7;
    /// It holds a condition that is used.
    pub const CONDITION: u32 = 8;
    /// It holds a semaphore that is used.
    pub const SEMAPHORE: u32 = 9;
    /// It holds a barrier that is used.
    pub const BARRIER: u32 = 10;
}

const _: () = assert!(size_of::<Stack>() == 16 + 8 * STACK);
const _: () = assert!(size_of::<Judgement>() == 1152);
