//! Calls that move data through descriptors. Buffers that the kernel reads or fills are recorded before and after the call.
//!
//! Descriptors that are no channels (files, terminals) only give the token up.

use libc::{c_int, c_uint, c_void, iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, sockaddr_storage, socklen_t};
use libc::{ssize_t, timespec};
use mayhap_wire::channel::{ALL, flag};
use mayhap_wire::ring::{Tag, source};

use super::descriptors::{self, Descriptor};
use super::positions::{self, From};
use super::settings::{self, Setting};
use super::{Channel, Form, Wait, fails, files, lives, own, pairs, signals, wait_until_ready};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};
use crate::{inputs, replay};

mod libc_real {
    use super::*;
    real! {
        fn read(f: c_int, p: *mut c_void, n: size_t) -> ssize_t;
        fn pread(f: c_int, p: *mut c_void, n: size_t, o: off_t) -> ssize_t;
        fn recv(f: c_int, p: *mut c_void, n: size_t, o: c_int) -> ssize_t;
        fn write(f: c_int, p: *const c_void, n: size_t) -> ssize_t;
        fn pwrite(f: c_int, p: *const c_void, n: size_t, o: off_t) -> ssize_t;
        fn send(f: c_int, p: *const c_void, n: size_t, o: c_int) -> ssize_t;
        fn recvfrom(f: c_int, p: *mut c_void, n: size_t, o: c_int, a: *mut sockaddr, l: *mut socklen_t) -> ssize_t;
        fn sendto(f: c_int, p: *const c_void, n: size_t, o: c_int, a: *const sockaddr, l: socklen_t) -> ssize_t;
        fn readv(f: c_int, v: *const iovec, n: c_int) -> ssize_t;
        fn writev(f: c_int, v: *const iovec, n: c_int) -> ssize_t;
        fn preadv(f: c_int, v: *const iovec, n: c_int, o: off_t) -> ssize_t;
        fn pwritev(f: c_int, v: *const iovec, n: c_int, o: off_t) -> ssize_t;
        fn recvmsg(s: c_int, m: *mut msghdr, f: c_int) -> ssize_t;
        fn sendmsg(s: c_int, m: *const msghdr, f: c_int) -> ssize_t;
        fn recvmmsg(s: c_int, m: *mut mmsghdr, n: c_uint, f: c_int, t: *mut timespec) -> c_int;
        fn sendmmsg(s: c_int, m: *mut mmsghdr, n: c_uint, f: c_int) -> c_int;
        fn sendfile(o: c_int, i: c_int, p: *mut off_t, n: size_t) -> ssize_t;
        fn splice(i: c_int, p: *mut libc::loff_t, o: c_int, q: *mut libc::loff_t, n: size_t, f: c_uint) -> ssize_t;
        fn tee(i: c_int, o: c_int, n: size_t, f: c_uint) -> ssize_t;
        fn vmsplice(f: c_int, v: *const iovec, n: size_t, o: c_uint) -> ssize_t;
        fn eventfd_read(f: c_int, v: *mut u64) -> c_int;
        fn eventfd_write(f: c_int, v: u64) -> c_int;
    }
}
use libc_real as libc_;

exports! {
    read => take_read;
    __read_chk => take_read;
    pread => take_pread;
    pread64 => take_pread;
    recv => take_recv;
    __recv_chk => take_recv_checked;
    write => put_write;
    pwrite => put_pwrite;
    pwrite64 => put_pwrite;
    send => put_send;
    recvfrom => take_recvfrom;
    sendto => put_sendto;
    readv => take_readv;
    writev => put_writev;
    preadv => take_preadv;
    preadv64 => take_preadv;
    pwritev => put_pwritev;
    pwritev64 => put_pwritev;
    recvmsg => take_recvmsg;
    sendmsg => put_sendmsg;
    recvmmsg => take_messages;
    sendmmsg => put_messages;
    sendfile => put_file;
    sendfile64 => put_file;
    splice => move_pipe;
    tee => copy_pipe;
    vmsplice => put_pages;
    eventfd_read => take_event;
    eventfd_write => put_event;
}

/// A buffer, or several.
#[derive(Clone, Copy)]
struct Buffers<'a>(&'a [iovec]);

