//! Blocks of the heap while a judge looks on: each lies apart from the others, and a freed one stays out of use for long.
//!
//! A block lies in a larger one of the C library, with room before and after it that nothing may use. The room before it says
//! which [`Record`] is the block's, and ends in what the C library expects there, so that `malloc_usable_size` is right.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use libc::c_void;
use mayhap_wire::judgement::{STACK, Stack, memory};

use super::{Life, shadow};
use crate::lock::Lock;
use crate::thread::Thread;
use crate::{calls, replay, sys, tls};

/// Room before a block; larger if its alignment is.
const BEFORE: usize = 32;
/// Room after a block.
const AFTER: usize = 64;
/// How many blocks are known at a time. Those beyond are the C library's own.
const RECORDS: usize = 1 << 18;
/// How many bytes of freed blocks stay out of use. A replay comes to the use soon after the free.
const KEPT_BYTES: u64 = 32 << 20;
const KEPT_IN_REPLAYS: u64 = 8 << 20;
/// How many freed blocks stay out of use.
const KEPT_BLOCKS: u32 = 1 << 15;
/// Marks the room before a block; the block's own address is mixed in.
const MAGIC: u64 = 0x6d61_7968_6170_4a75;
/// What freed memory is filled with, up to [`FILLED`] bytes: as an address it is none.
const DEAD_BYTE: u8 = 0xdb;
const FILLED: usize = 1 << 16;
/// The bit by which the C library knows a block that it did not cut from a heap.
const MAPPED: u64 = 2;

unsafe extern "C" {
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// The functions that a block is allocated and freed by.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Family {
    /// `malloc` and `free`.
    C = 0,
    /// `new` and `delete`.
    New = 1,
    /// `new[]` and `delete[]`.
    NewArray = 2,
    /// `new` and `delete` with an alignment.
    NewAligned = 3,
    /// `new[]` and `delete[]` with an alignment.
    NewArrayAligned = 4,
}

/// A block that is in use, or was.
#[repr(C)]
pub(super) struct Record {
    block: AtomicU64,
    pub(super) size: AtomicU64,
    raw: AtomicU64,
    family: AtomicU32,
    is_dead: AtomicU32,
    /// The next freed block or unused record, plus 1.
    next: AtomicU32,
    allocated: Stack,
    freed: Stack,
}

impl Record {
    pub(super) fn life(&'static self, freed: bool) -> Life {
        Life {
            start: self.block.load(Ordering::Relaxed),
            bytes: self.size.load(Ordering::Relaxed),
            memory: memory::BLOCK,
            allocated: Some(&self.allocated),
            freed: freed.then_some(&self.freed),
        }
    }
}

/// New blocks are filled.
static FILLS: AtomicU32 = AtomicU32::new(0);
/// What new memory is filled with, if it is.
const NEW_BYTE: u8 = 0xbe;

/// From here on new blocks are filled.
pub(super) fn fill_new() {
    FILLS.store(1, Ordering::Relaxed);
}

/// Whether new blocks are filled.
#[inline]
pub(super) fn fills() -> bool {
    FILLS.load(Ordering::Relaxed) != 0
}

/// Whether the bytes are as they were when their block was new.
pub(super) fn is_new(address: u64, bytes: u64) -> bool {
    // SAFETY: the program is about to read them, and they are in a block that it has.
    bytes > 0 && (0..bytes).all(|nth| unsafe { ((address + nth) as *const u8).read_volatile() } == NEW_BYTE)
}

/// Guards all that is below.
static LOCK: Lock = Lock::new();
static PLACE: AtomicPtr<Record> = AtomicPtr::new(core::ptr::null_mut());
/// How many records have ever been used.
static USED: AtomicU32 = AtomicU32::new(0);
/// A list of those that are unused again: a number plus 1.
static UNUSED: AtomicU32 = AtomicU32::new(0);
/// The list of freed blocks, longest freed first.
static OLDEST: AtomicU32 = AtomicU32::new(0);
static NEWEST: AtomicU32 = AtomicU32::new(0);
static FREED_BLOCKS: AtomicU32 = AtomicU32::new(0);
static FREED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Makes room for the records; `false` if there is none.
pub(super) fn prepare() -> bool {
    let bytes = RECORDS * size_of::<Record>();
    let place = sys::map(bytes);
    // They are used from the beginning on, and there are many: large pages are faster to get. Where there are none, small ones do.
    // SAFETY: advice about a fresh mapping.
    unsafe { sys::call(libc::SYS_madvise, [place as usize, bytes, libc::MADV_HUGEPAGE as usize, 0, 0, 0]) };
    PLACE.store(place.cast(), Ordering::Release);
    !place.is_null()
}

