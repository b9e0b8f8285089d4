//! The hooks that rewritten code calls (`mayhap-instrument/src/compile/assembly`).
//!
//! Each access has its own [`Place`], which describes it and keeps the address that its site accessed last. One hook announces up to
//! four accesses that follow each other directly: the token stays until the next hook, when all of them are done. In a
//! replay each access is announced separately, by code that reads [`mayhap_apart`].
//!
//! The hooks handle the common case in few instructions: the [fast path](crate::fast_path) is open for the thread, and each access
//! is near enough to the last one from its site, or its site has a number. Every other case begins anew in [`together`]. In loops the
//! same instructions are inline in the program's code, before the call.
//!
//! **Signals.** Up to the one store that moves the ring's head nothing has happened that cannot happen again, and no register that the hook was
//! called with has changed: a thread that is interrupted before that store begins the hook anew when the signal's handler returns. One that is
//! interrupted between that store and the hook's end has only to note what was accessed last, which [`mend`] does for it. So handlers may
//! have hooks too, and none is lost.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use mayhap_wire::fast_path;
use mayhap_wire::ring::{HEAD_INVALID, Header, MAX_SITE, SiteKind, unit};
use mayhap_wire::schedule::{READ, WRITE};

use crate::hook::{self, Hook};
use crate::inline_hooks::Registers;
use crate::thread::Thread;
use crate::tls;
use crate::{access, cancelling, judge, opaque_calls, ring, sched, sites};

/// An access in the program's code.
#[repr(C)]
pub(crate) struct Place {
    /// The number of its site as units contain it, with the mark if a basic block always begins before it; 0 while it has none.
    number: AtomicU32,
    /// The size of the access, and the bits of [`what`].
    what: u32,
    /// The address that was accessed last.
    last: AtomicU64,
    /// The distance from the hook's return address to the access's own program counter.
    ahead: u32,
    /// The high half of its word without the address; 0 where [`Self::number`] is.
    high: AtomicU32,
}

mod what {
    pub(super) const WRITES: u32 = 1 << 8;
    /// A basic block begins before it.
    pub(super) const BLOCK: u32 = 1 << 9;
    /// A call returned before it, in which basic blocks may have been entered.
    pub(super) const CALL: u32 = 1 << 10;
}

/// Not 0: each access is announced separately, right before it is done.
#[unsafe(no_mangle)]
static mayhap_apart: AtomicU8 = AtomicU8::new(0);
/// A copy for the code of this library.
static APART: AtomicU8 = AtomicU8::new(0);

/// From here on accesses are announced one by one.
pub(crate) fn keep_apart() {
    mayhap_apart.store(1, Ordering::Relaxed);
    APART.store(1, Ordering::Relaxed);
}

/// Announces accesses of a thread that may have to wait, or whose places have no numbers yet.
unsafe extern "C-unwind" fn together(addresses: *const u64, places: *const Place, count: u32, pc: u64) {
    // SAFETY: as the caller vouches.
    let slowly = || unsafe { together_slowly(addresses, places, count, pc) };
    if cancelling::is_possible() { cancelling::deferred(slowly) } else { slowly() }
}

/// # Safety
/// The hooks have put as many addresses there, and the assembler as many places.
#[inline(always)]
unsafe fn together_slowly(addresses: *const u64, places: *const Place, count: u32, pc: u64) {
    if APART.load(Ordering::Relaxed) != 0 {
        // SAFETY: as below. It may be any of those that would otherwise be announced together.
        return unsafe { announce(&*places, addresses.read(), pc, true) };
    }
    for nth in 0..count as usize {
        // SAFETY: the hooks have put as many addresses there, and the assembler as many places.
        let (address, place) = unsafe { (addresses.add(nth).read(), &*places.add(nth)) };
        announce(place, address, pc + u64::from(place.ahead), nth == 0);
    }
    // SAFETY: as above.
    let group = unsafe { core::slice::from_raw_parts(places, count as usize) };
    if group.iter().any(|place| place.number.load(Ordering::Relaxed) == 0) {
        // Inline hooks assume that all places have numbers if the first address has moved by little: now it has not.
        group[0].last.store(0, Ordering::Relaxed);
    }
}

