//! Plain accesses and basic blocks.
//!
//! **When the token may pass.** gcc announces a struct copy `s = t` as a write of `s`, then a read of `t`, and only then
//! copies. Passing the token between the two would let others see the write recorded but not done. So after a write
//! hook the token stays over a read hook that follows directly; any other hook shows that the write has been done. What was
//! announced last is the last word of the ring.
//!
//! **Two kinds of hooks.** Those that compilers call know only their caller's program counter, and that a basic block was entered
//! is told by a hook of its own. Code that went through [`mayhap`'s assembler](../../mayhap/src/compile/assembly.rs) calls others:
//! they get the place of a word where the site's number stands once it has one, and which accesses come behind the beginning of a basic
//! block is known beforehand.
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

use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

use mayhap_wire::ring::{
    ADDRESS_BITS, BRANCHED, DATA_OFFSET, Header, MAX_SITE, SiteKind, Tag, WORDS, access_word, split_access, state,
};
use mayhap_wire::schedule::{READ, WRITE};

use crate::hook::Hook;
use crate::tls::{self, Thread};
use crate::{calls, ring, sched, sites};

/// How it is known that an access comes behind the beginning of a basic block.
mod behind {
    /// A hook says so.
    pub(super) const TOLD: u8 = 0;
    /// It does not.
    pub(super) const NOTHING: u8 = 1;
    /// It always does.
    pub(super) const BLOCK: u8 = 2;
}

/// What nearly every access comes down to: the thread has the token and some of its slice left, the site has its number, the
/// ring has room, and the last access was another. Everything else is for `otherwise`, which starts from the beginning.
/// One branch each, nothing called.
#[inline(always)]
unsafe fn append<const BEHIND: u8>(site: u32, address: u64, otherwise: impl FnOnce()) {
    let Some(thread) = tls::active() else { return otherwise() };
    let left = thread.left.load(Ordering::Relaxed);
    if site == 0 || thread.busy.load(Ordering::Relaxed) != 0 || left <= 1 {
        return otherwise();
    }
    // The order of these three matters to `watch`, and to a signal handler.
    thread.busy.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    thread.left.store(left - 1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let owns = sched::OWNER.load(Ordering::Relaxed) == thread.owner.load(Ordering::Relaxed);
    // SAFETY: a thread that owns the token may write the ring.
    let done = owns
        && unsafe {
            calls::tell(thread);
            ring::try_put(access_word(site, address) | branched::<BEHIND>(thread))
        };
    if done {
        clear::<BEHIND>(thread);
    } else {
        // It has not been counted yet.
        thread.left.store(left, Ordering::Relaxed);
    }
    compiler_fence(Ordering::SeqCst);
    thread.busy.store(0, Ordering::Relaxed);
    if !done {
        otherwise();
    }
}

/// What the word of an access has in addition where the thread entered a basic block since its last access.
#[inline(always)]
fn branched<const BEHIND: u8>(thread: &Thread) -> u64 {
    let entered = match BEHIND {
        behind::TOLD => thread.branch.load(Ordering::Relaxed) != 0,
        behind::BLOCK => true,
        _ => false,
    };
    if entered { access_word(BRANCHED, 0) } else { 0 }
}

/// What [`branched`] said is in the ring.
#[inline(always)]
fn clear<const BEHIND: u8>(thread: &Thread) {
    if BEHIND == behind::TOLD {
        thread.branch.store(0, Ordering::Relaxed);
    }
}

#[inline(always)]
unsafe extern "C" fn read<const SIZE: u8>(address: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    let otherwise = || unsafe { read_otherwise::<SIZE, { behind::TOLD }>(address, None, pc) };
    // SAFETY: as the caller vouches.
    unsafe { append::<{ behind::TOLD }>(sites::cached(pc), address, otherwise) }
}

#[inline(always)]
unsafe extern "C" fn write<const SIZE: u8>(address: u64, pc: u64) {
    // SAFETY: as the caller vouches.
    let otherwise = || unsafe { write_otherwise::<SIZE, { behind::TOLD }>(address, None, pc) };
    // SAFETY: as the caller vouches.
    unsafe { append::<{ behind::TOLD }>(sites::cached(pc), address, otherwise) }
}

#[inline(always)]
unsafe extern "C" fn read_at<const SIZE: u8, const BEHIND: u8>(address: u64, number: &AtomicU32, pc: u64) {
    // SAFETY: as the caller vouches.
    let otherwise = || unsafe { read_otherwise::<SIZE, BEHIND>(address, Some(number), pc) };
    // SAFETY: as the caller vouches.
    unsafe { append::<BEHIND>(number.load(Ordering::Relaxed), address, otherwise) }
}

#[inline(always)]
unsafe extern "C" fn write_at<const SIZE: u8, const BEHIND: u8>(address: u64, number: &AtomicU32, pc: u64) {
    // SAFETY: as the caller vouches.
    let otherwise = || unsafe { write_otherwise::<SIZE, BEHIND>(address, Some(number), pc) };
    // SAFETY: as the caller vouches.
    unsafe { append::<BEHIND>(number.load(Ordering::Relaxed), address, otherwise) }
}

/// The number of the site at `pc`, which `place` has from then on.
///
/// # Safety
/// The caller holds the token.
unsafe fn number(pc: u64, kind: SiteKind, size: u8, place: Option<&AtomicU32>) -> u32 {
    // SAFETY: as the caller vouches.
    let number = unsafe { sites::number(pc, kind, size) };
    if let Some(place) = place {
        tell();
        // The last number stands for many sites.
        if number != MAX_SITE {
            place.store(number, Ordering::Relaxed);
        }
    }
    number
}

#[inline(never)]
unsafe extern "C" fn read_otherwise<const SIZE: u8, const BEHIND: u8>(
    address: u64,
    place: Option<&AtomicU32>,
    pc: u64,
) {
    let may_pass = tls::active().is_none_or(|thread| !is_writing(thread));
    let Some(hook) = Hook::enter_access(may_pass, READ, pc, address) else { return };
    let thread = hook.thread();
    // SAFETY: a hook holds the token.
    let word = access_word(unsafe { number(pc, SiteKind::Read, SIZE, place) }, address);
    let repeats =
        if thread.repeat.load(Ordering::Relaxed) == word && thread.repeat_at.load(Ordering::Relaxed) == ring::head() {
            thread.repeats.load(Ordering::Relaxed) + 1
        } else {
            0
        };
    if repeats > 1 {
        return;
    }
    put_access::<BEHIND>(thread, word);
    thread.repeat.store(word, Ordering::Relaxed);
    thread.repeats.store(repeats, Ordering::Relaxed);
    thread.repeat_at.store(ring::head(), Ordering::Relaxed);
}

#[inline(never)]
unsafe extern "C" fn write_otherwise<const SIZE: u8, const BEHIND: u8>(
    address: u64,
    place: Option<&AtomicU32>,
    pc: u64,
) {
    let Some(hook) = Hook::enter_access(true, WRITE, pc, address) else { return };
    // SAFETY: a hook holds the token.
    let number = unsafe { number(pc, SiteKind::Write, SIZE, place) };
    put_access::<BEHIND>(hook.thread(), access_word(number, address));
}

/// Writes an access of a thread that is in a hook.
fn put_access<const BEHIND: u8>(thread: &Thread, word: u64) {
    // SAFETY: a hook holds the token and its slice left room for a word.
    unsafe {
        calls::tell(thread);
        ring::put(word | branched::<BEHIND>(thread));
    }
    clear::<BEHIND>(thread);
}

/// The last that the thread announced was a write, which may not have happened yet.
fn is_writing(thread: &Thread) -> bool {
    if thread.announced.load(Ordering::Relaxed) == ring::head() {
        return true;
    }
    ring::is_current(thread.owner.load(Ordering::Relaxed))
        && split_access(ring::last()).is_some_and(|(site, _)| sites::writes(site & MAX_SITE))
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
    let may_pass = tls::active().is_none_or(|thread| !is_writing(thread));
    if bytes == 0 {
        return;
    }
    if let Some(hook) = Hook::enter_if(may_pass) {
        hook.record(Tag::RangeRead, pc, &[address, bytes]);
    }
}

unsafe extern "C" fn write_range(address: u64, bytes: u64, pc: u64) {
    if bytes == 0 {
        return;
    }
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::RangeWrite, pc, &[address, bytes]);
        hook.thread().announced.store(ring::head(), Ordering::Relaxed);
    }
}