impl<'a> Buffers<'a> {
    /// The buffers of a call that takes many. What is no list the kernel will refuse.
    unsafe fn list(list: *const iovec, count: usize) -> Buffers<'a> {
        if list.is_null() || count > libc::UIO_MAXIOV as usize {
            return Buffers(&[]);
        }
        // SAFETY: the caller vouches for the list.
        Buffers(unsafe { core::slice::from_raw_parts(list, count) })
    }

    fn bytes(self) -> usize {
        self.0.iter().fold(0usize, |sum, buffer| sum.saturating_add(buffer.iov_len))
    }

    /// Records the first bytes of the buffers as read or written.
    fn record(self, hook: &Hook, pc: u64, tag: Tag, bytes: usize) {
        let mut left = bytes;
        for buffer in self.0 {
            let part = buffer.iov_len.min(left);
            if part > 0 {
                hook.record(tag, pc, &[buffer.iov_base as u64, part as u64]);
            }
            left -= part;
        }
    }

    /// The number that an eventfd gets or has given.
    fn number(self) -> u64 {
        match self.0 {
            // SAFETY: the buffer has at least eight bytes, which the caller or the kernel has filled.
            [first, ..] if first.iov_len >= 8 => unsafe { first.iov_base.cast::<u64>().read_unaligned() },
            _ => 0,
        }
    }
}

fn one(buffer: *const c_void, bytes: size_t) -> [iovec; 1] {
    [iovec { iov_base: buffer.cast_mut(), iov_len: bytes }]
}

/// How much a call took from a channel.
fn taken(channel: Channel, buffers: Buffers<'_>) -> impl Fn(isize) -> u64 {
    move |result| match channel.form {
        Form::Count => buffers.number(),
        Form::Latest => ALL,
        Form::Bytes | Form::Messages => result.max(0) as u64,
    }
}

/// What a descriptor is, and what its reads take from.
fn source_of(fd: c_int) -> (Descriptor, Option<Channel>) {
    let what = Descriptor::of(fd);
    if let Descriptor::Socket(inode) = what {
        descriptors::look_up(fd, inode);
    }
    (what, what.receives())
}

/// What is read there may come from outside the process.
fn is_outside(what: Descriptor) -> bool {
    match what {
        Descriptor::File(file) => !pairs::is_own(file),
        _ => what != Descriptor::Unmodelled,
    }
}

/// Stands for flags where the call itself says which part of a file it reads.
const AT_PLACE: c_int = c_int::MIN;

/// A call that fills buffers with as many bytes as it returns.
fn fills(fd: c_int, buffers: Buffers<'_>, flags: c_int, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let pc = tls::caller();
    lives::uses(fd, pc);
    let (what, channel) = source_of(fd);
    if channel.is_none() && flags != AT_PLACE {
        positions::takes(From::Descriptor(fd), pc);
    }
    let is_input =
        buffers.0.len() == 1 && channel.is_none_or(|channel| !pairs::is_own(channel.key)) && is_outside(what);
    let answer = || match buffers.0 {
        // SAFETY: the caller has room for its answer.
        [one] if is_input => unsafe { replay::fed(source::READ, one.iov_base, one.iov_len) },
        _ => None,
    };
    // Of a file the program may also ask where it is in it, so it is read all the same.
    let is_file = replay::has_schedule() && descriptors::is_file(fd);
    let mut fed = if is_file { None } else { answer() };
    let mut result = match (fed, channel) {
        (Some(result), _) => result as ssize_t,
        (None, Some(channel)) => fills_from(fd, channel, buffers, flags, pc, call),
        (None, None) => match what {
            Descriptor::File(file) => files::reads(file, call),
            _ => {
                leave();
                call()
            }
        },
    };
    if what == Descriptor::Unmodelled {
        super::doubts(pc);
    }
    if is_file {
        fed = answer();
        result = fed.map_or(result, |recorded| recorded as ssize_t);
    }
    if fed.is_none()
        && is_input
        && let [one] = buffers.0
    {
        inputs::keep(source::READ, pc, result as i64, one.iov_base, result.max(0) as usize);
    }
    if what == Descriptor::Signals && result > 0 {
        signals::taken_from_descriptor(pc, buffers.0, result as usize);
    }
    if result > 0
        && (fed.is_some() || channel.is_none())
        && let Some(hook) = Hook::enter_outermost()
    {
        buffers.record(&hook, pc, Tag::RangeWrite, result as usize);
    }
    result
}

