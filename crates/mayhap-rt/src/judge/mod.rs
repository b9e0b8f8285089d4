//! The judge of what the program does to memory, in replays.
//!
//! Every access that a hook announces is looked up in a table of what may be used ([`shadow`]); blocks of the heap are laid out
//! apart and stay out of use when they are freed ([`blocks`]). The first error is described in memory that the replaying process
//! shares ([`mayhap_wire::judgement`]). On the way to the goal of a schedule the program then goes on, since the goal is what the
//! replay is for; otherwise it ends there.
//!
//! Recordings have no judge: all that they pay is a test of a flag where a hook has left its fast path.

mod blocks;
mod descriptors;
mod ending;
mod objects;
mod returned;
mod shadow;
mod stacks;

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use blocks::Freed;
pub(crate) use blocks::{Family, note_thread};
pub(crate) use descriptors::is_there as is_descriptor;
use libc::{c_int, c_void};
use mayhap_wire::judgement::{Judgement, MAGIC, Stack, error, memory, usage};
use mayhap_wire::ring::Tag;

use crate::thread::Thread;
use crate::{replay, sys};

type Block = *mut c_void;

/// Accesses are judged.
static JUDGING: AtomicBool = AtomicBool::new(false);
/// Blocks are laid out apart. Stays so in a forked child, which has such blocks too.
static GUARDING: AtomicBool = AtomicBool::new(false);
static PLACE: AtomicPtr<Judgement> = AtomicPtr::new(core::ptr::null_mut());

/// Addresses below this are what comes of a null pointer.
const NULL_END: u64 = 64 << 10;

/// Whether accesses are judged.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    JUDGING.load(Ordering::Relaxed)
}

/// Whether blocks are laid out apart.
#[inline(always)]
pub(crate) fn is_guarding() -> bool {
    GUARDING.load(Ordering::Relaxed)
}

/// Takes the shared memory at `path` into use, before the program has threads.
pub(crate) fn start(path: *const libc::c_char) {
    // SAFETY: the path ends in zero; a fresh mapping of the file stays for good.
    let place = unsafe {
        let file = sys::call(libc::SYS_open, [path as usize, (libc::O_RDWR | libc::O_CLOEXEC) as usize, 0, 0, 0, 0]);
        if file < 0 {
            return;
        }
        let size = sys::call(libc::SYS_lseek, [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0]);
        let (bytes, protection) = (size_of::<Judgement>(), (libc::PROT_READ | libc::PROT_WRITE) as usize);
        let fits = size >= bytes as isize;
        let shared = libc::MAP_SHARED as usize;
        let args = [sys::aside(bytes), bytes, protection, shared, file as usize, 0];
        let place = if fits { sys::call(libc::SYS_mmap, args) } else { -1 };
        sys::call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        place
    };
    let judgement = place as *mut Judgement;
    // SAFETY: the mapping is large enough and stays.
    if place < 0 || unsafe { (*judgement).magic } != MAGIC || !shadow::prepare() || !blocks::prepare() {
        return;
    }
    // SAFETY: as above.
    if unsafe { (*judgement).fills.load(Ordering::Relaxed) } != 0 {
        blocks::fill_new();
    }
    PLACE.store(judgement, Ordering::Release);
    ending::watch();
    GUARDING.store(true, Ordering::Release);
    JUDGING.store(true, Ordering::Release);
}

/// A forked child is not judged, but goes on with its blocks.
pub(crate) fn forget() {
    JUDGING.store(false, Ordering::Relaxed);
    blocks::forget();
}

/// Allocates a block; null where the C library must.
pub(crate) fn allocate(alignment: usize, bytes: usize, family: Family, pc: u64) -> Block {
    let block = blocks::allocate(alignment, bytes, family, pc);
    // The C library may have given the memory of an ended thread's stack back, and have got it again.
    stacks::taken(block as u64, block as u64 + bytes as u64);
    block
}

/// The size of a block that was laid out apart.
pub(crate) fn size_of_block(block: Block) -> Option<usize> {
    blocks::starting(block as u64).map(|record| record.size.load(Ordering::Relaxed) as usize)
}

/// Frees a block that was laid out apart; `false` if the C library must.
pub(crate) fn free(block: Block, family: Option<Family>, pc: u64) -> bool {
    match blocks::free(block as u64, family, pc) {
        Freed::Unknown => false,
        Freed::Done => true,
        Freed::Otherwise(record) => {
            judge(error::MISMATCH, usage::FREE, (block as u64, 0), record.life(false), pc);
            true
        }
        Freed::Again(record) => {
            judge(error::DOUBLE_FREE, usage::FREE, (block as u64, 0), record.life(true), pc);
            true
        }
    }
}

