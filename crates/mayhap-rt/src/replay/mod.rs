//! Following a schedule: the token goes where the schedule says.
//!
//! Every hook of a thread is compared with the thread's next step. A hook that is the step waits until all steps before it
//! are done. An access that is not the step is one that the recording dropped (memory of one thread, a read repeated in
//! a loop) and passes; synchronisation that is not the step, and that [`matching`] cannot fit in, means that the program does
//! something else than it did when it was recorded: the run has *diverged*, which is noted with what was expected and what
//! came, and the program runs on by itself.
//!
//! A step ends, and the next one may begin, when its thread comes to its own next step, stands still, blocks or ends: so
//! what the recording dropped after a step happens before other threads go on. When all steps are done and the
//! targets' threads stand before their accesses, the bad state is reached. Then the accesses are made one by one, and
//! the program runs on: *guided*, in the order of the recorded run for as long as it does what it did then, so that the
//! consequences of the bad state are not mixed with those of another order.
//!
//! Threads that wait here have no token; those that change anything here hold it. Conditions are not waited for in the library
//! but here ([`conditions`]), since the library chooses the waiter that it wakes.

pub(crate) mod conditions;
pub(crate) mod map;
mod matching;
pub(crate) mod returns;
mod stuck;
mod targets;

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_void};
use mayhap_wire::ring::{AtomicKind, Tag};
use mayhap_wire::schedule::{ANY_OUTCOME, LEAVE, Lane as ThreadSlot, RETURN, Step, goal, mode, place, reason};

use matching::is;

pub(crate) use map::locate_modules;
pub(crate) use targets::{asleep, blocked, tried, unblocked};

use crate::sched::Token;
use crate::thread::Thread;
use crate::tls;
use crate::{calls, outlined_hooks, sched, sys, threads};

/// How long a waiting thread sleeps before it looks again by itself, in nanoseconds.
const DOZE: u64 = 20_000_000;
/// How often it does so before a guided program counts as having gone another way.
const DOZES: u32 = 10;

/// Whether threads follow the schedule, or the targets are being let go.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// What the schedule decides about a call that is a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The call is made.
    Proceed,
    /// The call fails as it did when recorded, with this error number.
    Fail(c_int),
}

/// The values of a thread's `in_step`.
const NO_STEP: u32 = 0;
const IN_STEP: u32 = 1;
const IN_TARGET: u32 = 2;

#[inline(always)]
pub(crate) fn active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Takes the schedule at `path` into use, before any thread has the token.
pub(crate) fn start(path: *const libc::c_char) {
    if map::open(path) {
        map::locate_modules();
        for slot in map::thread_slots() {
            slot.cursor.store(slot.first, Ordering::Relaxed);
        }
        outlined_hooks::keep_apart();
        ACTIVE.store(true, Ordering::Release);
        targets::look();
    }
}

/// Whether the program is still on its way to the goal of a schedule: the last step of a sequence is the goal itself.
pub(crate) fn is_leading() -> bool {
    let Some(head) = map::head().filter(|_| active()) else { return false };
    let is_last = head.goal == goal::SEQUENCE && head.performing.load(Ordering::Acquire) == head.leading;
    head.mode.load(Ordering::Acquire) == mode::FOLLOWING && !is_last
}

/// Whether what the thread is about to do is a target of the schedule, and all targets have arrived.
pub(crate) fn is_at_goal(thread: &Thread) -> bool {
    thread.replay.in_step.load(Ordering::Relaxed) == IN_TARGET
}

/// A forked child follows nothing.
pub(crate) fn forget() {
    ACTIVE.store(false, Ordering::Release);
}

fn slot(thread: &Thread) -> Option<&'static ThreadSlot> {
    map::thread_slots().get((thread.replay.thread_slot.load(Ordering::Relaxed) as usize).checked_sub(1)?)
}

