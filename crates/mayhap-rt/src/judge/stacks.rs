//! Stacks of threads that ended last: what lies there, thread-local variables too, is gone with the thread.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mayhap_wire::judgement::{Stack, memory};

use super::{Life, blocks};

/// How many are known at a time.
const KNOWN: usize = 32;

struct Ended {
    start: AtomicU64,
    end: AtomicU64,
    stack: Stack,
}

static ALL: [Ended; KNOWN] =
    [const { Ended { start: AtomicU64::new(0), end: AtomicU64::new(0), stack: Stack::new() } }; KNOWN];
static NEXT: AtomicU32 = AtomicU32::new(0);
/// All known ones lie between these.
static LOWEST: AtomicU64 = AtomicU64::new(u64::MAX);
static HIGHEST: AtomicU64 = AtomicU64::new(0);

/// A thread ends.
pub(super) fn ended(start: u64, end: u64, pc: u64) {
    let entry = &ALL[NEXT.fetch_add(1, Ordering::Relaxed) as usize % KNOWN];
    blocks::note_stack(&entry.stack, pc, false);
    entry.start.store(start, Ordering::Relaxed);
    entry.end.store(end, Ordering::Relaxed);
    LOWEST.fetch_min(start, Ordering::Relaxed);
    HIGHEST.fetch_max(end, Ordering::Relaxed);
}

/// The memory is in use again.
pub(super) fn begins(start: u64, end: u64) {
    for entry in &ALL {
        if entry.start.load(Ordering::Relaxed) < end && start < entry.end.load(Ordering::Relaxed) {
            entry.end.store(0, Ordering::Relaxed);
        }
    }
}

/// Other memory lies there now.
pub(super) fn taken(start: u64, end: u64) {
    if start < HIGHEST.load(Ordering::Relaxed) && LOWEST.load(Ordering::Relaxed) < end {
        begins(start, end);
    }
}

/// Whether the address may lie in one of them.
#[inline(always)]
pub(super) fn may_hold(address: u64) -> bool {
    address < HIGHEST.load(Ordering::Relaxed) && address >= LOWEST.load(Ordering::Relaxed)
}

/// What is known of the stack that an address lies in, if its thread has ended.
#[cold]
pub(super) fn life(address: u64) -> Option<Life> {
    let holds =
        |entry: &&Ended| (entry.start.load(Ordering::Relaxed)..entry.end.load(Ordering::Relaxed)).contains(&address);
    let entry = ALL.iter().find(holds)?;
    let (start, end) = (entry.start.load(Ordering::Relaxed), entry.end.load(Ordering::Relaxed));
    Some(Life { start, bytes: end - start, memory: memory::STACK, allocated: None, freed: Some(&entry.stack) })
}
