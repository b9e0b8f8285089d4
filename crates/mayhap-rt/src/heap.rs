//! The heap: blocks begin and end their lives, so that an address used again is another variable.
//!
//! The block is recorded after it was allocated and before it is freed, holding the token: no other thread can have recorded
//! the same address in between.

use libc::{c_int, c_void, size_t};
use mayhap_wire::ring::{Tag, choice};

use crate::hook::Hook;
use crate::judge::{self, Family};
use crate::tls::{self, exports};
use crate::{openmp, sys};

type Block = *mut c_void;

unsafe extern "C" {
    fn __libc_malloc(bytes: size_t) -> Block;
    fn __libc_calloc(count: size_t, bytes: size_t) -> Block;
    fn __libc_realloc(block: Block, bytes: size_t) -> Block;
    fn __libc_memalign(alignment: size_t, bytes: size_t) -> Block;
    fn __libc_free(block: Block);
    fn malloc_usable_size(block: Block) -> size_t;
}

exports! {
    malloc => allocate;
    calloc => allocate_zeroed;
    realloc => reallocate;
    reallocarray => reallocate_array;
    free => release;
    memalign => allocate_aligned;
    aligned_alloc => allocate_aligned;
    posix_memalign => allocate_posix;
    valloc => allocate_pages;
}

// Only C++ programs have these; the linker is asked to include them.
#[cfg(feature = "archive")]
core::arch::global_asm!(
    ".weak __real__Znwm",
    ".weak __real__ZnwmSt11align_val_t",
    ".weak __real___cxa_guard_acquire",
    ".weak __real___cxa_guard_release",
    ".weak __real___cxa_guard_abort",
);

/// C++ allocation, so that a block's place is where the program says `new`.
mod cxx {
    use super::*;
    #[cfg(not(feature = "archive"))]
    use crate::real::Real;
    use crate::real::real;

    #[expect(non_snake_case, reason = "the names that C++ gives them")]
    mod libc_real {
        use super::*;
        real! {
            fn _Znwm(bytes: size_t) -> Block;
            fn _ZnwmSt11align_val_t(bytes: size_t, alignment: size_t) -> Block;
        }
    }

    exports! {
        _Znwm => new;
        _Znam => new_array;
        _ZnwmRKSt9nothrow_t => new_or_null;
        _ZnamRKSt9nothrow_t => new_array_or_null;
        _ZnwmSt11align_val_t => new_aligned;
        _ZnamSt11align_val_t => new_array_aligned;
        _ZdlPv => delete;
        _ZdaPv => delete_array;
        _ZdlPvm => delete;
        _ZdaPvm => delete_array;
        _ZdlPvRKSt9nothrow_t => delete;
        _ZdaPvRKSt9nothrow_t => delete_array;
        _ZdlPvSt11align_val_t => delete_aligned;
        _ZdaPvSt11align_val_t => delete_array_aligned;
        _ZdlPvmSt11align_val_t => delete_aligned;
        _ZdaPvmSt11align_val_t => delete_array_aligned;
    }

    /// The function that C++ code has set to be called when there is no memory, by the library's function that returns it.
    #[cfg(not(feature = "archive"))]
    fn new_handler() -> Option<extern "C-unwind" fn()> {
        static GET: Real = Real::new(c"_ZSt15get_new_handlerv");
        #[used]
        #[unsafe(link_section = "mayhap_reals")]
        static LISTED: &Real = &GET;
        let get = GET.known();
        // SAFETY: the library's function of this name has this type; a pointer to a function is null where there is none.
        unsafe {
            let get: Option<extern "C" fn() -> Option<extern "C-unwind" fn()>> = core::mem::transmute(get);
            get.and_then(|get| get())
        }
    }

    #[cfg(feature = "archive")]
    fn new_handler() -> Option<extern "C-unwind" fn()> {
        None
    }

    /// More than any block can have: the library's own function calls no handler but throws, since there is none.
    const IMPOSSIBLE: usize = isize::MAX as usize;

    /// A block of `new`. Without memory the library's own function decides: it calls the new-handler and throws.
    unsafe fn block(family: Family, alignment: usize, bytes: size_t) -> Block {
        let is_aligned = matches!(family, Family::NewAligned | Family::NewArrayAligned);
        let call = || match is_aligned {
            // SAFETY: no precondition.
            true => unsafe { __libc_memalign(alignment, bytes) },
            // SAFETY: no precondition.
            false => unsafe { __libc_malloc(bytes) },
        };
        let (block, wanted) = match unless_refused(family, alignment, bytes, true, call) {
            Some(block) => (block, bytes),
            None => match new_handler() {
                Some(handler) => {
                    handler();
                    (unless_refused(family, alignment, bytes, false, call).unwrap_or(core::ptr::null_mut()), bytes)
                }
                None => (core::ptr::null_mut(), IMPOSSIBLE),
            },
        };
        match (block.is_null(), is_aligned) {
            (false, _) => block,
            // SAFETY: no precondition.
            (true, true) => unsafe { libc_real::_ZnwmSt11align_val_t(wanted, alignment) },
            // SAFETY: no precondition.
            (true, false) => unsafe { libc_real::_Znwm(wanted) },
        }
    }