/// Enters a basic block: what the thread does next says so. None uses up the slice: a loop without accesses loses the token
/// as one without hooks does.
#[inline(always)]
unsafe extern "C" fn branch(pc: u64) {
    let Some(thread) = tls::active() else { return };
    thread.branch.store(pc, Ordering::Relaxed);
    tell();
}

/// The recorder knows that the program tells its basic blocks.
static TOLD: AtomicBool = AtomicBool::new(false);

#[inline(always)]
fn tell() {
    if !TOLD.load(Ordering::Relaxed) {
        tell_now();
    }
}

#[cold]
#[inline(never)]
fn tell_now() {
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
    if pc == 0 {
        return;
    }
    thread.branch.store(0, Ordering::Relaxed);
    // SAFETY: as the caller vouches.
    unsafe { ring::put(access_word(sites::number(pc, SiteKind::Branch, 0), 0)) };
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

/// Hooks of code that went through the assembler: of accesses of each size, whatever they come behind. What [`append`] does
/// where all is as nearly always, in as few instructions as it takes; `inner`, which begins anew, does the rest.
macro_rules! placed {
    ($($size:literal: $($name:ident => $inner:ident $behind:ident $($first:literal)? $(, $last:literal)?;)*)*) => {
        $($(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "mov r8, qword ptr [rip + mayhap_self@GOTTPOFF]",
                    "mov r8, qword ptr fs:[r8]",
                    "mov eax, dword ptr [rsi]",
                    "cmp r8, {finished}",
                    "jbe 3f",
                    "mov rcx, qword ptr [r8 + {left}]",
                    "test eax, eax",
                    "jz 3f",
                    "cmp rcx, 1",
                    "jle 3f",
                    "cmp dword ptr [r8 + {busy}], 0",
                    "jne 3f",
                    $($first,)?
                    // The order of these three matters to `watch`, and to a signal handler.
                    "mov dword ptr [r8 + {busy}], 1",
                    "dec rcx",
                    "mov qword ptr [r8 + {left}], rcx",
                    "mov edx, dword ptr [rip + {owner}]",
                    "cmp edx, dword ptr [r8 + {own}]",
                    "jne 2f",
                    "cmp dword ptr [r8 + {untold}], 0",
                    "jne 2f",
                    // The word: the site above the address.
                    "mov rcx, rdi",
                    "shl rcx, {above}",
                    "shrd rcx, rax, {above}",
                    "mov r9, qword ptr [rip + {header}]",
                    "mov rdx, qword ptr [r9 + {head}]",
                    "cmp rdx, qword ptr [rip + {limit}]",
                    "je 2f",
                    // The last word is another.
                    "lea eax, [rdx - 1]",
                    "and eax, {mask}",
                    "cmp qword ptr [r9 + rax * 8 + {data}], rcx",
                    "je 2f",
                    "mov eax, edx",
                    "and eax, {mask}",
                    "mov qword ptr [r9 + rax * 8 + {data}], rcx",
                    "inc rdx",
                    "mov qword ptr [r9 + {head}], rdx",
                    $($last,)?
                    "mov dword ptr [r8 + {busy}], 0",
                    "ret",
                    "2:",
                    "inc qword ptr [r8 + {left}]",
                    "mov dword ptr [r8 + {busy}], 0",
                    "3:",
                    "mov rdx, qword ptr [rsp]",
                    "jmp {inner}",
                    inner = sym $inner::<$size, { behind::$behind }>,
                    finished = const tls::FINISHED,
                    left = const offset_of!(Thread, left),
                    busy = const offset_of!(Thread, busy),
                    own = const offset_of!(Thread, owner),
                    untold = const offset_of!(Thread, untold),
                    owner = sym sched::OWNER,
                    above = const 64 - ADDRESS_BITS,
                    header = sym ring::HEADER,
                    limit = sym ring::LIMIT,
                    head = const offset_of!(Header, head),
                    mask = const WORDS - 1,
                    data = const DATA_OFFSET,
                )
            }
        )*)*
    };
}

