//! What a descriptor is: which channel its reads take from and its writes put into.
//!
//! Pipes and sockets are known by the kernel's inode, whatever descriptor they have; so duplicates and descriptors that came over a socket
//! are known, too. Eventfds, timers and signal descriptors all have the same inode: those are known by a number that they get
//! when they are made, kept by descriptor.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libc::{c_int, sockaddr_storage, socklen_t};
use mayhap_wire::channel::{self, key};

use super::pairs::Table;
use super::{Channel, Form};
use crate::sys;

/// What a descriptor is, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Descriptor {
    /// A pipe or FIFO.
    Pipe(u64),
    /// A socket, by its inode.
    Socket(u64),
    /// An eventfd.
    Event(u64),
    /// A timerfd.
    Timer(u64),
    /// A signalfd.
    Signals,
    /// An epoll instance.
    Poll(u64),
    /// A POSIX message queue.
    Queue(u64),
    /// An ordinary file, by its key.
    File(u64),
    /// What the kernel makes up and threads may meet at in ways that are not modelled: inotify, pseudoterminals of the process itself.
    Unmodelled,
    /// Nothing that threads meet at.
    Other,
}

/// Descriptors that are kept track of are below.
const DESCRIPTORS: usize = 1 << 16;
/// Kinds of descriptors that have no inode of their own, in the low bits of their entry.
const EVENT: u64 = 1;
const TIMER: u64 = 2;
const SIGNALS: u64 = 3;
const POLL: u64 = 4;
const QUEUE: u64 = 5;
const KIND: u64 = 7;

/// Of descriptors whose inode does not tell them apart: number and kind.
static NUMBERED: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(0) }; DESCRIPTORS];
static NEXT: AtomicU64 = AtomicU64::new(1 << 32);

/// Of sockets by inode: the keys of what they send and receive, and their type and state.
static SOCKETS: Table<4> = Table::new();
const RESOLVED: u64 = 1;
const MESSAGES: u64 = 2;
const LISTENS: u64 = 4;

/// Pipes and sockets that were there when the program began: their other ends are elsewhere.
static INHERITED: Table<1> = Table::new();
/// Descriptors that a program may have when it begins are looked for below.
const AT_START: c_int = 64;

fn inode_number(status: &libc::stat) -> u64 {
    key(0, status.st_ino, status.st_dev)
}

/// The file system in which the kernel tells about processes.
static PROCESSES: AtomicU64 = AtomicU64::new(0);

/// What the kernel makes up about the processes is read there.
pub(crate) fn is_made_up(fd: c_int) -> bool {
    status(fd).is_some_and(|status| is_about_processes(&status))
}

fn is_about_processes(status: &libc::stat) -> bool {
    status.st_dev == PROCESSES.load(Ordering::Relaxed)
}

/// Notes what the program was given when it was started.
pub(crate) fn inherit() {
    // SAFETY: plain data, which the kernel fills.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let arguments = [c"/proc".as_ptr() as usize, (&raw mut status) as usize, 0, 0, 0, 0];
        if sys::call(libc::SYS_stat, arguments) == 0 {
            PROCESSES.store(status.st_dev, Ordering::Relaxed);
        }
    }
    for status in (0..AT_START).filter_map(status) {
        if matches!(status.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK) {
            INHERITED.entry(inode_number(&status));
        }
    }
}

fn entry(fd: c_int) -> Option<&'static AtomicU64> {
    NUMBERED.get(usize::try_from(fd).ok()?)
}

/// Device, inode and type of a descriptor.
pub(crate) fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: plain data, which the kernel fills.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        (sys::call(libc::SYS_fstat, [fd as usize, (&raw mut status) as usize, 0, 0, 0, 0]) == 0).then_some(status)
    }
}

/// Whether a descriptor is one of an ordinary file.
pub(crate) fn is_file(fd: c_int) -> bool {
    status(fd).is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFREG)
}

/// Whether what a descriptor gives may differ from run to run. Files of a disk do not change by themselves; those that the kernel
/// makes up have no size.
pub(crate) fn is_input(fd: c_int) -> bool {
    status(fd).is_some_and(|status| match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => status.st_size == 0,
        libc::S_IFSOCK => false,
        _ => true,
    })
}

