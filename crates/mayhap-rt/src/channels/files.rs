//! Files: threads also meet at what files hold and at their names. A file that can be made only once is a lock, and a thread may wait
//! until another one has written a file, renamed it or removed it.
//!
//! Each file stands for a word ([`super::words`]) that counts its changes, and each name for another one. Who reads a file or looks a name up reads the
//! word, who writes the file writes it, and who makes or removes a name updates it: atomic accesses, which order threads where one saw
//! what the other had done. So threads that only write to one file are not ordered.
//!
//! A change is recorded before the call, since others can see it before the call returns. What was found is recorded after.

use libc::{FILE, c_char, c_int, c_uint, c_void, mode_t, off_t};
use mayhap_wire::channel::{self, key};
use mayhap_wire::ring::AtomicKind;

use super::descriptors::{self, Descriptor};
use super::lives;
use super::pairs;
use super::results::{self, wrote};
use super::words::Word;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};
use crate::{sys, threads};

mod libc_real {
    use super::*;
    real! {
        fn open(p: *const c_char, f: c_int, m: mode_t) -> c_int;
        fn openat(d: c_int, p: *const c_char, f: c_int, m: mode_t) -> c_int;
        fn creat(p: *const c_char, m: mode_t) -> c_int;
        fn fopen(p: *const c_char, m: *const c_char) -> *mut FILE;
        fn opendir(p: *const c_char) -> *mut c_void;
        fn mkdir(p: *const c_char, m: mode_t) -> c_int;
        fn mkdirat(d: c_int, p: *const c_char, m: mode_t) -> c_int;
        fn symlink(o: *const c_char, p: *const c_char) -> c_int;
        fn link(o: *const c_char, p: *const c_char) -> c_int;
        fn linkat(d: c_int, o: *const c_char, e: c_int, p: *const c_char, f: c_int) -> c_int;
        fn unlink(p: *const c_char) -> c_int;
        fn unlinkat(d: c_int, p: *const c_char, f: c_int) -> c_int;
        fn remove(p: *const c_char) -> c_int;
        fn rmdir(p: *const c_char) -> c_int;
        fn rename(o: *const c_char, p: *const c_char) -> c_int;
        fn renameat(d: c_int, o: *const c_char, e: c_int, p: *const c_char) -> c_int;
        fn renameat2(d: c_int, o: *const c_char, e: c_int, p: *const c_char, f: c_uint) -> c_int;
        fn access(p: *const c_char, m: c_int) -> c_int;
        fn faccessat(d: c_int, p: *const c_char, m: c_int, f: c_int) -> c_int;
        fn stat(p: *const c_char, s: *mut libc::stat) -> c_int;
        fn lstat(p: *const c_char, s: *mut libc::stat) -> c_int;
        fn fstat(f: c_int, s: *mut libc::stat) -> c_int;
        fn fstatat(d: c_int, p: *const c_char, s: *mut libc::stat, f: c_int) -> c_int;
        fn statx(d: c_int, p: *const c_char, f: c_int, m: c_uint, s: *mut libc::statx) -> c_int;
        fn truncate(p: *const c_char, n: off_t) -> c_int;
        fn ftruncate(f: c_int, n: off_t) -> c_int;
        fn posix_openpt(f: c_int) -> c_int;
        fn chmod(p: *const c_char, m: mode_t) -> c_int;
        fn fchmod(f: c_int, m: mode_t) -> c_int;
        fn fchmodat(d: c_int, p: *const c_char, m: mode_t, f: c_int) -> c_int;
        fn chown(p: *const c_char, u: c_uint, g: c_uint) -> c_int;
        fn fchown(f: c_int, u: c_uint, g: c_uint) -> c_int;
        fn utime(p: *const c_char, t: *const c_void) -> c_int;
        fn utimes(p: *const c_char, t: *const c_void) -> c_int;
        fn utimensat(d: c_int, p: *const c_char, t: *const c_void, f: c_int) -> c_int;
        fn futimens(f: c_int, t: *const c_void) -> c_int;
        fn futimes(f: c_int, t: *const c_void) -> c_int;
        fn readdir(d: *mut c_void) -> *mut c_void;
        fn copy_file_range(i: c_int, p: *mut i64, o: c_int, q: *mut i64, n: usize, f: c_uint) -> isize;
        fn fallocate(f: c_int, m: c_int, o: off_t, n: off_t) -> c_int;
        fn posix_fallocate(f: c_int, o: off_t, n: off_t) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    open => open_file;
    open64 => open_file;
    openat => open_at;
    openat64 => open_at;
    creat => create;
    creat64 => create;
    fopen => open_stream;
    fopen64 => open_stream;
    opendir => list;
    mkdir => make_folder;
    mkdirat => make_folder_at;
    symlink => make_link;
    link => add_name;
    linkat => add_name_at;
    unlink => remove_name;
    unlinkat => remove_name_at;
    remove => remove_any;
    rmdir => remove_folder;
    rename => change_name;
    renameat => change_name_at;
    renameat2 => change_name_with;
    access => find;
    faccessat => find_at;
    stat => look;
    stat64 => look;
    lstat => look_at_link;
    lstat64 => look_at_link;
    fstat => look_at_open;
    fstat64 => look_at_open;
    fstatat => look_at;
    fstatat64 => look_at;
    statx => look_closely;
    truncate => shorten;
    truncate64 => shorten;
    ftruncate => shorten_open;
    ftruncate64 => shorten_open;
    posix_openpt => open_terminal;
    chmod => change_mode;
    fchmod => change_mode_of_open;
    fchmodat => change_mode_at;
    chown => change_owner;
    fchown => change_owner_of_open;
    utime => change_time;
    utimes => change_times;
    utimensat => change_times_at;
    futimens => change_times_of_open;
    futimes => change_both_times_of_open;
    readdir => next_in_list;
    readdir64 => next_in_list;
    copy_file_range => copy_part;
    fallocate => reserve;
    fallocate64 => reserve;
    posix_fallocate => reserve_simply;
    posix_fallocate64 => reserve_simply;
}

/// An ordinary file: what the kernel knows it by.
fn file_of(status: &libc::stat) -> Option<u64> {
    (status.st_mode & libc::S_IFMT == libc::S_IFREG).then(|| key(channel::FILE, status.st_ino, status.st_dev))
}

/// Whether the program itself has changed the file that a descriptor is of: what it reads there is no input from outside.
pub(crate) fn is_own(fd: c_int) -> bool {
    descriptors::status(fd).as_ref().and_then(file_of).is_some_and(pairs::is_own)
}

/// A call that reads from a file.
pub(super) fn reads<R>(file: u64, call: impl FnOnce() -> R) -> R {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter_outermost() else { return call() };
    let word = Word::of_file(file);
    word.hold_back(&hook, pc);
    let result = hook.exposed(call);
    word.record(&hook, pc, AtomicKind::Load);
    result
}

/// A file is about to be changed.
pub(super) fn changes(hook: &Hook, pc: u64, file: u64) {
    pairs::note_own(file);
    Word::of_file(file).record(hook, pc, AtomicKind::Store);
}

/// The file that a stream is of, unless it is one of the standard ones.
pub(super) fn of_stream(stream: *mut FILE) -> Option<u64> {
    // SAFETY: the caller's own stream; asking for the number takes no lock.
    let fd = if stream.is_null() { -1 } else { unsafe { libc::fileno(stream) } };
    match Descriptor::of(fd) {
        Descriptor::File(file) => Some(file),
        _ => None,
    }
}

/// What a call does with a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    /// Looks for it.
    Finds,
    /// Looks for it, and gives its file another name.
    Links,
    /// Makes it if there is none.
    Makes,
    /// Removes it, or has it mean something else.
    Changes,
}

