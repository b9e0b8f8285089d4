//! Plain accesses and basic blocks.
//!
//! **When the token may pass.** gcc announces a struct copy `s = t` as a write of `s`, then a read of `t`, and only then
//! copies. Passing the token between the two would let others see the write recorded but not done. So after a write
//! hook the token stays over a read hook that follows directly; any other hook shows that the write has been done. The last
//! announcement is the last entry in the ring.
//!
//! **Two kinds of hooks.** Those that compilers call, which are here, know only their caller's program counter, and a basic
//! block is reported by a separate hook. Code that went through the assembler rewriting of `mayhap-instrument` calls
//! those in [`crate::outlined_hooks`].
//!
//! **Repeats.** A read that equals the two reads before it (same place, same address, nothing recorded in between but
//! branches) is not recorded, and neither is the branch after it; a thread that spins on a flag thus leaves two reads
//! and two branches a slice. Nothing is lost: let r1 b1 r2 b2 r3 b3 be such a run. No other thread ran in between and
//! the thread wrote nothing, so the three reads saw the same write.
//! - A correct reordering of the recorded trace becomes one of the full trace by putting r3 b3 directly after b2, where
//!   r3 sees what r2 saw. The other way, r3 and b3 are dropped: no other event depends on them.
//! - A target that has r3 next has r2 next after dropping r2 b2 from the schedule's end of this thread; location
//!   and variable are the same. An atomicity target between two reads of the run, with a write of another thread between
//!   them, is one between r1 and r2.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mayhap_wire::ring::{BRANCHED, MAX_SITE, SiteKind, Tag, access_word, state};
use mayhap_wire::schedule::{READ, WRITE};

use crate::hook::Hook;
use crate::sched::{Grant, Token};
use crate::thread::Thread;
use crate::tls;
use crate::{calls, cancelling, fast_path, judge, protocol, ring, sched, signals, sites, spinning, sys};

/// Handles nearly every access: the thread holds the token and has some of its slice left, and the site has its number.
/// Everything else is for `otherwise`, which starts from the beginning. This path has one branch for each check and calls nothing.
#[inline(always)]
unsafe fn append(site: u32, address: u64, finish: impl FnOnce(&Thread), otherwise: impl FnOnce()) {
    let Some(thread) = tls::active() else { return otherwise() };
    let left = thread.own.left.load(Ordering::Relaxed);
    if site == 0 || thread.own.busy.load(Ordering::Relaxed) != 0 || left <= 1 || thread.values.are_wanted() {
        return otherwise();
    }
    let last = sites::last(site);
    // A read that may repeat the last is looked at more closely.
    if last.load(Ordering::Relaxed) == address && ring::last_site() & MAX_SITE == site {
        return otherwise();
    }
    protocol::begin_hook(fast_path::owner(), thread.observed(), fast_path::own_pointer(), left - 1);
    let owns = sched::OWNER.load(Ordering::Relaxed) == thread.identity.owner.load(Ordering::Relaxed);
    let done = owns && ring::head() < thread.own.slice_end.load(Ordering::Relaxed);
    if done {
        // SAFETY: the thread is busy and has then found its own number in `OWNER`.
        let grant = unsafe { Grant::assume() };
        put(grant.token(), thread, site, address, last, is_branched(thread));
    } else {
        // It has not been counted yet.
        thread.own.left.store(left, Ordering::Relaxed);
    }
    protocol::end_hook(thread.observed(), || finish(thread));
    signals::deliver(thread);
    if !done {
        otherwise();
    }
}

/// Writes an access, and where the thread is.
#[inline(always)]
pub(crate) fn put(token: Token<'_>, thread: &Thread, site: u32, address: u64, last: &AtomicU64, branched: bool) {
    calls::record_frames(token, thread);
    ring::put(token, if branched { site | BRANCHED } else { site }, address, last);
}