impl Descriptor {
    /// What descriptor `fd` is now.
    pub(crate) fn of(fd: c_int) -> Descriptor {
        let Some(status) = status(fd) else { return Descriptor::Other };
        match status.st_mode & libc::S_IFMT {
            libc::S_IFIFO | libc::S_IFSOCK if INHERITED.get(inode_number(&status)).is_some() => Descriptor::Other,
            libc::S_IFIFO => Descriptor::Pipe(key(channel::PIPE, status.st_ino, status.st_dev)),
            libc::S_IFSOCK => Descriptor::Socket(status.st_ino),
            // Message queues are regular files of a file system of their own.
            kind @ (0 | libc::S_IFREG) => match numbered(fd, status.st_ino, kind == 0) {
                Descriptor::Other if kind == 0 || is_about_processes(&status) && !tells_nothing(fd) => {
                    Descriptor::Unmodelled
                }
                Descriptor::Other if fd > 2 => Descriptor::File(key(channel::FILE, status.st_ino, status.st_dev)),
                known => known,
            },
            libc::S_IFCHR if OWN_TERMINALS.load(Ordering::Relaxed) && is_terminal(status.st_rdev) => {
                Descriptor::Unmodelled
            }
            _ => Descriptor::Other,
        }
    }

    /// The channel that reads take from.
    pub(crate) fn receives(self) -> Option<Channel> {
        match self {
            Descriptor::Pipe(key) => Some(Channel { key, form: Form::Bytes }),
            Descriptor::Event(key) => Some(Channel { key, form: Form::Count }),
            Descriptor::Timer(key) => Some(Channel { key, form: Form::Latest }),
            Descriptor::Socket(inode) => socket(inode).map(|(_, receives)| receives),
            Descriptor::Queue(key) => Some(Channel { key, form: Form::Messages }),
            Descriptor::Signals | Descriptor::Poll(_) => None,
            Descriptor::File(_) | Descriptor::Unmodelled | Descriptor::Other => None,
        }
    }

    /// The channel that writes put into.
    pub(crate) fn sends(self) -> Option<Channel> {
        match self {
            Descriptor::Socket(inode) => socket(inode).map(|(sends, _)| sends).filter(|sends| sends.key != 0),
            Descriptor::Timer(_) => None,
            other => other.receives(),
        }
    }
}

/// The process has opened a pseudoterminal.
static OWN_TERMINALS: AtomicBool = AtomicBool::new(false);

pub(crate) fn makes_terminals() {
    OWN_TERMINALS.store(true, Ordering::Relaxed);
}

/// A device is an end of a pseudoterminal.
fn is_terminal(device: u64) -> bool {
    let (major, minor) = (libc::major(device), libc::minor(device));
    (major, minor) == (5, 2) || (136..144).contains(&major)
}

fn numbered(fd: c_int, inode: u64, may_be_event: bool) -> Descriptor {
    let Some(entry) = entry(fd).map(|entry| entry.load(Ordering::Relaxed)) else { return Descriptor::Other };
    let number = entry >> 3;
    match entry & KIND {
        EVENT => Descriptor::Event(key(channel::EVENT, number, 0)),
        TIMER => Descriptor::Timer(key(channel::TIMER, number, 0)),
        SIGNALS => Descriptor::Signals,
        POLL => Descriptor::Poll(number),
        QUEUE => Descriptor::Queue(key(channel::QUEUE, inode, 0)),
        _ if !may_be_event => Descriptor::Other,
        _ => match event_number(fd) {
            Some(number) => Descriptor::Event(key(channel::EVENT, number, 0)),
            None => Descriptor::Other,
        },
    }
}

/// The path of a descriptor in a folder of the kernel's, with a zero at its end.
fn numbered_path(folder: &[u8], fd: c_int) -> Option<[u8; 32]> {
    let mut path = [0u8; 32];
    let (mut digits, mut rest) = ([0u8; 10], u32::try_from(fd).ok()?);
    let mut count = 0;
    while count == 0 || rest > 0 {
        digits[count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    for (to, from) in path.iter_mut().zip(folder.iter().chain(digits[..count].iter().rev())) {
        *to = *from;
    }
    Some(path)
}

/// What the kernel tells in this file does not depend on what threads of this process do.
fn tells_nothing(fd: c_int) -> bool {
    const FIXED: [&[u8]; 4] = [b"/cgroup", b"/cpuinfo", b"/auxv", b"/version"];
    let Some(path) = numbered_path(b"/proc/self/fd/", fd) else { return false };
    let mut name = [0u8; 64];
    // SAFETY: the path ends in zero, and the kernel writes at most the buffer's length.
    let length = unsafe {
        sys::call(libc::SYS_readlink, [path.as_ptr() as usize, name.as_mut_ptr() as usize, name.len(), 0, 0, 0])
    };
    let name = usize::try_from(length).ok().and_then(|length| name.get(..length)).unwrap_or_default();
    name.starts_with(b"/proc/") && FIXED.iter().any(|fixed| name.ends_with(fixed))
}

/// The kernel's number of an eventfd that was not seen to be made here: it came over a socket, or a library made it.
fn event_number(fd: c_int) -> Option<u64> {
    let path = numbered_path(b"/proc/self/fdinfo/", fd)?;
    let mut text = [0u8; 512];
    // SAFETY: the path ends in zero, and the kernel writes at most the buffer's length.
    let length = unsafe {
        let file = sys::call(libc::SYS_open, [path.as_ptr() as usize, libc::O_CLOEXEC as usize, 0, 0, 0, 0]);
        if file < 0 {
            return None;
        }
        let length = sys::call(libc::SYS_read, [file as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0]);
        sys::call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        usize::try_from(length).ok()?
    };
    let name = b"eventfd-id:";
    let at = text[..length].windows(name.len()).position(|part| part == name)? + name.len();
    let digits = text[at..length].iter().skip_while(|byte| **byte == b' ').take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))))
}

