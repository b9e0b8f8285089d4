//! Synchronisation objects that were destroyed last, and descriptors that were closed last: a thread that uses one of them is wrong.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mayhap_wire::judgement::{STACK, Stack};

use super::{Life, blocks};

/// How many are known at a time.
const KNOWN: usize = 64;

struct Destroyed {
    address: AtomicU64,
    stack: Stack,
}

static ALL: [Destroyed; KNOWN] = [const {
    Destroyed {
        address: AtomicU64::new(0),
        stack: Stack {
            lane: AtomicU32::new(0),
            depth: AtomicU32::new(0),
            frames: [const { AtomicU64::new(0) }; STACK],
        },
    }
}; KNOWN];
static NEXT: AtomicU32 = AtomicU32::new(0);
/// A bit for each address that may be known, by its low bits.
static MAY_KNOW: AtomicU64 = AtomicU64::new(0);

fn bit(address: u64) -> u64 {
    1 << (address / 8 % 64)
}

/// An object is destroyed.
pub(super) fn destroyed(address: u64, pc: u64) {
    let entry = &ALL[NEXT.fetch_add(1, Ordering::Relaxed) as usize % KNOWN];
    blocks::note_stack(&entry.stack, pc, false);
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
    let entry = ALL.iter().find(|entry| entry.address.load(Ordering::Relaxed) == address)?;
    Some(Life { start: address, bytes: 0, allocated: None, freed: Some(&entry.stack) })
}