/// The thread begins: the first one, one whose slot its creator knew, or one of a library.
pub(crate) fn begins(thread: &Thread, stack: u64) {
    let number = thread.identity.owner.load(Ordering::Relaxed).wrapping_sub(1);
    if thread.replay.thread_slot.load(Ordering::Relaxed) == 0 {
        // Threads of libraries are known by their number. They serve others: one that has no part in the schedule is not held back.
        let index = map::slot_of(0, number);
        let leading = map::head().map_or(0, |head| head.leading);
        let takes_part = |slot: &&ThreadSlot| slot.target != 0 || (1..=leading).contains(&slot.first);
        let slot = map::thread_slots().get((index as usize).wrapping_sub(1)).filter(takes_part);
        thread.replay.thread_slot.store(if number == 0 || slot.is_some() { index } else { 0 }, Ordering::Relaxed);
    }
    if let Some(slot) = slot(thread) {
        slot.stack.store(stack, Ordering::Relaxed);
        slot.tid.store(thread.identity.tid.load(Ordering::Relaxed), Ordering::Relaxed);
        slot.place.store(place::RUNNING, Ordering::Release);
    }
}

/// The thread is about to create its next child, whose slot is then known.
pub(crate) fn adopts(parent: &Thread, child: &Thread) {
    let nth = parent.replay.children.load(Ordering::Relaxed) + 1;
    let slot = match parent.replay.thread_slot.load(Ordering::Relaxed) {
        0 => 0,
        slot => map::slot_of(slot, nth),
    };
    child.replay.thread_slot.store(slot, Ordering::Relaxed);
}

/// The slot of a thread as the object of a step.
pub(crate) fn slot_number(thread: Option<&Thread>) -> u64 {
    thread.map_or(u64::MAX, |thread| u64::from(thread.replay.thread_slot.load(Ordering::Relaxed)).wrapping_sub(1))
}

/// The thread has allocated a block.
pub(crate) fn allocated(thread: &Thread, pc: u64, address: u64) {
    if let Some(slot) = slot(thread) {
        map::allocated(slot, pc, address);
    }
}

/// The recorded answer to what the calling thread asks for, if there is one: its result; its bytes are at `place`.
///
/// # Safety
/// `place` has room for `room` bytes.
pub(crate) unsafe fn fed(source: u8, place: *mut c_void, room: usize) -> Option<i64> {
    map::head()?;
    let thread = tls::active()?;
    let (slot, next) = (slot(thread)?, thread.replay.inputs.get(usize::from(source))?);
    let inputs = map::inputs().get(slot.inputs as usize..slot.inputs_end as usize)?;
    let mut at = next.load(Ordering::Relaxed) as usize;
    // Each thread's answers are in the order in which it asked; those of other sources are for others.
    loop {
        let (head, result) = (*inputs.get(at)?, *inputs.get(at + 1)?);
        let bytes = (head >> 8) as usize;
        let data = inputs.get(at + 2..at + 2 + bytes.div_ceil(8))?;
        at += 2 + data.len();
        if head as u8 != source {
            continue;
        }
        if bytes > room {
            return None;
        }
        // SAFETY: both sides have so many bytes.
        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr().cast::<u8>(), place.cast(), bytes) };
        next.store(at as u32, Ordering::Relaxed);
        return Some(result as i64);
    }
}

/// Whether the run follows a schedule, or has followed one.
pub(crate) fn has_schedule() -> bool {
    map::head().is_some()
}

/// Whether this is the thread's next step.
pub(crate) fn is_next(thread: &Thread, kind: u8, pc: u64, object: u64) -> bool {
    active()
        && slot(thread)
            .and_then(|slot| map::steps().get((slot.cursor.load(Ordering::Relaxed) as usize).checked_sub(1)?))
            .is_some_and(|step| is(step, kind, pc, object))
}

/// Whether the thread has nothing left to do before the goal, which others have yet to reach.
pub(crate) fn is_beyond(thread: &Thread) -> bool {
    let (Some(head), Some(slot)) = (map::head().filter(|_| active()), slot(thread)) else { return false };
    let is_leading = (1..=head.leading).contains(&slot.cursor.load(Ordering::Relaxed));
    head.mode.load(Ordering::Acquire) == mode::FOLLOWING && !is_leading && slot.target == 0 && slot.complete == 0
}

/// Holds the thread back until it is its turn to do this. It holds the token before and after. Recordings pay one test.
#[inline(always)]
pub(crate) fn hold_back(token: Token<'_>, thread: &'static Thread, kind: u8, pc: u64, object: u64) -> Decision {
    if active() { hold_back_in_replay(token, thread, kind, pc, object) } else { Decision::Proceed }
}

