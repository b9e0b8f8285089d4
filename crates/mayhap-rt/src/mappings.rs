//! Memory that the program maps and unmaps: it begins and ends its life like a block of the heap, so that an address which the
//! kernel hands out again is another variable.
//!
//! Stacks of threads and what the C library maps for itself do not come here: it calls its own functions.

use libc::{c_int, c_void, off_t, size_t};
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

type Place = *mut c_void;

mod libc_real {
    use super::*;
    real! {
        fn mmap(a: Place, n: size_t, p: c_int, f: c_int, d: c_int, o: off_t) -> Place;
        fn munmap(a: Place, n: size_t) -> c_int;
        fn mremap(a: Place, n: size_t, m: size_t, f: c_int, b: Place) -> Place;
    }
}
use libc_real as libc_;

exports! {
    mmap => map;
    mmap64 => map;
    munmap => unmap;
    mremap => remap;
}

/// Memory is mapped in whole pages.
const PAGE: usize = 4096;
/// Of larger mappings that move it is not recorded what they hold.
const COPIED: usize = 1 << 20;

fn pages(bytes: size_t) -> u64 {
    bytes.div_ceil(PAGE).saturating_mul(PAGE) as u64
}

unsafe extern "C-unwind" fn map(a: Place, n: size_t, p: c_int, f: c_int, d: c_int, o: off_t) -> Place {
    let pc = tls::caller();
    let hook = Hook::enter_outermost();
    // SAFETY: the caller's own arguments.
    let place = unsafe { libc_::mmap(a, n, p, f, d, o) };
    if let Some(hook) = hook.filter(|_| place != libc::MAP_FAILED) {
        hook.record(Tag::Alloc, pc, &[place as u64, pages(n)]);
    }
    place
}

unsafe extern "C-unwind" fn unmap(a: Place, n: size_t) -> c_int {
    let pc = tls::caller();
    let hook = Hook::enter_outermost();
    // What the kernel refuses changes nothing.
    if let Some(hook) = hook.as_ref().filter(|_| (a as usize).is_multiple_of(PAGE) && n > 0) {
        hook.record(Tag::Unmap, pc, &[a as u64, pages(n)]);
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc_::munmap(a, n) }
}

unsafe extern "C-unwind" fn remap(a: Place, n: size_t, m: size_t, f: c_int, b: Place) -> Place {
    let pc = tls::caller();
    let hook = Hook::enter_outermost();
    // SAFETY: the caller's own arguments; the last one is looked at only where the flags say so.
    let place = unsafe { libc_::mremap(a, n, m, f, b) };
    let Some(hook) = hook.filter(|_| place != libc::MAP_FAILED) else { return place };
    let (old, new) = (pages(n), pages(m));
    if place == a {
        if new < old {
            hook.record(Tag::Unmap, pc, &[a as u64 + new, old - new]);
        }
        return place;
    }
    let kept = old.min(new);
    if kept <= COPIED as u64 {
        hook.record(Tag::RangeRead, pc, &[a as u64, kept]);
    }
    hook.record(Tag::Unmap, pc, &[a as u64, old]);
    hook.record(Tag::Alloc, pc, &[place as u64, new]);
    if kept <= COPIED as u64 {
        hook.record(Tag::RangeWrite, pc, &[place as u64, kept]);
    }
    place
}
