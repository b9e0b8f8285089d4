//! Call stacks: the calls that a thread is in.
//!
//! Entering a function pushes where it was called from, leaving it pops; nothing is recorded then. A change is recorded when
//! something is recorded that has a stack; a call in which nothing is recorded never appears. The ring's units are those of
//! accesses, whose address is a depth ([`call_frame`]): at a site of kind [`SiteKind::Call`] the frames below that depth stay and the call is put
//! on top, with the stack pointer of its entry; at [`SiteKind::Return`] only the frames below it stay.
//!
//! Each frame carries the stack pointer of its entry. It identifies frames that were left by a jump: those
//! that still run have higher ones. Code that runs on another stack (a signal handler's own, a coroutine) is on top of whatever
//! was there, and goes when the thread's own stack is seen again.
//!
//! Frames beyond [`MAX_FRAMES`] are counted but not kept; the reader learns how many there are.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mayhap_wire::call_frame;
use mayhap_wire::ring::{CALL, MAX_FRAMES, SiteKind};

use crate::sched::Token;
use crate::thread::Thread;
use crate::tls;
use crate::{fast_path, ring, sites};

/// The value of `unrecorded_frames` of a thread that has left frames which the reader knows.
const LEFT: u32 = 1 << 30;
/// The program counter of the site of returns.
const RETURN: u64 = 1;

/// A function that runs: its return address, and the stack pointer when it began.
#[repr(C)]
struct Frame {
    pc: AtomicU64,
    address: AtomicU64,
}

/// The functions that a thread is in. Memory of zeros is ready for [`Calls::clear`].
#[repr(C)]
pub(crate) struct Calls {
    depth: AtomicU32,
    /// How many of the outermost frames the reader knows.
    known: AtomicU32,
    /// The thread's own stack.
    stack: [AtomicU64; 2],
    /// The frames from 1 on; number 0 stands for the caller of the first function.
    frames: [Frame; MAX_FRAMES + 1],
}

impl Calls {
    /// The thread is in no function.
    pub(crate) fn clear(&self) {
        self.depth.store(0, Ordering::Relaxed);
        self.known.store(0, Ordering::Relaxed);
        self.frames[0].address.store(u64::MAX, Ordering::Relaxed);
    }

    /// Where the thread's own stack is.
    pub(crate) fn on_stack(&self, low: u64, end: u64) {
        self.stack[0].store(low, Ordering::Relaxed);
        self.stack[1].store(end, Ordering::Relaxed);
    }

    /// From where to where the thread's own stack is.
    pub(crate) fn stack(&self) -> core::ops::Range<u64> {
        self.stack[0].load(Ordering::Relaxed)..self.stack[1].load(Ordering::Relaxed)
    }

    fn is_on_stack(&self, address: u64) -> bool {
        self.stack().contains(&address)
    }

    /// How far an address is from the end of the thread's own stack; 0 if it is not on it.
    fn distance(&self, address: u64) -> u64 {
        if self.is_on_stack(address) { self.stack[1].load(Ordering::Relaxed) - address } else { 0 }
    }

    /// Where the stack was when the innermost function that is kept began.
    fn top(&self) -> u64 {
        let depth = self.depth.load(Ordering::Relaxed) as usize;
        self.frames[depth.min(MAX_FRAMES)].address.load(Ordering::Relaxed)
    }
}

/// Where the functions that a thread is in were called from, innermost first.
pub(crate) fn callers(thread: &Thread) -> impl Iterator<Item = u64> + '_ {
    let depth = (thread.calls.depth.load(Ordering::Relaxed) as usize).min(MAX_FRAMES);
    (1..=depth).rev().map(|frame| thread.calls.frames[frame].pc.load(Ordering::Relaxed))
}

/// Whether an address lies on the thread's own stack.
pub(crate) fn is_on_stack(thread: &Thread, address: u64) -> bool {
    thread.calls.is_on_stack(address)
}

/// Whether an address lies on the thread's own stack, but in no function that the thread is in.
pub(crate) fn has_left(thread: &Thread, address: u64) -> bool {
    thread.calls.is_on_stack(address) && address < thread.calls.top()
}

/// Whether an address lies below all functions that the thread is in, as far as they are kept.
pub(crate) fn is_below_all(thread: &Thread, address: u64) -> bool {
    let depth = thread.calls.depth.load(Ordering::Relaxed) as usize;
    let is_above = |frame: &Frame| frame.address.load(Ordering::Relaxed) > address;
    depth <= MAX_FRAMES && thread.calls.frames[1..=depth].iter().all(is_above)
}