/// Announces one access. `first`: every access that was announced before is done, except perhaps a write that the compiler announced
/// early.
fn announce(place: &Place, address: u64, pc: u64, first: bool) {
    // The place lies in the code's own module, which may be gone when the thread has waited.
    let size = place.what as u8;
    let writes = place.what & what::WRITES != 0;
    let (kind, step) = if writes { (SiteKind::Write, WRITE) } else { (SiteKind::Read, READ) };
    // A write that was announced before the block began, or before a call, is done.
    let is_behind = place.what & (what::BLOCK | what::CALL) != 0;
    let may_pass = first && (writes || is_behind || access::may_pass_before_read());
    let Some(hook) = Hook::enter_access(may_pass, step, pc, address) else { return };
    judge::accesses(address, size, writes, pc);
    let thread = hook.thread();
    let site = sites::number(hook.token(), pc, kind, place.what as u8);
    access::note_branches();
    let block = place.what & what::BLOCK != 0;
    // Accesses from sites with larger numbers are always recorded in words, and the place stays unchanged.
    let last = if site <= unit::MAX_SITE { &place.last } else { sites::last(MAX_SITE) };
    if site <= unit::MAX_SITE {
        let mark = if block { unit::BRANCHED } else { 0 };
        place.number.store(site << unit::SITE_SHIFT | mark, Ordering::Relaxed);
        place.high.store(site << 15 | u32::from(block) << 31, Ordering::Relaxed);
    }
    if !writes && access::is_repeat(thread, site, address) {
        return;
    }
    let branched = block || place.what & what::CALL != 0 && access::is_branched(thread);
    access::put(hook.token(), thread, site, address, last, branched);
    thread.values.announce(address, place.what as u8, writes);
    if !writes {
        access::put_found(&hook, address, place.what as u8);
        access::has_read(thread);
    }
}

/// The beginning of all hooks of accesses: `r9` is the ring's header, `r10` its head. Up to the end of the ring's memory everything that they
/// record fits, in words too.
macro_rules! begin {
    () => {
        concat!(
            "mov r11, qword ptr [rip + mayhap_fast_path_3@GOTPCREL];",
            "mov r9, qword ptr fs:[0];",
            "cmp r9, qword ptr [r11 + {owner}];",
            "jne 9f;",
            "mov r9, qword ptr [r11 + {ring}];",
            "mov r10, qword ptr [r9 + {head}];",
            "cmp r10, qword ptr [r11 + {room}];",
            "jae 9f;",
        )
    };
}

/// After [`begin`]: loads the thread into `r11`.
macro_rules! thread {
    () => {
        "mov r11, qword ptr [rip + mayhap_self@GOTTPOFF]; mov r11, qword ptr fs:[r11];"
    };
}

/// The end of all hooks of accesses: the way to [`together`].
macro_rules! otherwise {
    ($count:literal) => {
        concat!(
            "9: cmp byte ptr [rip + {recording}], 0; je 8f;",
            // Debuggers see the caller by this.
            "push r8; .cfi_adjust_cfa_offset 8; push rcx; .cfi_adjust_cfa_offset 8;",
            "push rdx; .cfi_adjust_cfa_offset 8; push rdi; .cfi_adjust_cfa_offset 8;",
            "mov rdi, rsp; mov edx, ",
            $count,
            "; mov rcx, qword ptr [rsp + 32];",
            "sub rsp, 8; .cfi_adjust_cfa_offset 8; call {together};",
            "add rsp, 40; .cfi_adjust_cfa_offset -40;",
            // Chained inline hooks after this one are given the fast path as a ring: it has no such head.
            "8: mov r9, qword ptr [rip + mayhap_fast_path_3@GOTPCREL]; mov r10, -1; ret; .cfi_endproc",
        )
    };
}

