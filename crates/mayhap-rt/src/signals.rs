//! Signal handlers. Each is called through [`arrive`], which mends an interrupted hook ([`crate::outlined_hooks`],
//! [`crate::inline_hooks`]) and separates the handler's state from the interrupted code's.
//!
//! In a handler that interrupts any other hook, hooks would do nothing. So the handler waits for the hook's end: the signal is
//! kept and sent again by [`deliver`], unless it reports a fault of the thread itself, or is one of those that queue.
//!
//! A signal may come between a hook and the access that it announced. Were the token to pass in the handler, the access would come late.
//! So it does not for the first [`PATIENCE`] hooks of a handler; one that waits for another thread gets there soon enough.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, sigaction as Action, siginfo_t, ucontext_t};

use crate::channels::doubts;
use crate::channels::results::wrote_all;
use crate::channels::settings::{Setting, asks, sets};
use crate::channels::signals as sent;
use crate::inline_hooks::{self, Registers};
use crate::real::real;
use crate::thread::Thread;
use crate::tls::{self, exports};
use crate::{fast_path, outlined_hooks, protocol, replay, sys};

/// How many hooks of a handler keep the token, whatever is left of the slice.
const PATIENCE: u32 = 1000;
/// All signal numbers are smaller.
const SIGNALS: usize = 65;

mod libc_real {
    use super::*;
    real! {
        fn sigaction(signal: c_int, action: *const Action, old: *mut Action) -> c_int;
        fn signal(signal: c_int, handler: usize) -> usize;
        fn __sysv_signal(signal: c_int, handler: usize) -> usize;
    }
}

exports! {
    sigaction => set_action;
    __sigaction => set_action;
    signal => set_handler;
    bsd_signal => set_handler;
    ssignal => set_handler;
    sysv_signal => set_handler_once;
    __sysv_signal => set_handler_once;
}

/// The program's own handler of each signal, where it has one that is called through [`arrive`].
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

/// The program has handlers of signals.
pub(crate) fn has_handlers() -> bool {
    HANDLERS.iter().any(|handler| handler.load(Ordering::Relaxed) != 0)
}

/// Calls that the handler of each signal interrupts begin anew.
static RESTARTS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];

fn set_restarts(signal: c_int, restarts: bool) {
    if let Some(entry) = RESTARTS.get(signal as usize) {
        entry.store(restarts.into(), Ordering::Relaxed);
    }
}

/// From here on handlers are noted that end the call the thread is in.
pub(crate) fn watch_interruptions(thread: &Thread) {
    thread.own.interrupted.store(0, Ordering::Relaxed);
}

/// A handler has come since that ends the call.
pub(crate) fn ends_calls(thread: &Thread) -> bool {
    thread.own.interrupted.load(Ordering::Relaxed) != 0
}

/// Handlers up to this number are no functions.
const LAST_NUMBER: usize = 2;

fn ours() -> usize {
    arrive as *const () as usize
}

/// Has `set` install [`arrive`] instead of a handler; returns the previous handler.
fn exchange(signal: c_int, handler: usize, set: impl FnOnce(usize) -> usize) -> usize {
    let is_function = handler > LAST_NUMBER && handler != libc::SIG_ERR;
    let Some(own) = HANDLERS.get(signal as usize).filter(|_| is_function) else {
        return revealed(signal, set(handler));
    };
    let before = own.swap(handler, Ordering::AcqRel);
    match set(ours()) {
        libc::SIG_ERR => {
            own.store(before, Ordering::Release);
            libc::SIG_ERR
        }
        old if old == ours() => before,
        old => old,
    }
}

/// The handler that the program believes to have set.
fn revealed(signal: c_int, handler: usize) -> usize {
    match HANDLERS.get(signal as usize) {
        Some(own) if handler == ours() => own.load(Ordering::Acquire),
        _ => handler,
    }
}

