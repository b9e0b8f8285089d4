//! What the [hooks that are Java code](crate::fast_hooks) find: for which thread the fast path is open, and what is known of each place.
//!
//! The thread that the runtime has opened its own fast path for puts its number here, with where the word is that marks it busy, when a native hook of an
//! access ends. It takes the number away when it goes to code of the library. Another thread that opens the path replaces the number first; so who finds
//! its own number has found its own words before.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The most places that a run can have.
pub(crate) const MOST: usize = 1 << 22;

/// For which thread the path is open, by the machine's number for it, which no other thread ever gets; 0: none.
#[repr(C, align(64))]
struct Open {
    thread: AtomicU64,
    busy: AtomicU64,
    pointer: AtomicU64,
}

static OPEN: Open = Open { thread: AtomicU64::new(0), busy: AtomicU64::new(0), pointer: AtomicU64::new(0) };
/// Held by the thread that opens the path.
static OPENING: Mutex<()> = Mutex::new(());

/// Where the parts of [`Open`] are.
pub(crate) const BUSY: u64 = 8;
pub(crate) const POINTER: u64 = 16;

/// What is known of a place.
#[repr(C, align(32))]
pub(crate) struct Known {
    /// The unit of an access without its difference; 0 while the native hook is to be asked.
    pub(crate) number: AtomicU32,
    /// The high half of the word of an access, without the address.
    pub(crate) high: AtomicU32,
    /// The field, from the block on; a static field's address.
    pub(crate) offset: AtomicU64,
    /// Where in the object its block is; of a static field the thread that knows that the class is initialised.
    pub(crate) hidden: AtomicU64,
}

pub(crate) const HIGH: u64 = 4;
pub(crate) const OFFSET: u64 = 8;
pub(crate) const HIDDEN: u64 = 16;
/// As a power of two, how many bytes are known of a place.
pub(crate) const SITE_SHIFT: i32 = 5;
const _: () = assert!(size_of::<Known>() == 1 << SITE_SHIFT);

/// The name of the field that objects have their block in.
pub(crate) const FIELD: &str = "mayhap$block";

/// Where everything is that hooks use.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) open: u64,
    pub(crate) sites: u64,
    /// Where in a thread's object its number is.
    pub(crate) thread_number: u64,
    /// The runtime's own words: its fast path, the ring's head, where the last addresses of places begin, the last word.
    pub(crate) fast_path: u64,
    pub(crate) head: u64,
    pub(crate) last: u64,
    pub(crate) word_end: u64,
    pub(crate) word_high: u64,
    /// From the word that marks a thread busy to the one that has its last branch.
    pub(crate) branch: u64,
}

/// The number of threads that the path is never open for.
pub(crate) const NEVER: u64 = u64::MAX;

thread_local! {
    /// The machine's number for the calling thread, once it was asked for.
    pub(crate) static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The address of what is known of the first place.
static SITES: AtomicU64 = AtomicU64::new(0);

/// What is known of the place with this number; `None` where the path stays closed.
pub(crate) fn site(number: u32) -> Option<&'static Known> {
    let sites = SITES.load(Ordering::Acquire);
    if sites == 0 || number as usize >= MOST {
        return None;
    }
    // SAFETY: the memory is there for so many places, and stays.
    Some(unsafe { &*((sites + (u64::from(number) << SITE_SHIFT)) as *const Known) })
}

/// Reserves memory for what is known of places; the words have its address. Only what is used takes any.
pub(crate) fn reserve() -> Option<Words> {
    let bytes = MOST << SITE_SHIFT;
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a fresh mapping.
    let sites = unsafe { libc::mmap(core::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    let open = core::ptr::from_ref(&OPEN) as u64;
    (sites != libc::MAP_FAILED).then(|| Words { open, sites: sites as u64, ..Words::default() })
}

/// From here on places are known there.
pub(crate) fn start(words: &Words) {
    SITES.store(words.sites, Ordering::Release);
}

/// Opens the path for the calling thread, which has this number, is marked busy by that word, and is known to the runtime by this pointer.
pub(crate) fn open(thread: u64, busy: u64, pointer: u64) {
    if OPEN.thread.load(Ordering::Relaxed) != thread
        && let Ok(_guard) = OPENING.try_lock()
    {
        OPEN.thread.store(0, Ordering::SeqCst);
        OPEN.busy.store(busy, Ordering::Release);
        OPEN.pointer.store(pointer, Ordering::Release);
        OPEN.thread.store(thread, Ordering::SeqCst);
    }
}

/// The calling thread goes to code of the library.
#[inline]
pub(crate) fn close() {
    let number = NUMBER.get();
    if number != 0 && OPEN.thread.load(Ordering::Relaxed) == number {
        OPEN.thread.store(0, Ordering::Release);
    }
}
