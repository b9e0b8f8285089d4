//! What each thread knows of itself: two thread-local words, reached in two instructions.
//!
//! Stable Rust would go through `__tls_get_addr` in a shared library. These words use the initial-exec model, which
//! libraries loaded at program start may.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use libc::c_void;

use crate::calls::Calls;
use crate::signals::Kept;

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl mayhap_self",
    ".hidden mayhap_self",
    ".type mayhap_self, @object",
    ".size mayhap_self, 8",
    "mayhap_self: .zero 8",
    ".globl mayhap_pc",
    ".hidden mayhap_pc",
    ".type mayhap_pc, @object",
    ".size mayhap_pc, 8",
    "mayhap_pc: .zero 8",
    ".text",
);

/// The mark of a thread that takes no part in recording any more.
pub(crate) const FINISHED: usize = 1;

/// What the runtime keeps of a thread. The thread itself and, where a field says so, others under the scheduler's lock.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// Hooks left in this slice; at 0 the thread asks the scheduler. Counts down at every hook, so it also shows progress.
    pub(crate) left: AtomicI64,
    /// Slices begun.
    pub(crate) slices: AtomicU32,
    /// Number in the scheduler: the thread's number in the recording plus 1.
    pub(crate) owner: AtomicU32,
    /// Inside a hook.
    pub(crate) busy: AtomicU32,
    /// The basic block that was entered last, until the next record or access says so; 0: none.
    pub(crate) branch: AtomicU64,
    /// Where the ring's head is right behind a write of memory that was announced, see [`crate::access`].
    pub(crate) announced: AtomicU64,
    /// Where the ring's head is when the slice ends.
    pub(crate) slice_end: AtomicU64,
    /// Not 0: all accesses that were announced are done, and the thread is in code that has no hooks.
    pub(crate) outside: AtomicU32,
    /// Signal handlers that it is in, one inside the other, and how many more hooks there keep the token, see [`crate::signals`].
    pub(crate) handlers: AtomicU32,
    pub(crate) patience: AtomicU32,
    /// Not 0: the ring has yet to be told what functions the thread is in (see [`crate::calls`]).
    pub(crate) untold: AtomicU32,
    /// A read, how often it came in a row before, and where the ring's head is right behind it.
    pub(crate) repeat: AtomicU64,
    pub(crate) repeats: AtomicU32,
    pub(crate) repeat_at: AtomicU64,
    /// The kernel's number.
    pub(crate) tid: AtomicU32,
    /// Under the scheduler's lock: set when the token is handed to this thread.
    pub(crate) granted: AtomicU32,
    /// Under the scheduler's lock: priority of the PCT schedule.
    pub(crate) priority: AtomicU32,
    /// Under the scheduler's lock: the next in the queue.
    pub(crate) next: AtomicPtr<Thread>,
    /// Under the token: the next in the list of all threads.
    pub(crate) all_next: AtomicPtr<Thread>,
    /// Under the token: see [`crate::threads`].
    pub(crate) pthread: AtomicUsize,
    pub(crate) life: AtomicU32,
    pub(crate) rounds: AtomicU32,
    pub(crate) start: AtomicUsize,
    pub(crate) argument: AtomicPtr<c_void>,
    /// In a replay, see [`crate::replay`]: the thread's lane plus 1 and how many children it has created; whether it is in a
    /// step, which one (plus 1), and whether the hook under way is that step; what the hook under way was taken for; the
    /// step it waits for (plus 1), and a word that counts calls to look again; the condition it waits on, and whether
    /// that was notified.
    pub(crate) lane: AtomicU32,
    pub(crate) children: AtomicU32,
    pub(crate) in_step: AtomicU32,
    pub(crate) step: AtomicU32,
    pub(crate) at_step: AtomicU32,
    pub(crate) gated: AtomicU32,
    pub(crate) waits_for: AtomicU32,
    pub(crate) turn: AtomicU32,
    pub(crate) waits_on: AtomicUsize,
    pub(crate) notified: AtomicU32,
    /// The signals to block once the thread has its record, see [`crate::threads`].
    pub(crate) mask: AtomicU64,
    /// The innermost `pthread_once` under way, see [`crate::waits`].
    pub(crate) once: AtomicPtr<c_void>,
    /// The word that the last raw futex call waited on, see [`crate::rust`].
    pub(crate) futex: AtomicU64,
    /// The OpenMP team that it is in, and the one whose threads it is starting, see [`crate::openmp`].
    pub(crate) team: AtomicPtr<c_void>,
    pub(crate) starts: AtomicPtr<c_void>,
    /// Signals that wait for the end of the hook under way.
    pub(crate) kept: Kept,
    /// The functions that it is in.
    pub(crate) calls: Calls,
    /// In a function of Rust's library that does its work by means of others that are stood in for, see [`crate::rust`].
    pub(crate) inside: AtomicU32,
}