/// Whether the thread entered a basic block since its last access. The access that is recorded now reports it.
#[inline(always)]
pub(crate) fn is_branched(thread: &Thread) -> bool {
    let entered = thread.own.branch.load(Ordering::Relaxed) != 0;
    thread.own.branch.store(0, Ordering::Relaxed);
    entered
}

#[inline(always)]
pub(crate) unsafe extern "C-unwind" fn read<const SIZE: u8>(address: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    unsafe { append(sites::cached(pc), address, |_| {}, || read_otherwise::<SIZE>(address, pc)) }
}

#[inline(always)]
pub(crate) unsafe extern "C-unwind" fn write<const SIZE: u8>(address: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    unsafe { append(sites::cached(pc), address, |_| {}, || write_otherwise::<SIZE>(address, pc)) }
}

/// Reads eight bytes, and opens the fast path if the thread may use it.
pub(crate) unsafe fn read_and_open(address: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    unsafe { append(sites::cached(pc), address, sched::arm, || read_otherwise::<8>(address, pc)) }
}

/// Writes eight bytes, and opens the fast path if the thread may use it.
pub(crate) unsafe fn write_and_open(address: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    unsafe { append(sites::cached(pc), address, sched::arm, || write_otherwise::<8>(address, pc)) }
}

#[inline(never)]
unsafe extern "C-unwind" fn read_otherwise<const SIZE: u8>(address: u64, pc: u64) {
    if cancelling::is_possible() {
        return cancelling::deferred(|| read_slowly::<SIZE>(address, pc));
    }
    read_slowly::<SIZE>(address, pc);
}

#[inline(always)]
fn read_slowly<const SIZE: u8>(address: u64, pc: u64) {
    let Some(hook) = Hook::enter_access(may_pass_before_read(), READ, pc, address) else { return };
    judge::accesses(address, SIZE, false, pc);
    let site = sites::number(hook.token(), pc, SiteKind::Read, SIZE);
    if !is_repeat(hook.thread(), site, address) {
        put(hook.token(), hook.thread(), site, address, sites::last(site), is_branched(hook.thread()));
        put_found(&hook, address, SIZE);
        has_read(hook.thread());
        hook.thread().values.announce(address, SIZE, false);
    }
}

/// Where a run is made step by step, writes what a read of up to eight bytes is about to find: no other thread can change it before.
pub(crate) fn put_found(hook: &Hook, address: u64, size: u8) {
    let mut value = 0u64;
    if sched::in_turns() && size <= 8 && sys::peek(address, (&raw mut value).cast(), size.into()) {
        ring::record(hook.token(), Tag::Found, 0, &[value]);
    }
}

#[inline(never)]
unsafe extern "C-unwind" fn write_otherwise<const SIZE: u8>(address: u64, pc: u64) {
    if cancelling::is_possible() {
        return cancelling::deferred(|| write_slowly::<SIZE>(address, pc));
    }
    write_slowly::<SIZE>(address, pc);
}

#[inline(always)]
fn write_slowly<const SIZE: u8>(address: u64, pc: u64) {
    let Some(hook) = Hook::enter_access(true, WRITE, pc, address) else { return };
    judge::accesses(address, SIZE, true, pc);
    let site = sites::number(hook.token(), pc, SiteKind::Write, SIZE);
    put(hook.token(), hook.thread(), site, address, sites::last(site), is_branched(hook.thread()));
    hook.thread().values.announce(address, SIZE, true);
}

/// Whether a read that is about to be recorded equals the two before it, with nothing recorded since.
pub(crate) fn is_repeat(thread: &Thread, site: u32, address: u64) -> bool {
    let word = access_word(site, address);
    let again = thread.own.repeat.load(Ordering::Relaxed) == word
        && thread.own.repeat_at.load(Ordering::Relaxed) == ring::head();
    let repeats = if again { thread.own.repeats.load(Ordering::Relaxed) + 1 } else { 0 };
    if repeats > 1 {
        spinning::gives_way(thread);
        return true;
    }
    thread.own.repeat.store(word, Ordering::Relaxed);
    thread.own.repeats.store(repeats, Ordering::Relaxed);
    false
}

