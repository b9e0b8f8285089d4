//! Functions of libstdc++ that start threads, wait, notify, and read and write memory for the program. They are not instrumented, so the calls of the C library
//! that they make would seem to come from nowhere: with these, the call stack goes on in the program's own code.

use libc::c_void;

use crate::calls::Inside;
use crate::channels::positions::{self, From};
use crate::real::real;
use crate::tls::{self, exports};

type Object = *mut c_void;

#[allow(non_snake_case, reason = "names that C++ gives")]
mod libstdcxx {
    use super::*;
    real! {
        fn _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(thread: Object, state: Object, needs: Object) -> ();
        fn _ZNSt6thread4joinEv(thread: Object) -> ();
        fn _ZNSt6thread6detachEv(thread: Object) -> ();
        fn _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition: Object, lock: Object) -> ();
        fn _ZNSt18condition_variable10notify_oneEv(condition: Object) -> ();
        fn _ZNSt18condition_variable10notify_allEv(condition: Object) -> ();
        fn _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l(stream: Object, text: Object, length: isize) -> Object;
        fn _ZNSo5writeEPKcl(stream: Object, text: Object, length: isize) -> Object;
        fn _ZNSi4readEPcl(stream: Object, text: Object, length: isize) -> Object;
    }
}

exports! {
    _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE => start;
    _ZNSt6thread4joinEv => join;
    _ZNSt6thread6detachEv => detach;
    _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE => wait;
    _ZNSt18condition_variable10notify_oneEv => notify_one;
    _ZNSt18condition_variable10notify_allEv => notify_all;
    _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l => insert;
    _ZNSo5writeEPKcl => write;
    _ZNSi4readEPcl => read;
}

unsafe extern "C-unwind" fn start(thread: Object, state: Object, needs: Object) {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own arguments.
    unsafe {
        libstdcxx::_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
            thread, state, needs,
        );
    }
}

unsafe extern "C-unwind" fn join(thread: Object) {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own argument.
    unsafe { libstdcxx::_ZNSt6thread4joinEv(thread) }
}

unsafe extern "C-unwind" fn detach(thread: Object) {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own argument.
    unsafe { libstdcxx::_ZNSt6thread6detachEv(thread) }
}

unsafe extern "C-unwind" fn wait(condition: Object, lock: Object) {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own arguments.
    unsafe { libstdcxx::_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock) }
}

unsafe extern "C-unwind" fn notify_one(condition: Object) {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own argument.
    unsafe { libstdcxx::_ZNSt18condition_variable10notify_oneEv(condition) }
}

unsafe extern "C-unwind" fn notify_all(condition: Object) {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own argument.
    unsafe { libstdcxx::_ZNSt18condition_variable10notify_allEv(condition) }
}

unsafe extern "C-unwind" fn insert(stream: Object, text: Object, length: isize) -> Object {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own arguments.
    unsafe {
        libstdcxx::_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l(stream, text, length)
    }
}

unsafe extern "C-unwind" fn write(stream: Object, text: Object, length: isize) -> Object {
    let _inside = Inside::of(tls::caller());
    // SAFETY: the caller's own arguments.
    unsafe { libstdcxx::_ZNSo5writeEPKcl(stream, text, length) }
}

unsafe extern "C-unwind" fn read(stream: Object, text: Object, length: isize) -> Object {
    let _inside = Inside::of(tls::caller());
    positions::takes(From::Object(stream as u64), tls::caller());
    // SAFETY: the caller's own arguments.
    unsafe { libstdcxx::_ZNSi4readEPcl(stream, text, length) }
}

/// Functions that take from a stream of C++, with at most four arguments, all of them numbers or addresses.
macro_rules! take {
    ($($name:ident => $inner:ident;)*) => {
        #[allow(non_snake_case, reason = "names that C++ gives")]
        mod taking {
            use super::*;
            real! { $(fn $name(stream: Object, a: usize, b: usize, c: usize) -> usize;)* }
        }
        exports! { $($name => $inner;)* }
        $(
            unsafe extern "C-unwind" fn $inner(stream: Object, a: usize, b: usize, c: usize) -> usize {
                let pc = tls::caller();
                let _inside = Inside::of(pc);
                positions::takes(From::Object(stream as u64), pc);
                // SAFETY: the caller's own arguments in the same registers; what it did not pass is ignored.
                unsafe { taking::$name(stream, a, b, c) }
            }
        )*
    };
}

take! {
    _ZNSi10_M_extractIbEERSiRT_ => extract_bool;
    _ZNSirsERb => take_bool;
    _ZNSi10_M_extractIdEERSiRT_ => extract_double;
    _ZNSirsERd => take_double;
    _ZNSi10_M_extractIeEERSiRT_ => extract_long_double;
    _ZNSirsERe => take_long_double;
    _ZNSi10_M_extractIfEERSiRT_ => extract_float;
    _ZNSirsERf => take_float;
    _ZNSi10_M_extractIjEERSiRT_ => extract_unsigned;
    _ZNSirsERj => take_unsigned;
    _ZNSi10_M_extractIlEERSiRT_ => extract_long;
    _ZNSirsERl => take_long;
    _ZNSi10_M_extractImEERSiRT_ => extract_unsigned_long;
    _ZNSirsERm => take_unsigned_long;
    _ZNSi10_M_extractIPvEERSiRT_ => extract_address;
    _ZNSirsERPv => take_address;
    _ZNSi10_M_extractItEERSiRT_ => extract_unsigned_short;
    _ZNSirsERt => take_unsigned_short;
    _ZNSi10_M_extractIxEERSiRT_ => extract_long_long;
    _ZNSirsERx => take_long_long;
    _ZNSi10_M_extractIyEERSiRT_ => extract_unsigned_long_long;
    _ZNSirsERy => take_unsigned_long_long;
    _ZNSirsERi => take_int;
    _ZNSirsERs => take_short;
    _ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE => take_word;
    _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_ => take_character;
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE => take_line;
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_ => take_until;
    _ZNSi3getEv => get;
    _ZNSi3getERc => get_into;
    _ZNSi7getlineEPcl => fill_line;
    _ZNSi7getlineEPclc => fill_until;
}