/// Where the function was called from whose part of the stack an address lies in, if the thread is in one that reaches so far.
pub(crate) fn caller_of(thread: &Thread, address: u64) -> Option<u64> {
    let depth = (thread.calls.depth.load(Ordering::Relaxed) as usize).min(MAX_FRAMES);
    let frame = thread.calls.frames[1..=depth].iter().find(|frame| frame.address.load(Ordering::Relaxed) < address)?;
    Some(frame.pc.load(Ordering::Relaxed))
}

/// Where the function is whose part of the stack an address lies in, if the thread is in one that reaches so far, and at `pc` in the
/// innermost one.
pub(crate) fn place_in(thread: &Thread, address: u64, pc: u64) -> Option<u64> {
    let depth = (thread.calls.depth.load(Ordering::Relaxed) as usize).min(MAX_FRAMES);
    let at = (1..=depth).find(|&frame| thread.calls.frames[frame].address.load(Ordering::Relaxed) < address)?;
    Some(if at == depth { pc } else { thread.calls.frames[at + 1].pc.load(Ordering::Relaxed) })
}

/// The thread leaves a function.
#[inline(always)]
fn pop(thread: &Thread) {
    let depth = thread.calls.depth.load(Ordering::Relaxed) - 1;
    thread.calls.depth.store(depth, Ordering::Relaxed);
    if depth < thread.calls.known.load(Ordering::Relaxed) {
        thread.calls.known.store(depth, Ordering::Relaxed);
    }
    let untold = thread.own.unrecorded_frames.load(Ordering::Relaxed);
    if untold == 0 {
        fast_path::close();
    }
    thread.own.unrecorded_frames.store(if untold == 0 { LEFT } else { untold - 1 }, Ordering::Relaxed);
}

/// The thread enters a function.
#[inline(always)]
fn push(thread: &Thread, depth: u32) {
    thread.calls.depth.store(depth + 1, Ordering::Relaxed);
    let untold = thread.own.unrecorded_frames.load(Ordering::Relaxed);
    if untold == 0 {
        fast_path::close();
    }
    thread.own.unrecorded_frames.store(untold + 1, Ordering::Relaxed);
}

/// The thread enters a function that returns to `pc`.
#[inline(always)]
pub(crate) unsafe extern "C" fn enter(pc: u64, address: u64) {
    let Some(thread) = tls::active() else { return };
    let calls = &thread.calls;
    let depth = calls.depth.load(Ordering::Relaxed);
    if depth as usize >= MAX_FRAMES || address >= calls.frames[depth as usize].address.load(Ordering::Relaxed) {
        return enter_otherwise(thread, pc, address);
    }
    let frame = &calls.frames[depth as usize + 1];
    frame.pc.store(pc, Ordering::Relaxed);
    frame.address.store(address, Ordering::Relaxed);
    push(thread, depth);
}

#[cold]
#[inline(never)]
fn enter_otherwise(thread: &Thread, pc: u64, address: u64) {
    unwind(thread, address);
    let depth = thread.calls.depth.load(Ordering::Relaxed);
    if let Some(frame) = thread.calls.frames.get(depth as usize + 1) {
        frame.pc.store(pc, Ordering::Relaxed);
        frame.address.store(address, Ordering::Relaxed);
    }
    push(thread, depth);
}

/// Calls a function of a library without hooks from `pc`, which is among the thread's calls meanwhile.
#[inline(always)]
pub(crate) fn within<R>(pc: u64, call: impl FnOnce() -> R) -> R {
    let here = 0_u8;
    let address = &raw const here as u64;
    // SAFETY: an address on the thread's stack, below that of its caller's.
    unsafe { enter(pc, address) };
    let result = call();
    // SAFETY: the same. A call that ends by an exception is noticed later, like others.
    unsafe { leave(address) };
    result
}

#[inline(always)]
unsafe extern "C" fn leave(address: u64) {
    let Some(thread) = tls::active() else { return };
    let calls = &thread.calls;
    let depth = calls.depth.load(Ordering::Relaxed) as usize;
    if depth.wrapping_sub(1) >= MAX_FRAMES || address > calls.frames[depth].address.load(Ordering::Relaxed) {
        return leave_otherwise(thread, address);
    }
    pop(thread);
}

#[cold]
#[inline(never)]
fn leave_otherwise(thread: &Thread, address: u64) {
    // A function may jump to the hook as the last thing that it does: its own part of the stack is gone then, and the hook returns to its caller.
    let depth = thread.calls.depth.load(Ordering::Relaxed) as usize;
    // SAFETY: the stack pointer of the hook, where its return address lies.
    let returns_to = unsafe { (address as *const u64).read() };
    if (1..=MAX_FRAMES).contains(&depth) && thread.calls.frames[depth].pc.load(Ordering::Relaxed) == returns_to {
        return pop(thread);
    }
    // The functions that it had called began below.
    unwind(thread, address - 1);
    if thread.calls.depth.load(Ordering::Relaxed) > 0 {
        pop(thread);
    }
}