/// The read that [`is_repeat`] looked at was recorded.
pub(crate) fn has_read(thread: &Thread) {
    thread.own.repeat_at.store(ring::head(), Ordering::Relaxed);
}

/// Whether the token may pass before a read that is announced now.
pub(crate) fn may_pass_before_read() -> bool {
    tls::active().is_none_or(|thread| !is_writing(thread))
}

/// Whether the thread's last announcement was a write, which may not have happened yet.
fn is_writing(thread: &Thread) -> bool {
    if thread.own.announced.load(Ordering::Relaxed) == ring::head() {
        return true;
    }
    ring::is_current(thread.identity.owner.load(Ordering::Relaxed)) && sites::writes(ring::last_site() & MAX_SITE)
}

/// Reads and then writes the same place: clang's compound accesses.
unsafe extern "C-unwind" fn read_write<const SIZE: u8>(address: u64, pc: u64) {
    // A site has one kind. The write gets a separate site: the last byte of the call instruction.
    // SAFETY: as the caller vouches.
    unsafe {
        read::<SIZE>(address, pc);
        write::<SIZE>(address, pc - 1);
    }
}

unsafe extern "C" fn read_range(address: u64, bytes: u64, pc: u64) {
    if bytes == 0 {
        return;
    }
    if let Some(hook) = Hook::enter_if(may_pass_before_read()) {
        hook.record(Tag::RangeRead, pc, &[address, bytes]);
    }
}

unsafe extern "C" fn write_range(address: u64, bytes: u64, pc: u64) {
    if bytes == 0 {
        return;
    }
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::RangeWrite, pc, &[address, bytes]);
        hook.thread().own.announced.store(ring::head(), Ordering::Relaxed);
    }
}

/// Enters a basic block: the thread's next record reports it. A basic block does not use up the slice: a loop without accesses
/// loses the token as one without hooks does.
#[inline(always)]
pub(crate) unsafe extern "C" fn branch(pc: u64) {
    let Some(thread) = tls::active() else { return };
    thread.own.branch.store(pc, Ordering::Relaxed);
    note_branches();
}

/// The recorder knows that the program reports its basic blocks.
static TOLD: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub(crate) fn note_branches() {
    if !TOLD.load(Ordering::Relaxed) {
        note_branches_now();
    }
}

#[cold]
#[inline(never)]
fn note_branches_now() {
    if ring::header().is_some() {
        TOLD.store(true, Ordering::Relaxed);
        ring::set_state(state::TELLS_BRANCHES);
    }
}

/// Writes the branch that came before something other than a plain access.
#[inline(always)]
pub(crate) fn put_branch(token: Token<'_>, thread: &Thread) {
    let pc = thread.own.branch.load(Ordering::Relaxed);
    if pc == 0 {
        return;
    }
    thread.own.branch.store(0, Ordering::Relaxed);
    let site = sites::number(token, pc, SiteKind::Branch, 0);
    ring::put(token, site, 0, sites::last(site));
}

unsafe extern "C" fn indirect_call(_target: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    unsafe { branch(pc) }
}

/// Hooks that need their caller's program counter in the register after their last argument.
macro_rules! hooks {
    ($($register:literal: $($name:ident => $inner:expr;)*)*) => {
        $($(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    concat!("mov ", $register, ", qword ptr [rsp]"),
                    "jmp {inner}",
                    inner = sym $inner,
                )
            }
        )*)*
    };
}