/// A label in a hook, for [`mend`].
macro_rules! mark {
    ($name:ident $what:literal) => {
        concat!(
            ".globl ",
            stringify!($name),
            $what,
            "; .hidden ",
            stringify!($name),
            $what,
            ";",
            stringify!($name),
            $what,
            ":"
        )
    };
}

/// A hook of `$count` accesses, with the names that its code uses.
macro_rules! hook {
    ($name:ident $count:literal: $($line:expr),*; $($named:tt)*) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $($line,)*
                mark!($name "_away"),
                otherwise!($count),
                owner = const fast_path::OWNER,
                room = const fast_path::ROOM,
                ring = const fast_path::RING,
                base = const fast_path::BASE,
                head = const offset_of!(Header, head),
                half = const unit::HALF,
                word_high = sym ring::WORD_HIGH,
                word_end = sym ring::WORD_END,
                together = sym together,
                recording = sym hook::RECORDING,
                $($named)*
            )
        }
    };
}

/// A hook of one access. `rcx` is where the ring's units begin.
macro_rules! single {
    ($($name:ident: $thread:expr, $mark:literal $mark_word:literal $clear:literal $behind:literal;)*) => {
        $(hook! { $name 1:
            "lea rax, [rdi + {half}]",
            "sub rax, qword ptr [rsi + 8]",
            begin!(),
            "mov rcx, qword ptr [r11 + {base}]",
            $thread,
            "cmp rax, 2 * {half} - 1",
            "ja 6f",
            "or eax, dword ptr [rsi]",
            $mark,
            // Before the first unit of the ring's memory lie zeros.
            "cmp dword ptr [rcx + r10 * 4 - 4], eax",
            "je 5f",
            "4: mov dword ptr [rcx + r10 * 4], eax",
            "inc r10",
            "7:",
            $behind,
            mark!($name "_commit"),
            "mov qword ptr [r9 + {head}], r10",
            "mov qword ptr [rsi + 8], rdi",
            $clear,
            mark!($name "_end"),
            "ret",
            // The same unit again: is it the same address again?
            "5: mov r8d, eax",
            "and r8d, 2 * {half} - 1",
            "cmp r8d, {half}",
            "je 9f",
            "jmp 4b",
            // The address is far away: write a word.
            "6: mov eax, dword ptr [rsi + 20]",
            "test eax, eax",
            "jz 9f",
            $mark_word,
            "mov r8, rdi",
            "shr r8, 32",
            "and r8d, 0x7fff",
            "or eax, r8d",
            "mov dword ptr [rcx + r10 * 4], 1",
            "mov dword ptr [rcx + r10 * 4 + 4], edi",
            "mov dword ptr [rcx + r10 * 4 + 8], eax",
            "add r10, 3",
            "mov dword ptr [rip + {word_high}], eax",
            "mov qword ptr [rip + {word_end}], r10",
            "jmp 7b";
        })*
    };
}

const _: () = assert!(offset_of!(Thread, own.branch) == 24 && unit::BRANCHED == 0x20000 && unit::ACCESS == 1);
const _: () = assert!(
    offset_of!(Place, last) == fast_path::PLACE_LAST
        && fast_path::PLACE_LAST == 8
        && offset_of!(Place, high) == 20
        && size_of::<Place>() == fast_path::PLACE_BYTES
);

single! {
    __mayhap_access1: "", "" "" "" "mov r11, rcx";
    __mayhap_access1_call: thread!(),
        "cmp qword ptr [r11 + 24], 1; sbb edx, edx; not edx; and edx, 0x20000; or eax, edx"
        "cmp qword ptr [r11 + 24], 1; sbb edx, edx; not edx; and edx, 0x80000000; or eax, edx"
        "mov qword ptr [r11 + 24], 0" "";
}

/// One access of a hook of several: its unit goes to `r11` and a displacement.
macro_rules! near {
    ($address:literal $place:literal $unit:literal) => {
        concat!(
            "lea rax, [",
            $address,
            " + {half}]; sub rax, qword ptr [rsi + ",
            $place,
            " + 8];",
            "cmp rax, 2 * {half} - 1; ja 6f;",
            "or eax, dword ptr [rsi + ",
            $place,
            "]; mov dword ptr [r11 + ",
            $unit,
            "], eax;",
        )
    };
}