#[cold]
fn hold_back_in_replay(token: Token<'_>, thread: &'static Thread, kind: u8, pc: u64, object: u64) -> Decision {
    thread.replay.held_back.store(u32::from(kind), Ordering::Relaxed);
    thread.replay.at_step.store(0, Ordering::Relaxed);
    let Some(slot) = slot(thread) else { return Decision::Proceed };
    let (Some(head), cursor) = (map::head(), slot.cursor.load(Ordering::Relaxed)) else { return Decision::Proceed };
    let guided = head.mode.load(Ordering::Acquire) >= mode::GUIDED;
    let within = |cursor: &u32| *cursor > 0 && (guided || *cursor <= head.leading);
    let Some(step) = Some(cursor).filter(within).and_then(|cursor| map::steps().get(cursor as usize - 1)) else {
        return if guided { Decision::Proceed } else { beyond(token, thread, slot, kind, pc, object) };
    };
    let mut cursor = cursor;
    if step.kind == RETURN && has_left(thread, step) || step.kind == LEAVE && is_outside(thread, step, pc) {
        if !pass_over(thread, slot, cursor, Some(step.next), pc) {
            return Decision::Proceed;
        }
        // The hook itself is another step, or none.
        return hold_back_in_replay(token, thread, kind, pc, object);
    }
    if !is(step, kind, pc, object) {
        let Some(found) = matching::fit(cursor, within, kind, pc, object) else {
            if !matching::may_come(kind, object) {
                diverge(thread, kind, pc, object, reason::OTHER);
            }
            return Decision::Proceed;
        };
        if !pass_over(thread, slot, cursor, Some(found), pc) {
            return Decision::Proceed;
        }
        cursor = found;
    }
    if !wait_for_turn(thread, slot, cursor - 1) {
        return Decision::Proceed;
    }
    let step = &map::steps()[cursor as usize - 1];
    slot.cursor.store(step.next, Ordering::Relaxed);
    thread.replay.in_step.store(IN_STEP, Ordering::Relaxed);
    thread.replay.at_step.store(1, Ordering::Relaxed);
    thread.replay.step.store(cursor, Ordering::Relaxed);
    head.performing.store(cursor, Ordering::Release);
    if step.kind == Tag::Failed as u8 && !guided {
        Decision::Fail(c_int::from(step.outcome))
    } else {
        Decision::Proceed
    }
}

/// Whether the thread has left the function that a step is about, and no other function is there now that was called from the same place.
fn has_left(thread: &Thread, step: &Step) -> bool {
    calls::caller_of(thread, map::address(step)).is_none_or(|pc| !map::is_site(step, pc))
}

/// Whether the thread, which is at `pc`, is where a step says that a block was left.
fn is_outside(thread: &Thread, step: &Step, pc: u64) -> bool {
    calls::place_in(thread, map::address(step), pc).is_some_and(|pc| map::is_site(step, pc))
}

/// The steps of the thread from `from` on, up to `to` or all that are left, do not come: each counts as made when its turn comes.
/// `false` if the replay has ended in the meantime.
fn pass_over(thread: &'static Thread, slot: &ThreadSlot, from: u32, to: Option<u32>, pc: u64) -> bool {
    let leading = map::head().map_or(0, |head| head.leading);
    let mut at = from;
    while at != 0 && Some(at) != to && (to.is_some() || at <= leading) {
        let Some(step) = map::steps().get(at as usize - 1) else { return false };
        if !wait_for_turn(thread, slot, at - 1) {
            return false;
        }
        if step.kind == RETURN || step.kind == LEAVE && is_outside(thread, step, pc) {
            returns::made(thread, step, map::address(step), pc);
        }
        slot.cursor.store(step.next, Ordering::Relaxed);
        thread.replay.in_step.store(IN_STEP, Ordering::Relaxed);
        at = step.next;
    }
    true
}

/// An attempt that failed when it was recorded has succeeded: nothing holds what it tried to take.
pub(crate) fn succeeded(thread: &Thread, tag: Tag, pc: u64, object: u64) {
    if active() {
        diverge(thread, tag as u8, pc, object, reason::OUTCOME);
    }
}

/// The outcome that the step under way had when it was recorded; `None` if the thread is in none.
pub(crate) fn outcome(thread: &Thread) -> Option<u8> {
    if !active() || thread.replay.in_step.load(Ordering::Relaxed) != IN_STEP {
        return None;
    }
    let index = (thread.replay.step.load(Ordering::Relaxed) as usize).checked_sub(1)?;
    map::steps().get(index).map(|step| step.outcome)
}

