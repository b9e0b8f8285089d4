//! The token: the right to run instrumented code.
//!
//! `OWNER` holds the scheduler number of the thread that has the token, 0 when it is free. Only the slow paths take the
//! lock: getting the token, passing it on, and taking it away ([`crate::watch`]). Other hooks of the holder read `OWNER` and
//! count its slice down. The fastest do not even that: they only look whether the [`fast_path`] is open.
//!
//! The token passes when a slice ends (its length is random, from the seed), before a call that may block, and,
//! depending on the schedule, at synchronisation. Waiting threads queue in order of arrival; which of them is next is
//! the schedule's choice. The first of the queue watches the holder.

pub(crate) mod gates;
pub(crate) mod parking;
mod token;
mod turns;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use mayhap_wire::ring::{Schedule, Tag};

pub(crate) use token::{Grant, Token};

use crate::lock::Lock;
use crate::sys;
use crate::thread::Thread;
use crate::{fast_path, hook, judge, outlined_hooks, protocol, replay, ring, signals, spinning, values, watch};

/// How long the first in the queue waits before it examines the holder, in nanoseconds.
const PATIENCE: u64 = 500_000;
/// How long the others sleep before they look whether they have become the first, and of how many threads each adds as much: thousands of threads
/// would do nothing but look. If more wait, the one that becomes the first is woken.
const DOZE: u64 = 20_000_000;
const CROWD: u32 = 32;
/// How many hooks a thread runs in a replay before the token may pass.
const FUEL: i64 = 256;

pub(crate) static OWNER: AtomicU32 = AtomicU32::new(0);
static LOCK: Lock = Lock::new();
static FIRST: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
static LAST: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
/// How many threads in a row got the token before others that had waited, and the most that may.
static PREFERRED: AtomicU32 = AtomicU32::new(0);
const MOST_PREFERRED: u32 = 32;
/// How many threads are in the queue.
pub(crate) static WAITING: AtomicU32 = AtomicU32::new(0);
/// The thread that [`OWNER`] stands for.
static HOLDER: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
static RANDOM: AtomicU64 = AtomicU64::new(0x9e37_79b9_7f4a_7c15);
static SCHEDULE: AtomicU32 = AtomicU32::new(0);
static SLICE: AtomicU32 = AtomicU32::new(1);
/// Slices of up to this length end after a number of hooks, not after what they recorded: how much that is depends on addresses, which
/// differ from run to run. It takes the fast path away, which would hardly be used between such slices.
const COUNTED_SLICE: u32 = 512;
static COUNTED: AtomicU32 = AtomicU32::new(0);
/// How often in a row the same thread got the token though others waited, and the most that it may.
static STREAK: AtomicU32 = AtomicU32::new(0);
const LONGEST_STREAK: u32 = 100;

/// Sets the policy, before any thread has the token.
pub(crate) fn configure(seed: u64, schedule: u32, slice: u32) {
    RANDOM.store(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, Ordering::Relaxed);
    SCHEDULE.store(schedule, Ordering::Relaxed);
    SLICE.store(slice.max(1), Ordering::Relaxed);
    if self::schedule() != Schedule::Free && !replay::active() {
        parking::start();
        if slice <= COUNTED_SLICE {
            COUNTED.store(1, Ordering::Relaxed);
            outlined_hooks::keep_apart();
        }
    }
}

/// Reads the list of turns from a file, before any thread has the token.
pub(crate) fn open_turns(path: *const libc::c_char) {
    turns::open(path);
}

/// Which of several alternatives is taken that something other than the order decides. That is explored where the program runs in turns; elsewhere it is the
/// first. `usual`: it is explored even if no option asks for it.
pub(crate) fn choose(token: Token<'_>, thread: &Thread, kind: u32, alternatives: u32, usual: bool) -> u32 {
    if alternatives < 2 || !in_turns() {
        return 0;
    }
    let owner = thread.identity.owner.load(Ordering::Relaxed);
    let Some(taken) = turns::choose(owner, kind, alternatives, usual) else { return 0 };
    ring::record(token, Tag::Choice, 0, &[kind.into(), alternatives.into(), taken.into()]);
    taken
}