/// One access of a hook of several where some take words: its record goes to `r11`, which moves on. `r10` is free.
macro_rules! far {
    ($address:literal $half:literal $place:literal) => {
        concat!(
            "lea rax, [",
            $address,
            " + {half}]; sub rax, qword ptr [rsi + ",
            $place,
            " + 8];",
            "cmp rax, 2 * {half} - 1; ja 2f;",
            "or eax, dword ptr [rsi + ",
            $place,
            "]; mov dword ptr [r11], eax; add r11, 4; jmp 3f;",
            "2: mov eax, dword ptr [rsi + ",
            $place,
            " + 20]; test eax, eax; jz 9f;",
            "mov dword ptr [r11], 1; mov dword ptr [r11 + 4], ",
            $half,
            ";",
            "mov r10, ",
            $address,
            "; shr r10, 32; and r10d, 0x7fff; or eax, r10d;",
            "mov dword ptr [r11 + 8], eax; add r11, 12;",
            "mov dword ptr [rip + {word_high}], eax; mov qword ptr [rip + {word_at}], r11;",
            "3:",
        )
    };
}

/// A hook of several accesses. `$more`: what else must hold.
macro_rules! several {
    ($($name:ident $count:literal $more:expr; $([$address:literal $half:literal $place:literal $unit:literal])*;)*) => {
        $(hook! { $name $count:
            begin!(),
            "mov rax, qword ptr [r11 + {base}]",
            $more,
            "lea r11, [rax + r10 * 4]",
            $(near!($address $place $unit),)*
            concat!("add r10, ", $count),
            "7: mov r11, qword ptr [rip + mayhap_fast_path_3@GOTPCREL]",
            "mov r11, qword ptr [r11 + {base}]",
            mark!($name "_commit"),
            "mov qword ptr [r9 + {head}], r10",
            $(concat!("mov qword ptr [rsi + ", $place, " + 8], ", $address),)*
            mark!($name "_end"),
            "ret",
            "6: mov qword ptr [rip + {word_at}], 0",
            $(far!($address $half $place),)*
            // Compute the new head, and whether the last access took a word.
            "mov r10, qword ptr [r9 + {head}]",
            // Another thread may have invalidated it.
            "btr r10, {sealed}",
            "mov rax, qword ptr [rip + mayhap_fast_path_3@GOTPCREL]",
            "mov rax, qword ptr [rax + {base}]",
            "lea rax, [rax + r10 * 4]",
            "neg rax",
            "add rax, r11",
            "shr rax, 2",
            "add r10, rax",
            "cmp r11, qword ptr [rip + {word_at}]",
            "jne 7b",
            "mov qword ptr [rip + {word_end}], r10",
            "jmp 7b";
            word_at = sym ring::WORD_AT,
            sealed = const HEAD_INVALID.trailing_zeros(),
        })*
    };
}

several! {
    __mayhap_access2 "2" "";
        ["rdi" "edi" "0" "0"] ["rdx" "edx" "24" "4"];
    __mayhap_access3 "3" "";
        ["rdi" "edi" "0" "0"] ["rdx" "edx" "24" "4"] ["rcx" "ecx" "48" "8"];
    __mayhap_access4 "4" "";
        ["rdi" "edi" "0" "0"] ["rdx" "edx" "24" "4"] ["rcx" "ecx" "48" "8"] ["r8" "r8d" "72" "12"];
    __mayhap_access2_call "2" concat!(thread!(), "cmp qword ptr [r11 + 24], 0; jne 9f");
        ["rdi" "edi" "0" "0"] ["rdx" "edx" "24" "4"];
    __mayhap_access3_call "3" concat!(thread!(), "cmp qword ptr [r11 + 24], 0; jne 9f");
        ["rdi" "edi" "0" "0"] ["rdx" "edx" "24" "4"] ["rcx" "ecx" "48" "8"];
    __mayhap_access4_call "4" concat!(thread!(), "cmp qword ptr [r11 + 24], 0; jne 9f");
        ["rdi" "edi" "0" "0"] ["rdx" "edx" "24" "4"] ["rcx" "ecx" "48" "8"] ["r8" "r8d" "72" "12"];
}

