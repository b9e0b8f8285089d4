//! Plain accesses and basic blocks.
//!
//! **When the token may pass.** gcc announces a struct copy `s = t` as a write of `s`, then a read of `t`, and only then
//! copies. Passing the token between the two would let others see the write recorded but not done. So after a write
//! hook the token stays over a read hook that follows directly; any other hook shows that the write has been done.
//!
//! **Repeats.** A read that equals the two reads before it (same place, same address, nothing recorded in between but
//! branches) is not recorded, and neither is the branch behind it; a thread that spins on a flag thus leaves two reads
//! and two branches a slice. Nothing is lost: let r1 b1 r2 b2 r3 b3 be such a run. No other thread ran in between and
//! the thread wrote nothing, so the three reads saw the same write.
//! - A correct reordering of the recorded trace becomes one of the full trace by putting r3 b3 directly behind b2, where
//!   r3 sees what r2 saw. The other way, r3 and b3 are dropped: no other event depends on them.
//! - A target that has r3 next has r2 next after dropping r2 b2 from the schedule's end of this thread; location
//!   and variable are the same. An atomicity target between two reads of the run, with a write of another thread between
//!   them, is one between r1 and r2.

use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use mayhap_wire::ring::{BRANCHED, SiteKind, Tag, access_word, state};
use mayhap_wire::schedule::{READ, WRITE};

use crate::hook::Hook;
use crate::tls::{self, Thread};
use crate::{calls, ring, sched, sites};

/// What nearly every access comes down to: the thread has the token and some of its slice left, the site has its number, and
/// the ring has room. Everything else is for `otherwise`, which starts from the beginning. One branch each, nothing called.
#[inline(always)]
unsafe fn append(
    pc: u64,
    address: u64,
    prepare: impl FnOnce(&Thread, u64) -> bool,
    otherwise: unsafe extern "C" fn(u64, u64),
) {
    let pointer = tls::active();
    let (Some(thread), Some(site)) = (pointer, sites::cached(pc)) else {
        // SAFETY: as the caller vouches.
        return unsafe { otherwise(address, pc) };
    };
    let left = thread.left.load(Ordering::Relaxed);
    if thread.busy.load(Ordering::Relaxed) != 0 || left <= 1 {
        // SAFETY: as the caller vouches.
        return unsafe { otherwise(address, pc) };
    }
    // The order of these three matters to `watch`, and to a signal handler.
    thread.busy.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    thread.left.store(left - 1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let word = access_word(site, address);
    let owns = sched::OWNER.load(Ordering::Relaxed) == thread.owner.load(Ordering::Relaxed);
    // SAFETY: a thread that owns the token may write the ring.
    let done = owns
        && prepare(thread, word)
        && unsafe {
            calls::tell(thread);
            ring::try_put(word | branched(thread))
        };
    if done {
        thread.branch.store(0, Ordering::Relaxed);
    } else {
        // It has not been counted yet.
        thread.left.store(left, Ordering::Relaxed);
    }
    compiler_fence(Ordering::SeqCst);
    thread.busy.store(0, Ordering::Relaxed);
    if !done {
        // SAFETY: as the caller vouches.
        unsafe { otherwise(address, pc) }
    }
}

/// What the word of an access has in addition where the thread entered a basic block since its last read.
#[inline(always)]
fn branched(thread: &Thread) -> u64 {
    if thread.branch.load(Ordering::Relaxed) == 0 { 0 } else { access_word(BRANCHED, 0) }
}

#[inline(always)]
unsafe extern "C" fn read<const SIZE: u8>(address: u64, pc: u64) {
    let prepare = |thread: &Thread, word| {
        if thread.last_read.load(Ordering::Relaxed) == word {
            return false;
        }
        thread.last_read.store(word, Ordering::Relaxed);
        thread.repeats.store(0, Ordering::Relaxed);
        thread.pending.store(0, Ordering::Relaxed);
        thread.dirty.store(1, Ordering::Relaxed);
        true
    };
    // SAFETY: as the caller vouches.
    unsafe { append(pc, address, prepare, read_otherwise::<SIZE>) }
}

#[inline(always)]
unsafe extern "C" fn write<const SIZE: u8>(address: u64, pc: u64) {
    let prepare = |thread: &Thread, _| {
        thread.last_read.store(0, Ordering::Relaxed);
        thread.pending.store(1, Ordering::Relaxed);
        true
    };
    // SAFETY: as the caller vouches.
    unsafe { append(pc, address, prepare, write_otherwise::<SIZE>) }
}

#[inline(never)]
unsafe extern "C" fn read_otherwise<const SIZE: u8>(address: u64, pc: u64) {
    let may_pass = tls::active().is_none_or(|thread| thread.pending.load(Ordering::Relaxed) == 0);
    let Some(hook) = Hook::enter_access(may_pass, READ, pc, address) else { return };
    let thread = hook.thread();
    // SAFETY: a hook holds the token.
    let word = access_word(unsafe { sites::number(pc, SiteKind::Read, SIZE) }, address);
    thread.pending.store(0, Ordering::Relaxed);
    if thread.last_read.load(Ordering::Relaxed) == word {
        let repeats = thread.repeats.load(Ordering::Relaxed);
        if repeats >= 1 {
            return;
        }
        thread.repeats.store(repeats + 1, Ordering::Relaxed);
    } else {
        thread.last_read.store(word, Ordering::Relaxed);
        thread.repeats.store(0, Ordering::Relaxed);
    }
    thread.dirty.store(1, Ordering::Relaxed);
    put_access(thread, word);
}

#[inline(never)]
unsafe extern "C" fn write_otherwise<const SIZE: u8>(address: u64, pc: u64) {
    let Some(hook) = Hook::enter_access(true, WRITE, pc, address) else { return };
    let thread = hook.thread();
    thread.last_read.store(0, Ordering::Relaxed);
    thread.pending.store(1, Ordering::Relaxed);
    // SAFETY: a hook holds the token.
    put_access(thread, access_word(unsafe { sites::number(pc, SiteKind::Write, SIZE) }, address));
}

/// Writes an access of a thread that is in a hook.
fn put_access(thread: &Thread, word: u64) {
    // SAFETY: a hook holds the token and its slice left room for a word.
    unsafe {
        calls::tell(thread);
        ring::put(word | branched(thread));
    }
    thread.branch.store(0, Ordering::Relaxed);
}

/// Reads and then writes the same place: clang's compound accesses.
unsafe extern "C" fn read_write<const SIZE: u8>(address: u64, pc: u64) {
    // A site has one kind. The write gets a site of its own: the last byte of the call instruction.
    // SAFETY: as the caller vouches.
    unsafe {
        read::<SIZE>(address, pc);
        write::<SIZE>(address, pc - 1);
    }
}

unsafe extern "C" fn read_range(address: u64, bytes: u64, pc: u64) {
    let may_pass = tls::active().is_none_or(|thread| thread.pending.load(Ordering::Relaxed) == 0);
    if bytes == 0 {
        return;
    }
    if let Some(hook) = Hook::enter_if(may_pass) {
        hook.record(Tag::RangeRead, pc, &[address, bytes]);
        hook.thread().dirty.store(1, Ordering::Relaxed);
    }
}

unsafe extern "C" fn write_range(address: u64, bytes: u64, pc: u64) {
    if bytes == 0 {
        return;
    }
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::RangeWrite, pc, &[address, bytes]);
        hook.thread().pending.store(1, Ordering::Relaxed);
    }
}