/// [`fills`] from a channel.
fn fills_from(
    fd: c_int,
    channel: Channel,
    buffers: Buffers<'_>,
    flags: c_int,
    pc: u64,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let Some(mut hook) = Hook::enter_outermost() else {
        leave();
        return call();
    };
    let may_wait = flags & libc::MSG_DONTWAIT == 0;
    let result = if flags & libc::MSG_PEEK != 0 {
        super::readiness::peeks(&mut hook, pc, fd, channel, may_wait, call)
    } else {
        super::receive(&mut hook, pc, fd, channel, may_wait, call, taken(channel, buffers))
    };
    if result > 0 {
        buffers.record(&hook, pc, Tag::RangeWrite, result as usize);
    }
    result
}

/// A call that reads buffers; `to` is where a message goes that says so itself.
fn sends(
    fd: c_int,
    buffers: Buffers<'_>,
    flags: c_int,
    to: Option<Channel>,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let pc = tls::caller();
    lives::uses(fd, pc);
    let what = Descriptor::of(fd);
    let channel = to.or_else(|| {
        if let Descriptor::Socket(inode) = what {
            descriptors::look_up(fd, inode);
        }
        what.sends()
    });
    let Some(mut hook) = Hook::enter_outermost() else {
        leave();
        return call();
    };
    buffers.record(&hook, pc, Tag::RangeRead, usize::MAX);
    let Some(channel) = channel else {
        if let Descriptor::File(file) = what {
            files::changes(&hook, pc, file);
            if flags != AT_PLACE {
                positions::writes(&hook, From::Descriptor(fd), pc);
            }
            let result = hook.exposed(call);
            if result < 0 {
                // Another thread may have forbidden it.
                settings::finds(&hook, Setting::Options, pc);
            }
            return result;
        }
        drop(hook);
        leave();
        return call();
    };
    let amount = if channel.form == Form::Count { buffers.number() } else { buffers.bytes() as u64 };
    super::send(&mut hook, pc, fd, channel, amount, flags & libc::MSG_DONTWAIT == 0, call)
}

/// The channel of datagrams to an address that the program passes, if it passes one.
unsafe fn addressed(fd: c_int, address: *const c_void, length: socklen_t) -> Option<Channel> {
    // SAFETY: plain data.
    let mut storage: sockaddr_storage = unsafe { core::mem::zeroed() };
    let bytes = (length as usize).min(size_of::<sockaddr_storage>());
    if address.is_null() || bytes < 2 || !descriptors::is_datagram(fd) {
        return None;
    }
    // SAFETY: the caller vouches for the address; it fits.
    unsafe { core::ptr::copy_nonoverlapping(address.cast::<u8>(), (&raw mut storage).cast(), bytes) };
    Some(descriptors::datagrams_to(&storage, length))
}

/// [`addressed`] for a message, with which descriptors may go to other processes.
unsafe fn to_others(fd: c_int, message: *const msghdr) -> Option<Channel> {
    // SAFETY: the caller vouches for the message.
    unsafe {
        if (*message).msg_controllen > 0 {
            super::shares_descriptors();
        }
        addressed(fd, (*message).msg_name, (*message).msg_namelen)
    }
}

pub(crate) unsafe extern "C-unwind" fn take_read(f: c_int, p: *mut c_void, n: size_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(f, Buffers(&one(p, n)), 0, || unsafe { libc_::read(f, p, n) })
}

pub(crate) unsafe extern "C-unwind" fn take_pread(f: c_int, p: *mut c_void, n: size_t, o: off_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(f, Buffers(&one(p, n)), AT_PLACE, || unsafe { libc_::pread(f, p, n, o) })
}

unsafe extern "C-unwind" fn take_recv(f: c_int, p: *mut c_void, n: size_t, o: c_int) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(f, Buffers(&one(p, n)), o, || unsafe { libc_::recv(f, p, n, o) })
}

/// The size of the buffer is known to be enough by who chose this one.
unsafe extern "C-unwind" fn take_recv_checked(f: c_int, p: *mut c_void, n: size_t, _room: size_t, o: c_int) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(f, Buffers(&one(p, n)), o, || unsafe { libc_::recv(f, p, n, o) })
}

