//! The list of all threads' records, the newest first. It never shrinks: records of threads that have ended are used again.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use libc::pthread_t;

use crate::sys;
use crate::thread::Thread;

/// The bit of a thread's life that says that its record may be used again.
pub(crate) const FREE: u32 = 4;

static ALL: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
/// How many records may be used again, or a few more.
static FREED: AtomicU32 = AtomicU32::new(0);
/// The record that was found last by its handle.
static FOUND: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());

/// A record that is in the list: one that is used again, or a new one of zeros; `None` without memory.
pub(crate) fn take() -> Option<&'static Thread> {
    if let Some(thread) = reusable() {
        return Some(thread);
    }
    let memory = sys::map(size_of::<Thread>()).cast::<Thread>();
    // SAFETY: fresh zeroed memory, and all zeros are a valid record.
    let thread: &'static Thread = unsafe { memory.as_ref() }?;
    // First the link, then the entry, by exchange: adopted threads come here without the token.
    let mut first = ALL.load(Ordering::Acquire);
    loop {
        thread.shared.all_next.store(first, Ordering::Relaxed);
        match ALL.compare_exchange(first, memory, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => break,
            Err(now) => first = now,
        }
    }
    // SAFETY: records are never given back.
    if let Some(older) = unsafe { first.as_ref() } {
        older.shared.all_newer.store(memory, Ordering::Release);
    }
    Some(thread)
}

/// A record that no thread uses any more. None is looked for among thousands of threads if there is none.
fn reusable() -> Option<&'static Thread> {
    if FREED.load(Ordering::Acquire) == 0 {
        return None;
    }
    let was_free =
        |thread: &&Thread| thread.shared.life.compare_exchange(FREE, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    all().find(was_free).inspect(|_| _ = FREED.fetch_sub(1, Ordering::AcqRel))
}

/// The record may be used again.
pub(crate) fn free(thread: &Thread) {
    FREED.fetch_add(1, Ordering::AcqRel);
    thread.shared.life.store(FREE, Ordering::Release);
}

/// All records.
pub(crate) fn all() -> impl Iterator<Item = &'static Thread> {
    // SAFETY: records are never given back.
    let mut at = unsafe { ALL.load(Ordering::Acquire).as_ref() };
    core::iter::from_fn(move || {
        let thread = at?;
        // SAFETY: as above.
        at = unsafe { thread.shared.all_next.load(Ordering::Relaxed).as_ref() };
        Some(thread)
    })
}

/// Under the token: the thread that the program knows by this handle. Programs mostly ask for their threads in the order in which they created them, or the other way
/// round: the neighbours of the last one are looked at first.
pub(crate) fn by_handle(handle: pthread_t) -> Option<&'static Thread> {
    let is_it = |thread: &&Thread| {
        thread.guarded.pthread.load(Ordering::Relaxed) == handle as usize
            && thread.shared.life.load(Ordering::Relaxed) & FREE == 0
    };
    // SAFETY: records are never given back.
    let last = unsafe { FOUND.load(Ordering::Relaxed).as_ref() };
    let neighbours = last.into_iter().flat_map(|last| {
        [&last.shared.all_newer, &last.shared.all_next]
            // SAFETY: as above.
            .map(|neighbour| unsafe { neighbour.load(Ordering::Acquire).as_ref() })
    });
    let found = neighbours.flatten().find(is_it).or_else(|| all().find(is_it))?;
    FOUND.store(core::ptr::from_ref(found).cast_mut(), Ordering::Relaxed);
    Some(found)
}
