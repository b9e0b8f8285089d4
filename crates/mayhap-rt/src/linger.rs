//! When `main` returns or `exit` is called, threads that are still at work get a chance: what they would have done is then in the
//! recording, too. The wait is over as soon as every other thread has ended or waits for something without a limit of time.

use core::sync::atomic::{AtomicU32, Ordering};

use libc::{c_char, c_int, c_void};

use crate::hook::{self, Hook};
use crate::real::real;
use crate::tls::exports;
use crate::{ring, sched, sys, threads};

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Handler = Option<unsafe extern "C-unwind" fn()>;

mod libc_real {
    use super::*;
    real! {
        fn exit(code: c_int) -> ();
    }
}

exports! {
    exit => leave;
}

/// How long to wait at most, in milliseconds.
static LIMIT: AtomicU32 = AtomicU32::new(0);
/// Between two looks, in nanoseconds.
const PAUSE: i64 = 2_000_000;
/// How often in a row nothing may have gone on.
const QUIET: u32 = 3;

/// Threads get so many milliseconds.
pub(crate) fn configure(limit: u32) {
    LIMIT.store(limit, Ordering::Relaxed);
}

/// Waits, without the token, for threads that are still at work.
fn linger() {
    let limit = LIMIT.load(Ordering::Relaxed);
    if limit == 0 || !hook::is_recording() || !threads::others_live() {
        return;
    }
    let Some(mut hook) = Hook::enter_outermost() else { return };
    hook.blocking(|| {
        let (mut quiet, mut seen) = (0, ring::head());
        for _ in 0..u64::from(limit) * 1_000_000 / PAUSE as u64 {
            pause();
            let now = ring::head();
            let rests = now == seen && sched::WAITING.load(Ordering::Relaxed) == 0 && threads::others_rest();
            quiet = if rests { quiet + 1 } else { 0 };
            seen = now;
            if quiet == QUIET || !threads::others_live() {
                break;
            }
        }
    });
}

fn pause() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: PAUSE };
    // SAFETY: the kernel reads the time.
    unsafe { sys::call(libc::SYS_nanosleep, [(&raw const time) as usize, 0, 0, 0, 0, 0]) };
}

unsafe extern "C-unwind" fn leave(code: c_int) {
    linger();
    // SAFETY: the caller's own argument.
    unsafe { libc_real::exit(code) }
}

/// The beginning of a program that is linked dynamically: the C library calls `main` and then `exit`, which is its own.
#[cfg(not(feature = "archive"))]
mod beginning {
    use super::*;
    use core::sync::atomic::AtomicUsize;

    mod libc_real {
        use super::*;
        real! {
            fn __libc_start_main(main: Main, count: c_int, arguments: *mut *mut c_char, init: Handler, fini: Handler,
                loader: Handler, stack: *mut c_void) -> c_int;
        }
    }

    static MAIN: AtomicUsize = AtomicUsize::new(0);

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn __libc_start_main(
        main: Main,
        count: c_int,
        arguments: *mut *mut c_char,
        init: Handler,
        fini: Handler,
        loader: Handler,
        stack: *mut c_void,
    ) -> c_int {
        MAIN.store(main as usize, Ordering::Relaxed);
        // SAFETY: the caller's own arguments, and a function of the same type.
        unsafe { libc_real::__libc_start_main(run, count, arguments, init, fini, loader, stack) }
    }

    unsafe extern "C-unwind" fn run(count: c_int, arguments: *mut *mut c_char, variables: *mut *mut c_char) -> c_int {
        // SAFETY: the program's own function, with the arguments that it is to get.
        let code = unsafe {
            let main: Main = core::mem::transmute(MAIN.load(Ordering::Relaxed));
            main(count, arguments, variables)
        };
        linger();
        code
    }
}
