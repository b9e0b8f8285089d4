//! Memory that the program maps and unmaps: it begins and ends its life like a block of the heap, so that an address which the
//! kernel hands out again is another variable.
//!
//! Stacks of threads and what the C library maps for itself do not come here: it calls its own functions.

use core::sync::atomic::{AtomicU64, Ordering};

use libc::{c_int, c_void, off_t, size_t};
use mayhap_wire::channel::{self, doubt, key};
use mayhap_wire::ring::Tag;

use crate::channels::descriptors;
use crate::hook::Hook;
use crate::judge;
use crate::real::real;
use crate::replay;
use crate::tls::{self, exports};
use crate::values;

type Place = *mut c_void;

mod libc_real {
    use super::*;
    real! {
        fn mmap(a: Place, n: size_t, p: c_int, f: c_int, d: c_int, o: off_t) -> Place;
        fn munmap(a: Place, n: size_t) -> c_int;
        fn mremap(a: Place, n: size_t, m: size_t, f: c_int, b: Place) -> Place;
        fn mprotect(a: Place, n: size_t, p: c_int) -> c_int;
        fn shmat(id: c_int, a: *const c_void, f: c_int) -> Place;
        fn shmdt(a: *const c_void) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    mmap => map;
    mmap64 => map;
    munmap => unmap;
    mremap => remap;
    mprotect => protect;
    shmat => attach;
    shmdt => detach;
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
        if judge::is_active() {
            judge::mapped(place as u64, pages(n));
        }
        if f & libc::MAP_TYPE != libc::MAP_PRIVATE {
            let file = u64::from(f & libc::MAP_ANONYMOUS == 0);
            let (file_key, writes) = (file_behind(d), u64::from(p & libc::PROT_WRITE != 0));
            let about = [u64::from(doubt::SHARED), place as u64, pages(n), file, file_key, o as u64, writes];
            hook.record(Tag::Doubt, pc, &about);
        }
    }
    place
}

/// A number that distinguishes the mappings of one file from those of others; 0 for memory without a file.
fn file_behind(fd: c_int) -> u64 {
    descriptors::status(fd).map_or(0, |status| key(channel::FILE, status.st_ino, status.st_dev))
}

unsafe extern "C-unwind" fn unmap(a: Place, n: size_t) -> c_int {
    let pc = tls::caller();
    let hook = Hook::enter_outermost();
    // What the kernel refuses changes nothing.
    if let Some(hook) = hook.as_ref().filter(|_| (a as usize).is_multiple_of(PAGE) && n > 0) {
        hook.record(Tag::Unmap, pc, &[a as u64, pages(n)]);
        if judge::unmap(a as u64, pages(n), pc) {
            return 0;
        }
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc_::munmap(a, n) }
}

/// Memory that was accessed may no longer be readable.
unsafe extern "C-unwind" fn protect(a: Place, n: size_t, p: c_int) -> c_int {
    values::forget();
    // SAFETY: the caller's own arguments.
    unsafe { libc_::mprotect(a, n, p) }
}

/// Where segments of shared memory are attached, and how large they are: detaching does not say it.
static ATTACHED: [[AtomicU64; 2]; SEGMENTS] = [const { [const { AtomicU64::new(0) }; 2] }; SEGMENTS];
/// Segments beyond these are not known when they are detached.
const SEGMENTS: usize = 64;

unsafe extern "C-unwind" fn attach(id: c_int, a: *const c_void, f: c_int) -> Place {
    let pc = tls::caller();
    let hook = Hook::enter_outermost();
    // SAFETY: the caller's own arguments.
    let place = unsafe { libc_::shmat(id, a, f) };
    let Some(hook) = hook.filter(|_| place as isize != -1) else { return place };
    // SAFETY: all zeros are a valid description, which the call fills.
    let (known, about) = unsafe {
        let mut about: libc::shmid_ds = core::mem::zeroed();
        (libc::shmctl(id, libc::IPC_STAT, &raw mut about) == 0, about)
    };
    if known {
        let (start, bytes) = (place as u64, pages(about.shm_segsz));
        hook.record(Tag::Alloc, pc, &[start, bytes]);
        // Others can attach it unless it has no key.
        let others = u64::from(about.shm_perm.__key != libc::IPC_PRIVATE);
        let segment = key(channel::FILE, id as u64, SEGMENT_DEVICE);
        let writes = u64::from(f & libc::SHM_RDONLY == 0);
        hook.record(Tag::Doubt, pc, &[u64::from(doubt::SHARED), start, bytes, others, segment, 0, writes]);
        if let Some([at, size]) = ATTACHED.iter().find(|[at, _]| at.load(Ordering::Relaxed) == 0) {
            size.store(bytes, Ordering::Relaxed);
            at.store(start, Ordering::Relaxed);
        }
    }
    place
}

/// What stands for the device of segments, which are on none.
const SEGMENT_DEVICE: u64 = u64::MAX;

unsafe extern "C-unwind" fn detach(a: *const c_void) -> c_int {
    let pc = tls::caller();
    values::forget();
    let hook = Hook::enter_outermost();
    let segment = ATTACHED.iter().find(|[at, _]| at.load(Ordering::Relaxed) == a as u64 && !a.is_null());
    if let (Some(hook), Some([at, size])) = (&hook, segment) {
        at.store(0, Ordering::Relaxed);
        let bytes = size.load(Ordering::Relaxed);
        hook.record(Tag::Unmap, pc, &[a as u64, bytes]);
        // What takes the place of the segment detaches it.
        if judge::unmap(a as u64, bytes, pc) {
            return 0;
        }
    }
    // SAFETY: the caller's own argument.
    unsafe { libc_::shmdt(a) }
}

unsafe extern "C-unwind" fn remap(a: Place, n: size_t, m: size_t, f: c_int, b: Place) -> Place {
    let pc = tls::caller();
    let hook = Hook::enter_outermost();
    if let Some(hook) = &hook
        && replay::is_next(hook.thread(), Tag::Unmap as u8, pc, a as u64)
    {
        replay::hold_back(hook.token(), hook.thread(), Tag::Unmap as u8, pc, a as u64);
    }
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
    // What was there is moved unseen: nothing that the program does depends on it.
    hook.record(Tag::Unmap, pc, &[a as u64, old]);
    judge::moved(a as u64, old, pc);
    hook.record(Tag::Alloc, pc, &[place as u64, new]);
    if kept <= COPIED as u64 {
        hook.record(Tag::RangeWrite, pc, &[place as u64, kept]);
    }
    place
}
