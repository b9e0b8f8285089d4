//! Streams of libstdc++, which reads and writes their memory in code without hooks: what one thread puts into a stream decides what another
//! takes from it. Each operation on a stream first makes a `sentry`, which the library calls by its name.
//!
//! Whether two threads may use a stream at once is not judged here: the operations count as atomic and order nothing. The standard streams
//! are left out: only the order of what is printed depends on them.

use core::sync::atomic::{AtomicU64, Ordering};

use mayhap_wire::ring::{AtomicForm, AtomicKind, Tag, atomic_word, order};

use crate::hook::Hook;
use crate::pass_on::{Registers, pass_on};
use crate::replay;

/// The states of the standard streams.
static STANDARD: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Looks the standard streams up, before the program has threads.
pub(crate) fn prepare() {
    for (name, state) in [c"_ZSt4cout", c"_ZSt4cerr", c"_ZSt4clog", c"_ZSt3cin"].into_iter().zip(&STANDARD) {
        // SAFETY: a name that ends in zero.
        let stream = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64;
        state.store(stream, Ordering::Relaxed);
    }
}

/// Where the part of a stream lies that all its other parts share: the distance stands before the table that its first word points to.
///
/// # Safety
/// It is a stream.
unsafe fn shared_part(stream: u64) -> u64 {
    // SAFETY: as the caller vouches.
    unsafe {
        let table = (stream as *const u64).read();
        stream.wrapping_add(((table - 24) as *const u64).read())
    }
}

/// Where in the shared part stands whether the last operation succeeded, and of what size that is.
const STATE: (u64, u8) = (32, 4);

/// Notes an operation on the stream that an argument is.
fn note(registers: *const Registers, argument: usize, pc: u64, kind: AtomicKind) {
    // SAFETY: the registers of a call, which its caller put there.
    let stream = unsafe { (*registers).general[argument] };
    // The table of a standard stream is set before anything runs, and so it is known by its own address.
    if STANDARD.iter().any(|standard| standard.load(Ordering::Relaxed) == stream) {
        return;
    }
    // SAFETY: the argument is a stream.
    note_state(unsafe { shared_part(stream) }, pc, kind);
}

/// Notes that the stream whose shared part the first argument is was asked whether its last operation succeeded.
fn note_question(registers: *const Registers, pc: u64) {
    // SAFETY: the registers of a call, which its caller put there.
    let shared = unsafe { (*registers).general[0] };
    let is_standard = |standard: &AtomicU64| {
        let stream = standard.load(Ordering::Relaxed);
        // SAFETY: a standard stream. Where no part of the program uses them, they are not made, and their memory is zero.
        unsafe { stream != 0 && (stream as *const u64).read() != 0 && shared_part(stream) == shared }
    };
    if !STANDARD.iter().any(is_standard) {
        note_state(shared, pc, AtomicKind::Load);
    }
}

fn note_state(shared: u64, pc: u64, kind: AtomicKind) {
    let Some(mut hook) = Hook::enter_outermost() else { return };
    hook.announces();
    let address = shared + STATE.0;
    replay::check_atomic(hook.thread(), kind as u8, pc, address);
    hook.record(Tag::Atomic, pc, &[address, AtomicForm::Plain.in_word(atomic_word(kind, order::RELAXED, STATE.1))]);
}

#[allow(non_snake_case, reason = "names that C++ gives")]
mod named {
    use super::*;
    pass_on! {
        _ZNSo6sentryC1ERSo find_output |registers, _, pc| note(registers, 1, pc, AtomicKind::Store);
        _ZNSi6sentryC1ERSib find_input |registers, _, pc| note(registers, 1, pc, AtomicKind::Update);
        _ZNKSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv find_text_1
            |registers, _, pc| note(registers, 1, pc, AtomicKind::Load);
        _ZNKRSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv find_text_2
            |registers, _, pc| note(registers, 1, pc, AtomicKind::Load);
        _ZNKSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE4viewEv find_text_3
            |registers, _, pc| note(registers, 0, pc, AtomicKind::Load);
        _ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv find_text_4
            |registers, _, pc| note(registers, 1, pc, AtomicKind::Load);
        _ZNKRSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv find_text_5
            |registers, _, pc| note(registers, 1, pc, AtomicKind::Load);
        _ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE4viewEv find_text_6
            |registers, _, pc| note(registers, 0, pc, AtomicKind::Load);
        _ZNKSt9basic_iosIcSt11char_traitsIcEE3badEv find_question_1 |registers, _, pc| note_question(registers, pc);
        _ZNKSt9basic_iosIcSt11char_traitsIcEE3eofEv find_question_2 |registers, _, pc| note_question(registers, pc);
        _ZNKSt9basic_iosIcSt11char_traitsIcEE4failEv find_question_3 |registers, _, pc| note_question(registers, pc);
        _ZNKSt9basic_iosIcSt11char_traitsIcEE4goodEv find_question_4 |registers, _, pc| note_question(registers, pc);
        _ZNKSt9basic_iosIcSt11char_traitsIcEE7rdstateEv find_question_5 |registers, _, pc| note_question(registers, pc);
        _ZNKSt9basic_iosIcSt11char_traitsIcEEcvbEv find_question_6 |registers, _, pc| note_question(registers, pc);
        _ZNKSt9basic_iosIcSt11char_traitsIcEEntEv find_question_7 |registers, _, pc| note_question(registers, pc);
    }
}
