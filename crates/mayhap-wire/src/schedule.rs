//! A schedule for a replay: memory that `mayhap replay` fills and the runtime inside the program follows and reports into.
//!
//! Layout: the [`Head`], then tables at the offsets that it names. A *step* is one thing that a thread does in one go (a
//! hook of the runtime) and that matters to other threads. Steps are stored in the order in which they must happen; each
//! says what it must look like, so that a run that does something else is noticed there and then.
//!
//! Threads are *lanes*, known by who created them; code is known by module and offset, memory by what it belongs to
//! ([`class`]). Nothing depends on addresses, which change from run to run.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Tells a schedule from other memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"mayhapS2");

/// The environment variable that names the schedule to the program.
pub const ENVIRONMENT: &str = "MAYHAP_SCHEDULE";

/// How long the variable's value is, with a schedule and without: what lies above a program's stack then has the same size in all runs.
pub const PATH_LENGTH: usize = 48;

/// [`Step::kind`] of a plain read; records have the number of their [`crate::ring::Tag`].
pub const READ: u8 = 128;
/// [`Step::kind`] of a plain write.
pub const WRITE: u8 = 129;
/// The kind of a step by which a function returns: from then on the object, a variable of it, is gone.
pub const RETURN: u8 = 130;
/// The kind of a step by which a thread leaves a block within a function: it comes to the site, where the object, a variable of the block, is gone.
pub const LEAVE: u8 = 131;

/// [`Step::outcome`] of an operation on a lock that is built from atomics: whether it succeeded at once or in a slow path does
/// not matter.
pub const ANY_OUTCOME: u8 = 255;

/// How deep a stack is shown.
pub const STACK: usize = 48;

/// Bytes of a value that are shown.
pub const VALUE: usize = 16;

/// How many tables there are.
pub const TABLES: usize = 9;

/// The first bytes of the memory. What the runtime changes is atomic.
#[repr(C, align(64))]
pub struct Head {
    /// [`MAGIC`].
    pub magic: u64,
    /// Bytes of the whole memory.
    pub bytes: u64,
    /// Where the tables start, in bytes from the beginning: steps, lanes, modules, allocation sites, blocks, targets, text,
    /// inputs, shared objects.
    pub tables: [u64; TABLES],
    /// How many entries the tables have, in the same order; of text, bytes; of inputs, words.
    pub counts: [u32; TABLES],
    /// A [`goal`].
    pub goal: u32,
    /// The target that goes first when all have arrived.
    pub first: u32,
    /// 1: stop the process with a core when all targets have arrived.
    pub core: u32,
    /// How many steps lead to the goal. The steps after them are what else the recorded run did, in its order.
    pub leading: u32,
    /// A [`mode`]. Only grows.
    pub mode: AtomicU32,
    /// The number of the next step.
    pub next: AtomicU32,
    /// The step under way plus 1, 0 between steps.
    pub performing: AtomicU32,
    /// How many targets have been released.
    pub released: AtomicU32,
    /// Where the run left the schedule: see [`Got`].
    pub got: Got,
    /// The lane plus 1 whose thread does not go on: it is asked where it is.
    pub asked: AtomicU32,
    /// How many return addresses it answered with, plus 1; 0 before it has answered.
    pub answered: AtomicU32,
    /// Those return addresses, innermost first; the first is where it was.
    pub stuck: [AtomicU64; STACK],
}

/// What a thread did instead of its next step.
#[repr(C)]
pub struct Got {
    /// The lane.
    pub lane: AtomicU32,
    /// The lane's next step plus 1, 0 if the schedule has none left for it.
    pub expected: AtomicU32,
    /// As [`Step::kind`].
    pub kind: AtomicU32,
    /// A [`reason`].
    pub reason: AtomicU32,
    /// Where the program did it.
    pub pc: AtomicU64,
    /// On which address.
    pub address: AtomicU64,
}

/// What the schedule leads to.
pub mod goal {
    /// Every target's thread is paused just before its access; then they continue one by one.
    pub const STAND: u32 = 0;
    /// Every target's thread is paused just before taking a lock; then all continue at once.
    pub const BLOCK: u32 = 1;
    /// The steps themselves.
    pub const SEQUENCE: u32 = 2;
}

/// How far a replay is.
pub mod mode {
    /// Threads follow the schedule.
    pub const FOLLOWING: u32 = 0;
    /// All steps are done and all targets have arrived; the targets' accesses are made one by one.
    pub const REACHED: u32 = 1;
    /// The program runs on, and as long as it does what it did when it was recorded, in that order: so that what
    /// comes of the goal is not mixed with what else another order may bring.
    pub const GUIDED: u32 = 2;
    /// The program runs on by itself after that.
    pub const FREE: u32 = 3;
    /// The program did something else; it runs on by itself.
    pub const DIVERGED: u32 = 4;
    /// The replay was abandoned from outside.
    pub const ABANDONED: u32 = 5;
}

/// Why a run left the schedule.
pub mod reason {
    /// A thread did something else than its next step.
    pub const OTHER: u32 = 1;
    /// A step would have had to wait for something that has not happened.
    pub const BLOCKS: u32 = 2;
    /// A thread ended before its next step.
    pub const ENDED: u32 = 3;
    /// An atomic operation had another outcome.
    pub const OUTCOME: u32 = 4;
    /// All threads stand before their accesses, but not to the same memory.
    pub const ELSEWHERE: u32 = 5;
}

