//! What threads hand over through the kernel: pipes, sockets, eventfds, queues, signals, file locks.
//!
//! A thread that reads what another one wrote runs after it. So every operation on a channel of this process is recorded: what is put in,
//! what is taken out, who found something ready. The recorder decides from the amounts which write supplied what a read got.
//!
//! **Order.** The records must come in the order in which the kernel did what they are of. So a call that would block does not block in the
//! call itself: the thread gives the token up, waits with `poll`, has the token again, and then makes the call, which now
//! does not block. Should it block all the same (another process took what was there), the thread is in no hook meanwhile, so that
//! [`crate::watch`] takes the token from it.
//!
//! What is sent is recorded before the call, since others can have it before the call returns. What is received is recorded after.

pub(crate) mod connections;
pub(crate) mod descriptors;
pub(crate) mod file_locks;
pub(crate) mod files;
mod lives;
mod pairs;
pub(crate) mod positions;
pub(crate) mod queues;
pub(crate) mod readiness;
pub(crate) mod results;
pub(crate) mod services;
pub(crate) mod settings;
pub(crate) mod signals;
pub(crate) mod streams;
pub(crate) mod transfers;
mod unmodelled;
mod words;

use core::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, pollfd, timespec};
use mayhap_wire::channel::{doubt, flag, mark};
use mayhap_wire::ring::{Tag, state};

use crate::hook::Hook;
use crate::replay::{self, Decision};
use crate::sched::parking;
use crate::signals::{ends_calls, has_handlers, watch_interruptions};
use crate::{ring, sys};

/// What goes through a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Bytes, which a call may move in part.
    Bytes,
    /// Messages, each whole.
    Messages,
    /// A count that calls add to and take from.
    Count,
    /// Only whether something came.
    Latest,
}

/// What an operation on a channel is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Channel {
    pub(crate) key: u64,
    pub(crate) form: Form,
}

impl Channel {
    /// See [`mark`].
    fn mark(self) -> u64 {
        if self.form == Form::Messages { mark::MESSAGE } else { 0 }
    }
}

