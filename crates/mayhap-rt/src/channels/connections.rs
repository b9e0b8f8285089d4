//! Channels come and go: what makes descriptors, connects them, duplicates and closes them.

use libc::{c_int, c_uint, sigset_t, sockaddr, sockaddr_storage, socklen_t};
use mayhap_wire::channel::{self, key};
use mayhap_wire::ring::Tag;

use super::descriptors::{self, Descriptor, address_number, listener_key};
use super::results::wrote;
use super::settings::{self, Setting};
use super::{Channel, Form, announce, errno, file_locks, lives, pairs, put, readiness};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

mod libc_real {
    use super::*;
    real! {
        fn pipe(ends: *mut c_int) -> c_int;
        fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
        fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
        fn eventfd(count: c_uint, flags: c_int) -> c_int;
        fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
        fn timerfd_settime(f: c_int, flags: c_int, new: *const libc::itimerspec, old: *mut libc::itimerspec) -> c_int;
        fn signalfd(f: c_int, mask: *const sigset_t, flags: c_int) -> c_int;
        fn connect(s: c_int, a: *const sockaddr, n: socklen_t) -> c_int;
        fn accept(s: c_int, a: *mut sockaddr, n: *mut socklen_t) -> c_int;
        fn accept4(s: c_int, a: *mut sockaddr, n: *mut socklen_t, f: c_int) -> c_int;
        fn bind(s: c_int, a: *const sockaddr, n: socklen_t) -> c_int;
        fn listen(s: c_int, n: c_int) -> c_int;
        fn shutdown(s: c_int, how: c_int) -> c_int;
        fn dup(f: c_int) -> c_int;
        fn dup2(f: c_int, g: c_int) -> c_int;
        fn dup3(f: c_int, g: c_int, flags: c_int) -> c_int;
        fn close(f: c_int) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    pipe => make_pipe;
    pipe2 => make_pipe_with;
    socketpair => make_pair;
    eventfd => make_event;
    timerfd_create => make_timer;
    timerfd_settime => set_timer;
    signalfd => make_signals;
    connect => connect_to;
    accept => accept_from;
    accept4 => accept_with;
    bind => bind_to;
    listen => listen_at;
    shutdown => shut;
    dup => duplicate;
    dup2 => duplicate_to;
    dup3 => duplicate_with;
    close => close_one;
}

/// A call that makes descriptors: what it made is recorded before any other thread can use it.
fn makes(call: impl FnOnce() -> c_int, made: impl FnOnce(&Hook, u64, c_int)) -> c_int {
    let pc = tls::caller();
    let Some(hook) = Hook::enter_outermost() else { return call() };
    let result = call();
    if result >= 0 {
        made(&hook, pc, result);
    }
    result
}

/// Both ends that a call made begin their lives.
fn begin_both(hook: &Hook, pc: u64, ends: *const c_int) {
    // SAFETY: the call filled both.
    for fd in unsafe { [*ends, *ends.add(1)] } {
        lives::begins_in(hook, fd, pc);
    }
}

fn made_pipe(ends: *const c_int) -> impl FnOnce(&Hook, u64, c_int) {
    move |hook, pc, _| {
        begin_both(hook, pc, ends);
        // SAFETY: the call filled both.
        if let Descriptor::Pipe(key) = Descriptor::of(unsafe { *ends }) {
            announce(hook, pc, key, channel::PIPE);
        }
    }
}

/// A call that returned this has filled a pair of descriptors, unless it failed.
fn wrote_pair(pc: u64, result: c_int, ends: *const c_int) -> c_int {
    wrote(pc, ends, if result == 0 { 2 * size_of::<c_int>() } else { 0 });
    result
}

pub(crate) unsafe extern "C-unwind" fn make_pipe(ends: *mut c_int) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let result = makes(|| unsafe { libc_::pipe(ends) }, made_pipe(ends));
    wrote_pair(pc, result, ends)
}

