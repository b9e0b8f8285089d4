//! What the machine's own memory holds. Code without hooks may have changed it; then the shadow memory takes it over before the program reads, and the
//! recorder notices that no recorded write put it there.

use core::ffi::c_char;
use std::ffi::CString;
use std::sync::atomic::Ordering;

use crate::classes::Field;
use crate::hooks::LOAD;
use crate::jvm::Ref;
use crate::objects::Here;
use crate::shadow::{self, EXTRA};

/// The most elements of an array that are looked at in one go.
const PIECE: usize = 1024;

/// Marks a field that the machine does not find.
fn nowhere() -> Ref {
    core::ptr::without_provenance_mut(1)
}

impl Here {
    /// The machine's number for a field of the class.
    fn id(self, field: &Field, class: Ref) -> Option<Ref> {
        let known = field.id.load(Ordering::Acquire);
        let found = if known.is_null() { self.find_id(field, class) } else { known };
        (found != nowhere()).then_some(found)
    }

    #[cold]
    fn find_id(self, field: &Field, class: Ref) -> Ref {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let (name, descriptor) = (text(&field.name), text(&field.descriptor));
        let (name, descriptor): (*const c_char, *const c_char) = (name.as_ptr(), descriptor.as_ptr());
        let mut found = match field.is_static {
            true => self.jni.static_field_id(class, name, descriptor),
            false => self.jni.field_id(class, name, descriptor),
        };
        if found.is_null() {
            self.jni.take_exception();
            found = nowhere();
        }
        field.id.store(found, Ordering::Release);
        found
    }

    /// What a field holds: of `object`, or of the class.
    pub(crate) fn real_field(self, field: &Field, class: Ref, object: Ref) -> Option<u64> {
        if class.is_null() || object.is_null() && !field.is_static {
            return None;
        }
        let (jni, id) = (self.jni, self.id(field, class)?);
        let kind = field.descriptor.as_bytes().first()?;
        Some(match (field.is_static, kind) {
            (false, b'Z') => jni.boolean_field(object, id).into(),
            (false, b'B') => jni.byte_field(object, id) as i32 as u32 as u64,
            (false, b'C') => jni.char_field(object, id).into(),
            (false, b'S') => jni.short_field(object, id) as i32 as u32 as u64,
            (false, b'I') => jni.int_field(object, id) as u32 as u64,
            (false, b'J') => jni.long_field(object, id) as u64,
            (false, b'F') => jni.float_field(object, id).to_bits().into(),
            (false, b'D') => jni.double_field(object, id).to_bits(),
            (false, _) => self.of_reference(jni.object_field(object, id)),
            (true, b'Z') => jni.static_boolean(class, id).into(),
            (true, b'B') => jni.static_byte(class, id) as i32 as u32 as u64,
            (true, b'C') => jni.static_char(class, id).into(),
            (true, b'S') => jni.static_short(class, id) as i32 as u32 as u64,
            (true, b'I') => jni.static_int(class, id) as u32 as u64,
            (true, b'J') => jni.static_long(class, id) as u64,
            (true, b'F') => jni.static_float(class, id).to_bits().into(),
            (true, b'D') => jni.static_double(class, id).to_bits(),
            (true, _) => self.of_reference(jni.static_object(class, id)),
        })
    }

    /// What a reference is as a value. It is given back.
    fn of_reference(self, object: Ref) -> u64 {
        let value = self.block(object).unwrap_or(0);
        self.jni.delete_local(object);
        value
    }

    /// Hands each element of a part of an array to `take`, with its number. `kind` is that of the elements.
    pub(crate) fn real_elements(
        self,
        array: Ref,
        kind: u8,
        part: core::ops::Range<i32>,
        take: &mut dyn FnMut(i32, u64),
    ) {
        macro_rules! pieces {
            ($get:ident, $type:ty, $zero:expr, |$value:ident| $bits:expr) => {{
                let mut piece = [$zero as $type; PIECE];
                let mut start = part.start;
                while start < part.end {
                    let count = (part.end - start).min(PIECE as i32);
                    self.jni.$get(array, start, count, piece.as_mut_ptr());
                    for (at, &$value) in (start..).zip(&piece[..count as usize]) {
                        take(at, $bits);
                    }
                    start += count;
                }
            }};
        }
        match kind {
            b'Z' | b'B' => pieces!(bytes, i8, 0, |value| value as i32 as u32 as u64),
            b'C' => pieces!(chars, u16, 0, |value| value.into()),
            b'S' => pieces!(shorts, i16, 0, |value| value as i32 as u32 as u64),
            b'I' => pieces!(ints, i32, 0, |value| value as u32 as u64),
            b'J' => pieces!(longs, i64, 0, |value| value as u64),
            b'F' => pieces!(floats, f32, 0.0, |value| value.to_bits().into()),
            b'D' => pieces!(doubles, f64, 0.0, |value| value.to_bits()),
            _ => {
                for at in part {
                    take(at, self.of_reference(self.jni.element(array, at)));
                }
            }
        }
    }

    /// One element.
    pub(crate) fn real_element(self, array: Ref, kind: u8, index: i32) -> u64 {
        let mut found = 0;
        match kind {
            b'B' => {
                let mut value = 0;
                self.jni.bytes(array, index, 1, &mut value);
                found = value as i32 as u32 as u64;
            }
            b'I' => {
                let mut value = 0;
                self.jni.ints(array, index, 1, &mut value);
                found = value as u32 as u64;
            }
            b'J' => {
                let mut value = 0;
                self.jni.longs(array, index, 1, &mut value);
                found = value as u64;
            }
            b'D' => {
                let mut value = 0.0;
                self.jni.doubles(array, index, 1, &mut value);
                found = value.to_bits();
            }
            b'L' => found = self.of_reference(self.jni.element(array, index)),
            _ => self.real_elements(array, kind, index..index + 1, &mut |_, value| found = value),
        }
        found
    }

    /// The thread is about to read a word that stands for memory which holds `real`. If something else was there and nothing recorded has changed it, what
    /// was there is read, too. The recorder compares.
    #[inline]
    pub(crate) fn takes_over(self, block: u64, address: u64, real: u64, is_volatile: bool) {
        let old = shadow::word(address).load(Ordering::Relaxed);
        if old != real {
            self.takes_over_now(block, address, real, is_volatile);
        }
    }

    #[cold]
    fn takes_over_now(self, block: u64, address: u64, real: u64, is_volatile: bool) {
        let word = shadow::word(address);
        let old = word.load(Ordering::Relaxed);
        let was_unknown = old == 0 && shadow::word(block + EXTRA).load(Ordering::Relaxed) == LATE;
        if !was_unknown && is_volatile {
            (self.runtime.atomic_begin)(self.at(), address);
            (self.runtime.atomic_end)(self.at(), address, LOAD, 0, old, old);
        } else if !was_unknown {
            (self.runtime.access)(self.site.pc, address, false, self.site.branched);
        }
        word.store(real, Ordering::Relaxed);
    }

    /// The contents of the object were made by code without hooks.
    pub(crate) fn is_late(self, block: u64) {
        shadow::word(block + EXTRA).store(LATE, Ordering::Relaxed);
    }
}

/// Says of an object that it came out of code without hooks.
const LATE: u64 = 1;
