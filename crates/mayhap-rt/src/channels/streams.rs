//! The C library's streams. Their buffers hide how much goes through a descriptor and when, so a stream over a channel only shows that
//! something did: a thread that takes from it comes after all that was put in so far.
//!
//! Streams seldom block, so the token stays; if one does, [`crate::watch`] notices. One over a channel gives it up.

use libc::{FILE, c_char, c_int, c_void, size_t, ssize_t};
use mayhap_wire::channel::{ALL, flag};
use mayhap_wire::judgement::usage;
use mayhap_wire::ring::{Tag, source};

use super::descriptors::{self, Descriptor};
use super::positions::{self, From};
use super::{Channel, files, lives, pairs};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};
use crate::{inputs, judge, replay};

mod libc_real {
    use super::*;
    real! {
        fn fread(p: *mut c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t;
        fn fgets(p: *mut c_char, n: c_int, f: *mut FILE) -> *mut c_char;
        fn fgetc(f: *mut FILE) -> c_int;
        fn getdelim(p: *mut *mut c_char, n: *mut size_t, d: c_int, f: *mut FILE) -> ssize_t;
        fn fwrite(p: *const c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t;
        fn fputs(p: *const c_char, f: *mut FILE) -> c_int;
        fn fputc(c: c_int, f: *mut FILE) -> c_int;
        fn fflush(f: *mut FILE) -> c_int;
        fn fclose(f: *mut FILE) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    fread => fill_block;
    fread_unlocked => fill_block;
    fgets => fill_line;
    fgets_unlocked => fill_line;
    fgetc => take_byte;
    fgetc_unlocked => take_byte;
    getc => take_byte;
    getc_unlocked => take_byte;
    _IO_getc => take_byte;
    getchar => take_standard_byte;
    getchar_unlocked => take_standard_byte;
    getline => take_line;
    getdelim => take_until;
    __getdelim => take_until;
    fwrite => put_block;
    fwrite_unlocked => put_block;
    fputs => put_text;
    fputs_unlocked => put_text;
    fputc => put_byte;
    fputc_unlocked => put_byte;
    putc => put_byte;
    putc_unlocked => put_byte;
    _IO_putc => put_byte;
    putchar => put_standard_byte;
    putchar_unlocked => put_standard_byte;
    fflush => flush;
    fflush_unlocked => flush;
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

/// Answers what a stream gave with what it gave when it was recorded, or records it, if it may differ from run to run. What is
/// standard input is kept by the recorder. `result` is what the call came to, and `bytes` of its answer are at `place`, where there is
/// `room`.
fn answers(stream: *mut FILE, pc: u64, result: i64, (place, room): (*mut c_void, usize), bytes: usize) -> i64 {
    if stream.is_null() {
        return result;
    }
    // SAFETY: the caller's own stream; asking for the number takes no lock.
    let fd = unsafe { libc::fileno(stream) };
    let may_differ = fd > 2 && inputs::are_wanted() && descriptors::is_input(fd);
    if !may_differ || files::is_own(fd) || channel(stream, false).is_some_and(|channel| pairs::is_own(channel.key)) {
        return result;
    }
    // SAFETY: the caller has room for the answer.
    if let Some(recorded) = unsafe { replay::fed(source::STREAM, place, room) } {
        return recorded;
    }
    inputs::keep(source::STREAM, pc, result, place, bytes);
    result
}

/// The descriptor of a stream that is about to be used, if its life matters. A stream is a block of memory, too.
fn used(stream: *mut FILE, pc: u64) -> Option<c_int> {
    if stream.is_null() {
        return None;
    }
    judge::uses(stream as u64, size_of::<usize>() as u64, usage::READ, pc);
    // SAFETY: the caller's own stream; asking for the number takes no lock.
    Some(unsafe { libc::fileno(stream) }).filter(|&fd| fd > 2)
}

fn uses(stream: *mut FILE, pc: u64) {
    if let Some(fd) = used(stream, pc) {
        lives::uses(fd, pc);
    }
}

/// A call that takes from a stream; `filled` says what memory it filled then.
fn takes<R: Copy>(stream: *mut FILE, call: impl FnOnce() -> R, filled: impl FnOnce(R) -> (*const c_void, usize)) -> R {
    let pc = tls::caller();
    let channel = channel(stream, false);
    if channel.is_some() {
        leave();
    } else {
        positions::takes(From::stream(stream), pc);
    }
    let result = match files::of_stream(stream) {
        Some(file) if channel.is_none() => files::reads(file, call),
        _ => call(),
    };
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
    let (channel, file) = (channel(stream, true), files::of_stream(stream));
    if (bytes > 0 || channel.is_some() || file.is_some())
        && let Some(mut hook) = Hook::enter_outermost()
    {
        hook.announces();
        if let Some(file) = file {
            files::changes(&hook, pc, file);
            positions::writes(&hook, From::stream(stream), pc);
        }
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

/// The stream that is standard input.
pub(crate) fn standard_input() -> *mut FILE {
    unsafe extern "C" {
        static stdin: *mut FILE;
    }
    // SAFETY: the C library's own variable.
    unsafe { stdin }
}

/// The stream that is standard output.
fn standard_output() -> *mut FILE {
    unsafe extern "C" {
        static stdout: *mut FILE;
    }
    // SAFETY: the C library's own variable.
    unsafe { stdout }
}

/// Something is about to be put into a stream by a call that has other arguments, too.
pub(crate) fn announces(hook: &Hook, stream: *mut FILE, pc: u64) -> bool {
    if let Some(fd) = used(stream, pc) {
        lives::uses_in(hook, fd, pc);
    }
    let channel = channel(stream, true);
    if let Some(channel) = channel {
        hook.record(Tag::Send, pc, &[channel.key, 0, 0, flag::UNMEASURED]);
    } else if let Some(file) = files::of_stream(stream) {
        files::changes(hook, pc, file);
        positions::writes(hook, From::stream(stream), pc);
    }
    channel.is_some()
}

const NOTHING: (*const c_void, usize) = (core::ptr::null(), 0);

unsafe extern "C-unwind" fn fill_block(p: *mut c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t {
    let pc = tls::caller();
    uses(f, pc);
    let call = || {
        // SAFETY: the caller's own arguments.
        let items = unsafe { libc_::fread(p, s, n, f) };
        answers(f, pc, items as i64, (p, s.wrapping_mul(n)), items.wrapping_mul(s)) as size_t
    };
    takes(f, call, |items| (p.cast_const(), items.wrapping_mul(s)))
}

/// The length of a text with the zero that ends it.
unsafe fn whole(text: *const c_char) -> usize {
    // SAFETY: the caller vouches that a zero ends the text.
    (0..).find(|&i| unsafe { *text.add(i) } == 0).unwrap_or(0) + 1
}

unsafe extern "C-unwind" fn fill_line(p: *mut c_char, n: c_int, f: *mut FILE) -> *mut c_char {
    let pc = tls::caller();
    uses(f, pc);
    let call = || {
        // SAFETY: the caller's own arguments; what was read ends in zero.
        let (line, bytes) = unsafe {
            let line = libc_::fgets(p, n, f);
            (line, if line.is_null() { 0 } else { whole(p) })
        };
        let found = answers(f, pc, i64::from(!line.is_null()), (p.cast(), n.max(0) as usize), bytes);
        if found == 0 { core::ptr::null_mut() } else { p }
    };
    takes(
        f,
        call,
        // SAFETY: what was read ends in zero.
        |line| if line.is_null() { NOTHING } else { (p.cast_const().cast(), unsafe { whole(p) }) },
    )
}

unsafe extern "C-unwind" fn take_byte(f: *mut FILE) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own argument.
    let call = || answers(f, pc, unsafe { libc_::fgetc(f) }.into(), (core::ptr::null_mut(), 0), 0) as c_int;
    takes(f, call, |_| NOTHING)
}

unsafe extern "C-unwind" fn take_standard_byte() -> c_int {
    // SAFETY: standard input is a stream.
    unsafe { take_byte(standard_input()) }
}

/// A line lies in memory that the library may have allocated.
unsafe fn line(place: *mut *mut c_char, bytes: ssize_t) -> (*const c_void, usize) {
    // SAFETY: the caller's own place for it, which the call has filled.
    if bytes < 0 { NOTHING } else { (unsafe { (*place).cast() }, bytes as usize + 1) }
}

unsafe extern "C-unwind" fn take_line(p: *mut *mut c_char, n: *mut size_t, f: *mut FILE) -> ssize_t {
    // SAFETY: the caller's own arguments.
    unsafe { take_until(p, n, c_int::from(b'\n'), f) }
}

unsafe extern "C-unwind" fn take_until(p: *mut *mut c_char, n: *mut size_t, d: c_int, f: *mut FILE) -> ssize_t {
    let pc = tls::caller();
    uses(f, pc);
    let call = || {
        // SAFETY: the caller's own arguments; the call has filled them.
        unsafe {
            let length = libc_::getdelim(p, n, d, f);
            if p.is_null() || n.is_null() {
                return length;
            }
            let (room, bytes) = if (*p).is_null() { (0, 0) } else { (*n, (length + 1).max(0) as usize) };
            answers(f, pc, length as i64, ((*p).cast(), room), bytes) as ssize_t
        }
    };
    // SAFETY: as above.
    takes(f, call, |bytes| unsafe { line(p, bytes) })
}

unsafe extern "C-unwind" fn put_block(p: *const c_void, s: size_t, n: size_t, f: *mut FILE) -> size_t {
    uses(f, tls::caller());
    // SAFETY: the caller's own arguments.
    puts(f, p, s.wrapping_mul(n), || unsafe { libc_::fwrite(p, s, n, f) })
}

unsafe extern "C-unwind" fn put_text(p: *const c_char, f: *mut FILE) -> c_int {
    uses(f, tls::caller());
    // SAFETY: the caller's own arguments; a zero ends the text.
    puts(f, p.cast(), unsafe { whole(p) }, || unsafe { libc_::fputs(p, f) })
}

unsafe extern "C-unwind" fn put_byte(c: c_int, f: *mut FILE) -> c_int {
    // SAFETY: the caller's own arguments.
    puts(f, core::ptr::null(), 0, || unsafe { libc_::fputc(c, f) })
}

unsafe extern "C-unwind" fn put_standard_byte(c: c_int) -> c_int {
    // SAFETY: standard output is a stream.
    unsafe { put_byte(c, standard_output()) }
}

unsafe extern "C-unwind" fn flush(f: *mut FILE) -> c_int {
    uses(f, tls::caller());
    // SAFETY: the caller's own argument.
    puts(f, core::ptr::null(), 0, || unsafe { libc_::fflush(f) })
}

unsafe extern "C-unwind" fn close(f: *mut FILE) -> c_int {
    let pc = tls::caller();
    used(f, pc);
    if let Some(channel) = channel(f, true)
        && let Some(hook) = Hook::enter_outermost()
    {
        hook.record(Tag::Send, pc, &[channel.key, 0, 0, flag::UNMEASURED]);
        hook.record(Tag::HangUp, pc, &[channel.key]);
    }
    // What was still in its buffer is written now.
    if let Some(file) = files::of_stream(f).filter(|file| pairs::is_own(*file))
        && let Some(hook) = Hook::enter_outermost()
    {
        files::changes(&hook, pc, file);
    }
    // SAFETY: the caller's own stream.
    let fd = unsafe { libc::fileno(f) };
    lives::ends(fd, pc);
    descriptors::closed(fd);
    // SAFETY: the caller's own argument.
    unsafe { libc_::fclose(f) }
}
