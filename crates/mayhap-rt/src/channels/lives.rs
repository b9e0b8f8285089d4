//! The lives of descriptors. Each use is recorded before the call that it is part of, each end before the close: where another order
//! of the threads closes a descriptor first, the use is one of a descriptor that is gone, or of another that got its number.
//!
//! A number that stands for another file is another object, so the file is part of what an object is known by. As long as the program
//! has one thread nothing is recorded. `dup2` onto a number ends no life: the number stays valid, and programs redirect so.

use libc::c_int;
use mayhap_wire::channel::{self, key};
use mayhap_wire::ring::Tag;

use super::descriptors;
use super::settings::{Setting, sets_in};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};
use crate::{judge, threads};

/// Of a longer list of descriptors only the first ones are looked at.
pub(super) const LISTED: usize = 64;

mod libc_real {
    use super::*;
    real! {
        fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
        fn fsync(f: c_int) -> c_int;
        fn fdatasync(f: c_int) -> c_int;
        fn tcdrain(f: c_int) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    socket => make_socket;
    fsync => save;
    fdatasync => save_contents;
    tcdrain => drain;
}

/// What a descriptor is known by.
fn object(fd: c_int) -> u64 {
    let file = descriptors::status(fd).map_or(0, |status| key(0, status.st_ino, status.st_dev));
    key(channel::DESCRIPTOR, fd as u64, file)
}

/// A descriptor is about to be used.
pub(super) fn uses(fd: c_int, pc: u64) {
    if fd >= 0
        && threads::were_others()
        && let Some(hook) = Hook::enter_outermost()
    {
        uses_in(&hook, fd, pc);
    }
}

/// [`uses`] within a hook.
pub(super) fn uses_in(hook: &Hook, fd: c_int, pc: u64) {
    if fd >= 0 && threads::were_others() {
        hook.record(Tag::Use, pc, &[object(fd), fd as u64]);
    }
}

/// A descriptor is about to be closed.
pub(super) fn ends(fd: c_int, pc: u64) {
    if fd >= 0
        && threads::were_others()
        && let Some(hook) = Hook::enter_outermost()
    {
        ends_in(&hook, fd, pc);
    }
}

/// [`ends`] within a hook.
pub(super) fn ends_in(hook: &Hook, fd: c_int, pc: u64) {
    // Closing what is not there ends nothing. A replay may have come here after another thread has closed it.
    if fd >= 0 {
        sets_in(hook, Setting::Number(fd), pc);
    }
    if fd >= 0 && threads::were_others() && (judge::is_descriptor(fd) || judge::is_active()) {
        hook.record(Tag::Close, pc, &[object(fd), fd as u64]);
    }
}

/// A descriptor has been made.
pub(super) fn begins(fd: c_int, pc: u64) -> c_int {
    if let Some(hook) = Hook::enter_outermost() {
        begins_in(&hook, fd, pc);
    }
    fd
}

/// [`begins`] within a hook.
pub(super) fn begins_in(hook: &Hook, fd: c_int, pc: u64) {
    if fd >= 0 {
        sets_in(hook, Setting::Number(fd), pc);
        hook.record(Tag::Open, pc, &[object(fd), fd as u64]);
    }
}

unsafe extern "C-unwind" fn make_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let pc = tls::caller();
    // SAFETY: no precondition.
    begins(unsafe { libc_::socket(domain, kind, protocol) }, pc)
}

/// Calls that may block and use a descriptor.
macro_rules! blocking {
    ($($inner:ident $name:ident;)*) => {
        $(
            unsafe extern "C-unwind" fn $inner(f: c_int) -> c_int {
                uses(f, tls::caller());
                leave();
                // SAFETY: the caller's own argument.
                unsafe { libc_::$name(f) }
            }
        )*
    };
}

blocking! {
    save fsync;
    save_contents fdatasync;
    drain tcdrain;
}