    unsafe extern "C-unwind" fn new(bytes: size_t) -> Block {
        // SAFETY: no precondition.
        unsafe { block(Family::New, SMALLEST, bytes) }
    }

    unsafe extern "C-unwind" fn new_array(bytes: size_t) -> Block {
        // SAFETY: no precondition.
        unsafe { block(Family::NewArray, SMALLEST, bytes) }
    }

    unsafe extern "C" fn new_or_null(bytes: size_t) -> Block {
        // SAFETY: no precondition.
        born(Family::New, SMALLEST, bytes, || unsafe { __libc_malloc(bytes) })
    }

    unsafe extern "C" fn new_array_or_null(bytes: size_t) -> Block {
        // SAFETY: no precondition.
        born(Family::NewArray, SMALLEST, bytes, || unsafe { __libc_malloc(bytes) })
    }

    unsafe extern "C-unwind" fn new_aligned(bytes: size_t, alignment: size_t) -> Block {
        // SAFETY: no precondition.
        unsafe { block(Family::NewAligned, alignment, bytes) }
    }

    unsafe extern "C-unwind" fn new_array_aligned(bytes: size_t, alignment: size_t) -> Block {
        // SAFETY: no precondition.
        unsafe { block(Family::NewArrayAligned, alignment, bytes) }
    }

    unsafe extern "C" fn delete(block: Block) {
        // SAFETY: the caller's own block.
        unsafe { release_as(block, Family::New) }
    }

    unsafe extern "C" fn delete_array(block: Block) {
        // SAFETY: the caller's own block.
        unsafe { release_as(block, Family::NewArray) }
    }

    unsafe extern "C" fn delete_aligned(block: Block) {
        // SAFETY: the caller's own block.
        unsafe { release_as(block, Family::NewAligned) }
    }

    unsafe extern "C" fn delete_array_aligned(block: Block) {
        // SAFETY: the caller's own block.
        unsafe { release_as(block, Family::NewArrayAligned) }
    }
}

/// Memory for the runtime itself, which is not recorded.
pub(crate) fn untracked_malloc(bytes: usize) -> Block {
    // SAFETY: no precondition.
    unsafe { __libc_malloc(bytes) }
}

/// Gives back what [`untracked_malloc`] gave.
pub(crate) unsafe fn untracked_free(block: Block) {
    // SAFETY: the caller vouches.
    unsafe { __libc_free(block) }
}

/// The alignment of a block for which none was asked.
const SMALLEST: usize = 16;

/// No block can have more bytes: that such an allocation fails need not be chosen.
const LARGEST: usize = isize::MAX as usize / 2;

/// Calls the allocator and records the block. A size of 0 still gives a separate block.
#[inline]
fn born(family: Family, alignment: usize, bytes: usize, call: impl FnOnce() -> Block) -> Block {
    unless_refused(family, alignment, bytes, true, call).unwrap_or_else(|| {
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
        core::ptr::null_mut()
    })
}

/// The same; `None` if it was chosen that the allocation fails, where it `may`.
#[inline]
fn unless_refused(
    family: Family,
    alignment: usize,
    bytes: usize,
    may: bool,
    call: impl FnOnce() -> Block,
) -> Option<Block> {
    let pc = tls::caller();
    let Some(hook) = Hook::enter_outermost() else { return Some(call()) };
    if may && bytes < LARGEST && hook.choose(choice::ALLOCATION, 2, false) != 0 {
        return None;
    }
    let apart = if judge::is_active() { judge::allocate(alignment, bytes, family, pc) } else { core::ptr::null_mut() };
    let block = if apart.is_null() { call() } else { apart };
    if !block.is_null() {
        hook.record(Tag::Alloc, pc, &[block as u64, bytes as u64]);
    }
    Some(block)
}

pub(crate) unsafe extern "C" fn allocate(bytes: size_t) -> Block {
    // SAFETY: no precondition.
    born(Family::C, SMALLEST, bytes, || unsafe { __libc_malloc(bytes) })
}

unsafe extern "C" fn allocate_zeroed(count: size_t, bytes: size_t) -> Block {
    // A product that overflows yields no block.
    let all = count.saturating_mul(bytes);
    // SAFETY: no precondition.
    let block = born(Family::C, SMALLEST, all, || unsafe { __libc_calloc(count, bytes) });
    if judge::is_guarding() && !block.is_null() {
        // SAFETY: a fresh block of so many bytes.
        unsafe { sys::fill(block.cast(), 0, all) };
    }
    block
}

unsafe extern "C" fn allocate_aligned(alignment: size_t, bytes: size_t) -> Block {
    // SAFETY: no precondition.
    born(Family::C, alignment, bytes, || unsafe { __libc_memalign(alignment, bytes) })
}