pub(crate) unsafe extern "C-unwind" fn put_write(f: c_int, p: *const c_void, n: size_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    sends(f, Buffers(&one(p, n)), 0, None, || unsafe { libc_::write(f, p, n) })
}

pub(crate) unsafe extern "C-unwind" fn put_pwrite(f: c_int, p: *const c_void, n: size_t, o: off_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    sends(f, Buffers(&one(p, n)), AT_PLACE, None, || unsafe { libc_::pwrite(f, p, n, o) })
}

unsafe extern "C-unwind" fn put_send(f: c_int, p: *const c_void, n: size_t, o: c_int) -> ssize_t {
    // SAFETY: the caller's own arguments.
    sends(f, Buffers(&one(p, n)), o, None, || unsafe { libc_::send(f, p, n, o) })
}

pub(crate) unsafe extern "C-unwind" fn take_recvfrom(
    f: c_int,
    p: *mut c_void,
    n: size_t,
    o: c_int,
    a: *mut sockaddr,
    l: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's own arguments.
    fills(f, Buffers(&one(p, n)), o, || unsafe { libc_::recvfrom(f, p, n, o, a, l) })
}

pub(crate) unsafe extern "C-unwind" fn put_sendto(
    f: c_int,
    p: *const c_void,
    n: size_t,
    o: c_int,
    a: *const sockaddr,
    l: socklen_t,
) -> ssize_t {
    // SAFETY: the caller's own arguments.
    let to = unsafe { addressed(f, a.cast(), l) };
    // SAFETY: as above.
    sends(f, Buffers(&one(p, n)), o, to, || unsafe { libc_::sendto(f, p, n, o, a, l) })
}

/// Calls with a list of buffers.
macro_rules! listed {
    ($($name:ident $how:ident $real:ident($fd:ident: c_int $(, $arg:ident: $type:ty)*) $list:expr, $count:expr $(, $more:expr)*;)*) => {
        $(
            pub(crate) unsafe extern "C-unwind" fn $name($fd: c_int $(, $arg: $type)*) -> ssize_t {
                // SAFETY: the caller's own arguments.
                unsafe { $how($fd, Buffers::list($list, $count) $(, $more)*, || libc_::$real($fd $(, $arg)*)) }
            }
        )*
    };
}

listed! {
    take_readv fills readv(f: c_int, v: *const iovec, n: c_int) v, n.max(0) as usize, 0;
    take_preadv fills preadv(f: c_int, v: *const iovec, n: c_int, o: off_t) v, n.max(0) as usize, AT_PLACE;
    put_writev sends writev(f: c_int, v: *const iovec, n: c_int) v, n.max(0) as usize, 0, None;
    put_pages sends vmsplice(f: c_int, v: *const iovec, n: size_t, o: c_uint) v, n, 0, None;
    put_pwritev sends pwritev(f: c_int, v: *const iovec, n: c_int, o: off_t) v, n.max(0) as usize, AT_PLACE, None;
    take_recvmsg fills recvmsg(f: c_int, m: *mut msghdr, o: c_int) (*m).msg_iov, (*m).msg_iovlen, o;
    put_sendmsg sends sendmsg(f: c_int, m: *const msghdr, o: c_int) (*m).msg_iov, (*m).msg_iovlen, o,
        to_others(f, m);
}

/// Many messages at once: each is taken or put by a call for one.
unsafe fn each(messages: *mut mmsghdr, count: c_uint, mut call: impl FnMut(*mut msghdr, bool) -> ssize_t) -> c_int {
    for nth in 0..count.min(libc::UIO_MAXIOV as c_uint) {
        // SAFETY: the caller vouches for the list.
        unsafe {
            let message = messages.add(nth as usize);
            let moved = call(&raw mut (*message).msg_hdr, nth == 0);
            if moved < 0 {
                // What was moved before counts; only the first one's error is the call's.
                return if nth == 0 { -1 } else { nth as c_int };
            }
            (*message).msg_len = moved as c_uint;
        }
    }
    count as c_int
}

