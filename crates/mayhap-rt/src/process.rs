//! What becomes of the process: forks, `exec`, its end.

use libc::{c_int, c_void};
use mayhap_wire::ring::state;

use crate::real::{Real, real};
use crate::tls::{self, exports};
use crate::{hook, replay, ring, sched};

mod libc_real {
    use super::*;
    real! {
        fn _exit(code: c_int) -> ();
    }
}

exports! {
    _exit => exit_at_once;
    _Exit => exit_at_once;
}

/// Prepares for forks: a child shares the ring's memory but must not write there.
pub(crate) fn prepare() {
    // SAFETY: the handlers fit; the library keeps them.
    unsafe { libc::pthread_atfork(None, Some(forked), Some(in_child)) };
}

extern "C" fn forked() {
    if hook::is_recording() {
        ring::tell(state::FORKED);
    }
}

extern "C" fn in_child() {
    hook::stop();
    sched::forget();
    replay::forget();
    tls::finish();
}

/// The end of `exit`, when all other handlers have run.
pub(crate) extern "C" fn finished() {
    if hook::is_recording() {
        ring::tell(state::EXITED);
    }
}

unsafe extern "C" fn exit_at_once(code: c_int) {
    if hook::is_recording() {
        ring::tell(state::EXITED_AT_ONCE);
    }
    // SAFETY: no precondition.
    unsafe { libc_real::_exit(code) }
}

/// The `exec` family, some with variable arguments: tells, then goes on as if nothing had been in between. One that fails
/// leaves the mark behind; a program that then ends otherwise says so too.
macro_rules! execs {
    ($($name:ident $found:ident $text:literal;)*) => {
        $(
            extern "C" fn $found() -> *mut c_void {
                static REAL: Real = Real::new($text);
                if hook::is_recording() {
                    ring::tell(state::EXECUTED);
                }
                REAL.get()
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
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
    execl find_execl c"execl";
    execlp find_execlp c"execlp";
    execle find_execle c"execle";
    execv find_execv c"execv";
    execve find_execve c"execve";
    execvp find_execvp c"execvp";
    execvpe find_execvpe c"execvpe";
    fexecve find_fexecve c"fexecve";
}