/// Whether the program runs step by step, in turns.
pub(crate) fn in_turns() -> bool {
    schedule() == Schedule::Turns
}

/// Whether slices are counted in hooks alone, and every hook is one at which the token may pass.
fn is_counted() -> bool {
    COUNTED.load(Ordering::Relaxed) != 0
}

pub(crate) fn schedule() -> Schedule {
    Schedule::from_code(SCHEDULE.load(Ordering::Relaxed)).unwrap_or(Schedule::Free)
}

/// Under the lock: returns the next number of the seeded sequence (xorshift64*).
fn random() -> u64 {
    let mut x = RANDOM.load(Ordering::Relaxed);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    RANDOM.store(x, Ordering::Relaxed);
    x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
}

/// Runs `f` under the scheduler's lock.
fn locked<R>(f: impl FnOnce() -> R) -> R {
    LOCK.with(f)
}

/// A forked child has one thread and the lock's holder may not be in it: start afresh.
pub(crate) fn forget() {
    LOCK.forget();
    parking::forget();
    OWNER.store(0, Ordering::Relaxed);
    // A thread that the child creates may get the pointer of the thread for which the fast path was open.
    fast_path::lock();
}

/// Is the slow path of a hook: afterwards the thread holds the token, has a slice, and the reader knows whose events follow.
/// `may_pass` is false where the thread's last access is announced but not yet done.
#[cold]
#[inline(never)]
pub(crate) fn ensure(thread: &'static Thread, may_pass: bool) -> Grant {
    let me = thread.identity.owner.load(Ordering::Relaxed);
    let may_pass = may_pass && !signals::holds(thread);
    // After a replay's goal its judge goes on, without slices. Explorations have a judge and slices.
    if replay::active() || judge::is_active() && replay::has_schedule() {
        return follow(thread, may_pass);
    }
    if OWNER.load(Ordering::Acquire) != me {
        // Others may have changed what it accessed.
        thread.values.forget();
        gain(thread);
    } else if may_pass && if in_turns() { turns::must_pass(me) } else { is_over(thread) } {
        values::record(Grant::new().token(), thread);
        pass(Grant::new().token(), thread);
    }
    let grant = Grant::new();
    if in_turns() {
        ring::room(grant.token());
        thread.own.slices.fetch_add(1, Ordering::Relaxed);
        thread.own.left.store(1, Ordering::Relaxed);
        thread.own.slice_end.store(u64::MAX, Ordering::Relaxed);
        ring::switch_to(grant.token(), me);
        if may_pass {
            turns::begin_step(me);
            ring::record(grant.token(), Tag::Step, 0, &[]);
        }
        return grant;
    }
    if is_over(thread) {
        let slice = if may_pass { locked(new_slice) } else { 1 };
        thread.own.slices.fetch_add(1, Ordering::Relaxed);
        let room = ring::room(grant.token());
        thread.values.begin_slice(slice);
        if is_counted() {
            thread.own.left.store(slice, Ordering::Relaxed);
            thread.own.slice_end.store(u64::MAX, Ordering::Relaxed);
        } else {
            let slice = slice.min(room as i64);
            thread.own.left.store(slice, Ordering::Relaxed);
            thread.own.slice_end.store(ring::head() + slice as u64, Ordering::Relaxed);
        }
    }
    ring::switch_to(grant.token(), me);
    grant
}

/// Whether the thread's slice has ended, by the number of its hooks or by what they recorded.
fn is_over(thread: &Thread) -> bool {
    thread.own.left.load(Ordering::Relaxed) <= 0 || ring::head() >= thread.own.slice_end.load(Ordering::Relaxed)
}

