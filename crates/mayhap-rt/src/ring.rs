//! The writing end of the ring. Everything here is for the holder of the token only.
//!
//! Nothing overwrites units that the reader has not taken: [`LIMIT`] is where the room that is known of ends, and
//! a thread that comes to it waits for the reader. A slice is no longer than the room there is ([`room`]), so that the wait
//! mostly falls between slices.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};

use mayhap_wire::fast_path::TOGETHER;
use mayhap_wire::ring::{
    ADDRESS_BITS, DATA_OFFSET, HEAD_INVALID, Header, MAGIC, Tag, UNITS, access_word, record_word, unit,
};

use crate::sched::Token;
use crate::{fast_path, protocol, sys};

const _: () = assert!(protocol::HEAD_INVALID == HEAD_INVALID);

/// Units that stay free for records while slices are measured out.
const RESERVE: u64 = 4 * unit::LONGEST as u64;

static HEADER: AtomicPtr<Header> = AtomicPtr::new(core::ptr::null_mut());
/// How far the reader is known to have come.
static TAIL: AtomicU64 = AtomicU64::new(0);
/// The head may come up to here: where the tail was when last looked at, plus the units of the ring.
static LIMIT: AtomicU64 = AtomicU64::new(0);
/// The thread whose events the reader expects, by its scheduler number.
static CURRENT: AtomicU32 = AtomicU32::new(0);
/// The head after the last record in words, and the high half of the word if that was an access, or 0.
pub(crate) static WORD_END: AtomicU64 = AtomicU64::new(0);
pub(crate) static WORD_HIGH: AtomicU32 = AtomicU32::new(0);
/// A scratch word for the hooks in [`crate::outlined_hooks`].
pub(crate) static WORD_AT: AtomicU64 = AtomicU64::new(0);

/// Whether process numbers mean the same to the recorder and to this process.
static VISIBLE: AtomicBool = AtomicBool::new(false);

/// Takes the mapped ring into use; `false` if it is no ring, or another process has it.
///
/// # Safety
/// `address` is a mapping of `bytes` bytes, page-aligned, that stays.
pub(crate) unsafe fn claim(address: *mut u8, bytes: usize) -> bool {
    let header = address.cast::<Header>();
    // SAFETY: at least a page is mapped, and a page is larger and better aligned than the header.
    let ring = unsafe { &*header };
    let fits = ring.units == UNITS && UNITS >= 4 * RESERVE;
    if ring.magic != MAGIC || !fits || bytes as u64 != DATA_OFFSET as u64 + ring.units * 4 {
        return false;
    }
    if ring.writer.0.compare_exchange(0, sys::process_id(), Ordering::AcqRel, Ordering::Acquire).is_err() {
        return false;
    }
    LIMIT.store(tail(ring) + ring.units, Ordering::Relaxed);
    VISIBLE.store(sys::process_exists(ring.recorder), Ordering::Relaxed);
    fast_path::lead_to(header);
    HEADER.store(header, Ordering::Release);
    true
}

/// The ring's header, once a ring is in use.
#[inline(always)]
pub(crate) fn header() -> Option<&'static Header> {
    // SAFETY: only `claim` stores here, the address of a mapping that stays.
    unsafe { HEADER.load(Ordering::Relaxed).as_ref() }
}

/// Appends an access from a site, whose number may carry the mark of an entered basic block. `last` is the address that the site
/// accessed last.
#[inline(always)]
pub(crate) fn put(_: Token<'_>, site: u32, address: u64, last: &AtomicU64) {
    // SAFETY: there is no token before `claim`, and it keeps other writers away; the mask keeps the cells inside the ring.
    unsafe {
        let header = HEADER.load(Ordering::Relaxed);
        let head = head_of(&*header);
        if head + 3 > LIMIT.load(Ordering::Relaxed) {
            make_room(3);
        }
        let difference = address.wrapping_sub(last.load(Ordering::Relaxed));
        let end = match unit::access(site, difference) {
            Some(unit) => {
                cell(header, head).write(unit);
                head + 1
            }
            None => {
                cell(header, head).write(unit::ACCESS);
                put_word(header, head + 1, access_word(site, address));
                WORD_END.store(head + 3, Ordering::Relaxed);
                WORD_HIGH.store((access_word(site, address) >> 32) as u32, Ordering::Relaxed);
                head + 3
            }
        };
        (*header).head.0.store(end, Ordering::Release);
    }
    last.store(address, Ordering::Relaxed);
}

/// Writes a word, its low half first.
///
/// # Safety
/// The header is that of the ring in use.
unsafe fn put_word(header: *mut Header, at: u64, word: u64) {
    // SAFETY: the mask keeps the cells inside the ring.
    unsafe {
        cell(header, at).write(word as u32);
        cell(header, at + 1).write((word >> 32) as u32);
    }
}

/// Returns the address of the unit with this number.
#[inline(always)]
fn cell(header: *mut Header, number: u64) -> *mut u32 {
    header.cast::<u32>().wrapping_add(DATA_OFFSET / 4).wrapping_add((number & (UNITS - 1)) as usize)
}