unsafe extern "C" fn allocate_pages(bytes: size_t) -> Block {
    // SAFETY: no precondition.
    born(Family::C, 4096, bytes, || unsafe { __libc_memalign(4096, bytes) })
}

unsafe extern "C" fn allocate_posix(place: *mut Block, alignment: size_t, bytes: size_t) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: no precondition.
    let block = born(Family::C, alignment, bytes, || unsafe { __libc_memalign(alignment, bytes) });
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's own place for the block.
    unsafe { *place = block };
    0
}

unsafe extern "C" fn reallocate(block: Block, bytes: size_t) -> Block {
    let pc = tls::caller();
    if block.is_null() {
        // SAFETY: no precondition.
        return born(Family::C, SMALLEST, bytes, || unsafe { __libc_malloc(bytes) });
    }
    if judge::is_guarding()
        && let Some(old) = judge::size_of_block(block)
    {
        // SAFETY: the caller's own block.
        return unsafe { moved(block, old, bytes, pc) };
    }
    let Some(hook) = Hook::enter_outermost().filter(|_| !openmp::is_library(pc)) else {
        // SAFETY: the caller's own block.
        return unsafe { __libc_realloc(block, bytes) };
    };
    if bytes > 0 && bytes < LARGEST && hook.choose(choice::ALLOCATION, 2, false) != 0 {
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
        return core::ptr::null_mut();
    }
    // SAFETY: the caller's own block; the old size only bounds what was copied.
    let (old, moved) = unsafe { (malloc_usable_size(block), __libc_realloc(block, bytes)) };
    if !moved.is_null() {
        let kept = old.min(bytes) as u64;
        hook.record(Tag::RangeRead, pc, &[block as u64, kept]);
        hook.record(Tag::Free, pc, &[block as u64]);
        hook.record(Tag::Alloc, pc, &[moved as u64, bytes as u64]);
        hook.record(Tag::RangeWrite, pc, &[moved as u64, kept]);
    } else if bytes == 0 {
        hook.record(Tag::Free, pc, &[block as u64]);
    }
    moved
}

/// Moves a block that lies apart, as a judge wants it: what still points to the old one is wrong.
///
/// # Safety
/// The block is the caller's own, of `old` bytes.
#[cold]
unsafe fn moved(block: Block, old: usize, bytes: size_t, pc: u64) -> Block {
    let hook = Hook::enter_outermost();
    let fails = hook.as_ref().is_some_and(|hook| bytes > 0 && hook.choose(choice::ALLOCATION, 2, false) != 0);
    let new = match bytes {
        _ if fails => {
            // SAFETY: the calling thread's own errno.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            core::ptr::null_mut()
        }
        0 => core::ptr::null_mut(),
        _ => match judge::allocate(SMALLEST, bytes, Family::C, pc) {
            // SAFETY: no precondition.
            new if new.is_null() => unsafe { __libc_malloc(bytes) },
            new => new,
        },
    };
    if new.is_null() && bytes > 0 {
        return new;
    }
    let kept = old.min(bytes);
    if let Some(hook) = hook.as_ref().filter(|_| bytes > 0) {
        hook.record(Tag::RangeRead, pc, &[block as u64, kept as u64]);
    }
    if let Some(hook) = &hook {
        hook.record(Tag::Free, pc, &[block as u64]);
    }
    if bytes > 0 {
        // SAFETY: both blocks have so many bytes, and they do not overlap.
        unsafe { sys::copy(block.cast(), new.cast(), kept) };
    }
    judge::free(block, Some(Family::C), pc);
    if let Some(hook) = hook.filter(|_| bytes > 0) {
        hook.record(Tag::Alloc, pc, &[new as u64, bytes as u64]);
        hook.record(Tag::RangeWrite, pc, &[new as u64, kept as u64]);
    }
    new
}

unsafe extern "C" fn reallocate_array(block: Block, count: size_t, bytes: size_t) -> Block {
    match count.checked_mul(bytes) {
        // SAFETY: the caller's own block.
        Some(total) => unsafe { reallocate(block, total) },
        None => {
            // SAFETY: the calling thread's own errno.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            core::ptr::null_mut()
        }
    }
}

unsafe extern "C" fn release(block: Block) {
    // SAFETY: the caller's own block.
    unsafe { release_as(block, Family::C) }
}

/// Frees a block by a function of this family.
#[inline(always)]
unsafe fn release_as(block: Block, family: Family) {
    let pc = tls::caller();
    if block.is_null() {
        // Nothing is freed, but with another value something would be.
        if let Some(hook) = Hook::enter_outermost() {
            hook.record(Tag::Free, pc, &[0]);
        }
        return;
    }
    let hook = if openmp::is_library(pc) { None } else { Hook::enter_outermost() };
    if let Some(hook) = &hook {
        hook.record(Tag::Free, pc, &[block as u64]);
    }
    if judge::is_guarding() && judge::free(block, hook.is_some().then_some(family), pc) {
        return;
    }
    // SAFETY: the caller's own block.
    unsafe { __libc_free(block) };
}
