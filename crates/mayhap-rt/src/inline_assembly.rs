//! The hook before instructions of inline assembly that touch memory. It stands between any two instructions, so it keeps every
//! register, vectors and flags included.

use core::sync::atomic::Ordering;

use mayhap_wire::channel::doubt;
use mayhap_wire::inline_assembly::{Does, split};
use mayhap_wire::ring::{AtomicForm, AtomicKind, Tag, atomic_word, order};

use crate::hook::Hook;
use crate::{access, replay, tls};

/// Registers that may be in use between any two instructions: of the processor's state the parts for numbers and vectors.
const PARTS: u32 = 0xe7;
/// Room for those parts.
const ROOM: usize = 2752;

/// Called with the address in `%rdi`. Behind the return address lie the word that says what the instruction does, and the program's
/// own `%rdi`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __mayhap_inline() {
    core::arch::naked_asm!(
        "pushfq",
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "push rbp",
        "cld",
        "mov rbp, rsp",
        "sub rsp, {room}",
        "and rsp, -64",
        // The processor looks at what the area's head says.
        "xor eax, eax",
        "mov qword ptr [rsp + 512], rax",
        "mov qword ptr [rsp + 520], rax",
        "mov qword ptr [rsp + 528], rax",
        "mov qword ptr [rsp + 536], rax",
        "mov qword ptr [rsp + 544], rax",
        "mov qword ptr [rsp + 552], rax",
        "mov qword ptr [rsp + 560], rax",
        "mov qword ptr [rsp + 568], rax",
        "mov eax, {parts}",
        "xor edx, edx",
        "xsave64 [rsp]",
        "mov esi, dword ptr [rbp + 88]",
        "mov rdx, qword ptr [rbp + 80]",
        "mov rcx, rbp",
        "call {inner}",
        "mov eax, {parts}",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "mov rsp, rbp",
        "pop rbp",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "popfq",
        "ret",
        room = const ROOM,
        parts = const PARTS,
        inner = sym announce,
    )
}

/// Which of the words that the hook saved are `%rdx` and `%rax`.
const SAVED_RDX: usize = 6;
const SAVED_RAX: usize = 8;

unsafe extern "C" fn announce(address: u64, what: u32, pc: u64, saved: *const u64) {
    let Some((does, size, order, entered)) = split(what) else { return };
    if entered && let Some(thread) = tls::active() {
        // The place of a branch is no other's: one in the call of the hook has the same line.
        thread.own.branch.store(pc - 1, Ordering::Relaxed);
    }
    match does {
        Does::Load => atomic(pc, address, AtomicKind::Load, AtomicForm::Plain, order, size),
        Does::Store => atomic(pc, address, AtomicKind::Store, AtomicForm::Plain, order, size),
        Does::Update => atomic(pc, address, AtomicKind::Update, AtomicForm::Plain, order, size),
        Does::Exchange => atomic(pc, address, AtomicKind::Update, AtomicForm::Exchange, order, size),
        Does::Compare => {
            let Some((hook, _)) = Hook::enter_for(Tag::Atomic, pc, address) else { return };
            // SAFETY: the hook saved the registers, and the instruction that comes reads the memory. No other thread that has hooks
            // changes it before.
            let is_equal = unsafe { is_expected(address, size, *saved.add(SAVED_RAX), *saved.add(SAVED_RDX)) };
            let kind = if is_equal { AtomicKind::Update } else { AtomicKind::Load };
            record(&hook, pc, address, kind, AtomicForm::Compare, order, size);
        }
        Does::Change => {
            if let Some(hook) = Hook::enter() {
                // Another thread may write in between, which is why two such instructions race. One that stores what only others load does
                // not: the processor stores it whole and after all that came before.
                hook.record(Tag::RangeRead, pc, &[address, u64::from(size)]);
                record(&hook, pc, address, AtomicKind::Store, AtomicForm::Plain, order::RELEASE, size);
            }
        }
        Does::Read => read(pc, address, size),
        Does::Write => write(pc, address, size),
        Does::ReadAndWrite => {
            read(pc, address, size);
            // It is a place of its own, as that of a branch is.
            write(pc - 2, address, size);
        }
        Does::Fence => {
            if let Some(hook) = Hook::enter() {
                hook.record(Tag::Fence, pc, &[u64::from(order)]);
            }
        }
        Does::Unknown => {
            if let Some(hook) = Hook::enter() {
                hook.record(Tag::Doubt, pc, &[u64::from(doubt::ASSEMBLY)]);
            }
        }
    }
}

/// A read that is not atomic.
fn read(pc: u64, address: u64, size: u8) {
    // SAFETY: the program is about to read there.
    unsafe {
        match size {
            1 => access::read::<1>(address, pc),
            2 => access::read::<2>(address, pc),
            4 => access::read::<4>(address, pc),
            8 => access::read::<8>(address, pc),
            16 => access::read::<16>(address, pc),
            _ => range(Tag::RangeRead, pc, address, size),
        }
    }
}

/// A write that is not atomic.
fn write(pc: u64, address: u64, size: u8) {
    // SAFETY: the program is about to write there.
    unsafe {
        match size {
            1 => access::write::<1>(address, pc),
            2 => access::write::<2>(address, pc),
            4 => access::write::<4>(address, pc),
            8 => access::write::<8>(address, pc),
            16 => access::write::<16>(address, pc),
            _ => range(Tag::RangeWrite, pc, address, size),
        }
    }
}

/// An access to more than one hook for plain accesses takes.
fn range(tag: Tag, pc: u64, address: u64, size: u8) {
    if let Some(hook) = Hook::enter() {
        hook.record(tag, pc, &[address, size.into()]);
    }
}

/// The instruction itself comes after the hook, which therefore does not pass the token on.
fn atomic(pc: u64, address: u64, kind: AtomicKind, form: AtomicForm, order: u8, size: u8) {
    if let Some((hook, _)) = Hook::enter_for(Tag::Atomic, pc, address) {
        record(&hook, pc, address, kind, form, order, size);
    }
}

/// The values are not known: what is written may be in any register.
fn record(hook: &Hook, pc: u64, address: u64, kind: AtomicKind, form: AtomicForm, order: u8, size: u8) {
    replay::check_atomic(hook.thread(), kind as u8, pc, address);
    hook.record(Tag::Atomic, pc, &[address, form.in_word(atomic_word(kind, order, size))]);
}

/// The memory holds what a compare-exchange expects.
///
/// # Safety
/// The memory can be read.
unsafe fn is_expected(address: u64, size: u8, low: u64, high: u64) -> bool {
    // SAFETY: as the caller vouches.
    unsafe {
        match size {
            1 => (address as *const u8).read() == low as u8,
            2 => (address as *const u16).read_unaligned() == low as u16,
            4 => (address as *const u32).read_unaligned() == low as u32,
            16 => {
                let place = address as *const u64;
                place.read_unaligned() == low && place.add(1).read_unaligned() == high
            }
            _ => (address as *const u64).read_unaligned() == low,
        }
    }
}

// What is said of fences are the numbers that compilers have for orders.
const _: () = assert!(order::SEQ_CST == 5 && order::ACQUIRE == 2 && order::RELEASE == 3);