/// Which open file a descriptor is of: others may be of the same one, with one position.
static OPEN_FILES: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(0) }; DESCRIPTORS];

/// The number of the open file that `fd` is of.
pub(crate) fn open_file(fd: c_int) -> u64 {
    let Some(number) = usize::try_from(fd).ok().and_then(|fd| OPEN_FILES.get(fd)) else { return 0 };
    if number.load(Ordering::Relaxed) == 0 {
        number.store(NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }
    number.load(Ordering::Relaxed)
}

/// What was made as descriptor `fd` just now.
pub(crate) fn made(fd: c_int, kind: u8) {
    let Some(entry) = entry(fd) else { return };
    let next = || NEXT.fetch_add(1, Ordering::Relaxed);
    let value = match kind {
        channel::EVENT => event_number(fd).unwrap_or_else(next) << 3 | EVENT,
        channel::TIMER => next() << 3 | TIMER,
        channel::QUEUE => QUEUE,
        _ => 0,
    };
    entry.store(value, Ordering::Relaxed);
}

/// An epoll instance, or a descriptor for signals, was made.
pub(crate) fn made_for_events(fd: c_int, for_signals: bool) {
    if let Some(entry) = entry(fd) {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        entry.store(number << 3 | if for_signals { SIGNALS } else { POLL }, Ordering::Relaxed);
    }
}

/// `fd` is another descriptor of what `old` is.
pub(crate) fn duplicated(old: c_int, fd: c_int) {
    if let (Some(old), Some(new)) = (entry(old), entry(fd)) {
        new.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    if let Some(number) = usize::try_from(fd).ok().and_then(|fd| OPEN_FILES.get(fd)) {
        number.store(open_file(old), Ordering::Relaxed);
    }
}

/// `fd` is closed.
pub(crate) fn closed(fd: c_int) {
    if let Some(entry) = entry(fd) {
        entry.store(0, Ordering::Relaxed);
    }
    if let Some(number) = usize::try_from(fd).ok().and_then(|fd| OPEN_FILES.get(fd)) {
        number.store(0, Ordering::Relaxed);
    }
}

/// The two ends of a pair of sockets have been made.
pub(crate) fn paired(a: u64, b: u64, messages: bool) {
    let (into_a, into_b) = (key(channel::SOCKET, a, 0), key(channel::SOCKET, b, 0));
    resolve(a, into_b, into_a, messages);
    resolve(b, into_a, into_b, messages);
}

/// What a socket sends and receives is known from here on.
pub(crate) fn resolve(inode: u64, sends: u64, receives: u64, messages: bool) {
    let row = SOCKETS.entry(inode);
    row[1].store(sends, Ordering::Relaxed);
    row[2].store(receives, Ordering::Relaxed);
    row[3].store(RESOLVED | if messages { MESSAGES } else { 0 }, Ordering::Relaxed);
}

/// Connections come to the socket: its channel is the one that they are put into.
pub(crate) fn listens(inode: u64, key: u64) {
    let row = SOCKETS.entry(inode);
    row[1].store(0, Ordering::Relaxed);
    row[2].store(key, Ordering::Relaxed);
    row[3].store(RESOLVED | LISTENS, Ordering::Relaxed);
}

/// What is known of a socket may have changed.
pub(crate) fn forget(inode: u64) {
    SOCKETS.remove(inode);
}

/// What a socket sends into and receives from, as far as that is known by its inode.
fn socket(inode: u64) -> Option<(Channel, Channel)> {
    let row = SOCKETS.get(inode).filter(|row| row[3].load(Ordering::Relaxed) & RESOLVED != 0)?;
    let state = row[3].load(Ordering::Relaxed);
    let form = if state & (MESSAGES | LISTENS) != 0 { Form::Messages } else { Form::Bytes };
    let channel = |word: usize| Channel { key: row[word].load(Ordering::Relaxed), form };
    Some((channel(1), channel(2)))
}

/// Returns an address as one number: of the internet's the port and the address, of others the name. 0 for none.
pub(crate) fn address_number(address: &sockaddr_storage, length: socklen_t) -> u64 {
    let bytes = core::ptr::from_ref(address).cast::<u8>();
    // SAFETY: within the storage.
    let byte = |at: usize| unsafe { u64::from(bytes.add(at).read()) };
    let port = byte(2) << 8 | byte(3);
    let mix = |from: usize, to: usize| (from..to).fold(0u64, |sum, at| key(0, sum, byte(at)));
    match c_int::from(address.ss_family) {
        libc::AF_INET | libc::AF_INET6 if port == 0 => 0,
        libc::AF_INET => port << 40 | mix(4, 8) >> 24 | 1,
        // An address of the old kind within the new one is the old one.
        libc::AF_INET6 => {
            let mapped = (8..18).all(|at| byte(at) == 0) && byte(18) == 0xff && byte(19) == 0xff;
            port << 40 | if mapped { mix(20, 24) } else { mix(8, 24) } >> 24 | 1
        }
        libc::AF_UNIX if length as usize > 2 => {
            // A path ends with its zero, which some count and others do not; a name without a file begins with one.
            let end = (length as usize).min(size_of::<sockaddr_storage>());
            let end = if byte(2) == 0 { end } else { (2..end).find(|&at| byte(at) == 0).unwrap_or(end) };
            mix(2, end) | 1
        }
        _ => 0,
    }
}

/// The port alone, which is what datagrams of the internet go to.
fn port_number(address: u64) -> u64 {
    address >> 40
}

/// Returns the socket's own address, or its peer's.
pub(crate) fn address_of(fd: c_int, peer: bool) -> Option<(sockaddr_storage, socklen_t)> {
    let number = if peer { libc::SYS_getpeername } else { libc::SYS_getsockname };
    // SAFETY: plain data; the kernel writes at most as much as there is room for.
    unsafe {
        let mut address: sockaddr_storage = core::mem::zeroed();
        let mut length = size_of::<sockaddr_storage>() as socklen_t;
        let arguments = [fd as usize, (&raw mut address) as usize, (&raw mut length) as usize, 0, 0, 0];
        (sys::call(number, arguments) == 0).then_some((address, length))
    }
}

fn option(fd: c_int, which: c_int) -> c_int {
    let (mut value, mut size): (c_int, socklen_t) = (0, 4);
    let place = (&raw mut value) as usize;
    let arguments = [fd as usize, libc::SOL_SOCKET as usize, which as usize, place, (&raw mut size) as usize, 0];
    // SAFETY: the kernel writes at most four bytes.
    unsafe { sys::call(libc::SYS_getsockopt, arguments) };
    value
}

/// Messages, not a stream of bytes, go through the socket.
pub(crate) fn has_messages(fd: c_int) -> bool {
    option(fd, libc::SO_TYPE) != libc::SOCK_STREAM
}

/// What goes through the socket needs no connection.
pub(crate) fn is_datagram(fd: c_int) -> bool {
    option(fd, libc::SO_TYPE) == libc::SOCK_DGRAM
}

/// Returns the channel of datagrams to an address.
pub(crate) fn datagrams_to(address: &sockaddr_storage, length: socklen_t) -> Channel {
    let number = address_number(address, length);
    let is_unix = c_int::from(address.ss_family) == libc::AF_UNIX;
    let to = if is_unix { number } else { port_number(number) };
    Channel { key: key(channel::SOCKET, to, 1 + u64::from(is_unix)), form: Form::Messages }
}

/// Finds out what a socket sends and receives, if that was not seen: by its addresses.
pub(crate) fn look_up(fd: c_int, inode: u64) {
    if socket(inode).is_some() {
        return;
    }
    let number =
        |peer| address_of(fd, peer).map(|(address, length)| (address_number(&address, length), address, length));
    let (own, peer) = (number(false), number(true));
    if is_datagram(fd) {
        let key_of = |side: Option<(u64, sockaddr_storage, socklen_t)>| {
            side.filter(|(number, ..)| *number != 0)
                .map_or(0, |(_, address, length)| datagrams_to(&address, length).key)
        };
        let receives = key_of(own);
        // Before it is bound nothing can come; what it is bound to must still be found then.
        if receives != 0 {
            resolve(inode, key_of(peer), receives, true);
        }
    } else if option(fd, libc::SO_ACCEPTCONN) != 0 {
        listens(inode, own.map_or(0, |(number, ..)| listener_key(number)));
    } else if let (Some((own, ..)), Some((peer, ..))) = (own, peer)
        && own != 0
        && peer != 0
    {
        resolve(inode, key(channel::SOCKET, own, peer), key(channel::SOCKET, peer, own), has_messages(fd));
    }
}

/// Returns the channel of connections to an address. Whoever listens may do so at all addresses of the host.
pub(crate) fn listener_key(address: u64) -> u64 {
    let port = port_number(address);
    key(channel::LISTENER, if port < 1 << 16 { port } else { address }, 0)
}