pub(crate) unsafe extern "C-unwind" fn take_messages(
    s: c_int,
    m: *mut mmsghdr,
    n: c_uint,
    f: c_int,
    t: *mut timespec,
) -> c_int {
    let (_, channel) = source_of(s);
    // A time limit is for all of them together.
    if channel.is_none() || !t.is_null() {
        leave();
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::recvmmsg(s, m, n, f, t) };
    }
    let one_by_one = |message: *mut msghdr, is_first: bool| {
        let flags = f & !libc::MSG_WAITFORONE;
        let flags = if is_first || f & libc::MSG_WAITFORONE == 0 { flags } else { flags | libc::MSG_DONTWAIT };
        // SAFETY: the caller's own message.
        unsafe { take_recvmsg(s, message, flags) }
    };
    // SAFETY: the caller's own list.
    unsafe { each(m, n, one_by_one) }
}

pub(crate) unsafe extern "C-unwind" fn put_messages(s: c_int, m: *mut mmsghdr, n: c_uint, f: c_int) -> c_int {
    if !matches!(Descriptor::of(s), Descriptor::Socket(_)) {
        // SAFETY: the caller's own arguments.
        return unsafe { libc_::sendmmsg(s, m, n, f) };
    }
    // SAFETY: the caller's own list.
    unsafe { each(m, n, |message, _| put_sendmsg(s, message, f)) }
}

/// Moves data from one descriptor to another without a buffer of the program's.
fn moves(from: c_int, to: c_int, bytes: size_t, takes: bool, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let pc = tls::caller();
    lives::uses(from, pc);
    lives::uses(to, pc);
    let (_, source) = source_of(from);
    let (target_kind, _) = source_of(to);
    let target = target_kind.sends();
    let hook = if source.is_some() || target.is_some() { Hook::enter_outermost() } else { None };
    let Some(mut hook) = hook else {
        leave();
        return call();
    };
    if let Some(source) = source
        && let Wait::Failed(error) = wait_until_ready(&mut hook, from, libc::POLLIN, true, own(source, pc))
    {
        return fails(error);
    }
    // What is handed on comes after what put it here.
    if let Some(source) = source.filter(|_| target.is_some()) {
        hook.record(Tag::Ready, pc, &[source.key, 0]);
    }
    let result = match target {
        Some(target) => super::send(&mut hook, pc, to, target, bytes as u64, true, call),
        None => hook.exposed(call),
    };
    if let Some(source) = source.filter(|_| result >= 0) {
        let ended = if result == 0 { flag::ENDED } else { 0 };
        if takes {
            hook.record(Tag::Receive, pc, &[source.key, result as u64, source.mark(), ended]);
        } else {
            hook.record(Tag::Ready, pc, &[source.key, ended]);
        }
    }
    result
}

pub(crate) unsafe extern "C-unwind" fn put_file(o: c_int, i: c_int, p: *mut off_t, n: size_t) -> ssize_t {
    // SAFETY: the caller's own arguments.
    moves(i, o, n, true, || unsafe { libc_::sendfile(o, i, p, n) })
}

pub(crate) unsafe extern "C-unwind" fn move_pipe(
    i: c_int,
    p: *mut libc::loff_t,
    o: c_int,
    q: *mut libc::loff_t,
    n: size_t,
    f: c_uint,
) -> ssize_t {
    // SAFETY: the caller's own arguments.
    moves(i, o, n, true, || unsafe { libc_::splice(i, p, o, q, n, f) })
}

pub(crate) unsafe extern "C-unwind" fn copy_pipe(i: c_int, o: c_int, n: size_t, f: c_uint) -> ssize_t {
    // SAFETY: the caller's own arguments.
    moves(i, o, n, false, || unsafe { libc_::tee(i, o, n, f) })
}

unsafe extern "C-unwind" fn take_event(f: c_int, v: *mut u64) -> c_int {
    let call = || match unsafe {
        // SAFETY: the caller's own arguments.
        libc_::eventfd_read(f, v)
    } {
        0 => 8,
        _ => -1,
    };
    if fills(f, Buffers(&one(v.cast(), 8)), 0, call) == 8 { 0 } else { -1 }
}

unsafe extern "C-unwind" fn put_event(f: c_int, v: u64) -> c_int {
    let call = || match unsafe {
        // SAFETY: the caller's own arguments.
        libc_::eventfd_write(f, v)
    } {
        0 => 8,
        _ => -1,
    };
    if sends(f, Buffers(&one((&raw const v).cast(), 8)), 0, None, call) == 8 { 0 } else { -1 }
}