/// Compares the kind of an atomic operation with the recorded one.
pub(crate) fn check_atomic(thread: &Thread, kind: u8, pc: u64, address: u64) {
    if !active() {
        // A lock of a deadlock's cycle that is built from atomics.
        return if map::head().is_some() {
            tried(thread, kind == AtomicKind::Update as u8)
        };
    }
    let matched = thread.replay.at_step.load(Ordering::Relaxed) != 0;
    let other = |expected: u8| expected != ANY_OUTCOME && expected != kind;
    if matched && outcome(thread).is_some_and(other) {
        diverge(thread, Tag::Atomic as u8, pc, address, reason::OUTCOME);
    }
}

/// A thread without further steps before the goal: it goes on to its target, if it has one, or stands still until the goal
/// is reached.
fn beyond(token: Token<'_>, thread: &'static Thread, slot: &ThreadSlot, kind: u8, pc: u64, object: u64) -> Decision {
    match (slot.target as usize).checked_sub(1).filter(|&target| !targets::is_gone(target)) {
        Some(target) if targets::is(target, |step| is(step, kind, pc, object)) => {
            targets::arrive(thread, slot, target, pc, object);
            Decision::Proceed
        }
        Some(_) => {
            if !matching::may_come(kind, object) {
                diverge(thread, kind, pc, object, reason::OTHER);
            }
            Decision::Proceed
        }
        // The library frees while it holds its own locks. A thread that has nothing left to do may end. If it uses an atomic
        // variable instead, it may be waiting in a loop for the steps of others.
        None if kind == Tag::Free as u8 || slot.complete != 0 => {
            if kind == Tag::Atomic as u8 {
                settle(thread);
            }
            Decision::Proceed
        }
        None => {
            settle(thread);
            let before_goal = || map::head().is_some_and(|head| head.mode.load(Ordering::Acquire) < mode::GUIDED);
            stand(thread, slot, place::IDLE, before_goal);
            hold_back(token, thread, kind, pc, object)
        }
    }
}

/// Waits until the step at `index` is next; `false` if the replay has ended in the meantime.
fn wait_for_turn(thread: &'static Thread, slot: &ThreadSlot, index: u32) -> bool {
    settle(thread);
    let Some(head) = map::head() else { return false };
    let before = head.mode.load(Ordering::Acquire);
    if head.next.load(Ordering::Acquire) != index {
        thread.replay.waits_for.store(index + 1, Ordering::Relaxed);
        let (seen, dozes) = (Cell::new(index), Cell::new(0));
        stand(thread, slot, place::WAITING, || {
            let next = head.next.load(Ordering::Acquire);
            dozes.set(if seen.replace(next) == next { dozes.get() + 1 } else { 0 });
            if before == mode::GUIDED && dozes.get() > DOZES {
                end(mode::FREE);
            }
            next != index && head.mode.load(Ordering::Acquire) == before
        });
        thread.replay.waits_for.store(0, Ordering::Relaxed);
    }
    head.mode.load(Ordering::Acquire) == before
}

/// The thread stands still without the token while `still` says so, and has the token again afterwards.
fn stand(thread: &'static Thread, slot: &ThreadSlot, how: u32, still: impl Fn() -> bool) {
    slot.place.store(how, Ordering::Release);
    let mut left = false;
    loop {
        let seen = thread.shared.turn.load(Ordering::Acquire);
        notice_abandonment();
        if !still() {
            break;
        }
        if !left {
            sched::leave(thread);
            left = true;
        }
        sys::futex_wait(&thread.shared.turn, seen, Some(DOZE));
    }
    if left {
        sched::regain(thread);
    }
    slot.place.store(place::RUNNING, Ordering::Release);
}

/// Ends the replay if the process that started it has given it up.
fn notice_abandonment() {
    let Some(head) = map::head() else { return };
    stuck::look(head);
    if head.mode.load(Ordering::Acquire) >= mode::FREE {
        ACTIVE.store(false, Ordering::Release);
    }
}