pub(crate) unsafe extern "C-unwind" fn make_pipe_with(ends: *mut c_int, flags: c_int) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let result = makes(|| unsafe { libc_::pipe2(ends, flags) }, made_pipe(ends));
    wrote_pair(pc, result, ends)
}

pub(crate) unsafe extern "C-unwind" fn make_pair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
) -> c_int {
    let pc = tls::caller();
    let result = makes(
        // SAFETY: the caller's own arguments.
        || unsafe { libc_::socketpair(domain, kind, protocol, ends) },
        |hook, pc, _| {
            begin_both(hook, pc, ends);
            // SAFETY: the call filled both.
            let (first, second) = unsafe { (*ends, *ends.add(1)) };
            let (Descriptor::Socket(a), Descriptor::Socket(b)) = (Descriptor::of(first), Descriptor::of(second)) else {
                return;
            };
            descriptors::paired(a, b, descriptors::has_messages(first));
            for end in [a, b] {
                announce(hook, pc, key(channel::SOCKET, end, 0), channel::SOCKET);
            }
        },
    );
    wrote_pair(pc, result, ends)
}

pub(crate) unsafe extern "C-unwind" fn make_event(count: c_uint, flags: c_int) -> c_int {
    makes(
        // SAFETY: no precondition.
        || unsafe { libc_::eventfd(count, flags) },
        |hook, pc, fd| {
            lives::begins_in(hook, fd, pc);
            descriptors::made(fd, channel::EVENT);
            if let Descriptor::Event(key) = Descriptor::of(fd) {
                announce(hook, pc, key, channel::EVENT);
                if count > 0 {
                    put(hook, pc, Channel { key, form: Form::Count }, count.into());
                }
            }
        },
    )
}

pub(crate) unsafe extern "C-unwind" fn make_timer(clock: c_int, flags: c_int) -> c_int {
    makes(
        // SAFETY: no precondition.
        || unsafe { libc_::timerfd_create(clock, flags) },
        |hook, pc, fd| {
            lives::begins_in(hook, fd, pc);
            descriptors::made(fd, channel::TIMER);
            if let Descriptor::Timer(key) = Descriptor::of(fd) {
                announce(hook, pc, key, channel::TIMER);
            }
        },
    )
}

pub(crate) unsafe extern "C-unwind" fn set_timer(
    f: c_int,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    let pc = tls::caller();
    lives::uses(f, pc);
    if let Descriptor::Timer(key) = Descriptor::of(f)
        && let Some(hook) = Hook::enter_outermost()
    {
        put(&hook, pc, Channel { key, form: Form::Latest }, 1);
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::timerfd_settime(f, flags, new, old) };
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc_::timerfd_settime(f, flags, new, old) }
}

unsafe extern "C-unwind" fn make_signals(f: c_int, mask: *const sigset_t, flags: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    makes(|| unsafe { libc_::signalfd(f, mask, flags) }, |_, _, fd| descriptors::made_for_events(fd, true))
}

/// The number of an address that the program passes.
unsafe fn number(address: *const sockaddr, length: socklen_t) -> u64 {
    // SAFETY: plain data.
    let mut storage: sockaddr_storage = unsafe { core::mem::zeroed() };
    let bytes = (length as usize).min(size_of::<sockaddr_storage>());
    if address.is_null() || bytes < 2 {
        return 0;
    }
    // SAFETY: the caller vouches for the address; it fits.
    unsafe { core::ptr::copy_nonoverlapping(address.cast::<u8>(), (&raw mut storage).cast(), bytes) };
    address_number(&storage, length)
}