/// The program is about to use memory. Recordings pay one test.
#[inline(always)]
pub(crate) fn uses(address: u64, bytes: u64, how: u32, pc: u64) {
    if is_active() {
        look_at(address, bytes, how, pc);
    }
}

#[inline(never)]
fn look_at(address: u64, bytes: u64, how: u32, pc: u64) {
    if let Some(wrong) = shadow::first_unusable(address, bytes.max(1)) {
        misused(wrong, bytes, how, pc);
    }
    if HAS_UNLOADED.load(Ordering::Relaxed) {
        runs(pc);
    }
    if replay::returns::are_any() {
        uses_left(address, bytes, how, pc);
    }
    if stacks::may_hold(address)
        && let Some(life) = stacks::life(address)
    {
        judge(error::USE_AFTER_FREE, how, (address, bytes), life, pc);
    }
    if let Some(life) = returned::life(address) {
        judge(error::USE_AFTER_RETURN, how, (address, bytes), life, pc);
    }
}

/// The program runs the code at `pc`, which may be gone: the thread came into the hook before.
#[cold]
fn runs(pc: u64) {
    if let Some(life) = unmapped_life(pc.wrapping_sub(1)) {
        judge(error::USE_AFTER_FREE, usage::CODE, (pc, 0), life, pc);
    }
}

/// A thread has ended, and its stack is no one's.
pub(crate) fn stack_ended(start: u64, end: u64, pc: u64) {
    if is_active() {
        stacks::ended(start, end, pc);
    }
}

/// The program uses memory, and functions have returned, or blocks were left, whose variables the schedule is about. Its target is to use one of them; for other
/// accesses the memory may have become another function's.
#[cold]
fn uses_left(address: u64, bytes: u64, how: u32, pc: u64) {
    if crate::tls::active().is_some_and(replay::is_at_goal)
        && let Some(left) = replay::returns::at(address)
    {
        let life = Life { start: left.start(), bytes: left.bytes(), freed: Some(&left.stack), ..Life::default() };
        judge(left.error(), how, (address, bytes), life, pc);
    }
}

/// A thread begins on a stack.
pub(crate) fn stack_begins(start: u64, end: u64) {
    if is_active() {
        stacks::begins(start, end);
        returned::begins(start);
    }
}

/// The calling thread waits in a function that the program has called.
#[inline]
pub(crate) fn stands(thread: &Thread) {
    if is_active() {
        returned::stands(thread);
    }
}

/// The calling thread goes on.
#[inline]
pub(crate) fn goes_on(thread: &Thread) {
    if is_active() {
        returned::goes_on(thread);
    }
}

/// A plain access.
#[inline(always)]
pub(crate) fn accesses(address: u64, bytes: u8, writes: bool, pc: u64) {
    if is_active() {
        look_at_access(address, bytes, writes, pc);
    }
}

#[inline(never)]
fn look_at_access(address: u64, bytes: u8, writes: bool, pc: u64) {
    if writes {
        revived(address);
    }
    look_at(address, bytes.into(), if writes { usage::WRITE } else { usage::READ }, pc);
    if blocks::fills() && !writes {
        finds_new(address, bytes.into(), pc);
    }
}

/// A read that may be the goal of a schedule in which no thread has written the memory yet.
#[cold]
fn finds_new(address: u64, bytes: u64, pc: u64) {
    let is_goal = is_active() && crate::tls::active().is_some_and(replay::is_at_goal);
    // Only memory of blocks is filled so.
    if is_goal
        && blocks::is_new(address, bytes)
        && let Some(record) = shadow::block_of(address).and_then(blocks::starting)
    {
        judge(error::UNINITIALISED, usage::READ, (address, bytes), record.life(false), pc);
    }
}

/// An operation that a hook is about to let happen, on an object in memory. Recordings pay one test.
#[inline(always)]
pub(crate) fn operates(tag: Tag, object: u64, pc: u64) {
    if is_active() {
        judge_operation(tag, object, pc);
    }
}

#[cold]
fn judge_operation(tag: Tag, object: u64, pc: u64) {
    let how = match tag {
        Tag::Atomic => usage::WRITE,
        Tag::Acquire | Tag::SharedAcquire | Tag::Release | Tag::AnyRelease => usage::LOCK,
        Tag::SemWait | Tag::SemPost => usage::SEMAPHORE,
        Tag::Notify | Tag::NotifyAll | Tag::WaitBegin => usage::CONDITION,
        Tag::BarrierArrive => usage::BARRIER,
        _ => return,
    };
    look_at_object(tag, object, how, pc);
    look_at(object, 1, how, pc);
}

