//! Locks of files and of the C library's streams.
//!
//! A lock that `flock` takes, or `fcntl` for an open file description, belongs to the description: threads that opened the file each for
//! itself exclude each other, threads that share a descriptor do not. Locks that `fcntl` and `lockf` take for the process exclude no
//! thread of it, so nothing is recorded of those.

use core::sync::atomic::{AtomicU64, Ordering};

use libc::{EAGAIN, EINTR, EWOULDBLOCK, FILE, c_int, off_t};
use mayhap_wire::channel::{self, key};
use mayhap_wire::ring::Tag;

use super::settings::{self, Setting, asks, settles};
use super::{connections, descriptors, errno, fails};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::lock::Lock;
use crate::real::real;
use crate::replay::{self, Decision};
use crate::sys;
use crate::tls::{self, exports};

mod libc_real {
    use super::*;
    real! {
        fn flock(f: c_int, o: c_int) -> c_int;
        fn lockf(f: c_int, c: c_int, n: off_t) -> c_int;
        fn fcntl(f: c_int, c: c_int, a: usize) -> c_int;
        fn flockfile(f: *mut FILE) -> ();
        fn ftrylockfile(f: *mut FILE) -> c_int;
        fn funlockfile(f: *mut FILE) -> ();
    }
}
use libc_real as libc_;

exports! {
    flock => lock_file;
    lockf => lock_for_process;
    lockf64 => lock_for_process;
    fcntl => control;
    fcntl64 => control;
    __fcntl => control;
    flockfile => lock_stream;
    ftrylockfile => try_stream;
    funlockfile => unlock_stream;
}

/// Open file descriptions that have taken locks: the lock's key, the descriptor plus 1 that took it, a number for the description, and
/// whether it holds the lock.
static OWNED: [[AtomicU64; 4]; 256] = [const { [const { AtomicU64::new(0) }; 4] }; 256];
/// Guards who has which entry. No hook is entered under it.
static LOCK: Lock = Lock::new();
static OWNERS: AtomicU64 = AtomicU64::new(1);

/// A forked child has one thread.
pub(crate) fn forget() {
    LOCK.forget();
}

/// Two descriptors of this process are of the same open file description.
fn is_same(a: c_int, b: c_int) -> bool {
    let process = sys::process_id() as usize;
    // SAFETY: compares only. Where that is forbidden, only the same descriptor is the same.
    a == b || unsafe { sys::call(libc::SYS_kcmp, [process, process, 0, a as usize, b as usize, 0]) } == 0
}

/// The entry of a lock that this descriptor's description has taken before.
fn owned(key: u64, fd: c_int) -> Option<&'static [AtomicU64; 4]> {
    OWNED.iter().find(|entry| {
        let holder = entry[1].load(Ordering::Relaxed);
        entry[0].load(Ordering::Relaxed) == key && holder != 0 && is_same(holder as c_int - 1, fd)
    })
}

/// Takes a lock by key. `attempt` does not block and says so by an error that `is_busy` knows.
fn take(
    key: u64,
    shared: bool,
    owner: u64,
    is_busy: fn(c_int) -> bool,
    attempt: impl FnOnce() -> c_int,
    wait: Option<impl FnOnce() -> c_int>,
) -> c_int {
    let pc = tls::caller();
    let Some((mut hook, go)) = Hook::enter_for(Tag::KeyedAcquire, pc, key) else {
        return match wait {
            Some(wait) => {
                leave();
                wait()
            }
            None => attempt(),
        };
    };
    if let Decision::Fail(error) = go {
        return fails(error) as c_int;
    }
    let bounded = wait.is_none();
    let mut result = attempt();
    if result != 0 && is_busy(errno()) {
        replay::would_block(hook.thread(), Tag::KeyedAcquire, pc, key);
        if let Some(wait) = wait {
            result = hook.blocking(wait);
        }
    }
    if result == 0 {
        if bounded {
            hook.record(Tag::Tried, pc, &[0]);
        }
        hook.record(Tag::KeyedAcquire, pc, &[key, u64::from(shared), owner]);
        hook.sync_point();
    } else if is_busy(errno()) {
        hook.record(Tag::Failed, pc, &[key, errno() as u64, Tag::KeyedAcquire as u64]);
    }
    result
}

/// Gives a lock up by key.
fn give(key: u64, owner: u64, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let Some((hook, _)) = Hook::enter_for(Tag::KeyedRelease, pc, key) else { return call() };
    let result = call();
    if result == 0 {
        hook.record(Tag::KeyedRelease, pc, &[key, owner]);
        hook.sync_point();
    }
    result
}

fn is_busy(error: c_int) -> bool {
    error == EWOULDBLOCK || error == EAGAIN || error == libc::EACCES
}

/// A lock of a file for an open file description: taken shared or alone, or given up.
fn for_description(
    fd: c_int,
    key: u64,
    mode: Option<bool>,
    attempt: impl FnOnce() -> c_int,
    wait: Option<impl FnOnce() -> c_int>,
) -> c_int {
    // Threads that share a descriptor come here at the same time.
    let Some(entry) = LOCK.with(|| owned(key, fd).or_else(|| new_entry(key, fd))) else { return attempt() };
    let owner = entry[2].load(Ordering::Relaxed);
    match mode {
        None if entry[3].load(Ordering::Relaxed) == 0 => attempt(),
        None => {
            let result = give(key, owner, attempt);
            if result == 0 {
                entry[3].store(0, Ordering::Relaxed);
            }
            result
        }
        Some(shared) => {
            let result = take(key, shared, owner, is_busy, attempt, wait);
            if result == 0 {
                entry[3].store(1, Ordering::Relaxed);
            }
            result
        }
    }
}

