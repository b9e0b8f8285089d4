//! The heap: blocks begin and end their lives, so that an address used again is another variable.
//!
//! The block is recorded after it was allocated and before it is freed, holding the token: nobody else can have recorded
//! the same address in between.

use libc::{c_int, c_void, size_t};
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::tls::{self, exports};

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
    cfree => release;
    memalign => allocate_aligned;
    aligned_alloc => allocate_aligned;
    posix_memalign => allocate_posix;
    valloc => allocate_pages;
}

/// Memory for the runtime itself, of which the recording does not hear.
pub(crate) fn untracked_malloc(bytes: usize) -> Block {
    // SAFETY: no precondition.
    unsafe { __libc_malloc(bytes) }
}

/// Gives back what [`untracked_malloc`] gave.
pub(crate) unsafe fn untracked_free(block: Block) {
    // SAFETY: the caller vouches.
    unsafe { __libc_free(block) }
}

/// Calls the allocator and records the block. A size of 0 still gives a block with a life of its own.
#[inline]
fn born(bytes: usize, call: impl FnOnce() -> Block) -> Block {
    let pc = tls::caller();
    let Some(hook) = Hook::enter_outermost() else { return call() };
    let block = call();
    if !block.is_null() {
        hook.record(Tag::Alloc, pc, &[block as u64, bytes as u64]);
    }
    block
}

unsafe extern "C" fn allocate(bytes: size_t) -> Block {
    // SAFETY: no precondition.
    born(bytes, || unsafe { __libc_malloc(bytes) })
}

unsafe extern "C" fn allocate_zeroed(count: size_t, bytes: size_t) -> Block {
    // SAFETY: no precondition; a product that overflows yields no block.
    born(count.wrapping_mul(bytes), || unsafe { __libc_calloc(count, bytes) })
}

unsafe extern "C" fn allocate_aligned(alignment: size_t, bytes: size_t) -> Block {
    // SAFETY: no precondition.
    born(bytes, || unsafe { __libc_memalign(alignment, bytes) })
}

unsafe extern "C" fn allocate_pages(bytes: size_t) -> Block {
    // SAFETY: no precondition.
    born(bytes, || unsafe { __libc_memalign(4096, bytes) })
}

unsafe extern "C" fn allocate_posix(place: *mut Block, alignment: size_t, bytes: size_t) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: no precondition.
    let block = born(bytes, || unsafe { __libc_memalign(alignment, bytes) });
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
        return born(bytes, || unsafe { __libc_malloc(bytes) });
    }
    let Some(hook) = Hook::enter_outermost() else {
        // SAFETY: the caller's own block.
        return unsafe { __libc_realloc(block, bytes) };
    };
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
    let pc = tls::caller();
    if block.is_null() {
        return;
    }
    let hook = Hook::enter_outermost();
    if let Some(hook) = &hook {
        hook.record(Tag::Free, pc, &[block as u64]);
    }
    // SAFETY: the caller's own block.
    unsafe { __libc_free(block) };
}