/// A hook as [`mend`] sees it: where it begins, where the head moves, where it ends, and where it gives up; how many accesses it
/// announces.
struct Extent {
    begin: u64,
    commit: u64,
    end: u64,
    away: u64,
    count: usize,
}

macro_rules! extents {
    ($($name:ident $commit:ident $end:ident $away:ident $count:literal;)*) => {
        unsafe extern "C" {
            $(
                static $commit: u8;
                static $end: u8;
                static $away: u8;
            )*
        }

        fn extents() -> [Extent; 8] {
            [$(Extent {
                begin: $name as *const () as u64,
                commit: &raw const $commit as u64,
                end: &raw const $end as u64,
                away: &raw const $away as u64,
                count: $count,
            },)*]
        }
    };
}

extents! {
    __mayhap_access1 __mayhap_access1_commit __mayhap_access1_end __mayhap_access1_away 1;
    __mayhap_access2 __mayhap_access2_commit __mayhap_access2_end __mayhap_access2_away 2;
    __mayhap_access3 __mayhap_access3_commit __mayhap_access3_end __mayhap_access3_away 3;
    __mayhap_access4 __mayhap_access4_commit __mayhap_access4_end __mayhap_access4_away 4;
    __mayhap_access1_call __mayhap_access1_call_commit __mayhap_access1_call_end __mayhap_access1_call_away 1;
    __mayhap_access2_call __mayhap_access2_call_commit __mayhap_access2_call_end __mayhap_access2_call_away 2;
    __mayhap_access3_call __mayhap_access3_call_commit __mayhap_access3_call_end __mayhap_access3_call_away 3;
    __mayhap_access4_call __mayhap_access4_call_commit __mayhap_access4_call_end __mayhap_access4_call_away 4;
}

/// Where a thread that a signal interrupted at `pc` goes on when the handler returns (see the module's text on signals).
///
/// # Safety
/// `registers` are those that the thread was interrupted with.
pub(crate) unsafe fn mend(pc: u64, registers: &Registers) -> u64 {
    for Extent { begin, commit, end, away, count } in extents() {
        if !(begin..away).contains(&pc) || pc == end {
            continue;
        }
        if pc <= commit || pc > end {
            return begin;
        }
        for (nth, address) in registers.addresses.iter().take(count).enumerate() {
            // SAFETY: the hook was called with so many places.
            unsafe { (*(registers.places as *const Place).add(nth)).last.store(*address, Ordering::Relaxed) };
        }
        return end;
    }
    pc
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
        branch = const offset_of!(Thread, own.branch),
    )
}