unsafe extern "C-unwind" fn set_action(signal: c_int, action: *const Action, old: *mut Action) -> c_int {
    let pc = tls::caller();
    // SAFETY: as the caller vouches, both are null or can be used.
    unsafe {
        let Some(action) = action.as_ref() else {
            let result = asks(Setting::Action(signal), pc, || libc_real::sigaction(signal, action, old));
            if let Some(old) = old.as_mut().filter(|_| result == 0) {
                old.sa_sigaction = revealed(signal, old.sa_sigaction);
                wrote_all(pc, old);
            }
            return result;
        };
        sets(Setting::Action(signal), pc);
        set_restarts(signal, action.sa_flags & libc::SA_RESTART != 0);
        let mut before: Action = core::mem::zeroed();
        let mut result = 0;
        let handler = exchange(signal, action.sa_sigaction, |handler| {
            let changed = Action { sa_sigaction: handler, ..*action };
            result = libc_real::sigaction(signal, &raw const changed, &raw mut before);
            if result == 0 { before.sa_sigaction } else { libc::SIG_ERR }
        });
        if let Some(old) = old.as_mut().filter(|_| result == 0) {
            *old = Action { sa_sigaction: handler, ..before };
            wrote_all(pc, old);
            asks(Setting::Action(signal), pc, || ());
        }
        result
    }
}

unsafe extern "C-unwind" fn set_handler(signal: c_int, handler: usize) -> usize {
    sets(Setting::Action(signal), tls::caller());
    set_restarts(signal, true);
    // SAFETY: as the caller vouches.
    exchange(signal, handler, |handler| unsafe { libc_real::signal(signal, handler) })
}

unsafe extern "C-unwind" fn set_handler_once(signal: c_int, handler: usize) -> usize {
    sets(Setting::Action(signal), tls::caller());
    set_restarts(signal, false);
    // SAFETY: as the caller vouches.
    exchange(signal, handler, |handler| unsafe { libc_real::__sysv_signal(signal, handler) })
}

type Handler = unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut ucontext_t);

/// The handler that the kernel calls. It gets all three arguments even where the program's handler takes one.
unsafe extern "C-unwind" fn arrive(signal: c_int, info: *mut siginfo_t, context: *mut ucontext_t) {
    let Some(handler) = HANDLERS.get(signal as usize).map(|own| own.load(Ordering::Acquire)) else { return };
    // SAFETY: only functions are kept there.
    let handler: Handler = unsafe { core::mem::transmute(handler) };
    let Some(thread) = tls::active() else {
        // SAFETY: as the kernel would.
        return unsafe { handler(signal, info, context) };
    };
    // SAFETY: the kernel put it there.
    if thread.own.busy.load(Ordering::Relaxed) != 0 && unsafe { keep(thread, signal, info.cast()) } {
        return;
    }
    // SAFETY: the context is the interrupted thread's, and stays until the handler returns.
    unsafe { mend(&mut *context) };
    let Some(words) = fast_path::words() else {
        // SAFETY: as the kernel would.
        return unsafe { handler(signal, info, context) };
    };
    let (pointer, handlers) = (fast_path::own_pointer(), thread.own.handlers.load(Ordering::Relaxed));
    let outside = protocol::handler_begins(words, thread.observed(), pointer);
    thread.own.handlers.store(handlers + 1, Ordering::Relaxed);
    // What the interrupted code announced may not be done yet.
    thread.values.forget();
    thread.own.patience.store(PATIENCE, Ordering::Relaxed);
    if RESTARTS.get(signal as usize).is_none_or(|restarts| restarts.load(Ordering::Relaxed) == 0) {
        thread.own.interrupted.store(1, Ordering::Relaxed);
    }
    sent::arrived(signal, handler as *const () as usize);
    // SAFETY: as the kernel would.
    unsafe { handler(signal, info, context) };
    thread.own.handlers.store(handlers, Ordering::Relaxed);
    protocol::handler_ends(words, thread.observed(), pointer, outside);
    if matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
        // What the thread tries again may depend on what another one has mapped or allowed meanwhile.
        doubts(handler as *const () as u64 + 1);
    }
}