/// Ends a hook: opens the fast path for the thread until its slice ends, if it may use it.
#[inline(always)]
pub(crate) fn arm(thread: &Thread) {
    let goes_on = OWNER.load(Ordering::Relaxed) == thread.identity.owner.load(Ordering::Relaxed)
        && thread.own.handlers.load(Ordering::Relaxed) == 0
        && thread.own.unrecorded_frames.load(Ordering::Relaxed) == 0
        && !thread.values.are_wanted()
        && hook::is_recording()
        && !is_counted()
        && !replay::active()
        && !judge::is_active();
    if goes_on {
        fast_path::open(thread.own.slice_end.load(Ordering::Relaxed).min(ring::limit()));
    } else {
        fast_path::close();
    }
}

/// Does what [`ensure`] does, in a replay: there are no slices, so that every hook comes here.
fn follow(thread: &'static Thread, may_pass: bool) -> Grant {
    let me = thread.identity.owner.load(Ordering::Relaxed);
    thread.replay.held_back.store(0, Ordering::Relaxed);
    if OWNER.load(Ordering::Acquire) != me {
        gain(thread);
    } else if may_pass && thread.own.left.load(Ordering::Relaxed) % FUEL == 0 {
        pass(Grant::new().token(), thread);
    }
    // Below zero it still counts down, which shows progress.
    thread.own.left.store(thread.own.left.load(Ordering::Relaxed).min(0), Ordering::Relaxed);
    let grant = Grant::new();
    ring::switch_to(grant.token(), me);
    grant
}

/// Waits for the token after having given it up within a hook.
pub(crate) fn regain(thread: &'static Thread) {
    if OWNER.load(Ordering::Acquire) != thread.identity.owner.load(Ordering::Relaxed) {
        gain(thread);
    }
    ring::switch_to(Grant::new().token(), thread.identity.owner.load(Ordering::Relaxed));
}

fn new_slice() -> i64 {
    let mean = u64::from(SLICE.load(Ordering::Relaxed));
    1 + (random() % (2 * mean)) as i64
}

/// Waits for the token.
fn gain(thread: &'static Thread) {
    if !locked(|| take_or_queue(thread)) {
        wait_for_grant(thread);
    }
}

/// Under the lock: says whether no thread holds the token, or its holder sleeps or computes elsewhere and has now lost it.
fn holder_lost() -> bool {
    // SAFETY: thread records are never given back.
    match unsafe { HOLDER.load(Ordering::Relaxed).as_ref() } {
        Some(holder) if OWNER.load(Ordering::Relaxed) != 0 => watch::revoke(holder),
        _ => true,
    }
}

/// Under the lock: says whether a newcomer may take the token although others wait. Those sleep, and before one of them has woken
/// up the newcomer is done. After [`MOST_PREFERRED`] newcomers it is the turn of the threads that wait.
fn may_take() -> bool {
    WAITING.load(Ordering::Relaxed) == 0
        || schedule() == Schedule::Free && PREFERRED.fetch_add(1, Ordering::Relaxed) < MOST_PREFERRED
}

/// Under the lock: says whether the holder was in code without hooks and has now lost the token. Where the seed decides, such code keeps it
/// until it sleeps or takes long.
fn holder_left() -> bool {
    if parking::is_on() {
        return false;
    }
    // SAFETY: thread records are never given back.
    let holder = unsafe { HOLDER.load(Ordering::Relaxed).as_ref() };
    holder.is_some_and(|holder| holder.own.outside.load(Ordering::Relaxed) != 0 && watch::revoke(holder))
}

/// Under the lock: takes the free token, or joins the queue.
fn take_or_queue(thread: &'static Thread) -> bool {
    if OWNER.load(Ordering::Relaxed) == thread.identity.owner.load(Ordering::Relaxed) {
        // It was being examined for sleeping, and found awake.
        return true;
    }
    if may_take() && (OWNER.load(Ordering::Relaxed) == 0 || holder_left()) {
        hold(thread);
        return true;
    }
    enqueue(thread);
    false
}

fn hold(thread: &Thread) {
    HOLDER.store(core::ptr::from_ref(thread).cast_mut(), Ordering::Relaxed);
    OWNER.store(thread.identity.owner.load(Ordering::Relaxed), Ordering::Release);
}

