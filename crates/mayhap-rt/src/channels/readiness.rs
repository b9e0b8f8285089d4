//! Waiting for descriptors: `poll`, `select`, `epoll` and their like. Who finds a channel ready comes after what made it ready.
//!
//! What `epoll` reports is what the program attached to a descriptor; a table holds which descriptor that was.

use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use libc::{c_int, epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};
use mayhap_wire::channel::{self, doubt, flag, key};
use mayhap_wire::ring::{MAX_FOLLOWING, Tag};

use super::descriptors::{self, Descriptor};
use super::results::{wrote, wrote_all};
use super::{Channel, Form, Wait, errno, fails, own, wait_until_ready};
use super::{lives, signals};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::replay;
use crate::tls::{self, exports};

mod libc_real {
    use super::*;
    real! {
        fn poll(p: *mut pollfd, n: nfds_t, t: c_int) -> c_int;
        fn ppoll(p: *mut pollfd, n: nfds_t, t: *const timespec, s: *const sigset_t) -> c_int;
        fn select(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, t: *mut timeval) -> c_int;
        fn pselect(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, t: *const timespec,
            s: *const sigset_t) -> c_int;
        fn epoll_create(n: c_int) -> c_int;
        fn epoll_create1(f: c_int) -> c_int;
        fn epoll_ctl(e: c_int, o: c_int, f: c_int, v: *mut epoll_event) -> c_int;
        fn epoll_wait(e: c_int, v: *mut epoll_event, n: c_int, t: c_int) -> c_int;
        fn epoll_pwait(e: c_int, v: *mut epoll_event, n: c_int, t: c_int, s: *const sigset_t) -> c_int;
        fn epoll_pwait2(e: c_int, v: *mut epoll_event, n: c_int, t: *const timespec, s: *const sigset_t) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    poll => wait_poll;
    __poll_chk => wait_poll;
    ppoll => wait_ppoll;
    select => wait_select;
    pselect => wait_pselect;
    epoll_create => make_poll;
    epoll_create1 => make_poll_with;
    epoll_ctl => change_poll;
    epoll_wait => wait_epoll;
    epoll_pwait => wait_epoll_masked;
    epoll_pwait2 => wait_epoll_precisely;
}

/// Channels that one call found ready, as words of a record.
struct Found {
    words: [u64; MAX_FOLLOWING - 1],
    count: usize,
    signals: bool,
    unmodelled: bool,
}

impl Found {
    fn new() -> Found {
        Found { words: [0; MAX_FOLLOWING - 1], count: 0, signals: false, unmodelled: false }
    }

    fn add(&mut self, channel: Option<Channel>, flags: u64) {
        if let Some(channel) = channel
            && let [key, word, ..] = &mut self.words[self.count..]
        {
            (*key, *word) = (channel.key, flags);
            self.count += 2;
        }
    }

    /// What a descriptor was found ready for, in the bits that `poll` and `epoll` share.
    fn descriptor(&mut self, fd: c_int, events: c_int, waited: u64) {
        let what = Descriptor::of(fd);
        if let Descriptor::Socket(inode) = what {
            descriptors::look_up(fd, inode);
        }
        let has = |bits: i16| events & c_int::from(bits) != 0;
        self.signals |= what == Descriptor::Signals;
        self.unmodelled |= matches!(what, Descriptor::Unmodelled | Descriptor::Poll(_));
        if has(libc::POLLIN | libc::POLLPRI | libc::POLLRDNORM) {
            self.add(what.receives(), waited);
        }
        if has(libc::POLLHUP | libc::POLLERR | libc::POLLRDHUP) {
            self.add(what.receives(), waited | flag::ENDED);
        }
        if has(libc::POLLOUT | libc::POLLWRNORM) && waited != 0 {
            self.add(what.sends(), waited | flag::ROOM);
        }
    }

