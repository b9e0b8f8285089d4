//! What threads take from that share it: a generator of numbers, a stream, an open file. Which number, line or bytes a thread gets depends on what
//! others have taken before. So taking is an update of a word, and a thread that would take earlier or later than it did has read
//! something else. It orders nothing else: no standard says that threads are synchronised by it.
//!
//! Writing to a file moves the position that its descriptor or stream has, too. A thread that asks for it comes after the writes that it finds done.

use libc::{FILE, c_int, c_long, fpos_t, off_t};
use mayhap_wire::channel::key;
use mayhap_wire::ring::{AtomicKind, order};

use super::descriptors::{self, Descriptor};
use super::files;
use super::lives;
use super::words::Word;
use crate::hook::Hook;
use crate::real::real;
use crate::threads;
use crate::tls::{self, exports};

/// What is taken from.
#[derive(Clone, Copy)]
pub(crate) enum From {
    /// `rand` and `random`.
    Rand,
    /// `drand48` and its like.
    Rand48,
    /// A stream of the C library.
    Stream(*mut FILE),
    /// A stream of C++.
    Object(u64),
    /// An open file, by its number.
    Descriptor(c_int),
}

impl From {
    pub(crate) fn stream(stream: *mut FILE) -> From {
        From::Stream(stream)
    }

    /// What is taken from may be written to, too.
    fn may_be_written(self) -> bool {
        match self {
            From::Rand | From::Rand48 | From::Object(_) => false,
            From::Stream(stream) => files::of_stream(stream).is_some() && !is_read_only(stream),
            From::Descriptor(fd) => matches!(Descriptor::of(fd), Descriptor::File(_)),
        }
    }

    fn word(self) -> Word {
        Word::of_position(match self {
            From::Rand => key(1, 0, 0),
            From::Rand48 => key(2, 0, 0),
            From::Stream(stream) => key(3, stream as u64, 0),
            From::Object(stream) => key(3, stream, 0),
            From::Descriptor(fd) => key(4, descriptors::open_file(fd), 0),
        })
    }
}

/// The thread is about to take something.
pub(crate) fn takes(from: From, pc: u64) {
    with(from, |hook, word| {
        if from.may_be_written() {
            word.operate(hook, pc, AtomicKind::Load, order::RELAXED);
        }
        word.operate(hook, pc, AtomicKind::Update, order::RELEASE);
    });
}

/// The thread is about to say what is taken next, whatever was taken before.
pub(crate) fn sets(from: From, pc: u64) {
    with(from, |hook, word| word.replace(hook, pc));
}

/// The thread has asked where in a file the next thing is taken from or written to.
fn finds(from: From, pc: u64) {
    with(from, |hook, word| word.record(hook, pc, AtomicKind::Load));
}

/// The thread is about to write, which moves the position by as much.
pub(super) fn writes(hook: &Hook, from: From, pc: u64) {
    if threads::were_others() {
        from.word().operate(hook, pc, AtomicKind::Store, order::RELEASE);
    }
}

fn with(from: From, operation: impl FnOnce(&Hook, Word)) {
    if threads::were_others()
        && let Some(mut hook) = Hook::enter_outermost()
    {
        operation(&hook, from.word());
        hook.announces();
    }
}

/// A stream that was opened for reading only. Its first word says so.
fn is_read_only(stream: *mut FILE) -> bool {
    const NO_WRITES: c_int = 8;
    // SAFETY: the caller's own stream.
    !stream.is_null() && unsafe { *stream.cast::<c_int>() } & NO_WRITES != 0
}

