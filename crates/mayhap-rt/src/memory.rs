//! Functions that read and write memory for the program: their ranges are recorded, then the real function works, all
//! while the thread holds the token.

use libc::{c_char, c_int, c_void, size_t};
use mayhap_wire::ring::Tag;

use crate::heap;
use crate::hook::Hook;
use crate::openmp;
use crate::real::real;
use crate::tls::{self, exports};

type Place = *mut c_void;
type Text = *mut c_char;

mod libc_real {
    use super::*;
    real! {
        fn memcpy(to: Place, from: Place, n: size_t) -> Place, c"GLIBC_2.14";
        fn mempcpy(to: Place, from: Place, n: size_t) -> Place;
        fn memmove(to: Place, from: Place, n: size_t) -> Place;
        fn memset(to: Place, byte: c_int, n: size_t) -> Place;
        fn memcmp(a: Place, b: Place, n: size_t) -> c_int;
        fn memchr(a: Place, byte: c_int, n: size_t) -> Place;
        fn strlen(a: Text) -> size_t;
        fn strnlen(a: Text, n: size_t) -> size_t;
        fn strcpy(to: Text, from: Text) -> Text;
        fn stpcpy(to: Text, from: Text) -> Text;
        fn strncpy(to: Text, from: Text, n: size_t) -> Text;
        fn strcat(to: Text, from: Text) -> Text;
        fn strncat(to: Text, from: Text, n: size_t) -> Text;
        fn strcmp(a: Text, b: Text) -> c_int;
        fn strncmp(a: Text, b: Text, n: size_t) -> c_int;
        fn strchr(a: Text, byte: c_int) -> Text;
        fn strrchr(a: Text, byte: c_int) -> Text;
    }
}
use libc_real as libc_;

exports! {
    memcpy => copy;
    __tsan_memcpy => copy;
    mempcpy => copy_to_end;
    memmove => shift;
    __tsan_memmove => shift;
    memset => fill;
    __tsan_memset => fill;
    bzero => clear;
    memcmp => compare;
    bcmp => compare;
    memchr => find;
    strlen => length;
    strnlen => length_bounded;
    strcpy => text_copy;
    stpcpy => text_copy_to_end;
    strncpy => text_copy_bounded;
    strcat => text_append;
    strncat => text_append_bounded;
    strcmp => text_compare;
    strncmp => text_compare_bounded;
    strdup => text_double;
    strndup => text_double_bounded;
    strchr => text_find;
    index => text_find;
    strrchr => text_find_last;
    rindex => text_find_last;
}

/// What a function does to memory, before it does it.
struct Ranges(Option<(Hook, u64)>);

impl Ranges {
    #[inline(always)]
    fn begin() -> Ranges {
        let pc = tls::caller();
        if openmp::is_library(pc) {
            return Ranges(None);
        }
        Ranges(Hook::enter_outermost().map(|hook| (hook, pc)))
    }

    /// `n` bytes are read; `n` is only computed where something is recorded.
    fn read<T>(&self, from: *mut T, n: impl FnOnce() -> size_t) {
        self.range(Tag::RangeRead, from as u64, n);
    }

    fn write<T>(&self, to: *mut T, n: impl FnOnce() -> size_t) {
        self.range(Tag::RangeWrite, to as u64, n);
    }

    fn range(&self, tag: Tag, address: u64, n: impl FnOnce() -> size_t) {
        if let Some((hook, pc)) = &self.0 {
            let bytes = n() as u64;
            if bytes > 0 {
                hook.record(tag, *pc, &[address, bytes]);
            }
        }
    }
}

unsafe extern "C" fn copy(to: Place, from: Place, n: size_t) -> Place {
    let ranges = Ranges::begin();
    ranges.read(from, || n);
    ranges.write(to, || n);
    // SAFETY: the caller's own arguments.
    unsafe { libc_::memcpy(to, from, n) }
}

unsafe extern "C" fn copy_to_end(to: Place, from: Place, n: size_t) -> Place {
    let ranges = Ranges::begin();
    ranges.read(from, || n);
    ranges.write(to, || n);
    // SAFETY: the caller's own arguments.
    unsafe { libc_::mempcpy(to, from, n) }
}

unsafe extern "C" fn shift(to: Place, from: Place, n: size_t) -> Place {
    let ranges = Ranges::begin();
    ranges.read(from, || n);
    ranges.write(to, || n);
    // SAFETY: the caller's own arguments.
    unsafe { libc_::memmove(to, from, n) }
}

unsafe extern "C" fn fill(to: Place, byte: c_int, n: size_t) -> Place {
    let ranges = Ranges::begin();
    ranges.write(to, || n);
    // SAFETY: the caller's own arguments.
    unsafe { libc_::memset(to, byte, n) }
}

unsafe extern "C" fn clear(to: Place, n: size_t) {
    let ranges = Ranges::begin();
    ranges.write(to, || n);
    // SAFETY: the caller's own arguments.
    unsafe { libc_::memset(to, 0, n) };
}

