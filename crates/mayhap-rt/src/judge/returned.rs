//! Variables of functions that have returned, in runs under other schedules: what lies below the place to which a thread's stack reaches is
//! no one's.
//!
//! That place is known of threads that wait in a function which the program called. Where a thread stands elsewhere nothing is judged.

use core::sync::atomic::{AtomicU64, Ordering};

use mayhap_wire::judgement::Stack;

use super::Life;
use crate::thread::Thread;
use crate::{calls, replay, thread_records, tls};

/// The lowest address of a thread's stack.
static LOWEST: AtomicU64 = AtomicU64::new(u64::MAX);

/// Where the thread is that a variable was of.
static LEFT: Stack = Stack::new();

/// A thread begins on a stack.
pub(super) fn begins(start: u64) {
    LOWEST.fetch_min(start, Ordering::Relaxed);
}

/// The calling thread waits in a function that the program has called.
#[cold]
pub(super) fn stands(thread: &Thread) {
    let library_call = thread.own.library_call.load(Ordering::Relaxed);
    let stack = if library_call != 0 { library_call } else { tls::stack() };
    thread.own.stands_pc.store(tls::caller(), Ordering::Relaxed);
    thread.own.stands.store(stack, Ordering::Release);
}

/// The calling thread goes on.
pub(super) fn goes_on(thread: &Thread) {
    thread.own.stands.store(0, Ordering::Release);
}

/// What is known of the function that had a variable at an address, if its thread waits elsewhere now and no other function has the place.
#[inline]
pub(super) fn life(address: u64) -> Option<Life> {
    if address < LOWEST.load(Ordering::Relaxed) || replay::has_schedule() {
        return None;
    }
    let me = tls::active()?;
    if calls::is_on_stack(me, address) {
        return None;
    }
    life_elsewhere(address)
}

#[cold]
fn life_elsewhere(address: u64) -> Option<Life> {
    let thread = thread_records::all().find(|thread| is_left(thread, address))?;
    let pc = thread.own.stands_pc.load(Ordering::Relaxed);
    let mut depth = 0;
    for (to, from) in LEFT.frames.iter().zip(core::iter::once(pc).chain(calls::callers(thread))) {
        to.store(from, Ordering::Relaxed);
        depth += 1;
    }
    LEFT.depth.store(depth, Ordering::Relaxed);
    Some(Life { freed: Some(&LEFT), ..Life::default() })
}

/// Whether an address lies on a thread's stack where no function of the thread reaches. A thread may run code on a part of its stack, as
/// coroutines do, while functions that lie below go on later.
fn is_left(thread: &Thread, address: u64) -> bool {
    let stands = thread.own.stands.load(Ordering::Acquire);
    let on_stack = |address: u64| calls::is_on_stack(thread, address);
    stands != 0
        && thread.own.handlers.load(Ordering::Relaxed) == 0
        && on_stack(address)
        && on_stack(stands)
        && address < stands
        && calls::is_below_all(thread, address)
}