/// There is a file of this name.
unsafe fn exists(folder: c_int, path: *const c_char) -> bool {
    // SAFETY: the caller vouches for the path.
    unsafe { sys::call(libc::SYS_faccessat, [folder as usize, path as usize, libc::F_OK as usize, 0, 0, 0]) == 0 }
}

/// Device, inode and type of what a path below a folder names.
unsafe fn status_at(folder: c_int, path: *const c_char) -> Option<libc::stat> {
    // SAFETY: the caller vouches for the path; plain data that the kernel fills.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let arguments = [folder as usize, path as usize, (&raw mut status) as usize, 0, 0, 0];
        (sys::call(libc::SYS_newfstatat, arguments) == 0).then_some(status)
    }
}

/// A call that looks for names, makes or changes them; `failed` says of its result whether it did not.
unsafe fn named<const N: usize, R: Copy>(
    names: [(c_int, *const c_char, Name); N],
    call: impl FnOnce() -> R,
    failed: impl FnOnce(R) -> bool,
) -> R {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter_outermost() else { return call() };
    // SAFETY: the caller vouches for the paths.
    let words = names.map(|(folder, path, name)| unsafe {
        results::read_text(&hook, pc, path);
        let changes = name == Name::Changes || name == Name::Makes && !exists(folder, path);
        if matches!(name, Name::Changes | Name::Links)
            && let Some(file) = status_at(folder, path).as_ref().and_then(file_of)
        {
            // How many names it has is part of what can be asked about a file.
            Word::of_file(file).record(&hook, pc, AtomicKind::Store);
        }
        (Word::of_name(path), changes)
    });
    for (word, _) in words.iter().filter(|(_, changes)| *changes) {
        word.record(&hook, pc, AtomicKind::Update);
        Word::of_folders().record(&hook, pc, AtomicKind::Store);
    }
    if let Some((word, _)) = words.iter().find(|(_, changes)| !changes) {
        word.hold_back(&hook, pc);
    }
    let result = hook.exposed(call);
    let failed = failed(result);
    for (word, _) in words.iter().filter(|(_, changes)| failed || !changes) {
        word.record(&hook, pc, AtomicKind::Load);
    }
    result
}

