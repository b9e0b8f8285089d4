//! Signals that end the program: where it was then, and the misuse of memory that led there.

use core::sync::atomic::Ordering;

use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, c_int, c_void, siginfo_t, ucontext_t};
use mayhap_wire::judgement::{Judgement, STACK, error, usage};

use super::{Life, NULL_END, PLACE, blocks, is_active, judge, unmapped_life};
use crate::real::real;
use crate::{sys, tls};

mod libc_real {
    use super::*;
    real! {
        fn sigaction(signal: c_int, action: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    }
}

unsafe extern "C" {
    fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
}

/// What `abort` and uncaught exceptions send.
const ABORTS: c_int = SIGABRT;
/// Frames of the handler and of functions that end the program, above those of the program itself.
const ABOVE: usize = 16;

/// Learns of signals that end the program, until the program has a handler for them itself.
pub(super) fn watch() {
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, ABORTS] {
        // SAFETY: an action of zeros has no flags and an empty mask; the handler fits.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = ends as *const () as usize;
            // The program's own stack may be what is used up. A thread that aborts has one that is good enough.
            let stack = if signal == ABORTS { 0 } else { libc::SA_ONSTACK };
            action.sa_flags = libc::SA_SIGINFO | stack;
            libc_real::sigaction(signal, &raw const action, core::ptr::null_mut());
        }
    }
}

/// The program is about to end. It goes on to what would have happened without this handler.
unsafe extern "C" fn ends(signal: c_int, info: *mut siginfo_t, context: *mut ucontext_t) {
    // SAFETY: the kernel put both there, and the address is valid for a fault.
    let (address, interrupted, code) = unsafe {
        ((*info).si_addr() as u64, (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as u64, (*info).si_code)
    };
    // A call through a null pointer is at the return address that it left.
    let pc = if interrupted < NULL_END {
        // SAFETY: the call has just stored it there.
        unsafe { ((*context).uc_mcontext.gregs[libc::REG_RSP as usize] as *const u64).read().wrapping_sub(1) }
    } else {
        interrupted
    };
    // The thread went to code that is not there, of which nothing can be read.
    let is_code = is_fault(signal, code) && address == pc;
    let place = if is_code { pc + 1 } else { after(pc) };
    if is_fault(signal, code) {
        if let Some(life) = unmapped_life(address) {
            let usage = if is_code { usage::CODE } else { usage::UNKNOWN };
            judge(error::USE_AFTER_FREE, usage, (address, 0), life, place);
        } else if address < NULL_END {
            judge(error::NULL, usage::UNKNOWN, (address, 0), Life::default(), place);
        }
    }
    // Another process, or another thread, can send one too: then this thread is not what ends the program.
    if code > 0 || signal == ABORTS && code == libc::SI_TKILL {
        note_end(signal, interrupted, place);
    }
    // SAFETY: the default action. A fault then comes again; a signal that was sent is sent again, and comes when this handler has returned.
    unsafe {
        let action: libc::sigaction = core::mem::zeroed();
        libc_real::sigaction(signal, &raw const action, core::ptr::null_mut());
        if code <= 0 {
            let (process, thread) = (sys::process_id() as usize, sys::thread_id() as usize);
            sys::call(libc::SYS_tgkill, [process, thread, signal as usize, 0, 0, 0]);
        }
    }
}

/// Whether the kernel says at which address the thread faulted. It does not of a signal that was sent, and of addresses that no memory can
/// have, such as the bytes of freed blocks taken for a pointer.
fn is_fault(signal: c_int, code: c_int) -> bool {
    const BY_KERNEL: c_int = 0x80;
    signal == SIGSEGV && code > 0 && code != BY_KERNEL
}

/// Describes where the thread is that a signal came to, if it is the first: `place` is the address after its instruction.
fn note_end(signal: c_int, interrupted: u64, place: u64) {
    // SAFETY: the mapping stays.
    let Some(judgement) = (unsafe { PLACE.load(Ordering::Acquire).as_ref() }).filter(|_| is_active()) else { return };
    if judgement.is_ending.swap(1, Ordering::AcqRel) != 0 {
        return;
    }
    if signal == ABORTS {
        note_calls(judgement, interrupted);
    } else {
        blocks::note_stack(&judgement.crashed, place, true);
    }
    judgement.signal.store(signal as u32, Ordering::Release);
}

/// Stores the calls on the stack below the instruction that a signal interrupted. What the runtime keeps of them lacks the innermost line, in
/// which the program calls what ends it.
fn note_calls(judgement: &Judgement, interrupted: u64) {
    let mut frames = [core::ptr::null_mut::<c_void>(); STACK + ABOVE];
    // SAFETY: the library writes at most as many entries as there are.
    let depth = unsafe { backtrace(frames.as_mut_ptr(), frames.len() as c_int) }.max(0) as usize;
    let frames = &frames[..depth.min(frames.len())];
    let own = frames.iter().position(|frame| *frame as u64 == interrupted).map_or(frames, |at| &frames[at..]);
    let stack = &judgement.crashed;
    blocks::note_thread(stack, tls::active());
    for (to, from) in stack.frames.iter().zip(own) {
        to.store(*from as u64, Ordering::Relaxed);
    }
    stack.depth.store(own.len().min(STACK) as u32, Ordering::Relaxed);
}

/// The address after the instruction that says best where the access at `pc` is. Its hook, if it is called just before, has the line that the
/// access has in the source; the compiler may have moved the access itself.
fn after(pc: u64) -> u64 {
    const CALL: [u8; 2] = [0xff, 0x15];
    const LENGTH: u64 = 6;
    if pc % 4096 < LENGTH {
        return pc + 1;
    }
    // SAFETY: the page is one that the thread runs.
    let before = unsafe { ((pc - LENGTH) as *const [u8; 2]).read() };
    if before == CALL { pc } else { pc + 1 }
}