hooks! {
    "rsi":
    __tsan_read1 => read::<1>;
    __tsan_read2 => read::<2>;
    __tsan_read4 => read::<4>;
    __tsan_read8 => read::<8>;
    __tsan_read16 => read::<16>;
    __tsan_write1 => write::<1>;
    __tsan_write2 => write::<2>;
    __tsan_write4 => write::<4>;
    __tsan_write8 => write::<8>;
    __tsan_write16 => write::<16>;
    __tsan_volatile_read1 => read::<1>;
    __tsan_volatile_read2 => read::<2>;
    __tsan_volatile_read4 => read::<4>;
    __tsan_volatile_read8 => read::<8>;
    __tsan_volatile_read16 => read::<16>;
    __tsan_volatile_write1 => write::<1>;
    __tsan_volatile_write2 => write::<2>;
    __tsan_volatile_write4 => write::<4>;
    __tsan_volatile_write8 => write::<8>;
    __tsan_volatile_write16 => write::<16>;
    __tsan_unaligned_read2 => read::<2>;
    __tsan_unaligned_read4 => read::<4>;
    __tsan_unaligned_read8 => read::<8>;
    __tsan_unaligned_read16 => read::<16>;
    __tsan_unaligned_write2 => write::<2>;
    __tsan_unaligned_write4 => write::<4>;
    __tsan_unaligned_write8 => write::<8>;
    __tsan_unaligned_write16 => write::<16>;
    __tsan_unaligned_volatile_read2 => read::<2>;
    __tsan_unaligned_volatile_read4 => read::<4>;
    __tsan_unaligned_volatile_read8 => read::<8>;
    __tsan_unaligned_volatile_read16 => read::<16>;
    __tsan_unaligned_volatile_write2 => write::<2>;
    __tsan_unaligned_volatile_write4 => write::<4>;
    __tsan_unaligned_volatile_write8 => write::<8>;
    __tsan_unaligned_volatile_write16 => write::<16>;
    __tsan_read_write1 => read_write::<1>;
    __tsan_read_write2 => read_write::<2>;
    __tsan_read_write4 => read_write::<4>;
    __tsan_read_write8 => read_write::<8>;
    __tsan_read_write16 => read_write::<16>;
    __tsan_unaligned_read_write2 => read_write::<2>;
    __tsan_unaligned_read_write4 => read_write::<4>;
    __tsan_unaligned_read_write8 => read_write::<8>;
    __tsan_unaligned_read_write16 => read_write::<16>;
    __tsan_vptr_read => read::<8>;
    __sanitizer_cov_trace_pc_indir => indirect_call;
    "rdx":
    __tsan_read_range => read_range;
    __tsan_write_range => write_range;
    __tsan_vptr_update => write_pointer;
    "rdi":
    __sanitizer_cov_trace_pc => branch;
}

/// A constructor or destructor sets the virtual table pointer; setting it to what it was is no write.
unsafe extern "C-unwind" fn write_pointer(address: u64, value: u64, pc: u64) {
    // SAFETY: the program is about to write there.
    if unsafe { (address as *const u64).read() } != value {
        // SAFETY: as the caller vouches.
        unsafe { write::<8>(address, pc) }
    }
}

hooks! {
    "rsi":
    __sanitizer_cov_trace_pc_guard => branch_guard;
}

unsafe extern "C" fn branch_guard(_guard: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    unsafe { branch(pc) }
}

/// Hooks that the compilers call and that add nothing to what the other hooks record.
macro_rules! silent {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() {}
        )*
    };
}

silent! {
    __tsan_ignore_thread_begin __tsan_ignore_thread_end
    __sanitizer_cov_trace_pc_guard_init __sanitizer_cov_pcs_init __sanitizer_cov_8bit_counters_init
    __sanitizer_cov_trace_cmp1 __sanitizer_cov_trace_cmp2 __sanitizer_cov_trace_cmp4 __sanitizer_cov_trace_cmp8
    __sanitizer_cov_trace_const_cmp1 __sanitizer_cov_trace_const_cmp2 __sanitizer_cov_trace_const_cmp4
    __sanitizer_cov_trace_const_cmp8 __sanitizer_cov_trace_switch __sanitizer_cov_trace_cmpf __sanitizer_cov_trace_cmpd
}
