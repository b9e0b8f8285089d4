//! Exceptions that several threads have: GNU's C++ library counts their references in code without hooks. A thread that gives a
//! reference up comes before the one that gives up the last reference and so destroys the exception.
//!
//! The counts lie where the library has them: before the object that was thrown, and before the text of `std::logic_error` and
//! `std::runtime_error`. That a reference is given up is recorded as an atomic update of the count.

use libc::c_void;
use mayhap_wire::ring::{AtomicKind, Tag, atomic_word};

use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

#[expect(non_snake_case, reason = "the names that C++ gives them")]
mod libc_real {
    use super::*;
    real! {
        fn __cxa_get_globals() -> *const Caught;
        fn __cxa_end_catch() -> ();
        fn _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(pointer: *mut *mut u8) -> ();
        fn _ZNSt13runtime_errorD2Ev(error: *mut c_void) -> ();
        fn _ZNSt11logic_errorD2Ev(error: *mut c_void) -> ();
    }
}

exports! {
    __cxa_end_catch => end_catch;
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv => release;
    _ZNSt13runtime_errorD2Ev => end_runtime_error;
    _ZNSt13runtime_errorD1Ev => end_runtime_error;
    _ZNSt11logic_errorD2Ev => end_logic_error;
    _ZNSt11logic_errorD1Ev => end_logic_error;
}

/// What the library keeps before an object that was thrown, from its second field on.
#[repr(C)]
struct Header {
    /// The object, if this stands for one that was thrown again from a pointer.
    primary: *mut u8,
    others: [u64; 9],
    /// Whose exception it is.
    class: u64,
    unwinding: [u64; 3],
}

/// What the calling thread has caught last.
#[repr(C)]
struct Caught {
    header: *mut Header,
}

/// Exceptions of GNU's library; with 1 in the lowest byte, ones that stand for another.
const CLASS: u64 = u64::from_be_bytes(*b"GNUCC++\0");
/// From a count to the object.
const BEFORE: usize = size_of::<Header>() + 16;
/// `memory_order_acq_rel`, as compilers number it.
const BOTH: u8 = 4;

/// A reference is about to be given up.
fn gives_up(count: u64, pc: u64) {
    if let Some(hook) = Hook::enter_outermost() {
        hook.record(Tag::Atomic, pc, &[count, atomic_word(AtomicKind::Update, BOTH, 4)]);
    }
}

unsafe extern "C-unwind" fn end_catch() {
    let pc = tls::caller();
    // SAFETY: the library's own lists; what was caught is there until the call.
    unsafe {
        let header = libc_real::__cxa_get_globals().as_ref().map_or(core::ptr::null_mut(), |caught| caught.header);
        if let Some(caught) = header.as_ref() {
            match caught.class {
                CLASS => gives_up(header as u64 + size_of::<Header>() as u64 - BEFORE as u64, pc),
                class if class == CLASS | 1 => gives_up((caught.primary as u64).wrapping_sub(BEFORE as u64), pc),
                _ => {}
            }
        }
        libc_real::__cxa_end_catch();
    }
}

unsafe extern "C-unwind" fn release(pointer: *mut *mut u8) {
    let pc = tls::caller();
    // SAFETY: the caller's own pointer.
    unsafe {
        if !(*pointer).is_null() {
            gives_up((*pointer as u64).wrapping_sub(BEFORE as u64), pc);
        }
        libc_real::_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(pointer);
    }
}

/// The text of an error is shared by its copies: the count is the last number before it.
unsafe fn gives_up_text(error: *mut c_void, pc: u64) {
    // SAFETY: an object with a table of functions and the text.
    let text = unsafe { *error.cast::<u64>().add(1) };
    gives_up(text.wrapping_sub(8), pc);
}

unsafe extern "C-unwind" fn end_runtime_error(error: *mut c_void) {
    let pc = tls::caller();
    // SAFETY: the caller's own object.
    unsafe {
        gives_up_text(error, pc);
        libc_real::_ZNSt13runtime_errorD2Ev(error);
    }
}

unsafe extern "C-unwind" fn end_logic_error(error: *mut c_void) {
    let pc = tls::caller();
    // SAFETY: the caller's own object.
    unsafe {
        gives_up_text(error, pc);
        libc_real::_ZNSt11logic_errorD2Ev(error);
    }
}
