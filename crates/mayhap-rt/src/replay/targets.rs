//! The end of a schedule: the targets' threads stand before their accesses, are shown, and go on.

use core::sync::atomic::Ordering;

use libc::{c_int, c_void};
use mayhap_wire::ring::Tag;
use mayhap_wire::schedule::{Head, Lane as ThreadSlot, STACK, Step, Target, VALUE, arrival, goal, mode, place, reason};

use super::{IN_TARGET, active, end, map, settle, slot, stand};
use crate::sys;
use crate::thread::Thread;

unsafe extern "C" {
    fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

/// Whether the target is a step for which `what` holds.
pub(super) fn is(target: usize, what: impl Fn(&Step) -> bool) -> bool {
    map::targets().get(target).is_some_and(|target| what(&target.step))
}

pub(super) fn is_gone(target: usize) -> bool {
    map::targets().get(target).is_none_or(|target| target.state.load(Ordering::Relaxed) >= arrival::GONE)
}

/// The thread stands before its target until it is let go.
pub(super) fn arrive(thread: &'static Thread, slot: &ThreadSlot, index: usize, pc: u64, address: u64) {
    let (Some(head), Some(target)) = (map::head(), map::targets().get(index)) else { return };
    settle(thread);
    show(target, pc, address);
    target.state.store(arrival::STANDS, Ordering::Release);
    look();
    let rank = match index as u32 {
        index if index == head.first => 0,
        index if index < head.first => index + 1,
        index => index,
    };
    stand(thread, slot, place::ARRIVED, || match head.mode.load(Ordering::Acquire) {
        mode::FOLLOWING => true,
        mode::REACHED => head.released.load(Ordering::Acquire) < rank,
        _ => false,
    });
    target.state.store(arrival::GONE, Ordering::Release);
    if head.mode.load(Ordering::Acquire) == mode::REACHED {
        thread.replay.in_step.store(IN_TARGET, Ordering::Relaxed);
    }
}

/// Stores the target's value and its thread's stack for the replaying process.
fn show(target: &Target, pc: u64, address: u64) {
    target.pc.store(pc, Ordering::Relaxed);
    target.address.store(address, Ordering::Relaxed);
    let mut value = [0u64; VALUE / 8];
    let bytes = usize::from(target.step.size).clamp(1, VALUE);
    if sys::peek(address, value.as_mut_ptr().cast(), bytes) {
        for (to, from) in target.value.iter().zip(value) {
            to.store(from, Ordering::Relaxed);
        }
        target.has_value.store(1, Ordering::Relaxed);
    }
    let mut frames = [core::ptr::null_mut(); STACK];
    let depth = trace(&mut frames);
    for (to, from) in target.stack.iter().zip(&frames[..depth]) {
        to.store(*from as u64, Ordering::Relaxed);
    }
    target.depth.store(depth as u32, Ordering::Relaxed);
}

/// Stores the return addresses of the calling thread, innermost first; returns how many.
pub(super) fn trace(frames: &mut [*mut c_void; STACK]) -> usize {
    // SAFETY: the library writes at most as many entries as there are.
    let depth = unsafe { backtrace(frames.as_mut_ptr(), STACK as c_int) };
    depth.clamp(0, STACK as c_int) as usize
}

/// Looks whether all steps are done and all targets have arrived.
pub(super) fn look() {
    let Some(head) = map::head().filter(|head| head.mode.load(Ordering::Acquire) == mode::FOLLOWING) else { return };
    let stand = |target: &Target| target.state.load(Ordering::Acquire) == arrival::STANDS;
    if head.next.load(Ordering::Acquire) == head.leading && map::targets().iter().all(stand) {
        if head.goal == goal::STAND && !meet() {
            head.got.reason.store(reason::ELSEWHERE, Ordering::Release);
            end(mode::DIVERGED);
        } else {
            reached(head);
        }
    }
}

/// The memory of a target: where it begins, and where it ends as far as that is known.
fn memory(target: &Target) -> (u64, u64) {
    let start = target.address.load(Ordering::Relaxed);
    let bytes = match (Tag::from_code(target.step.kind), target.step.size) {
        // SAFETY: the block is about to be freed, so it is one.
        (Some(Tag::Free), _) => unsafe { malloc_usable_size(start as *mut c_void) as u64 },
        // Longer ones are not measured.
        (_, u8::MAX) | (Some(Tag::Unmap), _) => u64::MAX,
        (_, bytes) => u64::from(bytes.max(1)),
    };
    (start, start.saturating_add(bytes))
}

/// Whether the targets are about the same memory. Names may be the same where addresses are not: the kernel hands an address out again.
fn meet() -> bool {
    let [first, second] = map::targets() else { return true };
    let (first, second) = (memory(first), memory(second));
    first.0 < second.1 && second.0 < first.1
}

fn reached(head: &Head) {
    head.mode.store(mode::REACHED, Ordering::Release);
    mayhap_replay_reached();
    if head.core != 0 {
        // SAFETY: the process is to end here, with a core.
        unsafe {
            libc::signal(libc::SIGABRT, libc::SIG_DFL);
            sys::call(libc::SYS_kill, [sys::process_id() as usize, libc::SIGABRT as usize, 0, 0, 0, 0]);
        }
        sys::sleep(1_000_000_000);
    }
    match head.goal {
        goal::STAND if !map::targets().is_empty() => super::wake(|_| true),
        goal::BLOCK => end(mode::FREE),
        _ => go_on(head),
    }
}

/// The goal has been reached and shown: the program runs on.
fn go_on(head: &Head) {
    if map::steps().len() > head.leading as usize {
        head.mode.store(mode::GUIDED, Ordering::Release);
        super::wake(|_| true);
    } else {
        end(mode::FREE);
    }
}

/// A debugger stops here: all targets' threads stand before their accesses.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn mayhap_replay_reached() {
    // SAFETY: does nothing, but must not be optimised away.
    unsafe { core::arch::asm!("nop", options(nomem, nostack, preserves_flags)) };
}