/// Drops the frames that have ended, since code runs with the stack pointer at `address`: those that began there or below.
fn unwind(thread: &Thread, address: u64) {
    let calls = &thread.calls;
    if !calls.is_on_stack(address) {
        return;
    }
    // The outermost frame is no function and is never reached.
    while calls.depth.load(Ordering::Relaxed) > 0 && (calls.top() <= address || !calls.is_on_stack(calls.top())) {
        pop(thread);
    }
}

/// The calling thread leaves the innermost function that was called at `pc`, and those that this one had called.
pub(crate) fn leave_call(pc: u64) {
    let Some(thread) = tls::active() else { return };
    let depth = thread.calls.depth.load(Ordering::Relaxed) as usize;
    let is_there = |frame: usize| thread.calls.frames[frame].pc.load(Ordering::Relaxed) == pc;
    let kept = match depth {
        0..=MAX_FRAMES => (1..=depth).rev().find(|&frame| is_there(frame)).map(|frame| frame - 1),
        _ => Some(depth - 1),
    };
    for _ in kept.unwrap_or(depth)..depth {
        pop(thread);
    }
}

/// The calling thread has left the functions that began at this stack pointer or below.
pub(crate) fn leave_to(stack: u64) {
    if let Some(thread) = tls::active() {
        unwind(thread, stack);
    }
}

/// The calling thread is about to jump to where the stack pointer is `address`.
pub(crate) fn jump(thread: &Thread, address: u64) {
    // The function that it jumps into saw the stack a word lower when it called its first hook.
    unwind(thread, address.saturating_sub(9));
}

/// A call of a library function that does not announce itself, while it lasts.
pub(crate) struct Inside {
    address: u64,
    /// The stack pointer of such a call that the thread was in already; 0 if it was in none.
    outer: u64,
}

impl Inside {
    /// A function that was called from `pc`, by the last trampoline.
    #[inline(always)]
    pub(crate) fn of(pc: u64) -> Inside {
        // The function of the program that called it has noted the place of the return address.
        let stack = tls::stack();
        let address = stack - 8;
        // SAFETY: it only compares the address with those of other frames.
        unsafe { enter(pc, address) };
        let outer = tls::active().map_or(0, |thread| {
            let outer = thread.own.library_call.load(Ordering::Relaxed);
            thread.own.library_call.store(if outer == 0 { stack } else { outer }, Ordering::Relaxed);
            outer
        });
        Inside { address, outer }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some(thread) = tls::active() {
            thread.own.library_call.store(self.outer, Ordering::Relaxed);
        }
        // SAFETY: the frame that `of` entered began there.
        unsafe { leave(self.address) };
    }
}

/// Records the functions that the thread is in, if the ring does not know them.
#[inline(always)]
pub(crate) fn record_frames(token: Token<'_>, thread: &Thread) {
    if thread.own.unrecorded_frames.load(Ordering::Relaxed) != 0 {
        record_frames_now(token, thread);
    }
}

#[inline(never)]
fn record_frames_now(token: Token<'_>, thread: &Thread) {
    let calls = &thread.calls;
    let depth = calls.depth.load(Ordering::Relaxed);
    let known = calls.known.load(Ordering::Relaxed).min(depth);
    let put = |pc, kind, depth: u32, distance| {
        let site = sites::number(token, pc, kind, 0);
        ring::put(token, site, call_frame::address(depth.into(), distance), sites::last(site));
    };
    let mut at = known;
    while at < depth
        && let Some(frame) = calls.frames.get(at as usize + 1)
    {
        let distance = calls.distance(frame.address.load(Ordering::Relaxed));
        put(frame.pc.load(Ordering::Relaxed) | CALL, SiteKind::Call, at, distance);
        at += 1;
    }
    if known == depth || depth as usize > MAX_FRAMES {
        put(RETURN, SiteKind::Return, depth, 0);
    }
    calls.known.store(depth, Ordering::Relaxed);
    thread.own.unrecorded_frames.store(0, Ordering::Relaxed);
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_func_entry() {
    core::arch::naked_asm!("mov rsi, rsp", "jmp {inner}", inner = sym enter)
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_func_exit() {
    core::arch::naked_asm!("mov rdi, rsp", "jmp {inner}", inner = sym leave)
}