/// Returns the calling thread's error number.
pub(crate) fn errno() -> c_int {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's error number; the result of a call that failed.
pub(crate) fn fails(error: c_int) -> isize {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

mod libc_real {
    use libc::{c_int, nfds_t, pollfd};

    use crate::real::real;
    real! {
        fn poll(p: *mut pollfd, n: nfds_t, t: c_int) -> c_int;
    }
}

/// What of `events` a descriptor is ready for now, by system call and without waiting.
pub(crate) fn ready(fd: c_int, events: i16) -> i16 {
    let mut polled = pollfd { fd, events, revents: 0 };
    let time = timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [(&raw mut polled) as usize, 1, (&raw const time) as usize, 0, 8, 0];
    // SAFETY: the kernel reads and writes one entry.
    match unsafe { sys::call(libc::SYS_ppoll, arguments) } {
        1 => polled.revents,
        _ => 0,
    }
}

/// The descriptor's own flags say that its calls do not block.
fn is_nonblocking(fd: c_int) -> bool {
    // SAFETY: asks only.
    let flags = unsafe { sys::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    flags < 0 || flags & libc::O_NONBLOCK as isize != 0
}

/// How long a socket's calls may block, in milliseconds; -1 without limit.
fn patience(fd: c_int, option: c_int) -> c_int {
    let (mut time, mut size) = ([0i64; 2], 16u32);
    let arguments = [
        fd as usize,
        libc::SOL_SOCKET as usize,
        option as usize,
        time.as_mut_ptr() as usize,
        (&raw mut size) as usize,
        0,
    ];
    // SAFETY: the kernel writes at most the sixteen bytes.
    let result = unsafe { sys::call(libc::SYS_getsockopt, arguments) };
    if result != 0 || time == [0, 0] {
        return -1;
    }
    time[0].saturating_mul(1000).saturating_add(time[1] / 1000).clamp(1, i64::from(c_int::MAX)) as c_int
}

/// So many bytes fit where a channel is ready for some.
const AT_ONCE: u64 = libc::PIPE_BUF as u64;

/// How waiting for a descriptor ended.
enum Wait {
    /// It was ready at once.
    AtOnce,
    /// It was ready after a while.
    Later,
    /// The call is made as it is: it does not block.
    Nonblocking,
    /// The call ends with this error.
    Failed(c_int),
}

/// Other processes may have ends of the program's channels.
static SHARES_DESCRIPTORS: AtomicBool = AtomicBool::new(false);

fn has_shared_descriptors() -> bool {
    SHARES_DESCRIPTORS.load(Ordering::Relaxed)
}

/// The program starts another process, or sends descriptors away.
pub(crate) fn shares_descriptors() {
    SHARES_DESCRIPTORS.store(true, Ordering::Relaxed);
    kernel_decides();
}

/// Where the seed decides all, this is not for it to decide.
fn kernel_decides() {
    if parking::is_on() {
        ring::set_state(state::KERNEL_DECIDED);
    }
}

/// The calling thread waits in the kernel, for as long as it takes, for what other threads of the process do to a channel.
struct ChannelWait(bool);

impl ChannelWait {
    /// `own`: no other process, and no signal handler, can do it instead.
    fn begin(own: bool) -> ChannelWait {
        let counts = own && !has_handlers() && !has_shared_descriptors();
        if let Some(header) = ring::header().filter(|_| counts) {
            header.channel_waits.fetch_add(1, Ordering::Relaxed);
        }
        ChannelWait(counts)
    }
}

impl Drop for ChannelWait {
    fn drop(&mut self) {
        if let Some(header) = ring::header().filter(|_| self.0) {
            header.channel_waits.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What only threads of this process put into and take from, and the call site that waits for it.
type Own = Option<(u64, u64)>;

fn own(channel: Channel, pc: u64) -> Own {
    (channel.form != Form::Latest && pairs::is_own(channel.key)).then_some((channel.key, pc))
}

/// A thread begins to wait for a channel of the process. Where the seed decides all, it parks; says whether it need not wait any more.
fn waits_for_own(hook: &mut Hook, fd: c_int, events: i16, (key, pc): (u64, u64), limited: bool) -> bool {
    let tag = if events == libc::POLLIN { Tag::Receive } else { Tag::Send };
    hook.record(Tag::Blocked, pc, &[key, tag as u64]);
    // A handler must be able to interrupt the call.
    !has_handlers() && hook.parked(key, limited, || (ready(fd, events) != 0).then_some(())).is_some()
}

/// Waits without the token until a descriptor is ready for `events`.
fn wait_until_ready(hook: &mut Hook, fd: c_int, events: i16, may_wait: bool, own: Own) -> Wait {
    if ready(fd, events) != 0 {
        return Wait::AtOnce;
    }
    if !may_wait || is_nonblocking(fd) {
        return Wait::Nonblocking;
    }
    let option = if events == libc::POLLIN { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO };
    let patience = patience(fd, option);
    if let Some(own) = own
        && waits_for_own(hook, fd, events, own, patience >= 0)
    {
        return Wait::Later;
    }
    kernel_decides();
    loop {
        watch_interruptions(hook.thread());
        let (result, error) = hook.blocking(|| {
            let mut polled = pollfd { fd, events, revents: 0 };
            let _wait = ChannelWait::begin(own.is_some() && patience < 0);
            // SAFETY: one entry; the library's own function, where a thread can be cancelled.
            let result = unsafe { libc_real::poll(&raw mut polled, 1, patience) };
            (result, errno())
        });
        match result {
            0 => return Wait::Failed(libc::EAGAIN),
            // As the kernel restarts a call that a signal interrupted, if its handler wants that.
            -1 if error == libc::EINTR && !ends_calls(hook.thread()) => {}
            -1 => return Wait::Failed(error),
            _ if ready(fd, events) != 0 => return Wait::Later,
            // Another thread was faster.
            _ => {}
        }
    }
}

/// Takes something from a channel: `call` does it, and `amount` says from its result how much that was.
pub(crate) fn receive(
    hook: &mut Hook,
    pc: u64,
    fd: c_int,
    channel: Channel,
    may_wait: bool,
    call: impl FnOnce() -> isize,
    amount: impl FnOnce(isize) -> u64,
) -> isize {
    if let Decision::Fail(error) = replay::hold_back(hook.token(), hook.thread(), Tag::Receive as u8, pc, channel.key) {
        return fails(error);
    }
    let waited = match wait_until_ready(hook, fd, libc::POLLIN, may_wait, own(channel, pc)) {
        Wait::Failed(error) => return fails(error),
        Wait::Later => flag::WAITED,
        Wait::AtOnce | Wait::Nonblocking => 0,
    };
    let result = hook.exposed(call);
    let error = errno();
    if result > 0 || result == 0 && channel.form == Form::Messages {
        hook.record(Tag::Receive, pc, &[channel.key, amount(result), channel.mark(), waited]);
        hook.sync_point();
    } else if result < 0 && matches!(error, libc::EAGAIN | libc::EINTR) {
        if error == libc::EAGAIN {
            hook.record(Tag::Failed, pc, &[channel.key, error as u64, Tag::Receive as u64]);
        }
    } else {
        hook.record(Tag::Receive, pc, &[channel.key, 0, channel.mark(), flag::ENDED]);
    }
    result
}

/// Puts something into a channel, of which `call` moves at most `amount`.
pub(crate) fn send(
    hook: &mut Hook,
    pc: u64,
    fd: c_int,
    channel: Channel,
    amount: u64,
    may_wait: bool,
    call: impl FnOnce() -> isize,
) -> isize {
    replay::hold_back(hook.token(), hook.thread(), Tag::Send as u8, pc, channel.key);
    let own = own(channel, pc);
    let waited = match wait_until_ready(hook, fd, libc::POLLOUT, may_wait, own) {
        Wait::Failed(error) => return fails(error),
        Wait::Later => flag::WAITED,
        Wait::AtOnce | Wait::Nonblocking => 0,
    };
    hook.record(Tag::Send, pc, &[channel.key, amount, channel.mark(), waited]);
    // There is room, but perhaps not for all of it.
    let may_block = may_wait && own.is_some() && channel.form == Form::Bytes && amount > AT_ONCE && !is_nonblocking(fd);
    if may_block {
        hook.record(Tag::Blocked, pc, &[channel.key, Tag::Send as u64]);
    }
    let result = hook.exposed(|| {
        let _wait = ChannelWait::begin(may_block);
        call()
    });
    let moved = match channel.form {
        Form::Bytes => result.max(0) as u64,
        _ if result < 0 => 0,
        _ => amount,
    };
    if moved < amount || result < 0 {
        hook.record(Tag::SendEnd, pc, &[channel.key, amount, moved]);
    }
    // No thread reads any more: it comes after the last one that did.
    if result < 0
        && matches!(errno(), libc::EPIPE | libc::ECONNRESET)
        && let Some(back) = descriptors::Descriptor::of(fd).receives()
    {
        hook.record(Tag::Ready, pc, &[back.key, flag::ENDED]);
        fails(libc::EPIPE);
    }
    hook.sync_point();
    result
}

/// Puts something into a channel by a call that does not block. It is recorded first.
pub(crate) fn put(hook: &Hook, pc: u64, channel: Channel, amount: u64) {
    hook.record(Tag::Send, pc, &[channel.key, amount, channel.mark(), 0]);
}

/// Something came from a descriptor of a kind that is not modelled.
pub(crate) fn doubts(pc: u64) {
    if let Some(hook) = Hook::enter_outermost() {
        hook.record(Tag::Doubt, pc, &[u64::from(doubt::DESCRIPTOR)]);
    }
}

/// Tells that a channel comes into use at the call site, by which it is named. What is put into it comes from this process.
pub(crate) fn announce(hook: &Hook, pc: u64, key: u64, kind: u8) {
    pairs::note_own(key);
    hook.record(Tag::Channel, pc, &[key, u64::from(kind), 0]);
}