/// [`named`] for one name of a call that returns a number.
unsafe fn one(folder: c_int, path: *const c_char, name: Name, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's own path.
    unsafe { named([(folder, path, name)], call, |result| result < 0) }
}

/// What opening does with the name.
fn opens(flags: c_int) -> Name {
    if flags & libc::O_CREAT != 0 { Name::Makes } else { Name::Finds }
}

/// Opening may have emptied a file.
fn opened(fd: c_int, flags: c_int) {
    let pc = tls::caller();
    if fd >= 0
        && flags & libc::O_TRUNC != 0
        && let Some(file) = descriptors::status(fd).as_ref().and_then(file_of)
        && let Some(hook) = Hook::enter_outermost()
    {
        changes(&hook, pc, file);
    }
}

/// A pseudoterminal's two ends meet in the process that opens one.
unsafe fn is_terminal_maker(path: *const c_char) -> bool {
    let name = b"/dev/ptmx\0";
    // SAFETY: as far as the path is the same it has not ended.
    !path.is_null() && (0..name.len()).all(|at| unsafe { *path.add(at) } as u8 == name[at])
}

unsafe fn opening(folder: c_int, path: *const c_char, flags: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own path.
    let fd = unsafe {
        if is_terminal_maker(path) {
            descriptors::makes_terminals();
        }
        one(folder, path, opens(flags), call)
    };
    opened(fd, flags);
    descriptors::closed(fd);
    lives::begins(fd, pc)
}

pub(crate) unsafe extern "C-unwind" fn open_file(p: *const c_char, f: c_int, m: mode_t) -> c_int {
    // SAFETY: the caller's own arguments; the mode is looked at only where there is one.
    unsafe { opening(libc::AT_FDCWD, p, f, || libc_::open(p, f, m)) }
}

pub(crate) unsafe extern "C-unwind" fn open_at(d: c_int, p: *const c_char, f: c_int, m: mode_t) -> c_int {
    // SAFETY: as above.
    unsafe { opening(d, p, f, || libc_::openat(d, p, f, m)) }
}

pub(crate) unsafe extern "C-unwind" fn create(p: *const c_char, m: mode_t) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { opening(libc::AT_FDCWD, p, libc::O_CREAT | libc::O_TRUNC, || libc_::creat(p, m)) }
}

unsafe extern "C-unwind" fn open_terminal(f: c_int) -> c_int {
    descriptors::makes_terminals();
    // SAFETY: no precondition.
    unsafe { libc_::posix_openpt(f) }
}

unsafe extern "C-unwind" fn open_stream(p: *const c_char, m: *const c_char) -> *mut FILE {
    let pc = tls::caller();
    // SAFETY: the caller's own texts; the mode has at least one letter before its end.
    unsafe {
        let letter = if m.is_null() { 0 } else { *m as u8 };
        let name = if letter == b'r' { Name::Finds } else { Name::Makes };
        let stream = named([(libc::AT_FDCWD, p, name)], || libc_::fopen(p, m), |stream: *mut FILE| stream.is_null());
        if !stream.is_null() {
            let fd = libc::fileno(stream);
            opened(fd, if letter == b'w' { libc::O_TRUNC } else { 0 });
            descriptors::closed(fd);
            lives::begins(fd, pc);
        }
        stream
    }
}

