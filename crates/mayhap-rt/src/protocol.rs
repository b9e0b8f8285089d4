//! The protocol between the threads that run hooks, their signal handlers, and the watchdog that takes the token from a thread that
//! runs none.
//!
//! **Words.** [`Words::token`] is the number of the thread that holds the token. [`Words::fast_path`] is the thread whose fastest
//! hooks may write the ring without asking. [`Words::head`] is the ring's head. Chained inline hooks do not even read the fast
//! path: they continue if the head is what the hook before them left. To stop them, the head is *invalidated* by a mark that makes
//! it different until something is written.
//!
//! **The danger** is to take the token from a thread that has passed a hook but has not yet done the access which the hook
//! announced: the access would come late, and the recorded order would be wrong. So [`revoke`] takes it only
//! - from a thread that has left instrumented code, when everything that it announced is done ([`leave_code`]), or
//! - on evidence that the thread has gone on since its last hook, gathered after the fast path was closed and the head invalidated.
//!
//! The holder may begin a hook at this very moment. Every hook but the fastest first marks the thread busy and counts its slice
//! down, and then reads the token; the watchdog first writes the token, then looks at the mark and the count. With a fence
//! between the two steps on both sides, one of them sees the other. Hooks run all the time and the watchdog seldom: its fence is the
//! one that costs ([`heavy_fence`]).
//!
//! Stores release and loads of the watchdog acquire: on x86-64 that costs nothing, since the processor keeps the order of stores and the
//! order of loads anyway.
//!
//! This file is compiled twice: for the runtime, and for `tests/protocol_model.rs`, which runs it under all interleavings of two
//! threads, a signal and the watchdog. It must not use anything but `super::sync` and its own constants.

use super::sync::{AtomicI64, AtomicU32, AtomicU64, Ordering, heavy_fence, light_fence};

/// The mark of an invalid head.
pub(crate) const HEAD_INVALID: u64 = 1 << 63;

/// The value of [`Words::token`] while its holder is being examined.
pub(crate) const EXAMINED: u32 = u32::MAX;

/// The words that all threads share.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    /// The thread whose fastest hooks may write the ring, by its thread pointer; 0: none.
    pub(crate) fast_path: &'a AtomicU64,
    /// How many units were written to the ring, perhaps with [`HEAD_INVALID`].
    pub(crate) head: &'a AtomicU64,
    /// The number of the thread that holds the token; 0: none.
    pub(crate) token: &'a AtomicU32,
}

/// The words of one thread that the watchdog reads. Only the thread itself writes them.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    /// The thread's number.
    pub(crate) number: &'a AtomicU32,
    /// The hooks left in its slice.
    pub(crate) left: &'a AtomicI64,
    /// How many slices it has begun.
    pub(crate) slices: &'a AtomicU32,
    /// Not 0: it is inside a hook.
    pub(crate) busy: &'a AtomicU32,
    /// Not 0: it is in code without hooks, and all accesses that it announced are done.
    pub(crate) outside: &'a AtomicU32,
}

/// Opens the fast path for the calling thread, which holds the token and ends a hook.
#[inline(always)]
pub(crate) fn open(fast_path: &AtomicU64, pointer: u64) {
    light_fence();
    fast_path.store(pointer, Ordering::Release);
}

/// Closes the fast path if it is open for the calling thread.
#[inline(always)]
pub(crate) fn close(fast_path: &AtomicU64, pointer: u64) {
    if fast_path.load(Ordering::Relaxed) == pointer {
        fast_path.store(0, Ordering::Release);
    }
}

/// Closes the fast path for every thread; says whether it was open.
pub(crate) fn close_to_all(fast_path: &AtomicU64) -> bool {
    fast_path.swap(0, Ordering::SeqCst) != 0
}

/// The number of units written, without the mark.
#[inline(always)]
pub(crate) fn units(head: &AtomicU64) -> u64 {
    head.load(Ordering::Relaxed) & !HEAD_INVALID
}

/// Makes the head one that no hook has left there, until something is written; says whether it was valid. A fast hook that had
/// already read the head may undo it.
pub(crate) fn invalidate_head(head: &AtomicU64) -> bool {
    head.fetch_or(HEAD_INVALID, Ordering::SeqCst) & HEAD_INVALID == 0
}

/// Whether the head is still invalid.
pub(crate) fn is_head_invalid(head: &AtomicU64) -> bool {
    head.load(Ordering::SeqCst) & HEAD_INVALID != 0
}