/// What memory an address belongs to.
pub mod class {
    /// Not known: matches anything.
    pub const ANY: u8 = 0;
    /// A module's own: [`super::Step::index`] is the module.
    pub const GLOBAL: u8 = 1;
    /// The heap: the block.
    pub const HEAP: u8 = 2;
    /// A stack: the lane. The offset counts down from where the stack begins.
    pub const STACK: u8 = 3;
    /// No memory, but a thread: the lane.
    pub const LANE: u8 = 4;
}

/// One thing that a thread does.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// The offset of its code in the module.
    pub site: u64,
    /// The offset of its object in what it belongs to.
    pub offset: u64,
    /// What its object belongs to, see [`class`].
    pub index: u32,
    /// The number of its thread's next step plus 1, 0 if there is none.
    pub next: u32,
    /// Its thread.
    pub lane: u16,
    /// The module of its code.
    pub module: u16,
    /// What it does.
    pub kind: u8,
    /// What came of it: for a wait whether it was woken, for an atomic operation what kind it turned out to be, for an
    /// attempt that failed its error number.
    pub outcome: u8,
    /// See [`class`].
    pub class: u8,
    /// Bytes accessed, where that is known.
    pub size: u8,
}

/// [`Step::module`] of code outside all modules, which matches anything.
pub const NO_MODULE: u16 = u16::MAX;

/// A thread.
#[repr(C)]
#[derive(Default)]
pub struct Lane {
    /// The creating thread plus 1; 0 for the first thread and for those whose creation was not recorded.
    pub parent: u32,
    /// It is the n-th child of that thread, from 1.
    pub nth: u32,
    /// Its first step plus 1.
    pub first: u32,
    /// Its target plus 1, 0 if it has none.
    pub target: u32,
    /// Its allocation sites: the first, and how many.
    pub sites: u32,
    /// How many.
    pub site_count: u32,
    /// A [`place`].
    pub place: AtomicU32,
    /// The kernel's number of the thread.
    pub tid: AtomicU32,
    /// Its next step plus 1.
    pub cursor: AtomicU32,
    /// Its first input, a word of the table of inputs. An input is a word with its source in the low 8 bits and its length in
    /// bytes above them, a word with the result, and the bytes.
    pub inputs: u32,
    /// Where its inputs end.
    pub inputs_end: u32,
    /// 1: all that the recorded thread ever did is before the goal, so it may end.
    pub complete: u32,
    /// Where its stack begins.
    pub stack: AtomicU64,
}

/// Where a thread is.
pub mod place {
    /// It has not begun.
    pub const NOWHERE: u32 = 0;
    /// It runs, or waits for the token.
    pub const RUNNING: u32 = 1;
    /// It is paused before its next step.
    pub const WAITING: u32 = 2;
    /// It is paused before its target.
    pub const ARRIVED: u32 = 3;
    /// It has no step left and waits.
    pub const IDLE: u32 = 4;
    /// It is in a call that may block.
    pub const BLOCKING: u32 = 5;
    /// It has ended.
    pub const ENDED: u32 = 6;
}

/// A loaded file.
#[repr(C)]
#[derive(Default)]
pub struct Module {
    /// Its path: where in the text, and how many bytes.
    pub path: u32,
    /// How many bytes.
    pub length: u32,
    /// Its base once it is loaded.
    pub base: AtomicU64,
    /// 1 once it is loaded.
    pub loaded: AtomicU64,
}

/// A place where a lane allocates blocks that steps are about.
#[repr(C)]
#[derive(Default)]
pub struct AllocationSite {
    /// The offset of its code in the module.
    pub site: u64,
    /// The module of its code.
    pub module: u32,
    /// Its blocks, by [`Block::nth`]: the first, and how many.
    pub blocks: u32,
    /// How many.
    pub count: u32,
    /// How often the lane has allocated here.
    pub calls: AtomicU32,
}

/// A block that steps are about.
#[repr(C)]
#[derive(Default)]
pub struct Block {
    /// It is the n-th allocation at its site, from 1.
    pub nth: u32,
    _reserved: u32,
    /// Where it is, once allocated.
    pub address: AtomicU64,
}

/// An operation before which a thread must be paused when all steps are done, and what was found there.
#[repr(C)]
pub struct Target {
    /// What it looks like.
    pub step: Step,
    /// An [`arrival`].
    pub state: AtomicU32,
    /// How many entries of the stack are there.
    pub depth: AtomicU32,
    /// The address of the access.
    pub pc: AtomicU64,
    /// On which address.
    pub address: AtomicU64,
    /// What is there, as bytes in words.
    pub value: [AtomicU64; VALUE / 8],
    /// 1 if the value could be read.
    pub has_value: AtomicU32,
    _reserved: u32,
    /// Return addresses, innermost first.
    pub stack: [AtomicU64; STACK],
}

/// How far a target's thread is.
pub mod arrival {
    /// It has not arrived.
    pub const AWAY: u32 = 0;
    /// It is paused just before the access.
    pub const STANDS: u32 = 1;
    /// It has been released.
    pub const GONE: u32 = 2;
    /// It waits for a lock.
    pub const BLOCKED: u32 = 3;
    /// It got the lock.
    pub const GOT_IT: u32 = 4;
    /// It did not get the lock, which is built from atomics, at once and is in the lock's own code.
    pub const REFUSED: u32 = 5;
}

const _: () = assert!(size_of::<Step>() == 32);
const _: () = assert!(size_of::<Lane>() == 56);
const _: () = assert!(size_of::<Module>() == 24);
const _: () = assert!(size_of::<AllocationSite>() == 24);
const _: () = assert!(size_of::<Block>() == 16);
const _: () = assert!(size_of::<Target>() == 32 + 8 + 16 + VALUE + 8 + 8 * STACK);
const _: () = assert!(size_of::<Head>() == 640);
