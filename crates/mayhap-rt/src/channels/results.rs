//! What calls read and write for their callers: names of files, times, numbers of descriptors, what is known of a file. What is written
//! there another thread may read and act upon, so it is recorded.

use core::ffi::CStr;

use libc::c_char;
use mayhap_wire::ring::Tag;

use crate::hook::Hook;
use crate::threads;

/// So many bytes were written for the caller at `pc`, who may not have wanted them.
pub(crate) fn wrote<T>(pc: u64, place: *const T, bytes: usize) {
    if !place.is_null()
        && bytes > 0
        && threads::were_others()
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::RangeWrite, pc, &[place as u64, bytes as u64]);
    }
}

/// [`wrote`] where the whole of `place` was written.
pub(crate) fn wrote_all<T>(pc: u64, place: *const T) {
    wrote(pc, place, size_of::<T>());
}

/// Records that a text was read.
///
/// # Safety
/// It is null, or a text.
pub(super) unsafe fn read_text(hook: &Hook, pc: u64, text: *const c_char) {
    if !text.is_null() {
        // SAFETY: as the caller vouches.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes_with_nul().len();
        hook.record(Tag::RangeRead, pc, &[text as u64, bytes as u64]);
    }
}