/// Begins a hook of the calling thread, after which `left` hooks are left in its slice. The thread then reads [`Words::token`] to see
/// whether it holds the token. From here on the thread's signal handlers wait, and the watchdog leaves the token with it.
#[inline(always)]
pub(crate) fn begin_hook(fast_path: &AtomicU64, thread: Observed<'_>, pointer: u64, left: i64) {
    thread.busy.store(1, Ordering::Release);
    light_fence();
    close(fast_path, pointer);
    thread.outside.store(0, Ordering::Release);
    thread.left.store(left, Ordering::Release);
    light_fence();
}

/// Ends a hook of the calling thread; `finish` opens or closes the fast path.
#[inline(always)]
pub(crate) fn end_hook(thread: Observed<'_>, finish: impl FnOnce()) {
    light_fence();
    finish();
    light_fence();
    thread.busy.store(0, Ordering::Release);
}

/// The calling thread leaves instrumented code, and everything that it announced is done.
#[inline(always)]
pub(crate) fn leave_code(fast_path: &AtomicU64, thread: Observed<'_>, pointer: u64) {
    close(fast_path, pointer);
    light_fence();
    thread.outside.store(1, Ordering::Release);
}

/// A signal handler begins in the calling thread, which is in no hook. Returns what [`handler_ends`] must be given.
pub(crate) fn handler_begins(words: Words<'_>, thread: Observed<'_>, pointer: u64) -> u32 {
    let outside = thread.outside.load(Ordering::Relaxed);
    close(words.fast_path, pointer);
    // A chained hook may be about to continue where the hook before it left the head.
    invalidate_head(words.head);
    light_fence();
    thread.outside.store(0, Ordering::Release);
    outside
}

/// The signal handler returns to the code that it interrupted.
pub(crate) fn handler_ends(words: Words<'_>, thread: Observed<'_>, pointer: u64, outside: u32) {
    close(words.fast_path, pointer);
    light_fence();
    thread.outside.store(outside, Ordering::Release);
}

/// What changes whenever a thread does something that a recording must not miss.
pub(crate) type Progress = [u64; 4];

/// How far the holder has come.
pub(crate) fn progress(words: Words<'_>, holder: Observed<'_>) -> Progress {
    [
        holder.number.load(Ordering::Relaxed).into(),
        holder.left.load(Ordering::Acquire) as u64,
        holder.slices.load(Ordering::Acquire).into(),
        words.head.load(Ordering::Acquire) & !HEAD_INVALID,
    ]
}

/// Since when the holder's fast hooks are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// They were stopped when they were last examined, and none has run since.
    Before,
    /// They are stopped from here on. A hook that is under way will undo it, by moving the head.
    Now,
}

/// Makes the holder's next hook ask for the token, wherever in its code it is; `None` where the kernel cannot.
pub(crate) fn stop_fast_hooks(words: Words<'_>) -> Option<Stopped> {
    let (closed, invalidated) = (close_to_all(words.fast_path), invalidate_head(words.head));
    match closed || invalidated {
        true => heavy_fence().then_some(Stopped::Now),
        false => Some(Stopped::Before),
    }
}

/// Takes the token from its holder, if the holder is surely not about to access anything: [`Words::token`] is then [`EXAMINED`].
/// `has_gone_on` says whether the holder, whose fast hooks were stopped, has passed everything that it announced. What the holder did
/// before they were stopped is no evidence: a hook may have begun after that.
///
/// The caller has the scheduler's lock.
pub(crate) fn revoke(
    words: Words<'_>,
    holder: Observed<'_>,
    has_gone_on: impl FnOnce(Progress, Stopped) -> bool,
) -> bool {
    if holder.busy.load(Ordering::Acquire) != 0 {
        return false;
    }
    let is_outside = holder.outside.load(Ordering::Acquire) != 0;
    // A thread in code without hooks has closed the fast path itself.
    let stopped = if is_outside { Some(Stopped::Before) } else { stop_fast_hooks(words) };
    let Some(stopped) = stopped else { return false };
    let before = progress(words, holder);
    if !is_outside && !has_gone_on(before, stopped) {
        return false;
    }
    words.token.store(EXAMINED, Ordering::SeqCst);
    if heavy_fence() && is_unmoved(words, holder, is_outside, before) {
        return true;
    }
    words.token.store(holder.number.load(Ordering::Relaxed), Ordering::SeqCst);
    false
}

/// Nothing that the holder did since then would have been missed.
pub(crate) fn is_unmoved(words: Words<'_>, holder: Observed<'_>, is_outside: bool, before: Progress) -> bool {
    holder.busy.load(Ordering::SeqCst) == 0
        && words.fast_path.load(Ordering::SeqCst) == 0
        && (is_outside || is_head_invalid(words.head))
        && progress(words, holder) == before
        && (holder.outside.load(Ordering::SeqCst) != 0) == is_outside
}