/// Enters a basic block. Only the first after a recorded read matters: what the thread does next says so. None uses up the slice: a
/// loop without accesses loses the token as one without hooks does.
#[inline(always)]
unsafe extern "C" fn branch(pc: u64) {
    let Some(thread) = tls::active() else { return };
    if thread.dirty.load(Ordering::Relaxed) != 0 && thread.busy.load(Ordering::Relaxed) == 0 {
        thread.dirty.store(0, Ordering::Relaxed);
        thread.pending.store(0, Ordering::Relaxed);
        thread.branch.store(pc, Ordering::Relaxed);
        if !TOLD.load(Ordering::Relaxed) {
            tell();
        }
    }
}

/// The recorder knows that the program tells its basic blocks.
static TOLD: AtomicBool = AtomicBool::new(false);

#[cold]
#[inline(never)]
fn tell() {
    if ring::header().is_some() {
        TOLD.store(true, Ordering::Relaxed);
        ring::tell(state::TELLS_BRANCHES);
    }
}

/// Writes the branch that came before something other than a plain access.
///
/// # Safety
/// The thread is in a hook that holds the token.
#[inline(always)]
pub(crate) unsafe fn put_branch(thread: &Thread) {
    let pc = thread.branch.load(Ordering::Relaxed);
    if pc != 0 {
        thread.branch.store(0, Ordering::Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { ring::put(access_word(sites::number(pc, SiteKind::Branch, 0), 0)) };
    }
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
unsafe extern "C" fn write_pointer(address: u64, value: u64, pc: u64) {
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

/// Hooks that the compilers call and that tell nothing the other hooks do not tell.
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