/// Under the lock: appends the thread to the queue.
fn enqueue(thread: &Thread) {
    let pointer = core::ptr::from_ref(thread).cast_mut();
    thread.queue.granted.store(0, Ordering::Relaxed);
    if thread.queue.queued.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    thread.queue.next.store(core::ptr::null_mut(), Ordering::Relaxed);
    // SAFETY: thread records are never given back.
    match unsafe { LAST.load(Ordering::Relaxed).as_ref() } {
        Some(last) => last.queue.next.store(pointer, Ordering::Relaxed),
        None => FIRST.store(pointer, Ordering::Relaxed),
    }
    LAST.store(pointer, Ordering::Relaxed);
    WAITING.fetch_add(1, Ordering::Relaxed);
    if parking::is_on() && thread.queue.arrived.swap(1, Ordering::AcqRel) == 0 {
        sys::futex_wake(&thread.queue.arrived);
    }
}

/// Under the lock: gives the token to the waiting thread that the schedule chooses; the caller wakes it.
fn grant_next() -> Option<&'static Thread> {
    PREFERRED.store(0, Ordering::Relaxed);
    let chosen = match schedule() {
        Schedule::Free => 0,
        Schedule::Random => (random() % u64::from(WAITING.load(Ordering::Relaxed).max(1))) as usize,
        Schedule::Pct | Schedule::Pos => highest(),
        Schedule::Turns => in_turn(),
    };
    match dequeue(chosen) {
        Some(thread) => {
            let again = core::ptr::eq(HOLDER.load(Ordering::Relaxed), thread);
            STREAK.store(if again { STREAK.load(Ordering::Relaxed) + 1 } else { 0 }, Ordering::Relaxed);
            hold(thread);
            thread.queue.granted.store(1, Ordering::Release);
            // SAFETY: thread records are never given back.
            let first = unsafe { FIRST.load(Ordering::Relaxed).as_ref() };
            if let Some(first) = first.filter(|_| WAITING.load(Ordering::Relaxed) > CROWD) {
                sys::futex_wake(&first.queue.granted);
            }
            Some(thread)
        }
        None => {
            OWNER.store(0, Ordering::Release);
            parking::look_if_stuck();
            None
        }
    }
}

/// Under the lock: finds the position in the queue of the thread whose turn it is.
fn in_turn() -> usize {
    match turns::next().map(position) {
        Some(Some(position)) => return position,
        Some(None) => turns::leave_list(),
        None => {}
    }
    if mean_slice() > 1 { at_random() } else { 0 }
}

/// Under the lock: finds the position in the queue of a random thread, by their weights.
fn at_random() -> usize {
    let weights = || {
        let mut at = FIRST.load(Ordering::Relaxed);
        core::iter::from_fn(move || {
            // SAFETY: thread records are never given back.
            let thread = unsafe { at.as_ref() }?;
            at = thread.queue.next.load(Ordering::Relaxed);
            Some(turns::weight(thread.identity.owner.load(Ordering::Relaxed)))
        })
    };
    let mut drawn = random() % weights().sum::<u64>().max(1);
    let is_it = |weight: u64| {
        let here = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        here
    };
    weights().position(is_it).unwrap_or(0)
}

/// The mean number of steps between changes.
fn mean_slice() -> u32 {
    SLICE.load(Ordering::Relaxed)
}

/// Under the lock: finds the position in the queue of a waiting thread, by its scheduler number.
fn position(owner: u32) -> Option<usize> {
    let mut at = FIRST.load(Ordering::Relaxed);
    let mut position = 0;
    // SAFETY: thread records are never given back.
    while let Some(thread) = unsafe { at.as_ref() } {
        if thread.identity.owner.load(Ordering::Relaxed) == owner {
            return Some(position);
        }
        position += 1;
        at = thread.queue.next.load(Ordering::Relaxed);
    }
    None
}

/// Under the lock: finds the position in the queue of the waiting thread with the highest priority.
fn highest() -> usize {
    let (mut best, mut best_priority, mut position) = (0, 0, 0);
    let mut at = FIRST.load(Ordering::Relaxed);
    // SAFETY: thread records are never given back.
    while let Some(thread) = unsafe { at.as_ref() } {
        let priority = thread.queue.priority.load(Ordering::Relaxed);
        if priority > best_priority {
            (best, best_priority) = (position, priority);
        }
        position += 1;
        at = thread.queue.next.load(Ordering::Relaxed);
    }
    best
}