/// Thread-local words can be used. The C library's start-up code calls functions that the runtime stands in front of
/// before that, in programs linked statically.
#[cfg(feature = "archive")]
#[unsafe(no_mangle)]
static mayhap_ready: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// From here on thread-local words can be used.
pub(crate) fn ready() {
    #[cfg(feature = "archive")]
    mayhap_ready.store(true, core::sync::atomic::Ordering::Release);
}

#[inline(always)]
fn is_ready() -> bool {
    #[cfg(feature = "archive")]
    return mayhap_ready.load(core::sync::atomic::Ordering::Relaxed);
    #[cfg(not(feature = "archive"))]
    true
}

/// The calling thread's own record: null before the runtime has seen it, never null but not usable once it has finished.
#[inline(always)]
pub(crate) fn current() -> *mut Thread {
    if !is_ready() {
        return FINISHED as *mut Thread;
    }
    let value: *mut Thread;
    // SAFETY: reads a thread-local word of this library; the loader resolved its offset.
    unsafe {
        asm!("mov {0}, qword ptr [rip + mayhap_self@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]",
            out(reg) value, options(nostack, readonly, preserves_flags));
    }
    value
}

/// The calling thread's record, if it takes part.
#[inline(always)]
pub(crate) fn active() -> Option<&'static Thread> {
    let pointer = current();
    // SAFETY: records live in memory that is never given back.
    if pointer as usize > FINISHED { Some(unsafe { &*pointer }) } else { None }
}

/// The runtime has not seen the calling thread yet.
pub(crate) fn is_new() -> bool {
    current().is_null()
}

/// Gives the calling thread its record.
pub(crate) fn set(thread: *const Thread) {
    // SAFETY: writes a thread-local word of this library.
    unsafe {
        asm!("mov {0}, qword ptr [rip + mayhap_self@GOTTPOFF]", "mov qword ptr fs:[{0}], {1}",
            out(reg) _, in(reg) thread, options(nostack, preserves_flags));
    }
}

/// From here on the calling thread takes no part in recording.
pub(crate) fn finish() {
    set(FINISHED as *const Thread);
}

/// The program counter that the last trampoline of this thread left behind: the caller of the interposed function.
#[inline(always)]
pub(crate) fn caller() -> u64 {
    if !is_ready() {
        return 0;
    }
    let value: u64;
    // SAFETY: reads a thread-local word of this library.
    unsafe {
        asm!("mov {0}, qword ptr [rip + mayhap_pc@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]",
            out(reg) value, options(nostack, readonly, preserves_flags));
    }
    value
}

/// Exports functions under their C names, or in an archive under the names that the linker uses in their place. Each leaves
/// its caller's program counter behind for [`caller`] and jumps on.
macro_rules! exports {
    ($($name:ident => $inner:expr;)*) => {
        $(
            #[cfg(not(feature = "archive"))]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "mov r11, qword ptr [rsp]",
                    "mov r10, qword ptr [rip + mayhap_pc@GOTTPOFF]",
                    "mov qword ptr fs:[r10], r11",
                    "jmp {inner}",
                    inner = sym $inner,
                )
            }

            #[cfg(feature = "archive")]
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("__wrap_", stringify!($name)))]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "cmp byte ptr [rip + mayhap_ready], 0",
                    "je 2f",
                    "mov r11, qword ptr [rsp]",
                    "mov r10, qword ptr [rip + mayhap_pc@GOTTPOFF]",
                    "mov qword ptr fs:[r10], r11",
                    "2: jmp {inner}",
                    inner = sym $inner,
                )
            }
        )*
    };
}
pub(crate) use exports;