/// Returns an entry for a descriptor: one that was never used, or whose lock is not held. Under the lock.
fn new_entry(key: u64, fd: c_int) -> Option<&'static [AtomicU64; 4]> {
    let of = |entry: &&[AtomicU64; 4], word: usize| entry[word].load(Ordering::Relaxed);
    let unused = OWNED.iter().find(|entry| of(entry, 1) == 0);
    let entry = unused.or_else(|| OWNED.iter().find(|entry| of(entry, 3) == 0))?;
    entry[0].store(key, Ordering::Relaxed);
    entry[2].store(OWNERS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    entry[3].store(0, Ordering::Relaxed);
    entry[1].store(fd as u64 + 1, Ordering::Relaxed);
    Some(entry)
}

fn file_key(fd: c_int, what: u64) -> u64 {
    descriptors::status(fd).map_or(0, |status| key(channel::FILE_LOCK, status.st_ino ^ what, status.st_dev))
}

pub(crate) unsafe extern "C-unwind" fn lock_file(f: c_int, o: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    let attempt = || unsafe { libc_::flock(f, o | libc::LOCK_NB) };
    // SAFETY: as above.
    let wait = (o & libc::LOCK_NB == 0).then_some(|| unsafe { libc_::flock(f, o) });
    let mode = match o & !libc::LOCK_NB {
        libc::LOCK_SH => Some(true),
        libc::LOCK_EX => Some(false),
        libc::LOCK_UN => None,
        _ => return attempt(),
    };
    for_description(f, file_key(f, 0), mode, attempt, wait)
}

unsafe extern "C-unwind" fn lock_for_process(f: c_int, c: c_int, n: off_t) -> c_int {
    leave();
    // SAFETY: the caller's own arguments.
    unsafe { libc_::lockf(f, c, n) }
}

/// A descriptor is about to be closed: what its description holds is given up, unless others have it, too.
pub(crate) fn closes(hook: &Hook, pc: u64, fd: c_int) {
    for entry in OWNED.iter().filter(|entry| entry[1].load(Ordering::Relaxed) == fd as u64 + 1) {
        if entry[3].swap(0, Ordering::Relaxed) != 0 {
            hook.record(Tag::KeyedRelease, pc, &[entry[0].load(Ordering::Relaxed), entry[2].load(Ordering::Relaxed)]);
        }
        entry[1].store(0, Ordering::Relaxed);
    }
}

/// The descriptor has taken a lock.
pub(crate) fn holds(fd: c_int) -> bool {
    OWNED.iter().any(|entry| entry[1].load(Ordering::Relaxed) == fd as u64 + 1)
}

/// `fcntl`: locks, and duplicates.
pub(crate) unsafe extern "C-unwind" fn control(f: c_int, c: c_int, a: usize) -> c_int {
    // SAFETY: the caller's own arguments; what is no argument the kernel does not look at.
    let call = || unsafe { libc_::fcntl(f, c, a) };
    match c {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => connections::duplicates(f, None, call),
        libc::F_SETLKW => {
            leave();
            call()
        }
        libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            // SAFETY: the caller's own argument.
            let Some(lock) = (unsafe { (a as *const libc::flock).as_ref() }) else { return call() };
            let mode = match c_int::from(lock.l_type) {
                libc::F_RDLCK => Some(true),
                libc::F_WRLCK => Some(false),
                _ => None,
            };
            let range = key(0, lock.l_start as u64, lock.l_len as u64) ^ 1 << 63 | 1;
            // SAFETY: the caller's own arguments.
            let attempt = || unsafe { libc_::fcntl(f, libc::F_OFD_SETLK, a) };
            for_description(f, file_key(f, range), mode, attempt, (c == libc::F_OFD_SETLKW).then_some(call))
        }
        _ => match settings::of_command(c) {
            (false, true) => asks_for_descriptor(f, call),
            does => settles(Setting::Options, does, tls::caller(), call),
        },
    }
}

/// A call that asks how a descriptor is set, and so whether there is one.
fn asks_for_descriptor(f: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    let result = asks(Setting::Number(f), pc, call);
    asks(Setting::Options, pc, || result)
}

fn stream_key(stream: *mut FILE) -> u64 {
    key(channel::STREAM_LOCK, stream as u64, 0)
}

/// A stream's lock belongs to a thread, which may take it several times.
unsafe extern "C-unwind" fn lock_stream(f: *mut FILE) {
    // SAFETY: the caller's own argument.
    let attempt = || match unsafe { libc_::ftrylockfile(f) } {
        0 => 0,
        _ => fails(EWOULDBLOCK) as c_int,
    };
    let wait = Some(|| {
        // SAFETY: the caller's own argument.
        unsafe { libc_::flockfile(f) };
        0
    });
    let error = errno();
    take(stream_key(f), false, 0, is_busy, attempt, wait);
    restore(error);
}

unsafe extern "C-unwind" fn try_stream(f: *mut FILE) -> c_int {
    let error = errno();
    // SAFETY: the caller's own argument.
    let attempt = || match unsafe { libc_::ftrylockfile(f) } {
        0 => 0,
        _ => fails(EWOULDBLOCK) as c_int,
    };
    let result = take(stream_key(f), false, 0, is_busy, attempt, None::<fn() -> c_int>);
    restore(error);
    result
}

unsafe extern "C-unwind" fn unlock_stream(f: *mut FILE) {
    give(stream_key(f), 0, || {
        // SAFETY: the caller's own argument.
        unsafe { libc_::funlockfile(f) };
        0
    });
}

fn restore(error: c_int) {
    if error != EINTR || errno() != error {
        fails(error);
    }
}