/// Under the lock: removes the thread at `position` from the queue.
fn dequeue(position: usize) -> Option<&'static Thread> {
    let mut before: *mut Thread = core::ptr::null_mut();
    let mut at = FIRST.load(Ordering::Relaxed);
    for _ in 0..position {
        // SAFETY: thread records are never given back.
        let Some(thread) = (unsafe { at.as_ref() }) else { break };
        before = at;
        at = thread.queue.next.load(Ordering::Relaxed);
    }
    // SAFETY: as above.
    let thread = unsafe { at.as_ref() }?;
    let after = thread.queue.next.load(Ordering::Relaxed);
    // SAFETY: as above.
    match unsafe { before.as_ref() } {
        Some(before) => before.queue.next.store(after, Ordering::Relaxed),
        None => FIRST.store(after, Ordering::Relaxed),
    }
    if after.is_null() {
        LAST.store(before, Ordering::Relaxed);
    }
    WAITING.fetch_sub(1, Ordering::Relaxed);
    thread.queue.queued.store(0, Ordering::Relaxed);
    Some(thread)
}

/// Removes a thread from the queue that will not come back to the hook in which it may be waiting.
pub(crate) fn withdraw(thread: &Thread) {
    locked(|| {
        let mut position = 0;
        let mut at = FIRST.load(Ordering::Relaxed);
        // SAFETY: thread records are never given back.
        while let Some(other) = unsafe { at.as_ref() } {
            if core::ptr::eq(other, thread) {
                dequeue(position);
                return;
            }
            position += 1;
            at = other.queue.next.load(Ordering::Relaxed);
        }
    });
}

/// Under the lock: where priorities count, the thread that ran has a lower one than all others from here on, or a new one.
/// A thread that `yields`, or has run long, may wait for one with the lowest of all.
fn fall_behind(thread: &Thread, yields: bool) {
    match schedule() {
        // Every slice has its own.
        Schedule::Pos if !yields && STREAK.load(Ordering::Relaxed) < LONGEST_STREAK => {
            thread.queue.priority.store(priority(), Ordering::Relaxed);
        }
        Schedule::Pct | Schedule::Pos => thread.queue.priority.store(1 + (random() % 64) as u32, Ordering::Relaxed),
        Schedule::Free | Schedule::Random | Schedule::Turns => {}
    }
}

/// The program lets others go first, whatever its priority: a waiting thread gets the token, and otherwise it is free.
pub(crate) fn give_way(token: Token<'_>, thread: &'static Thread) {
    locked(|| fall_behind(thread, true));
    if parking::is_on() {
        yield_now(token, thread);
    } else {
        leave(thread);
    }
}

/// Whether other threads wait for the token, so that a thread that is about to sleep can let them run instead.
pub(crate) fn others_wait() -> bool {
    WAITING.load(Ordering::Relaxed) != 0
}

/// Ends a slice: lets another waiting thread run and waits for the token's return. If none waits, the thread continues.
fn pass(_: Token<'_>, thread: &'static Thread) {
    if WAITING.load(Ordering::Relaxed) == 0 {
        return;
    }
    let next = locked(|| {
        // The end of a slice is a change point.
        fall_behind(thread, false);
        enqueue(thread);
        grant_next()
    });
    if let Some(next) = next {
        sys::futex_wake(&next.queue.granted);
    }
    spinning::look_out(thread);
    wait_for_grant(thread);
}