pub(crate) unsafe extern "C-unwind" fn connect_to(s: c_int, a: *const sockaddr, n: socklen_t) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let call = || unsafe { libc_::connect(s, a, n) };
    let Descriptor::Socket(inode) = Descriptor::of(s) else { return call() };
    let Some(mut hook) = Hook::enter_outermost() else {
        leave();
        return call();
    };
    descriptors::forget(inode);
    if descriptors::is_datagram(s) {
        let result = hook.exposed(call);
        descriptors::look_up(s, inode);
        return result;
    }
    // SAFETY: as above.
    let listener = listener_key(unsafe { number(a, n) });
    let own = descriptors::address_of(s, false).map_or(0, |(own, length)| address_number(&own, length));
    // A socket without a name is known to who accepts it by when it came.
    // SAFETY: as above.
    let is_unnamed = own == 0 && n >= 2 && unsafe { c_int::from((*a).sa_family) } == libc::AF_UNIX;
    if is_unnamed {
        let (out, back) = (key(channel::SOCKET, inode, 1), key(channel::SOCKET, inode, 2));
        descriptors::resolve(inode, out, back, descriptors::has_messages(s));
        pairs::connects(listener, inode);
        for key in [out, back] {
            announce(&hook, pc, key, channel::SOCKET);
        }
    }
    put(&hook, pc, Channel { key: listener, form: Form::Messages }, 1);
    let result = hook.exposed(call);
    settings::finds(&hook, Setting::Addresses, pc);
    let goes_on = result == 0 || errno() == libc::EINPROGRESS;
    if !goes_on {
        hook.record(Tag::SendEnd, pc, &[listener, 1, 0]);
        pairs::withdraws(inode);
    } else if !is_unnamed {
        descriptors::look_up(s, inode);
        for side in [Descriptor::Socket(inode).sends(), Descriptor::Socket(inode).receives()].into_iter().flatten() {
            if pairs::is_own(listener) {
                announce(&hook, pc, side.key, channel::SOCKET);
            }
        }
    }
    result
}

fn accepts(s: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    lives::uses(s, pc);
    let listener = match Descriptor::of(s) {
        Descriptor::Socket(inode) => {
            descriptors::look_up(s, inode);
            Descriptor::Socket(inode).receives()
        }
        _ => None,
    };
    let (Some(listener), Some(mut hook)) = (listener, Hook::enter_outermost()) else {
        leave();
        return call();
    };
    // A descriptor of 0 is none that was accepted, for code that looks at amounts.
    let mut accepted = -1;
    let taken = || {
        accepted = call();
        if accepted < 0 { -1 } else { 1 }
    };
    super::receive(&mut hook, pc, s, listener, true, taken, |_| 1);
    lives::begins_in(&hook, accepted, pc);
    if accepted >= 0
        && let Descriptor::Socket(inode) = Descriptor::of(accepted)
    {
        match pairs::accepts(listener.key) {
            Some(client) => {
                let (out, back) = (key(channel::SOCKET, client, 1), key(channel::SOCKET, client, 2));
                descriptors::resolve(inode, back, out, descriptors::has_messages(accepted));
            }
            None => descriptors::look_up(accepted, inode),
        }
    }
    accepted
}

pub(crate) unsafe extern "C-unwind" fn accept_from(s: c_int, a: *mut sockaddr, n: *mut socklen_t) -> c_int {
    // SAFETY: the caller's own arguments.
    accepts(s, || unsafe { libc_::accept(s, a, n) })
}

pub(crate) unsafe extern "C-unwind" fn accept_with(s: c_int, a: *mut sockaddr, n: *mut socklen_t, f: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    accepts(s, || unsafe { libc_::accept4(s, a, n, f) })
}