unsafe extern "C-unwind" fn list(p: *const c_char) -> *mut c_void {
    let pc = tls::caller();
    // SAFETY: the caller's own path.
    let folder = unsafe { named([(libc::AT_FDCWD, p, Name::Finds)], || libc_::opendir(p), |folder| folder.is_null()) };
    lists(folder, pc);
    folder
}

/// The thread looks at what is in a folder.
fn lists(folder: *mut c_void, pc: u64) {
    if let Some(hook) = Hook::enter_outermost() {
        Word::of_folders().record(&hook, pc, AtomicKind::Load);
    }
    // SAFETY: the caller's own folder, if there is one.
    if !folder.is_null() && descriptors::is_made_up(unsafe { libc::dirfd(folder.cast()) }) {
        super::doubts(pc);
    }
}

unsafe extern "C-unwind" fn next_in_list(d: *mut c_void) -> *mut c_void {
    let pc = tls::caller();
    // SAFETY: the caller's own argument.
    let next = unsafe { libc_::readdir(d) };
    if threads::were_others() {
        lists(d, pc);
    }
    next
}

/// Calls that have one name, or two.
macro_rules! names {
    ($($inner:ident $real:ident($($arg:ident: $type:ty),*) [$($folder:expr, $path:ident, $name:ident);*];)*) => {
        $(
            pub(crate) unsafe extern "C-unwind" fn $inner($($arg: $type),*) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { named([$(($folder, $path, Name::$name)),*], || libc_::$real($($arg),*), |result| result < 0) }
            }
        )*
    };
}

names! {
    make_folder mkdir(p: *const c_char, m: mode_t) [libc::AT_FDCWD, p, Makes];
    make_folder_at mkdirat(d: c_int, p: *const c_char, m: mode_t) [d, p, Makes];
    make_link symlink(o: *const c_char, p: *const c_char) [libc::AT_FDCWD, p, Makes];
    add_name link(o: *const c_char, p: *const c_char) [libc::AT_FDCWD, o, Links; libc::AT_FDCWD, p, Makes];
    add_name_at linkat(d: c_int, o: *const c_char, e: c_int, p: *const c_char, f: c_int) [d, o, Links; e, p, Makes];
    remove_name unlink(p: *const c_char) [libc::AT_FDCWD, p, Changes];
    remove_name_at unlinkat(d: c_int, p: *const c_char, f: c_int) [d, p, Changes];
    remove_any remove(p: *const c_char) [libc::AT_FDCWD, p, Changes];
    remove_folder rmdir(p: *const c_char) [libc::AT_FDCWD, p, Changes];
    change_name rename(o: *const c_char, p: *const c_char) [libc::AT_FDCWD, o, Changes; libc::AT_FDCWD, p, Changes];
    change_name_at renameat(d: c_int, o: *const c_char, e: c_int, p: *const c_char) [d, o, Changes; e, p, Changes];
    change_name_with renameat2(d: c_int, o: *const c_char, e: c_int, p: *const c_char, f: c_uint)
        [d, o, Changes; e, p, Changes];
    find access(p: *const c_char, m: c_int) [libc::AT_FDCWD, p, Finds];
    find_at faccessat(d: c_int, p: *const c_char, m: c_int, f: c_int) [d, p, Finds];
}