/// A forked child has one thread, and the lock's holder may not be in it.
pub(super) fn forget() {
    LOCK.forget();
}

fn record(number: u32) -> Option<&'static Record> {
    let place = PLACE.load(Ordering::Relaxed);
    // SAFETY: there are so many, and they are never given back.
    (!place.is_null() && (number as usize) < RECORDS).then(|| unsafe { &*place.add(number as usize) })
}

/// Stores which thread it is.
pub(crate) fn note_thread(stack: &Stack, thread: Option<&Thread>) {
    let number = |of: fn(&Thread) -> &AtomicU32| thread.map_or(0, |thread| of(thread).load(Ordering::Relaxed));
    stack.lane.store(number(|thread| &thread.replay.thread_slot), Ordering::Relaxed);
    stack.thread.store(number(|thread| &thread.identity.owner), Ordering::Relaxed);
}

/// Stores the calls that the calling thread is in; `faults` if `pc` may be in a function of the C library.
pub(super) fn note_stack(stack: &Stack, pc: u64, faults: bool) {
    let thread = tls::active();
    note_thread(stack, thread);
    let callers = thread.into_iter().flat_map(calls::callers);
    // A fault in the library is in a function that the program called.
    let called = thread.filter(|thread| thread.own.busy.load(Ordering::Relaxed) != 0).map(|_| tls::caller());
    let called = called.filter(|&caller| caller != pc);
    let mut depth = 0;
    for (to, from) in
        stack.frames[..STACK].iter().zip(core::iter::once(pc).chain(called.filter(|_| faults)).chain(callers))
    {
        to.store(from, Ordering::Relaxed);
        depth += 1;
    }
    stack.depth.store(depth, Ordering::Relaxed);
}

/// Under the lock: a record that is not used.
fn new_record() -> Option<(u32, &'static Record)> {
    let number = match UNUSED.load(Ordering::Relaxed) {
        0 => {
            let number = USED.load(Ordering::Relaxed);
            record(number)?;
            USED.store(number + 1, Ordering::Relaxed);
            number
        }
        number => {
            UNUSED.store(record(number - 1)?.next.load(Ordering::Relaxed), Ordering::Relaxed);
            number - 1
        }
    };
    Some((number, record(number)?))
}

/// Allocates a block; null if the C library must.
pub(super) fn allocate(alignment: usize, bytes: usize, family: Family, pc: u64) -> *mut c_void {
    if !alignment.is_power_of_two() || bytes > isize::MAX as usize / 2 || alignment > 1 << 20 {
        return core::ptr::null_mut();
    }
    let before = BEFORE.max(alignment);
    let whole = bytes.next_multiple_of(8);
    // SAFETY: no precondition.
    let raw = unsafe { __libc_memalign(alignment.max(16), before + whole + AFTER) } as u64;
    if raw == 0 {
        return core::ptr::null_mut();
    }
    let block = raw + before as u64;
    let known = LOCK.with(|| {
        let (number, record) = new_record()?;
        // SAFETY: the room before the block, which is 32 bytes at least.
        unsafe {
            let head = (block as *mut u64).sub(4);
            head.write(MAGIC ^ block);
            head.add(1).write(number.into());
            head.add(2).write(0);
            head.add(3).write((whole as u64 + 16) & !7 | MAPPED);
        }
        for (field, value) in [(&record.block, block), (&record.size, bytes as u64), (&record.raw, raw)] {
            field.store(value, Ordering::Relaxed);
        }
        record.family.store(family as u32, Ordering::Relaxed);
        record.is_dead.store(0, Ordering::Relaxed);
        note_stack(&record.allocated, pc, false);
        shadow::mark(raw, block, shadow::BEFORE);
        shadow::mark_usable(block, bytes as u64);
        shadow::mark(block + whole as u64, block + (whole + AFTER) as u64, shadow::AFTER);
        Some(())
    });
    if known.is_some() && fills() {
        // SAFETY: the block is new and has so many bytes.
        unsafe { sys::fill(block as *mut u8, NEW_BYTE, bytes.min(FILLED)) };
    }
    if known.is_none() {
        // SAFETY: it was allocated above.
        unsafe { __libc_free(raw as *mut c_void) };
        return core::ptr::null_mut();
    }
    block as *mut c_void
}