    fn record(&self, hook: &Hook, pc: u64) {
        if self.count > 0 {
            hook.record(Tag::Ready, pc, &self.words[..self.count]);
            hook.sync_point();
        }
        if self.signals {
            signals::taken(hook, pc, 0);
        }
        if self.unmodelled {
            hook.record(Tag::Doubt, pc, &[u64::from(doubt::DESCRIPTOR)]);
        }
    }
}

/// Waits for descriptors: `call` says how many are ready, and `look` which.
fn waits(at_once: bool, call: impl FnOnce() -> c_int, look: impl FnOnce(&mut Found, u64)) -> c_int {
    let pc = tls::caller();
    let Some(mut hook) = Hook::enter_outermost() else {
        leave();
        return call();
    };
    if replay::is_next(hook.thread(), Tag::Ready as u8, pc, 0) {
        replay::hold_back(hook.token(), hook.thread(), Tag::Ready as u8, pc, 0);
    }
    let result = if at_once { hook.exposed(call) } else { hook.blocking(call) };
    if result > 0 {
        let mut found = Found::new();
        look(&mut found, u64::from(!at_once));
        found.record(&hook, pc);
    }
    result
}

/// Looks at what is there without taking it.
pub(super) fn peeks(
    hook: &mut Hook,
    pc: u64,
    fd: c_int,
    channel: Channel,
    may_wait: bool,
    call: impl FnOnce() -> isize,
) -> isize {
    let waited = match wait_until_ready(hook, fd, libc::POLLIN, may_wait, own(channel, pc)) {
        Wait::Failed(error) => return fails(error),
        Wait::Later => flag::WAITED,
        Wait::AtOnce | Wait::Nonblocking => 0,
    };
    let result = hook.exposed(call);
    if result >= 0 {
        let ended = if result == 0 { flag::ENDED } else { 0 };
        hook.record(Tag::Ready, pc, &[channel.key, waited | ended]);
    }
    result
}

/// The entries of a call to `poll`. What is no list the kernel will refuse.
unsafe fn polled<'a>(list: *const pollfd, count: nfds_t) -> &'a [pollfd] {
    if list.is_null() || count > 1 << 20 {
        return &[];
    }
    // SAFETY: the caller vouches for the list.
    unsafe { core::slice::from_raw_parts(list, count as usize) }
}

/// The descriptors are about to be looked at.
fn uses_polled(list: *const pollfd, count: nfds_t) {
    // SAFETY: the caller of `poll` vouches for the list.
    for entry in unsafe { polled(list, count) }.iter().take(lives::LISTED) {
        lives::uses(entry.fd, tls::caller());
    }
}

fn look_at_polled(list: *const pollfd, count: nfds_t) -> impl FnOnce(&mut Found, u64) {
    move |found, waited| {
        // SAFETY: the kernel has just used it.
        for entry in unsafe { polled(list, count) }.iter().filter(|entry| entry.revents != 0) {
            found.descriptor(entry.fd, entry.revents.into(), waited);
        }
    }
}

pub(crate) unsafe extern "C-unwind" fn wait_poll(p: *mut pollfd, n: nfds_t, t: c_int) -> c_int {
    uses_polled(p, n);
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let result = waits(t == 0, || unsafe { libc_::poll(p, n, t) }, look_at_polled(p, n));
    wrote_polled(pc, p, if result < 0 { 0 } else { n });
    result
}

/// A time that is over at once.
unsafe fn is_zero(time: *const timespec) -> bool {
    // SAFETY: the caller's own time, or null for none.
    unsafe { time.as_ref() }.is_some_and(|time| time.tv_sec == 0 && time.tv_nsec == 0)
}

unsafe extern "C-unwind" fn wait_ppoll(p: *mut pollfd, n: nfds_t, t: *const timespec, s: *const sigset_t) -> c_int {
    uses_polled(p, n);
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let result = waits(unsafe { is_zero(t) }, || unsafe { libc_::ppoll(p, n, t, s) }, look_at_polled(p, n));
    wrote_polled(pc, p, if result < 0 { 0 } else { n });
    result
}

/// What descriptors were found to be ready for was written.
fn wrote_polled(pc: u64, polled: *const pollfd, count: nfds_t) {
    for nth in (0..count as usize).take(lives::LISTED) {
        // SAFETY: the caller of `poll` has so many.
        wrote_all(pc, unsafe { &raw const (*polled.add(nth)).revents });
    }
}

/// The descriptors of the sets are about to be looked at.
fn uses_sets(n: c_int, sets: [*const fd_set; 3]) {
    // SAFETY: the caller of `select` vouches for the sets, in which numbers below `n` are.
    let is_in = |fd: c_int| sets.iter().any(|set| !set.is_null() && unsafe { libc::FD_ISSET(fd, *set) });
    for fd in (0..n).filter(|fd| is_in(*fd)).take(lives::LISTED) {
        lives::uses(fd, tls::caller());
    }
}

fn look_at_sets(n: c_int, sets: [*const fd_set; 3]) -> impl FnOnce(&mut Found, u64) {
    move |found, waited| {
        let events = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
        for (set, events) in sets.into_iter().zip(events).filter(|(set, _)| !set.is_null()) {
            // SAFETY: the kernel has just used it; numbers below `n` are in it.
            for fd in (0..n).filter(|fd| unsafe { libc::FD_ISSET(*fd, set) }) {
                found.descriptor(fd, events.into(), waited);
                // That the other end hung up makes it readable, too.
                if events == libc::POLLIN {
                    found.add(Descriptor::of(fd).receives(), waited | flag::ENDED);
                }
            }
        }
    }
}

pub(crate) unsafe extern "C-unwind" fn wait_select(
    n: c_int,
    r: *mut fd_set,
    w: *mut fd_set,
    e: *mut fd_set,
    t: *mut timeval,
) -> c_int {
    // SAFETY: the caller's own time, or null for none.
    let at_once = unsafe { t.as_ref() }.is_some_and(|time| time.tv_sec == 0 && time.tv_usec == 0);
    uses_sets(n, [r, w, e]);
    // SAFETY: the caller's own arguments.
    waits(at_once, || unsafe { libc_::select(n, r, w, e, t) }, look_at_sets(n, [r, w, e]))
}

unsafe extern "C-unwind" fn wait_pselect(
    n: c_int,
    r: *mut fd_set,
    w: *mut fd_set,
    e: *mut fd_set,
    t: *const timespec,
    s: *const sigset_t,
) -> c_int {
    uses_sets(n, [r, w, e]);
    // SAFETY: the caller's own arguments.
    waits(unsafe { is_zero(t) }, || unsafe { libc_::pselect(n, r, w, e, t, s) }, look_at_sets(n, [r, w, e]))
}

/// Descriptors that are registered with an epoll instance: the instance, the descriptor plus 1, and what is attached.
struct Registered {
    instance: AtomicU64,
    fd: AtomicI64,
    data: AtomicU64,
}

const REGISTERED: usize = 1 << 12;
static TABLE: [Registered; REGISTERED] =
    [const { Registered { instance: AtomicU64::new(0), fd: AtomicI64::new(0), data: AtomicU64::new(0) } }; REGISTERED];
/// Entries from here on were never used.
static USED: AtomicU64 = AtomicU64::new(0);

fn registered() -> impl Iterator<Item = &'static Registered> {
    TABLE[..USED.load(Ordering::Relaxed) as usize].iter().filter(|entry| entry.fd.load(Ordering::Relaxed) != 0)
}

