//! Synchronisation objects that were destroyed last, and descriptors that were closed last: a thread that uses one of them is wrong.
//!
//! Locks and conditions also begin their lives by an assignment, which code without hooks may make. It changes what their destruction has left
//! in memory, so an object whose memory has changed since is another one.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mayhap_wire::judgement::{Stack, memory};

use super::{Life, blocks};
use crate::{calls, thread_records, tls};

/// How many are known at a time.
const KNOWN: usize = 64;

/// How many words of an object are remembered.
const WORDS: usize = 5;

struct Destroyed {
    address: AtomicU64,
    /// How many bytes of what it left are remembered, and which.
    bytes: AtomicU64,
    left: [AtomicU64; WORDS],
    stack: Stack,
}

/// What lies in memory at an address, in so many bytes.
fn words(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    // SAFETY: an object of the program lies there, or did; memory of blocks and stacks stays, and other memory is only asked for where an
    // object was destroyed that the program is about to use.
    (0..bytes as usize / 8).map(move |nth| unsafe { (address as *const u64).add(nth).read_unaligned() })
}

impl Destroyed {
    fn life(&'static self) -> Life {
        Life { start: self.address.load(Ordering::Relaxed), freed: Some(&self.stack), ..Life::default() }
    }

    /// Whether the memory is as the destruction has left it.
    fn is_unchanged(&self) -> bool {
        let (address, bytes) = (self.address.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        words(address, bytes).zip(&self.left).all(|(now, left)| now == left.load(Ordering::Relaxed))
    }
}

static ALL: [Destroyed; KNOWN] = [const {
    Destroyed {
        address: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        left: [const { AtomicU64::new(0) }; WORDS],
        stack: Stack::new(),
    }
}; KNOWN];
static NEXT: AtomicU32 = AtomicU32::new(0);
/// A bit for each address that may be known, by its low bits.
static MAY_KNOW: AtomicU64 = AtomicU64::new(0);

fn bit(address: u64) -> u64 {
    1 << (address / 8 % 64)
}

/// An object was destroyed, of which so many bytes show whether it has begun another life.
pub(super) fn destroyed(address: u64, bytes: u64, pc: u64) {
    let entry = &ALL[NEXT.fetch_add(1, Ordering::Relaxed) as usize % KNOWN];
    entry.address.store(0, Ordering::Relaxed);
    blocks::note_stack(&entry.stack, pc, false);
    let bytes = bytes.min(8 * WORDS as u64);
    words(address, bytes).zip(&entry.left).for_each(|(now, left)| left.store(now, Ordering::Relaxed));
    entry.bytes.store(bytes, Ordering::Relaxed);
    entry.address.store(address, Ordering::Relaxed);
    MAY_KNOW.fetch_or(bit(address), Ordering::Relaxed);
}

/// The address holds an object again.
#[inline]
pub(super) fn revived(address: u64) {
    if MAY_KNOW.load(Ordering::Relaxed) & bit(address) != 0 {
        for entry in ALL.iter().filter(|entry| entry.address.load(Ordering::Relaxed) == address) {
            entry.address.store(0, Ordering::Relaxed);
        }
    }
}

/// What is known of a destroyed object.
#[inline]
pub(super) fn life(address: u64) -> Option<Life> {
    if MAY_KNOW.load(Ordering::Relaxed) & bit(address) == 0 {
        return None;
    }
    ended(address).filter(|entry| entry.is_unchanged()).map(|entry| entry.life())
}

/// What is known of an object that was destroyed in a function which has returned since, so that its memory may have changed.
#[cold]
pub(super) fn life_on_stack(address: u64) -> Option<Life> {
    let is_left = || thread_records::all().any(|thread| calls::has_left(thread, address));
    ended(address).filter(|_| is_left()).map(|entry| entry.life())
}

fn ended(address: u64) -> Option<&'static Destroyed> {
    ALL.iter().find(|entry| entry.address.load(Ordering::Relaxed) == address)
}

/// A lock that was initialised, and that no thread has taken since.
struct Fresh {
    address: AtomicU64,
    /// The thread that did it.
    owner: AtomicU32,
    stack: Stack,
}

static FRESH: [Fresh; KNOWN] =
    [const { Fresh { address: AtomicU64::new(0), owner: AtomicU32::new(0), stack: Stack::new() } }; KNOWN];
static NEXT_FRESH: AtomicU32 = AtomicU32::new(0);
/// As [`MAY_KNOW`].
static MAY_BE_FRESH: AtomicU64 = AtomicU64::new(0);

/// The number of the calling thread.
fn me() -> u32 {
    tls::active().map_or(0, |thread| thread.identity.owner.load(Ordering::Relaxed))
}

/// An object is initialised, perhaps again.
pub(super) fn initialised(address: u64, pc: u64) {
    taken(address);
    let entry = &FRESH[NEXT_FRESH.fetch_add(1, Ordering::Relaxed) as usize % KNOWN];
    blocks::note_stack(&entry.stack, pc, false);
    entry.owner.store(me(), Ordering::Relaxed);
    entry.address.store(address, Ordering::Relaxed);
    MAY_BE_FRESH.fetch_or(bit(address), Ordering::Relaxed);
}

fn fresh(address: u64) -> Option<&'static Fresh> {
    let may_be = MAY_BE_FRESH.load(Ordering::Relaxed) & bit(address) != 0;
    FRESH.iter().find(|entry| may_be && entry.address.load(Ordering::Relaxed) == address)
}

/// A thread takes the lock, or uses it otherwise.
#[inline]
pub(super) fn taken(address: u64) {
    if let Some(entry) = fresh(address) {
        entry.address.store(0, Ordering::Relaxed);
    }
}

/// What is known of a lock that the calling thread is about to release, if another one has initialised it since it was taken.
#[inline]
pub(super) fn life_while_held(address: u64) -> Option<Life> {
    let entry = fresh(address).filter(|entry| entry.owner.load(Ordering::Relaxed) != me())?;
    Some(Life { start: address, memory: memory::RENEWED, freed: Some(&entry.stack), ..Life::default() })
}