fn look_at_object(tag: Tag, object: u64, how: u32, pc: u64) {
    if let Some(mut life) = objects::life(object) {
        // One in a block was allocated with it.
        life.allocated = blocks::holding(object).and_then(|record| record.life(false).allocated);
        judge(error::USE_AFTER_FREE, how, (object, 0), life, pc);
    } else if crate::tls::active().is_some_and(replay::is_at_goal)
        && let Some(life) = objects::life_on_stack(object)
    {
        judge(error::USE_AFTER_RETURN, how, (object, 0), life, pc);
    }
    if !matches!(tag, Tag::Release | Tag::AnyRelease) {
        objects::taken(object);
    } else if let Some(life) = objects::life_while_held(object) {
        judge(error::USE_AFTER_FREE, how, (object, 0), life, pc);
    }
}

/// A synchronisation object was initialised, perhaps again.
#[cold]
pub(crate) fn initialised(object: u64, pc: u64) {
    objects::initialised(object, pc);
}

/// A synchronisation object was destroyed, of which so many bytes show whether it has begun another life.
#[cold]
pub(crate) fn destroyed(object: u64, bytes: usize, pc: u64) {
    objects::destroyed(object, bytes as u64, pc);
}

/// A synchronisation object begins its life.
#[inline]
pub(crate) fn revived(object: u64) {
    if is_active() {
        objects::revived(object);
    }
}

/// A record that announces what is about to happen.
#[cold]
pub(crate) fn announces(tag: Tag, following: &[u64], pc: u64) {
    match (tag, following) {
        (Tag::RangeRead, [address, bytes, ..]) => uses(*address, *bytes, usage::READ, pc),
        (Tag::RangeWrite, [address, bytes, ..]) => {
            revived(*address);
            uses(*address, *bytes, usage::WRITE, pc);
        }
        (Tag::Use, [_, number, ..]) => descriptors::used(*number, pc),
        (Tag::Close, [_, number, ..]) => descriptors::closed(*number, pc),
        // These are recorded before they are done.
        (Tag::Notify | Tag::NotifyAll | Tag::SemPost | Tag::BarrierArrive, [object, ..]) => operates(tag, *object, pc),
        _ => {}
    }
}

#[cold]
#[inline(never)]
fn misused(address: u64, bytes: u64, how: u32, pc: u64) {
    let record = shadow::block_of(address).and_then(blocks::starting);
    let wrong = if shadow::at(address) == shadow::DEAD { error::USE_AFTER_FREE } else { error::OVERFLOW };
    let life = record.map_or(Life::default(), |record| record.life(wrong == error::USE_AFTER_FREE));
    judge(wrong, how, (address, bytes), life, pc);
}

/// What is known of the memory that an error is about.
#[derive(Clone, Copy, Default)]
struct Life {
    /// Where it begins; 0 if nothing is known.
    start: u64,
    bytes: u64,
    /// What it is.
    memory: u32,
    allocated: Option<&'static Stack>,
    freed: Option<&'static Stack>,
}

fn copy(from: &Stack, to: &Stack) {
    to.lane.store(from.lane.load(Ordering::Relaxed), Ordering::Relaxed);
    to.thread.store(from.thread.load(Ordering::Relaxed), Ordering::Relaxed);
    let depth = from.depth.load(Ordering::Relaxed);
    for (to, from) in to.frames.iter().zip(&from.frames).take(depth as usize) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    to.depth.store(depth, Ordering::Relaxed);
}

/// Describes an error, and ends the program unless it is on its way to a goal.
#[cold]
fn judge(what: u32, how: u32, (address, bytes): (u64, u64), life: Life, pc: u64) {
    let on_the_way = replay::is_leading();
    // SAFETY: the mapping stays.
    let Some(judgement) = (unsafe { PLACE.load(Ordering::Acquire).as_ref() }).filter(|_| is_active()) else { return };
    if on_the_way && judgement.error.load(Ordering::Relaxed) != error::NONE {
        return;
    }
    judgement.usage.store(how, Ordering::Relaxed);
    judgement.address.store(address, Ordering::Relaxed);
    judgement.bytes.store(bytes, Ordering::Relaxed);
    blocks::note_stack(&judgement.used, pc, how == usage::UNKNOWN);
    judgement.block.store(life.start, Ordering::Relaxed);
    judgement.size.store(life.bytes, Ordering::Relaxed);
    judgement.memory.store(life.memory, Ordering::Relaxed);
    for (to, from) in [(&judgement.allocated, life.allocated), (&judgement.freed, life.freed)] {
        match from {
            Some(from) => copy(from, to),
            None => to.depth.store(0, Ordering::Relaxed),
        }
    }
    judgement.error.store(what, Ordering::Release);
    if !on_the_way && what != error::NULL {
        JUDGING.store(false, Ordering::Relaxed);
        // SAFETY: the process ends here.
        unsafe {
            libc::signal(libc::SIGABRT, libc::SIG_DFL);
            sys::call(libc::SYS_kill, [sys::process_id() as usize, libc::SIGABRT as usize, 0, 0, 0, 0]);
        }
        sys::sleep(1_000_000_000);
    }
}