/// Signals that came while the thread was in a hook.
pub(crate) struct Kept {
    /// Whether there are any.
    any: AtomicU32,
    /// The number of each, 0 for none, and the kernel's information about it.
    places: [(AtomicU32, [AtomicU64; WORDS]); KEPT],
}

/// How many different signals are kept in one hook.
const KEPT: usize = 4;
const WORDS: usize = size_of::<siginfo_t>() / 8;
/// Signals from this number on queue.
const QUEUES: c_int = 32;

/// Keeps a signal until the hook ends, if it can wait.
///
/// # Safety
/// The thread is the calling one, and `info` points to the kernel's information.
unsafe fn keep(thread: &Thread, signal: c_int, info: *const u64) -> bool {
    use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    let at_fault = [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS].contains(&signal);
    if at_fault || signal >= QUEUES || replay::active() {
        return false;
    }
    for (number, words) in &thread.kept.places {
        // Another signal may interrupt this.
        match number.compare_exchange(0, signal as u32, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {}
            // The same signal again is delivered once.
            Err(other) if other == signal as u32 => return true,
            Err(_) => continue,
        }
        for (nth, word) in words.iter().enumerate() {
            // SAFETY: as the caller vouches.
            word.store(unsafe { info.add(nth).read() }, Ordering::Relaxed);
        }
        thread.kept.any.store(1, Ordering::Relaxed);
        return true;
    }
    false
}

/// Delivers the signals that came during the hook, which has ended.
#[inline(always)]
pub(crate) fn deliver(thread: &Thread) {
    if thread.kept.any.load(Ordering::Relaxed) != 0 {
        deliver_now(thread);
    }
}

/// Delivers the last signals of a thread that ends. A handler that ran after the end would wait for the token, and a thread that joins
/// this one may have it.
pub(crate) fn deliver_last(thread: &Thread) {
    deliver(thread);
    sys::block_signals(u64::MAX);
}

#[cold]
#[inline(never)]
fn deliver_now(thread: &Thread) {
    let mask = sys::block_signals(u64::MAX);
    thread.kept.any.store(0, Ordering::Relaxed);
    for (number, words) in &thread.kept.places {
        let signal = number.swap(0, Ordering::Relaxed);
        if signal != 0 {
            let info = words.each_ref().map(|word| word.load(Ordering::Relaxed));
            // SAFETY: it is the kernel's own information.
            unsafe { sys::send_to_self(signal, info.as_ptr()) };
        }
    }
    sys::block_signals(mask);
}

unsafe fn mend(context: &mut ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    let of = |register: c_int| registers[register as usize] as u64;
    let called_with = Registers {
        places: of(libc::REG_RSI),
        addresses: [of(libc::REG_RDI), of(libc::REG_RDX), of(libc::REG_RCX), of(libc::REG_R8)],
    };
    // SAFETY: they are the thread's.
    let pc = unsafe { inline_hooks::mend(outlined_hooks::mend(of(libc::REG_RIP), &called_with), &called_with) };
    registers[libc::REG_RIP as usize] = pc as i64;
}

/// Whether the thread is in a handler that has had few hooks so far, and must keep the token.
pub(crate) fn holds(thread: &Thread) -> bool {
    let patience = thread.own.patience.load(Ordering::Relaxed);
    if thread.own.handlers.load(Ordering::Relaxed) == 0 || patience == 0 {
        return false;
    }
    thread.own.patience.store(patience - 1, Ordering::Relaxed);
    true
}

/// The thread leaves its handlers by a jump.
pub(crate) fn abandon(thread: &Thread) {
    thread.own.handlers.store(0, Ordering::Relaxed);
}