mod libc_real {
    use super::*;
    real! {
        fn lseek(f: c_int, offset: off_t, from: c_int) -> off_t;
        fn fseek(f: *mut FILE, offset: c_long, from: c_int) -> c_int;
        fn ftell(f: *mut FILE) -> c_long;
        fn rewind(f: *mut FILE);
        fn feof(f: *mut FILE) -> c_int;
        fn ferror(f: *mut FILE) -> c_int;
        fn clearerr(f: *mut FILE);
        fn fgetpos(f: *mut FILE, p: *mut fpos_t) -> c_int;
        fn fsetpos(f: *mut FILE, p: *const fpos_t) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    lseek => seek;
    lseek64 => seek;
    fseek => seek_in;
    fseeko => seek_in;
    fseeko64 => seek_in;
    ftell => tell;
    ftello => tell;
    ftello64 => tell;
    rewind => start_again;
    feof => is_at_end;
    ferror => has_failed;
    clearerr => forget_end;
    fgetpos => keep_place;
    fgetpos64 => keep_place;
    fsetpos => go_back;
    fsetpos64 => go_back;
}

/// A call that moves the position, or only asks for it.
fn seeks<R>(at: From, (offset, whence): (i64, c_int), file: Option<u64>, pc: u64, call: impl FnOnce() -> R) -> R {
    let only_asks = whence == libc::SEEK_CUR && offset == 0;
    match whence {
        _ if file.is_none() || only_asks => {}
        libc::SEEK_CUR => takes(at, pc),
        _ => sets(at, pc),
    }
    let result = match (file, whence) {
        // Where a file ends, and where it has holes, is part of what it holds.
        (Some(file), whence) if whence != libc::SEEK_SET && whence != libc::SEEK_CUR => files::reads(file, call),
        _ => call(),
    };
    if file.is_some() && whence == libc::SEEK_CUR {
        finds(at, pc);
    }
    result
}

unsafe extern "C-unwind" fn seek(f: c_int, offset: off_t, whence: c_int) -> off_t {
    let pc = tls::caller();
    lives::uses(f, pc);
    let file = match Descriptor::of(f) {
        Descriptor::File(file) => Some(file),
        _ => None,
    };
    // SAFETY: the caller's own arguments.
    seeks(From::Descriptor(f), (offset, whence), file, pc, || unsafe { libc_::lseek(f, offset, whence) })
}

unsafe extern "C-unwind" fn seek_in(f: *mut FILE, offset: c_long, whence: c_int) -> c_int {
    let (pc, file) = (tls::caller(), files::of_stream(f));
    // SAFETY: the caller's own arguments.
    seeks(From::stream(f), (offset, whence), file, pc, || unsafe { libc_::fseek(f, offset, whence) })
}

unsafe extern "C-unwind" fn tell(f: *mut FILE) -> c_long {
    let (pc, file) = (tls::caller(), files::of_stream(f));
    // SAFETY: the caller's own argument.
    seeks(From::stream(f), (0, libc::SEEK_CUR), file, pc, || unsafe { libc_::ftell(f) })
}

unsafe extern "C-unwind" fn start_again(f: *mut FILE) {
    let (pc, file) = (tls::caller(), files::of_stream(f));
    // SAFETY: the caller's own argument.
    seeks(From::stream(f), (0, libc::SEEK_SET), file, pc, || unsafe { libc_::rewind(f) });
}

unsafe extern "C-unwind" fn keep_place(f: *mut FILE, p: *mut fpos_t) -> c_int {
    let (pc, file) = (tls::caller(), files::of_stream(f));
    // SAFETY: the caller's own arguments.
    seeks(From::stream(f), (0, libc::SEEK_CUR), file, pc, || unsafe { libc_::fgetpos(f, p) })
}

unsafe extern "C-unwind" fn go_back(f: *mut FILE, p: *const fpos_t) -> c_int {
    let (pc, file) = (tls::caller(), files::of_stream(f));
    // SAFETY: the caller's own arguments.
    seeks(From::stream(f), (0, libc::SEEK_SET), file, pc, || unsafe { libc_::fsetpos(f, p) })
}

/// Whether a stream has ended is known once something was to be taken from it.
unsafe extern "C-unwind" fn is_at_end(f: *mut FILE) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own argument.
    let result = unsafe { libc_::feof(f) };
    finds(From::stream(f), pc);
    result
}

unsafe extern "C-unwind" fn has_failed(f: *mut FILE) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own argument.
    let result = unsafe { libc_::ferror(f) };
    finds(From::stream(f), pc);
    result
}

unsafe extern "C-unwind" fn forget_end(f: *mut FILE) {
    takes(From::stream(f), tls::caller());
    // SAFETY: the caller's own argument.
    unsafe { libc_::clearerr(f) }
}