/// A range that the program has unmapped, or where a library lay.
struct Unmapped {
    start: AtomicU64,
    end: AtomicU64,
    memory: AtomicU32,
    stack: Stack,
}

/// Ranges that the program has unmapped last: they stay reserved, so that their use is a fault.
static UNMAPPED: [Unmapped; RANGES] = [const {
    Unmapped { start: AtomicU64::new(0), end: AtomicU64::new(0), memory: AtomicU32::new(0), stack: Stack::new() }
}; RANGES];
static NEXT_RANGE: AtomicU64 = AtomicU64::new(0);
const RANGES: usize = 64;

/// Takes memory away as `munmap` does but keeps its addresses; `false` where `munmap` itself must.
pub(crate) fn unmap(address: u64, bytes: u64, pc: u64) -> bool {
    let what = (memory::MAPPING, libc::MAP_FIXED);
    is_active() && bytes > 0 && address.is_multiple_of(4096) && reserve(address, bytes, what, pc)
}

/// Memory was moved away from there: its use is a fault.
pub(crate) fn moved(address: u64, bytes: u64, pc: u64) {
    if is_active() && bytes > 0 {
        reserve(address, bytes, (memory::MAPPING, libc::MAP_FIXED_NOREPLACE), pc);
    }
}

/// Reserves memory that the program has given up, or is about to.
fn reserve(address: u64, bytes: u64, (memory, fixed): (u32, c_int), pc: u64) -> bool {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed) as usize;
    let none = libc::PROT_NONE as usize;
    // SAFETY: the program gives this memory up, or nothing lies there.
    let place = unsafe { sys::call(libc::SYS_mmap, [address as usize, bytes as usize, none, flags, usize::MAX, 0]) };
    if place < 0 {
        return false;
    }
    let index = NEXT_RANGE.fetch_add(1, Ordering::Relaxed) as usize % RANGES;
    let range = &UNMAPPED[index];
    let (old, old_end) = (range.start.load(Ordering::Relaxed), range.end.load(Ordering::Relaxed));
    if old != 0 {
        // SAFETY: the range was reserved here and nothing else lies there.
        unsafe { sys::call(libc::SYS_munmap, [old as usize, (old_end - old) as usize, 0, 0, 0, 0]) };
    }
    blocks::note_stack(&range.stack, pc, false);
    range.memory.store(memory, Ordering::Relaxed);
    range.start.store(address, Ordering::Relaxed);
    range.end.store(address + bytes, Ordering::Relaxed);
    true
}

/// The program has unloaded a library.
static HAS_UNLOADED: AtomicBool = AtomicBool::new(false);

/// A library that lay there was unloaded. Nothing else is to come to lie there.
pub(crate) fn unloaded(low: u64, end: u64, pc: u64) {
    let start = low / 4096 * 4096;
    let bytes = end.next_multiple_of(4096) - start;
    if is_active() && reserve(start, bytes, (memory::LIBRARY, libc::MAP_FIXED_NOREPLACE), pc) {
        HAS_UNLOADED.store(true, Ordering::Relaxed);
    }
}

/// What is known of the unmapped range that an address lies in.
fn unmapped_life(address: u64) -> Option<Life> {
    let within =
        |range: &&Unmapped| (range.start.load(Ordering::Relaxed)..range.end.load(Ordering::Relaxed)).contains(&address);
    let range = UNMAPPED.iter().find(within)?;
    let start = range.start.load(Ordering::Relaxed);
    let bytes = range.end.load(Ordering::Relaxed) - start;
    let memory = range.memory.load(Ordering::Relaxed);
    Some(Life { start, bytes, memory, allocated: None, freed: Some(&range.stack) })
}

/// The program maps memory at an address of its choice: what was reserved there is the program's again.
pub(crate) fn mapped(address: u64, bytes: u64) {
    stacks::taken(address, address.saturating_add(bytes));
    let overlaps = |start: u64, end: u64| start < address.saturating_add(bytes) && address < end;
    for range in &UNMAPPED {
        if overlaps(range.start.load(Ordering::Relaxed), range.end.load(Ordering::Relaxed)) {
            range.start.store(0, Ordering::Relaxed);
            range.end.store(0, Ordering::Relaxed);
        }
    }
}