fn wait_for_grant(thread: &'static Thread) {
    while thread.queue.granted.load(Ordering::Acquire) == 0 {
        let first = core::ptr::eq(FIRST.load(Ordering::Relaxed), thread);
        let doze = DOZE * u64::from(1 + WAITING.load(Ordering::Relaxed) / CROWD);
        sys::futex_wait(&thread.queue.granted, 0, Some(if first { PATIENCE } else { doze }));
        if thread.queue.granted.load(Ordering::Acquire) != 0 || !hook::is_recording() {
            return;
        }
        if !first && OWNER.load(Ordering::Relaxed) != 0 {
            continue;
        }
        let freed = locked(|| {
            let watching = core::ptr::eq(FIRST.load(Ordering::Relaxed), thread);
            if watching && thread.queue.granted.load(Ordering::Relaxed) == 0 && holder_lost() {
                grant_next()
            } else {
                None
            }
        });
        if let Some(next) = freed {
            sys::futex_wake(&next.queue.granted);
        }
    }
}

/// Ends a hook of a thread that returns to code without hooks: any thread may take the token.
pub(crate) fn go_outside(thread: &'static Thread) {
    protocol::leave_code(fast_path::owner(), thread.observed(), fast_path::own_pointer());
    if !parking::is_on() && WAITING.load(Ordering::Relaxed) != 0 {
        offer(thread);
    }
}

/// Gives the token up, if this thread has it, to the first thread that takes it: a thread that waits is woken for it.
pub(crate) fn offer(thread: &'static Thread) {
    let is_turn = || schedule() != Schedule::Free || PREFERRED.load(Ordering::Relaxed) >= MOST_PREFERRED;
    let owns = || OWNER.load(Ordering::Relaxed) == thread.identity.owner.load(Ordering::Relaxed);
    let woken = locked(|| {
        if !owns() || is_turn() {
            return if owns() { grant_next() } else { None };
        }
        OWNER.store(0, Ordering::Release);
        // SAFETY: thread records are never given back.
        unsafe { FIRST.load(Ordering::Relaxed).as_ref() }
    });
    if let Some(woken) = woken {
        sys::futex_wake(&woken.queue.granted);
    }
}

/// Gives the token up before a call that may block, if this thread has it. The next hook gets it again.
pub(crate) fn leave(thread: &'static Thread) {
    fast_path::close();
    if OWNER.load(Ordering::Relaxed) != thread.identity.owner.load(Ordering::Relaxed) {
        return;
    }
    replay::settle(thread);
    // A thread that is in no hook may lose it before it has the lock.
    let owns = || OWNER.load(Ordering::Relaxed) == thread.identity.owner.load(Ordering::Relaxed);
    if let Some(next) = locked(|| if owns() { grant_next() } else { None }) {
        sys::futex_wake(&next.queue.granted);
    }
}

/// Lets the schedules that vary runs pass the token on after synchronisation.
pub(crate) fn sync_point(token: Token<'_>, thread: &'static Thread) {
    if WAITING.load(Ordering::Relaxed) == 0 {
        return;
    }
    let passes = match schedule() {
        Schedule::Free | Schedule::Turns => false,
        Schedule::Random => locked(random).is_multiple_of(2),
        Schedule::Pct | Schedule::Pos => true,
    };
    if passes {
        yield_now(token, thread);
    }
}

/// Lets another waiting thread run first, if there is one.
fn yield_now(token: Token<'_>, thread: &'static Thread) {
    if OWNER.load(Ordering::Relaxed) != thread.identity.owner.load(Ordering::Relaxed)
        || WAITING.load(Ordering::Relaxed) == 0
    {
        return;
    }
    let next = locked(|| {
        // A thread that yields has its priority already.
        if schedule() == Schedule::Pos && thread.queue.priority.load(Ordering::Relaxed) >= 64 {
            fall_behind(thread, false);
        }
        enqueue(thread);
        grant_next()
    });
    match next {
        Some(next) if core::ptr::eq(next, thread) => return,
        Some(next) => sys::futex_wake(&next.queue.granted),
        None => {}
    }
    wait_for_grant(thread);
    ring::switch_to(token, thread.identity.owner.load(Ordering::Relaxed));
}

/// Returns a priority for a new thread, above those that change points give.
pub(crate) fn new_priority() -> u32 {
    locked(priority)
}

/// Under the lock: draws a priority above those that change points give.
fn priority() -> u32 {
    64 + (random() % 1_000_000) as u32
}