/// How many units were written.
#[inline(always)]
pub(crate) fn head() -> u64 {
    header().map_or(0, head_of)
}

#[inline(always)]
fn head_of(header: &Header) -> u64 {
    protocol::units(&header.head.0)
}

/// Invalidates the head, so that chained inline hooks ask again; says whether it was valid (see [`crate::protocol`]).
pub(crate) fn invalidate_head() -> bool {
    header().is_some_and(|header| protocol::invalidate_head(&header.head.0))
}

/// The site of the access that was written last; 0 if something else was.
pub(crate) fn last_site() -> u32 {
    let Some(header) = header() else { return 0 };
    let head = head_of(header);
    if WORD_END.load(Ordering::Relaxed) == head {
        return WORD_HIGH.load(Ordering::Relaxed) >> (ADDRESS_BITS - 32);
    }
    // SAFETY: the cell is inside the ring, which stays; a thread without the token may see any unit there.
    let last = unsafe { cell(core::ptr::from_ref(header).cast_mut(), head.wrapping_sub(1)).read_volatile() };
    unit::split(last).map_or(0, |(site, _)| site)
}

/// How far hooks that do not look at the reader may move the head.
pub(crate) fn limit() -> u64 {
    LIMIT.load(Ordering::Relaxed).saturating_sub(TOGETHER)
}

/// Whether the reader expects events of this thread, by its scheduler number.
pub(crate) fn is_current(owner: u32) -> bool {
    CURRENT.load(Ordering::Relaxed) == owner
}

/// Appends a record. The head moves once: a reader sees all of it or nothing.
pub(crate) fn record(_: Token<'_>, tag: Tag, argument: u32, following: &[u64]) {
    let Some(header) = header() else { return };
    let (mut head, units) = (head_of(header), following.len() as u64 * 2 + 3);
    if head + units > LIMIT.load(Ordering::Relaxed) {
        make_room(units);
    }
    let place = core::ptr::from_ref(header).cast_mut();
    // SAFETY: the header is the ring's, the token keeps other writers away, and the mask keeps the cells inside the ring.
    unsafe {
        cell(place, head).write(unit::RECORD);
        put_word(place, head + 1, record_word(tag, following.len(), argument));
        head += 3;
        for &word in following {
            put_word(place, head, word);
            head += 2;
        }
    }
    WORD_END.store(head, Ordering::Relaxed);
    WORD_HIGH.store(0, Ordering::Relaxed);
    header.head.0.store(head, Ordering::Release);
}

/// Records whose events follow, unless the reader knows.
pub(crate) fn switch_to(token: Token<'_>, owner: u32) {
    if CURRENT.load(Ordering::Relaxed) != owner {
        record(token, Tag::Switch, owner - 1, &[]);
        // In this order: a signal handler may jump away in between, and recording it twice is better than not at all.
        compiler_fence(Ordering::SeqCst);
        CURRENT.store(owner, Ordering::Relaxed);
    }
}

/// How many units may be written without asking, at least 1. If few are free, it waits until many are: slices are no longer than that,
/// and short ones cost more than they record.
pub(crate) fn room(_: Token<'_>) -> u64 {
    make_room(if free() < UNITS / 4 { UNITS / 2 } else { RESERVE + 1 });
    free() - RESERVE
}

fn free() -> u64 {
    let Some(header) = header() else { return u64::MAX };
    header.units - (head_of(header) - tail(header))
}

/// How far the reader has come, or had come when its two words for it last agreed.
fn tail(header: &Header) -> u64 {
    let (tail, check) = (header.tail.0.load(Ordering::Acquire), header.tail_check.0.load(Ordering::Acquire));
    if tail == !check {
        TAIL.store(tail, Ordering::Relaxed);
    }
    TAIL.load(Ordering::Relaxed)
}

/// Waits until this many units are free. If the reader dies, the recording ends and the program goes on.
#[cold]
#[inline(never)]
fn make_room(units: u64) {
    let mut rounds = 0u32;
    while free() < units {
        sys::sleep(50_000);
        rounds += 1;
        // A recorder in another namespace is believed gone when it has taken nothing for a minute.
        let gone = || {
            let seen = VISIBLE.load(Ordering::Relaxed);
            header().is_none_or(|header| if seen { !sys::process_exists(header.recorder) } else { rounds > 1 << 20 })
        };
        if rounds.is_multiple_of(1024) && gone() {
            crate::hook::stop();
            // The reader is gone: what is overwritten from here on does not matter.
            if let Some(header) = header() {
                let head = head_of(header);
                header.tail.0.store(head, Ordering::Release);
                header.tail_check.0.store(!head, Ordering::Release);
            }
        }
    }
    if let Some(header) = header() {
        LIMIT.store(tail(header) + header.units, Ordering::Relaxed);
    }
}

/// Sets bits of the state that the reader looks at when the program has ended.
pub(crate) fn set_state(bits: u32) {
    if let Some(header) = header() {
        header.state.0.fetch_or(bits, Ordering::AcqRel);
    }
}
