//! What GNU's C++ library does to strings in its own object code, which has no hooks: the members of `std::string` that programs do not
//! instantiate. What they read and write of the string is recorded, then the real function works.
//!
//! All these take at most six words and return at most one, so that they are passed on alike.

use mayhap_wire::ring::Tag;

use crate::calls;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

/// A string: the library's own layout.
#[repr(C)]
struct Text {
    characters: *mut u8,
    length: usize,
    /// How many characters fit, or, if they are few, the characters themselves.
    capacity: usize,
    more: usize,
}

/// Strings of which more is not looked at.
const LONGEST: usize = 1 << 20;

/// The caller's string and its hook.
struct Access<'a> {
    hook: &'a Hook,
    pc: u64,
    text: *const Text,
}

impl Access<'_> {
    fn record(&self, tag: Tag, from: u64, bytes: usize) {
        if bytes > 0 {
            self.hook.record(tag, self.pc, &[from, bytes as u64]);
        }
    }

    /// The characters and how many they are, with the zero at the end.
    fn characters(&self) -> (u64, usize) {
        // SAFETY: the caller's own string.
        let text = unsafe { &*self.text };
        (text.characters as u64, text.length.saturating_add(1).min(LONGEST))
    }

    fn reads(&self) {
        let (from, bytes) = self.characters();
        self.record(Tag::RangeRead, self.text as u64, 16);
        self.record(Tag::RangeRead, from, bytes);
    }

    /// Its length changes, and what comes after its characters.
    fn grows(&self) {
        let (from, bytes) = self.characters();
        self.record(Tag::RangeRead, self.text as u64, 8);
        self.record(Tag::RangeWrite, self.text as u64 + 8, 8);
        self.record(Tag::RangeWrite, from + bytes as u64 - 1, 1);
    }

    /// Its characters are copied to another place.
    fn moves(&self) {
        let (from, bytes) = self.characters();
        self.record(Tag::RangeWrite, self.text as u64, size_of::<Text>());
        if from != self.text as u64 + 16 {
            self.record(Tag::RangeRead, from, bytes);
        }
    }

    fn changes(&self) {
        let (from, bytes) = self.characters();
        self.record(Tag::RangeWrite, self.text as u64, size_of::<Text>());
        if from != self.text as u64 + 16 {
            self.record(Tag::RangeWrite, from, bytes);
        }
    }
}

/// Records an access to a string at a place that the program passes.
fn note(place: usize, access: impl FnOnce(&Access<'_>)) {
    let pc = tls::caller();
    if place != 0
        && let Some(mut hook) = Hook::enter_outermost()
    {
        hook.announces();
        access(&Access { hook: &hook, pc, text: place as *const Text });
    }
}

fn grows(arguments: [usize; 6]) {
    note(arguments[0], |access| access.grows());
}

fn moves(arguments: [usize; 6]) {
    note(arguments[0], |access| access.moves());
}

fn changes(arguments: [usize; 6]) {
    note(arguments[0], |access| access.changes());
}

fn change_both(arguments: [usize; 6]) {
    note(arguments[0], |access| access.changes());
    note(arguments[1], |access| access.changes());
}

fn reads(arguments: [usize; 6]) {
    note(arguments[0], |access| access.reads());
}

/// The first argument is where a new string will be.
fn reads_second(arguments: [usize; 6]) {
    note(arguments[1], |access| access.reads());
}

/// For each function a name here, what it does to its strings, and its own name.
macro_rules! members {
    ($($name:ident $how:ident $symbol:ident;)*) => {
        #[expect(non_snake_case, reason = "the names that C++ gives them")]
        mod libc_real {
            use super::*;
            real! { $(fn $symbol(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize;)* }
        }

        exports! { $($symbol => $name;)* }

        $(
            unsafe extern "C-unwind" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
                let pc = tls::caller();
                $how([a, b, c, d, e, f]);
                // SAFETY: the caller's own arguments.
                calls::within(pc, || unsafe { libc_real::$symbol(a, b, c, d, e, f) })
            }
        )*
    };
}

members! {
    string_0 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm;
    string_1 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc;
    string_2 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKcm;
    string_3 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendERKS4_;
    string_4 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEmc;
    string_5 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9push_backEc;
    string_6 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6resizeEmc;
    string_7 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6resizeEm;
    string_8 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEpLEc;
    string_9 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEpLEPKc;
    string_10 grows _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEpLERKS4_;
    string_11 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm;
    string_12 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE14_M_replace_auxEmmmc;
    string_13 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_assignERKS4_;
    string_14 moves _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_mutateEmmPKcm;
    string_15 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8_M_eraseEmm;
    string_16 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5eraseEmm;
    string_17 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEPKc;
    string_18 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEPKcm;
    string_19 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignERKS4_;
    string_20 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEmc;
    string_21 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmPKc;
    string_22 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmPKcm;
    string_23 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmRKS4_;
    string_24 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6insertEmmc;
    string_25 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmPKc;
    string_26 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmPKcm;
    string_27 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmRKS4_;
    string_28 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7replaceEmmmc;
    string_29 moves _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEm;
    string_30 moves _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13shrink_to_fitEv;
    string_31 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSERKS4_;
    string_32 changes _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSEPKc;
    string_33 change_both _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4swapERS4_;
    string_34 change_both _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSEOS4_;
    string_35 change_both _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEOS4_;
    string_36 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEPKc;
    string_37 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareERKS4_;
    string_38 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findEPKcmm;
    string_39 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findEcm;
    string_40 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5rfindEPKcmm;
    string_41 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5rfindEcm;
    string_42 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13find_first_ofEPKcmm;
    string_43 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12find_last_ofEPKcmm;
    string_44 reads _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4copyEPcmm;
    string_45 reads_second _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6substrEmm;
    string_46 reads_second _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS4_;
    string_47 reads_second _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS4_;
    string_48 reads_second _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1ERKS4_mm;
    string_49 reads_second _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2ERKS4_mm;
}