/// The record of a block that begins there.
pub(super) fn starting(block: u64) -> Option<&'static Record> {
    if block < 4096 || !block.is_multiple_of(8) || shadow::at(block - 8) != shadow::BEFORE {
        return None;
    }
    // SAFETY: the room before a block of this allocator.
    let (magic, number) = unsafe { ((block as *const u64).sub(4).read(), (block as *const u64).sub(3).read()) };
    let found = record(u32::try_from(number).ok()?)?;
    (magic == MAGIC ^ block && found.block.load(Ordering::Relaxed) == block).then_some(found)
}

/// The record of the block that an address lies in, if it begins not far from there.
pub(super) fn holding(address: u64) -> Option<&'static Record> {
    /// Granules between the two.
    const MOST: u64 = 1 << 13;
    let record = shadow::block_before(address, MOST).and_then(starting)?;
    let end = record.block.load(Ordering::Relaxed) + record.size.load(Ordering::Relaxed);
    (address < end).then_some(record)
}

/// What came of freeing a block.
pub(super) enum Freed {
    /// The block is freed.
    Done,
    /// The block is freed, by a function that does not go with the one that allocated it.
    Otherwise(&'static Record),
    /// It was freed before.
    Again(&'static Record),
    /// It is the C library's own.
    Unknown,
}

/// Frees a block: it stays out of use until enough others have been freed.
pub(super) fn free(block: u64, family: Option<Family>, pc: u64) -> Freed {
    LOCK.with(|| {
        let Some(record) = starting(block) else { return Freed::Unknown };
        if record.is_dead.swap(1, Ordering::Relaxed) != 0 {
            return Freed::Again(record);
        }
        let size = record.size.load(Ordering::Relaxed);
        note_stack(&record.freed, pc, false);
        shadow::mark(block, block + size.next_multiple_of(8).max(8), shadow::DEAD);
        // SAFETY: the block is this allocator's and no longer the program's.
        unsafe { sys::fill(block as *mut u8, DEAD_BYTE, (size as usize).min(FILLED)) };
        keep(block, size, record);
        let same = family.is_none_or(|family| record.family.load(Ordering::Relaxed) == family as u32);
        if same { Freed::Done } else { Freed::Otherwise(record) }
    })
}

/// Under the lock: a freed block is kept out of use; those freed longest ago are given back.
fn keep(block: u64, size: u64, freed: &Record) {
    // SAFETY: the room before a block of this allocator, which `starting` has looked at.
    let number = unsafe { (block as *const u64).sub(3).read() } as u32 + 1;
    freed.next.store(0, Ordering::Relaxed);
    match record(NEWEST.swap(number, Ordering::Relaxed).wrapping_sub(1)) {
        Some(last) => last.next.store(number, Ordering::Relaxed),
        None => OLDEST.store(number, Ordering::Relaxed),
    }
    let mut bytes = FREED_BYTES.load(Ordering::Relaxed) + size;
    let mut blocks = FREED_BLOCKS.load(Ordering::Relaxed) + 1;
    let most = if replay::has_schedule() { KEPT_IN_REPLAYS } else { KEPT_BYTES };
    while (bytes > most || blocks > KEPT_BLOCKS) && blocks > 1 {
        let oldest = OLDEST.load(Ordering::Relaxed);
        let Some(gone) = record(oldest.wrapping_sub(1)) else { break };
        OLDEST.store(gone.next.load(Ordering::Relaxed), Ordering::Relaxed);
        bytes -= gone.size.load(Ordering::Relaxed);
        blocks -= 1;
        let (raw, end) = (gone.raw.load(Ordering::Relaxed), gone.block.load(Ordering::Relaxed));
        let end = end + gone.size.load(Ordering::Relaxed).next_multiple_of(8) + AFTER as u64;
        shadow::mark(raw, end, 0);
        gone.next.store(UNUSED.swap(oldest, Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: the C library's block, which nothing knows any more.
        unsafe { __libc_free(raw as *mut c_void) };
    }
    FREED_BYTES.store(bytes, Ordering::Relaxed);
    FREED_BLOCKS.store(blocks, Ordering::Relaxed);
}