/// A target's access has been made: the next one, or the end.
pub(super) fn made() {
    let Some(head) = map::head() else { return };
    let released = head.released.fetch_add(1, Ordering::AcqRel) + 1;
    if released as usize >= map::targets().len() {
        go_on(head);
    } else {
        super::wake(|_| true);
    }
}

/// The thread is about to wait for a lock: a thread of a deadlock's cycle says so.
pub(crate) fn blocked(thread: &Thread) {
    change(thread, arrival::GONE, arrival::BLOCKED);
    change(thread, arrival::REFUSED, arrival::BLOCKED);
}

/// The thread got the lock that it waited for.
pub(crate) fn unblocked(thread: &Thread) {
    change(thread, arrival::BLOCKED, arrival::GOT_IT);
}

/// The thread tried to take a lock, and got it or not. Only its first try counts: a lock's own code changes the lock for other
/// reasons too.
pub(crate) fn tried(thread: &Thread, got_it: bool) {
    change(thread, arrival::GONE, if got_it { arrival::GOT_IT } else { arrival::REFUSED });
}

/// The thread sleeps in a raw futex call, or is back from it. If it was refused a lock and is still in the function that it
/// called then, it is the lock that it waits for.
pub(crate) fn asleep(thread: &Thread, asleep: bool) {
    if !asleep {
        return change(thread, arrival::BLOCKED, arrival::REFUSED);
    }
    let Some(target) = cycle(thread).filter(|target| target.state.load(Ordering::Relaxed) == arrival::REFUSED) else {
        return;
    };
    let mut frames = [core::ptr::null_mut(); STACK];
    let depth = trace(&mut frames);
    let depth_then = (target.depth.load(Ordering::Relaxed) as usize).min(STACK);
    let then = target.stack[..depth_then].iter().map(|frame| frame.load(Ordering::Relaxed));
    let pc = target.pc.load(Ordering::Relaxed);
    // The callers of the function that the lock's code was inlined into, or that it is.
    let callers = then.clone().skip_while(|&frame| frame != pc).skip(1).count();
    let same = frames[..depth].iter().rev().map(|frame| *frame as u64).zip(then.rev()).take(callers);
    if (1..depth).contains(&callers) && same.into_iter().all(|(now, then)| now == then) {
        change(thread, arrival::REFUSED, arrival::BLOCKED);
    }
}

/// The thread's target, once the threads of a deadlock's cycle have been let go.
fn cycle(thread: &Thread) -> Option<&'static Target> {
    map::head().filter(|head| head.goal == goal::BLOCK && !active())?;
    map::targets().get((slot(thread)?.target as usize).checked_sub(1)?)
}

fn change(thread: &Thread, from: u32, to: u32) {
    if let Some(target) = cycle(thread) {
        let _ = target.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}