/// The size and time of a file show that it was changed.
unsafe fn looked(result: c_int, status: *const libc::stat) -> c_int {
    let pc = tls::caller();
    // SAFETY: a call that succeeded has filled it.
    let file = if result == 0 { file_of(unsafe { &*status }) } else { None };
    wrote(pc, status, if result == 0 { size_of::<libc::stat>() } else { 0 });
    if let Some(file) = file
        && let Some(hook) = Hook::enter_outermost()
    {
        Word::of_file(file).record(&hook, pc, AtomicKind::Load);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn look(p: *const c_char, s: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { looked(one(libc::AT_FDCWD, p, Name::Finds, || libc_::stat(p, s)), s) }
}

pub(crate) unsafe extern "C-unwind" fn look_at_link(p: *const c_char, s: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { looked(one(libc::AT_FDCWD, p, Name::Finds, || libc_::lstat(p, s)), s) }
}

pub(crate) unsafe extern "C-unwind" fn look_at_open(f: c_int, s: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { looked(libc_::fstat(f, s), s) }
}

pub(crate) unsafe extern "C-unwind" fn look_at(d: c_int, p: *const c_char, s: *mut libc::stat, f: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { looked(one(d, p, Name::Finds, || libc_::fstatat(d, p, s, f)), s) }
}

pub(crate) unsafe extern "C-unwind" fn look_closely(
    d: c_int,
    p: *const c_char,
    f: c_int,
    m: c_uint,
    s: *mut libc::statx,
) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments; a call that succeeded has filled the last.
    unsafe {
        let result = one(d, p, Name::Finds, || libc_::statx(d, p, f, m, s));
        if result == 0
            && u32::from((*s).stx_mode) & libc::S_IFMT == libc::S_IFREG
            && let Some(hook) = Hook::enter_outermost()
        {
            let device = libc::makedev((*s).stx_dev_major, (*s).stx_dev_minor);
            Word::of_file(key(channel::FILE, (*s).stx_ino, device)).record(&hook, pc, AtomicKind::Load);
        }
        result
    }
}

/// A file is about to be changed that a path names.
unsafe fn changes_named(p: *const c_char) {
    // SAFETY: the caller's own path.
    unsafe { changes_at(libc::AT_FDCWD, p) }
}

/// A file is about to be changed that a path below a folder names.
unsafe fn changes_at(d: c_int, p: *const c_char) {
    let pc = tls::caller();
    // SAFETY: the caller's own path.
    let status = unsafe { status_at(d, p) };
    if let Some(file) = status.as_ref().and_then(file_of)
        && let Some(hook) = Hook::enter_outermost()
    {
        changes(&hook, pc, file);
    }
}

/// A file is about to be changed that is open.
fn changes_open(f: c_int) {
    let pc = tls::caller();
    if let Some(file) = descriptors::status(f).as_ref().and_then(file_of)
        && let Some(hook) = Hook::enter_outermost()
    {
        changes(&hook, pc, file);
    }
}

/// Calls that change a file, which is found as `found` says.
macro_rules! changing {
    ($($inner:ident $real:ident($($arg:ident: $type:ty),*) $found:ident($($which:ident),+);)*) => {
        $(
            pub(crate) unsafe extern "C-unwind" fn $inner($($arg: $type),*) -> c_int {
                // SAFETY: the caller's own arguments.
                #[allow(unused_unsafe, reason = "an open file is found without")]
                unsafe {
                    $found($($which),+);
                    libc_::$real($($arg),*)
                }
            }
        )*
    };
}

changing! {
    shorten truncate(p: *const c_char, n: off_t) changes_named(p);
    shorten_open ftruncate(f: c_int, n: off_t) changes_open(f);
    change_mode chmod(p: *const c_char, m: mode_t) changes_named(p);
    change_mode_of_open fchmod(f: c_int, m: mode_t) changes_open(f);
    change_mode_at fchmodat(d: c_int, p: *const c_char, m: mode_t, f: c_int) changes_at(d, p);
    change_owner chown(p: *const c_char, u: c_uint, g: c_uint) changes_named(p);
    change_owner_of_open fchown(f: c_int, u: c_uint, g: c_uint) changes_open(f);
    change_time utime(p: *const c_char, t: *const c_void) changes_named(p);
    change_times utimes(p: *const c_char, t: *const c_void) changes_named(p);
    change_times_at utimensat(d: c_int, p: *const c_char, t: *const c_void, f: c_int) changes_at(d, p);
    change_times_of_open futimens(f: c_int, t: *const c_void) changes_open(f);
    change_both_times_of_open futimes(f: c_int, t: *const c_void) changes_open(f);
    reserve fallocate(f: c_int, m: c_int, o: off_t, n: off_t) changes_open(f);
    reserve_simply posix_fallocate(f: c_int, o: off_t, n: off_t) changes_open(f);
}

/// What is copied from one file comes after what was written there, and is written to the other.
unsafe extern "C-unwind" fn copy_part(i: c_int, p: *mut i64, o: c_int, q: *mut i64, n: usize, f: c_uint) -> isize {
    changes_open(o);
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_::copy_file_range(i, p, o, q, n, f) };
    match descriptors::status(i).as_ref().and_then(file_of) {
        Some(file) => reads(file, call),
        None => call(),
    }
}
