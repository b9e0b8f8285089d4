//! The C library's streams. Their buffers hide how much goes through a descriptor and when, so a stream over a channel only tells that
//! something did: whoever takes from it comes after all that was put in so far.
//!
//! Streams seldom block, so the token stays; if one does, [`crate::watch`] notices. One over a channel gives it up.

use libc::{FILE, c_char, c_int, c_void, size_t, ssize_t};
use mayhap_wire::channel::{ALL, flag};
use mayhap_wire::ring::Tag;

use super::Channel;
use super::descriptors::{self, Descriptor};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

mod libc_real {
    use super::*;
    real! {
        fn fread(p: *mut c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t;
        fn fgets(p: *mut c_char, n: c_int, f: *mut FILE) -> *mut c_char;
        fn fgetc(f: *mut FILE) -> c_int;
        fn getline(p: *mut *mut c_char, n: *mut size_t, f: *mut FILE) -> ssize_t;
        fn getdelim(p: *mut *mut c_char, n: *mut size_t, d: c_int, f: *mut FILE) -> ssize_t;
        fn fwrite(p: *const c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t;
        fn fputs(p: *const c_char, f: *mut FILE) -> c_int;
        fn fputc(c: c_int, f: *mut FILE) -> c_int;
        fn vfprintf(f: *mut FILE, p: *const c_char, a: *mut c_void) -> c_int;
        fn fflush(f: *mut FILE) -> c_int;
        fn fclose(f: *mut FILE) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    fread => fill_block;
    fgets => fill_line;
    fgetc => take_byte;
    getc => take_byte;
    _IO_getc => take_byte;
    getline => take_line;
    getdelim => take_until;
    __getdelim => take_until;
    fwrite => put_block;
    fputs => put_text;
    fputc => put_byte;
    putc => put_byte;
    _IO_putc => put_byte;
    vfprintf => put_formatted;
    fflush => flush;
    fclose => close;
}

/// The channel that a stream takes from, or puts into.
fn channel(stream: *mut FILE, sends: bool) -> Option<Channel> {
    if stream.is_null() {
        return None;
    }
    // SAFETY: the caller's own stream; asking for the number takes no lock.
    let fd = unsafe { libc::fileno(stream) };
    let what = if fd > 2 { Descriptor::of(fd) } else { Descriptor::Other };
    if let Descriptor::Socket(inode) = what {
        descriptors::look_up(fd, inode);
    }
    if sends { what.sends() } else { what.receives() }
}

/// A call that takes from a stream; `filled` says what memory it filled then.
fn takes<R: Copy>(stream: *mut FILE, call: impl FnOnce() -> R, filled: impl FnOnce(R) -> (*const c_void, usize)) -> R {
    let pc = tls::caller();
    let channel = channel(stream, false);
    if channel.is_some() {
        leave();
    }
    let result = call();
    let (buffer, bytes) = filled(result);
    if (bytes > 0 || channel.is_some())
        && let Some(hook) = Hook::enter_outermost()
    {
        if let Some(channel) = channel {
            hook.record(Tag::Receive, pc, &[channel.key, ALL, 0, flag::UNMEASURED]);
        }
        if bytes > 0 {
            hook.record(Tag::RangeWrite, pc, &[buffer as u64, bytes as u64]);
        }
    }
    result
}

/// A call that puts something into a stream, from this memory.
fn puts<R>(stream: *mut FILE, buffer: *const c_void, bytes: usize, call: impl FnOnce() -> R) -> R {
    let pc = tls::caller();
    let channel = channel(stream, true);
    if (bytes > 0 || channel.is_some())
        && let Some(mut hook) = Hook::enter_outermost()
    {
        hook.announces();
        if bytes > 0 {
            hook.record(Tag::RangeRead, pc, &[buffer as u64, bytes as u64]);
        }
        if let Some(channel) = channel {
            hook.record(Tag::Send, pc, &[channel.key, 0, 0, flag::UNMEASURED]);
        }
    }
    if channel.is_some() {
        leave();
    }
    call()
}

const NOTHING: (*const c_void, usize) = (core::ptr::null(), 0);

unsafe extern "C-unwind" fn fill_block(p: *mut c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t {
    // SAFETY: the caller's own arguments.
    takes(f, || unsafe { libc_::fread(p, s, n, f) }, |items| (p.cast_const(), items.wrapping_mul(s)))
}

/// The length of a text with the zero that ends it.
unsafe fn whole(text: *const c_char) -> usize {
    // SAFETY: the caller vouches that a zero ends the text.
    (0..).find(|&i| unsafe { *text.add(i) } == 0).unwrap_or(0) + 1
}

unsafe extern "C-unwind" fn fill_line(p: *mut c_char, n: c_int, f: *mut FILE) -> *mut c_char {
    takes(
        f,
        // SAFETY: the caller's own arguments.
        || unsafe { libc_::fgets(p, n, f) },
        // SAFETY: what was read ends in zero.
        |line| if line.is_null() { NOTHING } else { (p.cast_const().cast(), unsafe { whole(p) }) },
    )
}

unsafe extern "C-unwind" fn take_byte(f: *mut FILE) -> c_int {
    // SAFETY: the caller's own argument.
    takes(f, || unsafe { libc_::fgetc(f) }, |_| NOTHING)
}

/// A line lies in memory that the library may have allocated.
unsafe fn line(place: *mut *mut c_char, bytes: ssize_t) -> (*const c_void, usize) {
    // SAFETY: the caller's own place for it, which the call has filled.
    if bytes < 0 { NOTHING } else { (unsafe { (*place).cast() }, bytes as usize + 1) }
}

unsafe extern "C-unwind" fn take_line(p: *mut *mut c_char, n: *mut size_t, f: *mut FILE) -> ssize_t {
    // SAFETY: the caller's own arguments.
    takes(f, || unsafe { libc_::getline(p, n, f) }, |bytes| unsafe { line(p, bytes) })
}

unsafe extern "C-unwind" fn take_until(p: *mut *mut c_char, n: *mut size_t, d: c_int, f: *mut FILE) -> ssize_t {
    // SAFETY: the caller's own arguments.
    takes(f, || unsafe { libc_::getdelim(p, n, d, f) }, |bytes| unsafe { line(p, bytes) })
}

unsafe extern "C-unwind" fn put_block(p: *const c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t {
    // SAFETY: the caller's own arguments.
    puts(f, p, s.wrapping_mul(n), || unsafe { libc_::fwrite(p, s, n, f) })
}

unsafe extern "C-unwind" fn put_text(p: *const c_char, f: *mut FILE) -> c_int {
    // SAFETY: the caller's own arguments; a zero ends the text.
    puts(f, p.cast(), unsafe { whole(p) }, || unsafe { libc_::fputs(p, f) })
}

unsafe extern "C-unwind" fn put_byte(c: c_int, f: *mut FILE) -> c_int {
    // SAFETY: the caller's own arguments.
    puts(f, core::ptr::null(), 0, || unsafe { libc_::fputc(c, f) })
}

unsafe extern "C-unwind" fn put_formatted(f: *mut FILE, p: *const c_char, a: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    puts(f, core::ptr::null(), 0, || unsafe { libc_::vfprintf(f, p, a) })
}

unsafe extern "C-unwind" fn flush(f: *mut FILE) -> c_int {
    // SAFETY: the caller's own argument.
    puts(f, core::ptr::null(), 0, || unsafe { libc_::fflush(f) })
}

unsafe extern "C-unwind" fn close(f: *mut FILE) -> c_int {
    let pc = tls::caller();
    if let Some(channel) = channel(f, true)
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::Send, pc, &[channel.key, 0, 0, flag::UNMEASURED]);
        hook.record(Tag::HangUp, pc, &[channel.key]);
    }
    // SAFETY: the caller's own argument.
    unsafe { libc_::fclose(f) }
}