pub(crate) unsafe extern "C-unwind" fn bind_to(s: c_int, a: *const sockaddr, n: socklen_t) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let result = settings::settles(Setting::Addresses, (true, true), pc, || unsafe { libc_::bind(s, a, n) });
    if let Descriptor::Socket(inode) = Descriptor::of(s) {
        descriptors::forget(inode);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn listen_at(s: c_int, n: c_int) -> c_int {
    settings::sets(Setting::Addresses, tls::caller());
    makes(
        // SAFETY: the caller's own arguments.
        || unsafe { libc_::listen(s, n) },
        |hook, pc, _| {
            let Descriptor::Socket(inode) = Descriptor::of(s) else { return };
            descriptors::forget(inode);
            descriptors::look_up(s, inode);
            if let Some(listener) = Descriptor::Socket(inode).receives() {
                announce(hook, pc, listener.key, channel::LISTENER);
            }
        },
    )
}

/// Nothing more comes from this end: a thread that reads on may find the end.
fn hangs_up(hook: &Hook, pc: u64, end: Option<Channel>) {
    if let Some(end) = end {
        hook.record(Tag::HangUp, pc, &[end.key]);
    }
}

pub(crate) unsafe extern "C-unwind" fn shut(s: c_int, how: c_int) -> c_int {
    let pc = tls::caller();
    lives::uses(s, pc);
    let socket = Descriptor::of(s);
    if let Descriptor::Socket(inode) = socket
        && let Some(hook) = Hook::enter_outermost()
    {
        descriptors::look_up(s, inode);
        if how != libc::SHUT_RD {
            hangs_up(&hook, pc, socket.sends());
        }
        if how != libc::SHUT_WR {
            hangs_up(&hook, pc, socket.receives());
        }
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::shutdown(s, how) };
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc_::shutdown(s, how) }
}

/// A descriptor is about to be closed: what other threads may notice of that.
fn announces_close(hook: &Hook, pc: u64, fd: c_int, what: Descriptor) {
    match what {
        // A thread that writes finds out that no thread reads any more, too.
        Descriptor::Pipe(_) => hangs_up(hook, pc, what.sends()),
        Descriptor::Socket(inode) => {
            descriptors::look_up(fd, inode);
            hangs_up(hook, pc, what.sends());
        }
        _ => {}
    }
    file_locks::closes(hook, pc, fd);
}

/// What was known of a descriptor is no longer true.
fn forgets(fd: c_int) {
    readiness::closed(fd);
    descriptors::closed(fd);
}

pub(crate) unsafe extern "C-unwind" fn close_one(f: c_int) -> c_int {
    let pc = tls::caller();
    let what = Descriptor::of(f);
    if (!matches!(what, Descriptor::Other | Descriptor::File(_)) || file_locks::holds(f))
        && let Some(mut hook) = Hook::enter_outermost()
    {
        announces_close(&hook, pc, f, what);
        // The end of its life comes last: where a schedule leads there, the next thing is the call itself.
        lives::ends_in(&hook, f, pc);
        forgets(f);
        // SAFETY: the caller's own argument. It may wait for data to be sent, where the program asked for that.
        return hook.exposed(|| unsafe { libc_::close(f) });
    }
    lives::ends(f, pc);
    descriptors::closed(f);
    // SAFETY: the caller's own argument.
    unsafe { libc_::close(f) }
}

/// `new` becomes another descriptor of what `old` is; what it was before is closed.
pub(crate) fn duplicates(old: c_int, new: Option<c_int>, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    lives::uses(old, pc);
    let replaced = new.filter(|new| *new != old).map(|new| (new, Descriptor::of(new)));
    if let Some((new, what)) = replaced.filter(|(_, what)| *what != Descriptor::Other)
        && let Some(hook) = Hook::enter_outermost()
    {
        announces_close(&hook, pc, new, what);
        forgets(new);
    }
    let result = call();
    if result >= 0 && result != old {
        descriptors::duplicated(old, result);
        lives::begins(result, pc);
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn duplicate(f: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    duplicates(f, None, || unsafe { libc_::dup(f) })
}

pub(crate) unsafe extern "C-unwind" fn duplicate_to(f: c_int, g: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    duplicates(f, Some(g), || unsafe { libc_::dup2(f, g) })
}

pub(crate) unsafe extern "C-unwind" fn duplicate_with(f: c_int, g: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    duplicates(f, Some(g), || unsafe { libc_::dup3(f, g, flags) })
}
