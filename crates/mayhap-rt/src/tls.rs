//! Thread-local words, each reached in two instructions: the thread's record, the caller of the last interposed function, and the stack pointer
//! with which it was called.
//!
//! Stable Rust would go through `__tls_get_addr` in a shared library. These words use the initial-exec model, which
//! libraries loaded at program start may.

use core::arch::{asm, global_asm};

use crate::thread::Thread;

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
    // The word after it.
    "mayhap_sp: .zero 8",
    ".text",
);

/// The mark of a thread that takes no part in recording any more.
pub(crate) const FINISHED: usize = 1;

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

/// The program counter that the last trampoline of this thread left: the caller of the interposed function.
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

/// The stack pointer that the last trampoline of this thread was called with, where the return address lies; 0 if there was none.
#[inline(always)]
pub(crate) fn stack() -> u64 {
    if !is_ready() {
        return 0;
    }
    let value: u64;
    // SAFETY: reads a thread-local word of this library.
    unsafe {
        asm!("mov {0}, qword ptr [rip + mayhap_pc@GOTTPOFF]", "mov {0}, qword ptr fs:[{0} + 8]",
            out(reg) value, options(nostack, readonly, preserves_flags));
    }
    value
}

/// What the last trampoline of this thread was called with does not matter: the program's functions are called from here.
pub(crate) fn forget_stack() {
    // SAFETY: writes a thread-local word of this library.
    unsafe {
        asm!("mov {0}, qword ptr [rip + mayhap_pc@GOTTPOFF]", "mov qword ptr fs:[{0} + 8], 0",
            out(reg) _, options(nostack, preserves_flags));
    }
}

/// The next interposed function of the calling thread counts as called from here.
pub(crate) fn set_caller(pc: u64) {
    // SAFETY: writes a thread-local word of this library.
    unsafe {
        asm!("mov {0}, qword ptr [rip + mayhap_pc@GOTTPOFF]", "mov qword ptr fs:[{0}], {1}",
            out(reg) _, in(reg) pc, options(nostack, preserves_flags));
    }
}

/// Exports functions under their C names, or in an archive under the names that the linker uses in their place. Each leaves
/// its caller's program counter for [`caller`] and the stack pointer for [`stack`], and jumps on.
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
                    "mov qword ptr fs:[r10 + 8], rsp",
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
                    "mov qword ptr fs:[r10 + 8], rsp",
                    "2: jmp {inner}",
                    inner = sym $inner,
                )
            }
        )*
    };
}
pub(crate) use exports;