/// The thread leaves instrumented code, and everything that it announced is done: any thread may take the token. Every register
/// stays as it is; the functions that are called are not compiled to use more of them than are saved. `$watched` says whether the
/// call is to be looked at.
macro_rules! leaving {
    ($name:ident, $watched:path, $give_up:path) => {
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn $name() {
    core::arch::naked_asm!(
        "push rax",
        "push rcx",
        "mov rax, qword ptr [rip + mayhap_self@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "cmp rax, {finished}",
        "jbe 2f",
        // Inside another hook, or between a hook and the access that it announced, that may not be true.
        "mov ecx, dword ptr [rax + {busy}]",
        "or ecx, dword ptr [rax + {handlers}]",
        "jnz 2f",
        "cmp byte ptr [rip + {apart}], 0",
        "jne 5f",
        "push rdx",
        "mov rdx, qword ptr [rip + mayhap_fast_path_3@GOTPCREL]",
        "mov rcx, qword ptr fs:[0]",
        "cmp rcx, qword ptr [rdx + {fast_path_owner}]",
        "jne 4f",
        "mov qword ptr [rdx + {fast_path_owner}], 0",
        "4: pop rdx",
        "mov dword ptr [rax + {outside}], 1",
        "cmp byte ptr [rip + {watched}], 0",
        "jne 3f",
        "cmp dword ptr [rip + {waiting}], 0",
        "je 2f",
        "mov ecx, dword ptr [rip + {owner}]",
        "cmp ecx, dword ptr [rax + {own}]",
        "je 3f",
        "2: pop rcx",
        "pop rax",
        "ret",
        // Where accesses are announced one by one the thread keeps the token.
        "5: cmp byte ptr [rip + {watched}], 0",
        "je 2b",
        // Another thread waits, or the call may be one of a library that orders threads.
        "3: push rbp; mov rbp, rsp",
        "push rdx; push rsi; push rdi",
        "push r8; push r9; push r10; push r11",
        "sub rsp, 128 + 8",
        // Before jumps the stack is aligned differently than before calls.
        "and rsp, -16",
        "movups xmmword ptr [rsp], xmm0",
        "movups xmmword ptr [rsp + 16], xmm1",
        "movups xmmword ptr [rsp + 32], xmm2",
        "movups xmmword ptr [rsp + 48], xmm3",
        "movups xmmword ptr [rsp + 64], xmm4",
        "movups xmmword ptr [rsp + 80], xmm5",
        "movups xmmword ptr [rsp + 96], xmm6",
        "movups xmmword ptr [rsp + 112], xmm7",
        "mov rdi, qword ptr [rbp + 24]",
        "call {give_up}",
        "movups xmm0, xmmword ptr [rsp]",
        "movups xmm1, xmmword ptr [rsp + 16]",
        "movups xmm2, xmmword ptr [rsp + 32]",
        "movups xmm3, xmmword ptr [rsp + 48]",
        "movups xmm4, xmmword ptr [rsp + 64]",
        "movups xmm5, xmmword ptr [rsp + 80]",
        "movups xmm6, xmmword ptr [rsp + 96]",
        "movups xmm7, xmmword ptr [rsp + 112]",
        "lea rsp, [rbp - 56]",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi; pop rsi; pop rdx; pop rbp",
        "jmp 2b",
        finished = const tls::FINISHED,
        busy = const offset_of!(Thread, own.busy),
        handlers = const offset_of!(Thread, own.handlers),
        fast_path_owner = const fast_path::OWNER,
        outside = const offset_of!(Thread, own.outside),
        own = const offset_of!(Thread, identity.owner),
        owner = sym sched::OWNER,
        waiting = sym sched::WAITING,
        apart = sym APART,
        watched = sym $watched,
        give_up = sym $give_up,
    )
}
    };
}

leaving!(__mayhap_leaving, opaque_calls::ANY, give_up);
// The call is of a function that may be one of the system's libraries that nothing is known of.
leaving!(__mayhap_leaving_unseen, opaque_calls::ALWAYS, give_up_before_unseen);

/// Records the call at `pc` that follows, if it may order threads, and gives the token to a thread that waits for it.
unsafe extern "C" fn give_up(pc: u64) {
    if opaque_calls::ANY.load(Ordering::Relaxed) != 0 && opaque_calls::are_recorded() {
        opaque_calls::calls(pc);
    }
    give_token();
}

/// The same before a call of a function that nothing is known of.
unsafe extern "C" fn give_up_before_unseen(pc: u64) {
    if opaque_calls::are_recorded() {
        opaque_calls::calls_unseen(pc);
    }
    give_token();
}

/// Gives the token to a thread that waits for it, unless accesses are announced one by one.
fn give_token() {
    if APART.load(Ordering::Relaxed) == 0
        && let Some(thread) = tls::active()
        && sched::WAITING.load(Ordering::Relaxed) != 0
        && sched::OWNER.load(Ordering::Relaxed) == thread.identity.owner.load(Ordering::Relaxed)
    {
        hook::while_busy(thread, || sched::offer(thread));
    }
}