/// What the thread was doing as a step is done: it has come to its next one, stands still, blocks or ends. The watchdog calls this
/// too, when it takes the token from a thread that sleeps.
pub(crate) fn settle(thread: &Thread) {
    match thread.replay.in_step.swap(NO_STEP, Ordering::AcqRel) {
        IN_STEP => {
            let Some(head) = map::head() else { return };
            head.performing.store(0, Ordering::Relaxed);
            let next = head.next.fetch_add(1, Ordering::AcqRel) + 1;
            wake(|waiter| waiter.replay.waits_for.load(Ordering::Relaxed) == next + 1);
            targets::look();
        }
        IN_TARGET => targets::made(),
        _ => {}
    }
}

/// Makes the threads look again for which `which` holds.
fn wake(which: impl Fn(&Thread) -> bool) {
    for thread in threads::all().filter(|thread| which(thread)) {
        thread.shared.turn.fetch_add(1, Ordering::AcqRel);
        sys::futex_wake(&thread.shared.turn);
    }
}

/// From here on the program runs by itself.
fn end(how: u32) {
    if let Some(head) = map::head() {
        head.mode.fetch_max(how, Ordering::AcqRel);
    }
    ACTIVE.store(false, Ordering::Release);
    wake(|_| true);
}

/// The thread does something else than its next step.
pub(crate) fn diverge(thread: &Thread, kind: u8, pc: u64, address: u64, why: u32) {
    let Some(head) = map::head().filter(|_| active()) else { return };
    if head.mode.load(Ordering::Acquire) >= mode::REACHED {
        // The bad state has been reached.
        return end(mode::FREE);
    }
    let slot = slot(thread);
    head.got.lane.store(thread.replay.thread_slot.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    let expected = match thread.replay.in_step.load(Ordering::Relaxed) {
        IN_STEP if why != reason::OTHER => thread.replay.step.load(Ordering::Relaxed),
        _ => slot.map_or(0, |slot| slot.cursor.load(Ordering::Relaxed)),
    };
    head.got.expected.store(expected, Ordering::Relaxed);
    head.got.kind.store(kind.into(), Ordering::Relaxed);
    head.got.pc.store(pc, Ordering::Relaxed);
    head.got.address.store(address, Ordering::Relaxed);
    head.got.reason.store(why, Ordering::Release);
    end(mode::DIVERGED);
}

/// A lock that is built from atomics was not free: the step that was to take it would have to wait.
pub(crate) fn refused(thread: &Thread, tag: Tag, pc: u64, object: u64) {
    let index = (thread.replay.step.load(Ordering::Relaxed) as usize).wrapping_sub(1);
    let takes = |step: &Step| step.outcome == ANY_OUTCOME && map::is_object(step, object);
    if active() && map::steps().get(index).is_some_and(takes) {
        would_block(thread, tag, pc, object);
    }
}

/// Notes that a step would have to wait for something that has not happened.
pub(crate) fn would_block(thread: &Thread, tag: Tag, pc: u64, object: u64) {
    if active() && thread.replay.in_step.load(Ordering::Relaxed) == IN_STEP {
        diverge(thread, tag as u8, pc, object, reason::BLOCKS);
    }
}

/// The thread goes into a call that may block, or comes back from it.
pub(crate) fn in_call(thread: &Thread, inside: bool) {
    if let Some(slot) = slot(thread).filter(|_| active()) {
        slot.place.store(if inside { place::BLOCKING } else { place::RUNNING }, Ordering::Release);
    }
}

/// The thread ends.
pub(crate) fn ends(thread: &'static Thread) {
    settle(thread);
    let (Some(slot), Some(head)) = (slot(thread), map::head()) else { return };
    let cursor = slot.cursor.load(Ordering::Relaxed);
    if head.mode.load(Ordering::Acquire) == mode::FOLLOWING && (1..=head.leading).contains(&cursor) {
        if matching::need_not_come(cursor, head.leading) {
            pass_over(thread, slot, cursor, None, 0);
            settle(thread);
        } else {
            diverge(thread, Tag::End as u8, 0, 0, reason::ENDED);
        }
    }
    slot.place.store(place::ENDED, Ordering::Release);
}

/// The process is about to end: not before the goal is reached, if others can still reach it.
pub(crate) fn exits() {
    if let Some(thread) = tls::active().filter(|_| active())
        && let Some(slot) = slot(thread)
    {
        settle(thread);
        let before_goal = || map::head().is_some_and(|head| head.mode.load(Ordering::Acquire) < mode::GUIDED);
        stand(thread, slot, place::IDLE, before_goal);
    }
}