const _: () = assert!(BRANCHED == 0x10000 && offset_of!(Thread, branch) == 24);

placed! {
    1:
    __mayhap_read1 => read_at NOTHING;
    __mayhap_read1_block => read_at BLOCK "or eax, 0x10000";
    __mayhap_read1_call => read_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    __mayhap_write1 => write_at NOTHING;
    __mayhap_write1_block => write_at BLOCK "or eax, 0x10000";
    __mayhap_write1_call => write_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    2:
    __mayhap_read2 => read_at NOTHING;
    __mayhap_read2_block => read_at BLOCK "or eax, 0x10000";
    __mayhap_read2_call => read_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    __mayhap_write2 => write_at NOTHING;
    __mayhap_write2_block => write_at BLOCK "or eax, 0x10000";
    __mayhap_write2_call => write_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    4:
    __mayhap_read4 => read_at NOTHING;
    __mayhap_read4_block => read_at BLOCK "or eax, 0x10000";
    __mayhap_read4_call => read_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    __mayhap_write4 => write_at NOTHING;
    __mayhap_write4_block => write_at BLOCK "or eax, 0x10000";
    __mayhap_write4_call => write_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    8:
    __mayhap_read8 => read_at NOTHING;
    __mayhap_read8_block => read_at BLOCK "or eax, 0x10000";
    __mayhap_read8_call => read_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    __mayhap_write8 => write_at NOTHING;
    __mayhap_write8_block => write_at BLOCK "or eax, 0x10000";
    __mayhap_write8_call => write_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    16:
    __mayhap_read16 => read_at NOTHING;
    __mayhap_read16_block => read_at BLOCK "or eax, 0x10000";
    __mayhap_read16_call => read_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
    __mayhap_write16 => write_at NOTHING;
    __mayhap_write16_block => write_at BLOCK "or eax, 0x10000";
    __mayhap_write16_call => write_at TOLD "cmp qword ptr [r8 + 24], 1; sbb edx, edx; not edx; and edx, 0x10000; or eax, edx", "mov qword ptr [r8 + 24], 0";
}

/// Enters a basic block, called right before something else is called or returned to: every register stays as it is.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __mayhap_entered() {
    core::arch::naked_asm!(
        "push rax",
        "push rcx",
        "mov rax, qword ptr [rip + mayhap_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "cmp rax, {finished}",
        "jbe 2f",
        "mov rcx, qword ptr [rsp + 16]",
        "mov qword ptr [rax + {branch}], rcx",
        "2: pop rcx",
        "pop rax",
        "ret",
        finished = const tls::FINISHED,
        branch = const offset_of!(Thread, branch),
    )
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
