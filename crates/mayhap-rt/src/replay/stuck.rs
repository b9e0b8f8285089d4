//! Where a thread is that does not go on: what it waits for is nothing that the schedule knows.
//!
//! The process that watches the replay names the thread; a thread that stands still has it interrupted by a signal, and the stack that
//! the handler finds is the answer. The program's own handling of that signal is put back after that.

use core::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_void, siginfo_t, ucontext_t};
use mayhap_wire::schedule::{Head, STACK};

use super::{map, targets};
use crate::real::real;
use crate::{sys, threads};

/// What interrupts the thread. It does nothing to a program that does not expect it.
const SIGNAL: c_int = libc::SIGURG;
/// How long the answer may take, in milliseconds.
const PATIENCE: u32 = 300;

static ASKING: AtomicBool = AtomicBool::new(false);

mod libc_real {
    use super::*;
    real! {
        fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    }
}

/// Asks the thread that the watching process wants to know of, if there is one and no other thread has done so.
pub(super) fn look(head: &Head) {
    let asked = head.asked.load(Ordering::Acquire);
    if asked == 0 || ASKING.swap(true, Ordering::AcqRel) {
        return;
    }
    let is_it = |thread: &&'static crate::thread::Thread| thread.replay.thread_slot.load(Ordering::Relaxed) == asked;
    let Some(thread) = threads::all().find(is_it) else { return };
    // What looks at stacks is loaded here, not in the handler.
    targets::trace(&mut [core::ptr::null_mut(); STACK]);
    // SAFETY: all zeros are a valid action; the handler fits its flags.
    let old = unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = answer as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        let mut old: libc::sigaction = core::mem::zeroed();
        libc_real::sigaction(SIGNAL, &action, &mut old);
        old
    };
    let tid = thread.identity.tid.load(Ordering::Relaxed) as usize;
    // SAFETY: the signal has a handler.
    unsafe { sys::call(libc::SYS_tgkill, [sys::process_id() as usize, tid, SIGNAL as usize, 0, 0, 0]) };
    for _ in 0..PATIENCE {
        if head.answered.load(Ordering::Acquire) != 0 {
            break;
        }
        sys::sleep(1_000_000);
    }
    // SAFETY: what was there before.
    unsafe { libc_real::sigaction(SIGNAL, &raw const old, core::ptr::null_mut()) };
}

unsafe extern "C" fn answer(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    let Some(head) = map::head() else { return };
    // SAFETY: the kernel passes the context of what was interrupted.
    let here = unsafe { (*context.cast::<ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] } as u64;
    let mut frames = [core::ptr::null_mut(); STACK];
    let depth = targets::trace(&mut frames);
    // Above it lie the handler's own frames.
    let first = frames[..depth].iter().position(|frame| *frame as u64 == here).map_or(depth, |at| at + 1);
    head.stuck[0].store(here, Ordering::Relaxed);
    for (to, from) in head.stuck[1..].iter().zip(&frames[first..depth]) {
        to.store(*from as u64, Ordering::Relaxed);
    }
    head.answered.store((depth - first + 2).min(STACK) as u32, Ordering::Release);
}
