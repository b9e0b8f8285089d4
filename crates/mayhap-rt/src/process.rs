//! Forks, `exec` and the end of the process.

use core::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, c_uint, c_void};
use mayhap_wire::channel::doubt;
use mayhap_wire::ring::{Tag, state};

use crate::channels::{self, file_locks};
use crate::hook::Hook;
use crate::real::{real, real_address};
use crate::tls::{self, exports};
use crate::{calls, cancelling, conditions, hook, inline_hooks, judge, replay, ring, sched, signals, sys};

mod libc_real {
    use super::*;
    real! {
        fn _exit(code: c_int) -> ();
        fn abort() -> ();
        fn __assert_fail(what: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) -> ();
    }
}

exports! {
    _exit => exit_at_once;
    _Exit => exit_at_once;
    abort => give_up;
    __assert_fail => fail;
}

/// Prepares for forks: a child shares the ring's memory but must not write there.
pub(crate) fn prepare() {
    // SAFETY: the handlers fit; the library keeps them.
    unsafe { libc::pthread_atfork(Some(forks), Some(forked), Some(in_child)) };
}

/// What the calling thread has done may reach other threads through the child.
extern "C" fn forks() {
    channels::shares_descriptors();
    if let Some(hook) = Hook::enter_outermost() {
        hook.record(Tag::Doubt, 0, &[u64::from(doubt::PROCESS), doubt::RELEASES]);
    }
}

extern "C" fn forked() {
    if hook::is_recording() {
        ring::set_state(state::FORKED);
    }
}

extern "C" fn in_child() {
    hook::stop();
    sched::forget();
    replay::forget();
    judge::forget();
    conditions::forget();
    file_locks::forget();
    inline_hooks::forget();
    tls::finish();
}

/// Runs at the end of `exit`, after all other handlers.
pub(crate) extern "C" fn finished() {
    replay::exits();
    if hook::is_recording() {
        ring::set_state(state::EXITED);
    }
}

/// Notes what becomes of the process that writes, but not of a child of `vfork`, which runs in its memory.
fn note_fate(fate: u32) {
    if hook::is_recording() && is_writer() {
        ring::set_state(fate);
    }
}

fn is_writer() -> bool {
    ring::header().is_some_and(|header| header.writer.0.load(Ordering::Relaxed) == sys::process_id())
}

unsafe extern "C" fn exit_at_once(code: c_int) {
    if is_writer() {
        replay::exits();
    }
    note_fate(state::EXITED_AT_ONCE);
    // SAFETY: no precondition.
    unsafe { libc_real::_exit(code) }
}

unsafe extern "C" fn give_up() {
    if is_writer() {
        replay::exits();
    }
    // SAFETY: no precondition.
    unsafe { libc_real::abort() }
}

/// An assertion of the program does not hold.
unsafe extern "C" fn fail(what: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) {
    if is_writer() {
        replay::exits();
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc_real::__assert_fail(what, file, line, function) }
}

/// The `exec` family, some with variable arguments: notes the call, then continues as if the runtime were not there. A call that
/// fails leaves the mark; a program that then ends otherwise notes that too.
macro_rules! execs {
    ($($name:ident $found:ident;)*) => {
        $(
            extern "C" fn $found() -> *mut c_void {
                note_fate(state::EXECUTED);
                real_address!($name)
            }

            #[unsafe(naked)]
            #[cfg_attr(not(feature = "archive"), unsafe(no_mangle))]
            #[cfg_attr(feature = "archive", unsafe(export_name = concat!("__wrap_", stringify!($name))))]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                    "call {found}",
                    "mov r11, rax",
                    "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                    "jmp r11",
                    found = sym $found,
                )
            }
        )*
    };
}

execs! {
    execl find_execl;
    execlp find_execlp;
    execle find_execle;
    execv find_execv;
    execve find_execve;
    execvp find_execvp;
    execvpe find_execvpe;
    fexecve find_fexecve;
}

/// Whether the program has prepared places to jump to.
static MAY_JUMP: AtomicBool = AtomicBool::new(false);

/// Whether signal handlers may leave by jumping.
#[inline]
pub(crate) fn may_jump() -> bool {
    MAY_JUMP.load(Ordering::Relaxed)
}

/// Functions of the C library that look at where they were called from or never return there: does its own part, then
/// continues as if the runtime were not there.
macro_rules! passing {
    ($($name:ident $found:ident $part:expr;)*) => {
        $(
            extern "C" fn $found(argument: *const u64) -> *mut c_void {
                $part(argument);
                real_address!($name)
            }

            #[unsafe(naked)]
            #[cfg_attr(not(feature = "archive"), unsafe(no_mangle))]
            #[cfg_attr(feature = "archive", unsafe(export_name = concat!("__wrap_", stringify!($name))))]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "push rdi", "push rsi", "push rdi",
                    "call {found}",
                    "pop rdi", "pop rsi", "pop rdi",
                    "jmp rax",
                    found = sym $found,
                )
            }
        )*
    };
}

/// A signal handler that leaves by `siglongjmp` never returns to the hook it interrupted: the thread is outside from here on.
fn jump_away(to: *const u64) {
    if let Some(thread) = tls::active() {
        hook::abandon(thread);
        signals::abandon(thread);
        // SAFETY: what a jump is given is eight words that `setjmp` has filled.
        calls::jump(thread, unsafe { revealed(to.add(STACK_POINTER).read()) });
    }
}

/// Which of the words that `setjmp` fills is the stack pointer.
const STACK_POINTER: usize = 6;

/// An address as it was before the C library encrypted it against overwriting.
fn revealed(hidden: u64) -> u64 {
    let secret: u64;
    // SAFETY: reads a word of the thread's control block, where the C library keeps what it hides addresses with.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr fs:[0x30]", out(reg) secret, options(nostack, readonly, preserves_flags))
    };
    hidden.rotate_right(17) ^ secret
}

fn prepare_to_jump(_: *const u64) {
    MAY_JUMP.store(true, Ordering::Relaxed);
}

/// A thread that may be cancelled anywhere leaves as suddenly as one that jumps.
fn may_be_cancelled(kind: *const u64) {
    prepare_to_jump(kind);
    cancelling::chosen(kind);
}

passing! {
    longjmp find_longjmp jump_away;
    _longjmp find_longjmp_plain jump_away;
    siglongjmp find_siglongjmp jump_away;
    __longjmp_chk find_longjmp_checked jump_away;
    setjmp find_setjmp prepare_to_jump;
    _setjmp find_setjmp_plain prepare_to_jump;
    __sigsetjmp find_sigsetjmp prepare_to_jump;
    pthread_setcanceltype find_setcanceltype may_be_cancelled;
}