unsafe extern "C" fn compare(a: Place, b: Place, n: size_t) -> c_int {
    let ranges = Ranges::begin();
    ranges.read(a, || n);
    ranges.read(b, || n);
    // SAFETY: the caller's own arguments.
    unsafe { libc_::memcmp(a, b, n) }
}

unsafe extern "C" fn find(a: Place, byte: c_int, n: size_t) -> Place {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    let found = unsafe { libc_::memchr(a, byte, n) };
    ranges.read(a, || if found.is_null() { n } else { found as usize - a as usize + 1 });
    found
}

/// The length of a text with the zero that ends it.
unsafe fn whole(text: Text) -> size_t {
    // SAFETY: the caller vouches that a zero ends the text.
    unsafe { libc_::strlen(text) + 1 }
}

unsafe extern "C" fn length(a: Text) -> size_t {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own argument.
    let n = unsafe { libc_::strlen(a) };
    ranges.read(a, || n + 1);
    n
}

unsafe extern "C" fn length_bounded(a: Text, n: size_t) -> size_t {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    let found = unsafe { libc_::strnlen(a, n) };
    ranges.read(a, || (found + 1).min(n));
    found
}

/// Records a text that is read whole and written whole elsewhere.
unsafe fn text_move(ranges: &Ranges, to: Text, from: Text) {
    // SAFETY: the caller vouches for the texts.
    ranges.read(from, || unsafe { whole(from) });
    // SAFETY: as above.
    ranges.write(to, || unsafe { whole(from) });
}

unsafe extern "C" fn text_copy(to: Text, from: Text) -> Text {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        text_move(&ranges, to, from);
        libc_::strcpy(to, from)
    }
}

unsafe extern "C" fn text_copy_to_end(to: Text, from: Text) -> Text {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        text_move(&ranges, to, from);
        libc_::stpcpy(to, from)
    }
}

unsafe extern "C" fn text_copy_bounded(to: Text, from: Text, n: size_t) -> Text {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        ranges.read(from, || (libc_::strnlen(from, n) + 1).min(n));
        ranges.write(to, || n);
        libc_::strncpy(to, from, n)
    }
}

unsafe extern "C" fn text_append(to: Text, from: Text) -> Text {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        ranges.read(to, || whole(to));
        text_move(&ranges, to.add(libc_::strlen(to)), from);
        libc_::strcat(to, from)
    }
}

unsafe extern "C" fn text_append_bounded(to: Text, from: Text, n: size_t) -> Text {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        ranges.read(to, || whole(to));
        ranges.read(from, || (libc_::strnlen(from, n) + 1).min(n));
        ranges.write(to.add(libc_::strlen(to)), || libc_::strnlen(from, n) + 1);
        libc_::strncat(to, from, n)
    }
}

unsafe extern "C" fn text_double(from: Text) -> Text {
    // SAFETY: the caller's own argument.
    unsafe { text_double_bounded(from, size_t::MAX) }
}

/// A block for a text is allocated where the program asks for it, not in the C library.
unsafe extern "C" fn text_double_bounded(from: Text, n: size_t) -> Text {
    // SAFETY: the caller's own arguments; a block that has room for the text and a zero.
    unsafe {
        let bytes = length_bounded(from, n);
        let block: Text = heap::allocate(bytes + 1).cast();
        if !block.is_null() {
            copy(block.cast(), from.cast(), bytes);
            fill(block.add(bytes).cast(), 0, 1);
        }
        block
    }
}

/// How many bytes of two texts a comparison looks at: up to the first difference or the end, at most `n`.
unsafe fn compared(a: Text, b: Text, n: size_t) -> size_t {
    let mut i = 0;
    // SAFETY: the caller vouches that both texts go on until then.
    while i < n && unsafe { *a.add(i) == *b.add(i) && *a.add(i) != 0 } {
        i += 1;
    }
    (i + 1).min(n)
}

unsafe extern "C" fn text_compare(a: Text, b: Text) -> c_int {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        ranges.read(a, || compared(a, b, usize::MAX));
        ranges.read(b, || compared(a, b, usize::MAX));
        libc_::strcmp(a, b)
    }
}

unsafe extern "C" fn text_compare_bounded(a: Text, b: Text, n: size_t) -> c_int {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        ranges.read(a, || compared(a, b, n));
        ranges.read(b, || compared(a, b, n));
        libc_::strncmp(a, b, n)
    }
}

unsafe extern "C" fn text_find(a: Text, byte: c_int) -> Text {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    let found = unsafe { libc_::strchr(a, byte) };
    // SAFETY: as above.
    ranges.read(a, || if found.is_null() { unsafe { whole(a) } } else { found as usize - a as usize + 1 });
    found
}

unsafe extern "C" fn text_find_last(a: Text, byte: c_int) -> Text {
    let ranges = Ranges::begin();
    // SAFETY: the caller's own arguments.
    unsafe {
        ranges.read(a, || whole(a));
        libc_::strrchr(a, byte)
    }
}
