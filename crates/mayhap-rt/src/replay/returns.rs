//! Functions that have returned as the schedule wants it, whose variables other threads are to use after that.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use mayhap_wire::judgement::Stack;

use crate::thread::Thread;
use crate::{calls, judge};

/// How many are known at a time.
const KNOWN: usize = 16;

/// Variables of functions that have returned.
pub(crate) struct Left {
    start: AtomicU64,
    end: AtomicU64,
    /// The thread whose function it was.
    owner: AtomicPtr<Thread>,
    /// The thread, and the calls that it was in when the return was noticed.
    pub(crate) stack: Stack,
}

impl Left {
    /// Where they begin.
    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Relaxed)
    }

    /// How many bytes there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed) - self.start()
    }
}

static ALL: [Left; KNOWN] = [const {
    Left {
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
        owner: AtomicPtr::new(core::ptr::null_mut()),
        stack: Stack::new(),
    }
}; KNOWN];
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The thread has left a function that had a variable at an address, and others in so many words below.
pub(super) fn made(thread: &Thread, address: u64, words: u8) {
    if address == 0 {
        return;
    }
    let entry = &ALL[NEXT.load(Ordering::Relaxed) as usize % KNOWN];
    judge::note_thread(&entry.stack, Some(thread));
    let mut depth = 0;
    for (to, from) in entry.stack.frames.iter().zip(calls::callers(thread)) {
        to.store(from, Ordering::Relaxed);
        depth += 1;
    }
    entry.stack.depth.store(depth, Ordering::Relaxed);
    entry.start.store(address - 8 * u64::from(words), Ordering::Relaxed);
    entry.end.store(address + 8, Ordering::Relaxed);
    entry.owner.store(core::ptr::from_ref(thread).cast_mut(), Ordering::Relaxed);
    NEXT.fetch_add(1, Ordering::Release);
}

/// Whether there are any.
#[inline(always)]
pub(crate) fn are_any() -> bool {
    NEXT.load(Ordering::Relaxed) != 0
}

/// The variables that an address lies in, unless the thread is in another function by now that has the place.
pub(crate) fn at(address: u64) -> Option<&'static Left> {
    let is_left = |left: &&Left| {
        // SAFETY: what is kept of a thread stays, and may be another thread's later, on another stack.
        let owner = unsafe { left.owner.load(Ordering::Relaxed).as_ref() };
        owner.is_none_or(|thread| !calls::is_on_stack(thread, address) || calls::has_left(thread, address))
    };
    ALL.iter().find(|left| (left.start()..left.end.load(Ordering::Relaxed)).contains(&address) && is_left(left))
}