/// The descriptor is closed: the kernel takes it out of all instances.
pub(super) fn closed(fd: c_int) {
    for entry in registered().filter(|entry| entry.fd.load(Ordering::Relaxed) == i64::from(fd) + 1) {
        entry.fd.store(0, Ordering::Relaxed);
    }
}

fn register(instance: u64, fd: c_int, data: u64) {
    let known = registered().find(|entry| {
        entry.instance.load(Ordering::Relaxed) == instance && entry.fd.load(Ordering::Relaxed) == i64::from(fd) + 1
    });
    let entry = known.or_else(|| {
        let free = TABLE.iter().position(|entry| entry.fd.load(Ordering::Relaxed) == 0)?;
        USED.fetch_max(free as u64 + 1, Ordering::Relaxed);
        Some(&TABLE[free])
    });
    if let Some(entry) = entry {
        entry.instance.store(instance, Ordering::Relaxed);
        entry.data.store(data, Ordering::Relaxed);
        entry.fd.store(i64::from(fd) + 1, Ordering::Relaxed);
    }
}

fn makes_poll(call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    if result >= 0 {
        descriptors::made_for_events(result, false);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn make_poll(n: c_int) -> c_int {
    // SAFETY: no precondition.
    makes_poll(|| unsafe { libc_::epoll_create(n) })
}

pub(crate) unsafe extern "C-unwind" fn make_poll_with(f: c_int) -> c_int {
    // SAFETY: no precondition.
    makes_poll(|| unsafe { libc_::epoll_create1(f) })
}

/// What stands for a descriptor's registration with an epoll instance.
fn registration(instance: u64, fd: c_int) -> Channel {
    Channel { key: key(channel::REGISTRATION, instance, fd as u64), form: Form::Latest }
}

pub(crate) unsafe extern "C-unwind" fn change_poll(e: c_int, o: c_int, f: c_int, v: *mut epoll_event) -> c_int {
    let pc = tls::caller();
    lives::uses(e, pc);
    let hook = Hook::enter_outermost();
    // What is found ready from here on may be so because of this: a descriptor is reported once it is registered, and one that
    // is reported only once is reported again.
    if let (Some(hook), Descriptor::Poll(instance)) = (&hook, Descriptor::of(e))
        && o != libc::EPOLL_CTL_DEL
    {
        hook.record(Tag::Send, pc, &[registration(instance, f).key, 0, 0, flag::WITHIN]);
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { libc_::epoll_ctl(e, o, f, v) };
    if let (0, Descriptor::Poll(instance), Some(_)) = (result, Descriptor::of(e), &hook) {
        if o == libc::EPOLL_CTL_DEL {
            for entry in registered().filter(|entry| {
                entry.instance.load(Ordering::Relaxed) == instance
                    && entry.fd.load(Ordering::Relaxed) == i64::from(f) + 1
            }) {
                entry.fd.store(0, Ordering::Relaxed);
            }
        } else {
            // SAFETY: the call succeeded, so it was there.
            register(instance, f, unsafe { (*v).u64 });
        }
    }
    result
}

/// Returns what an epoll instance reported.
fn look_at_events(e: c_int, v: *const epoll_event, result: impl Fn() -> usize) -> impl FnOnce(&mut Found, u64) {
    move |found, waited| {
        let Descriptor::Poll(instance) = Descriptor::of(e) else { return };
        for nth in 0..result() {
            // SAFETY: the kernel has filled so many.
            let (events, data) = unsafe { ((*v.add(nth)).events, (*v.add(nth)).u64) };
            let mine = registered().filter(|entry| {
                entry.instance.load(Ordering::Relaxed) == instance && entry.data.load(Ordering::Relaxed) == data
            });
            for entry in mine {
                let fd = entry.fd.load(Ordering::Relaxed) as c_int - 1;
                found.add(Some(registration(instance, fd)), 0);
                found.descriptor(fd, events as c_int, waited);
            }
        }
    }
}

/// [`waits`] for an epoll instance.
fn waits_for_events(e: c_int, v: *const epoll_event, at_once: bool, call: impl FnOnce() -> c_int) -> c_int {
    let count = core::cell::Cell::new(0);
    let counted = || {
        let result = call();
        count.set(result.max(0) as usize);
        result
    };
    let error = errno();
    lives::uses(e, tls::caller());
    let pc = tls::caller();
    let result = waits(at_once, counted, look_at_events(e, v, || count.get()));
    wrote(pc, v, count.get() * size_of::<epoll_event>());
    if result >= 0 {
        // SAFETY: the thread's own; looking at descriptors leaves no trace.
        unsafe { *libc::__errno_location() = error };
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn wait_epoll(e: c_int, v: *mut epoll_event, n: c_int, t: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    waits_for_events(e, v, t == 0, || unsafe { libc_::epoll_wait(e, v, n, t) })
}

unsafe extern "C-unwind" fn wait_epoll_masked(
    e: c_int,
    v: *mut epoll_event,
    n: c_int,
    t: c_int,
    s: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's own arguments.
    waits_for_events(e, v, t == 0, || unsafe { libc_::epoll_pwait(e, v, n, t, s) })
}

unsafe extern "C-unwind" fn wait_epoll_precisely(
    e: c_int,
    v: *mut epoll_event,
    n: c_int,
    t: *const timespec,
    s: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's own arguments.
    waits_for_events(e, v, unsafe { is_zero(t) }, || unsafe { libc_::epoll_pwait2(e, v, n, t, s) })
}
