//! Forks runs of the program before its own constructors, where a recorder asks for that ([`mayhap_wire::fork_server`]).
//!
//! A run that is forked here is like one of a new process: the runtime has no state yet, addresses and descriptors are the same, and the environment is
//! changed in place. Only what the loader does is saved. All of this happens while the process has one thread.

use libc::{c_char, c_int};
use mayhap_wire::fork_server::{DESCRIPTORS, FORKS, LONGEST, RUNS};

use crate::sys;

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Where requests come from and answers go.
const SOCKET: usize = 0;

/// The header of the part of a message that has descriptors, and the descriptors.
#[repr(C)]
struct Passed {
    length: usize,
    level: c_int,
    kind: c_int,
    descriptors: [c_int; DESCRIPTORS + 1],
}

/// The length of a message's part with all descriptors.
const PASSED: usize = size_of::<usize>() + (2 + DESCRIPTORS) * size_of::<c_int>();

/// Forks runs until there are no more requests, if `value` says so. Returns in processes that are runs.
pub(crate) fn serve(value: *const c_char) {
    // SAFETY: the value ends in zero.
    if value.is_null() || unsafe { value.cast::<u8>().read() } != FORKS.as_bytes()[0] {
        return;
    }
    // SAFETY: the environment may be written, and no other thread is there to read it.
    unsafe { value.cast_mut().cast::<u8>().write(RUNS.as_bytes()[0]) };
    send(sys::process_id());
    let mut texts = [0u8; LONGEST];
    loop {
        let Some((length, descriptors)) = receive(&mut texts) else { exit() };
        if !texts[..length].split_inclusive(|&byte| byte == 0).all(replace) {
            exit();
        }
        // SAFETY: the process has one thread.
        let child = unsafe { libc::fork() };
        if child == 0 {
            take(descriptors);
            return;
        }
        descriptors.iter().for_each(|&descriptor| close(descriptor));
        if child < 0 {
            exit();
        }
        send(child as u32);
        send(wait_for(child));
    }
}

fn exit() -> ! {
    loop {
        // SAFETY: no precondition.
        unsafe { sys::call(libc::SYS_exit_group, [0; 6]) };
    }
}

fn send(number: u32) {
    let bytes = number.to_le_bytes();
    let flags = libc::MSG_NOSIGNAL as usize;
    // SAFETY: the bytes live until the call returns.
    let sent = unsafe { sys::call(libc::SYS_sendto, [SOCKET, bytes.as_ptr() as usize, bytes.len(), flags, 0, 0]) };
    if sent < 0 {
        exit();
    }
}

fn close(descriptor: c_int) {
    // SAFETY: a descriptor of a request.
    unsafe { sys::call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// The next request: how many bytes it has, and its descriptors. `None` if there is no further one.
fn receive(texts: &mut [u8; LONGEST]) -> Option<(usize, [c_int; DESCRIPTORS])> {
    let mut passed = Passed { length: 0, level: 0, kind: 0, descriptors: [-1; DESCRIPTORS + 1] };
    let bytes = [texts.as_mut_ptr() as usize, texts.len()];
    // A message's header: no name, one buffer, the other part, flags.
    let mut message = [0, 0, bytes.as_ptr() as usize, 1, (&raw mut passed) as usize, size_of::<Passed>(), 0usize];
    let length = loop {
        // SAFETY: all of it lives until the call returns; the kernel writes no more than the sizes given.
        let length = unsafe { sys::call(libc::SYS_recvmsg, [SOCKET, message.as_mut_ptr() as usize, 0, 0, 0, 0]) };
        if length != -(libc::EINTR as isize) {
            break length;
        }
    };
    let is_whole = passed.length == PASSED && passed.level == libc::SOL_SOCKET && passed.kind == libc::SCM_RIGHTS;
    let [first, second, third, _] = passed.descriptors;
    (length > 0 && is_whole).then_some((length as usize, [first, second, third]))
}

/// Puts a text in the place of the variable of its name; `false` if there is none of as many bytes.
fn replace(text: &[u8]) -> bool {
    let Some(name) = text.iter().position(|&byte| byte == b'=') else { return false };
    // SAFETY: the environment is a list of texts that end in zero, itself ending in a null pointer, and no other thread uses it.
    unsafe {
        let mut at = environ;
        while !(*at).is_null() {
            let place = (*at).cast::<u8>();
            if (0..=name).all(|n| place.add(n).read() == text[n]) {
                let same = (name..text.len() - 1).all(|n| place.add(n).read() != 0);
                if !same || place.add(text.len() - 1).read() != 0 {
                    return false;
                }
                sys::copy(text.as_ptr(), place, text.len());
                return true;
            }
            at = at.add(1);
        }
    }
    false
}

/// Makes the descriptors standard input, output and error.
fn take(descriptors: [c_int; DESCRIPTORS]) {
    for (standard, &descriptor) in descriptors.iter().enumerate() {
        // SAFETY: the three are open in a process that passes others on, so these are none of them.
        unsafe { sys::call(libc::SYS_dup2, [descriptor as usize, standard, 0, 0, 0, 0]) };
        close(descriptor);
    }
}

/// Waits for a run to end; it is ended if the recorder is gone.
fn wait_for(child: libc::pid_t) -> u32 {
    let mut status = 0u32;
    // SAFETY: the list and the status live until the calls return.
    unsafe {
        let ends = sys::call(libc::SYS_pidfd_open, [child as usize, 0, 0, 0, 0, 0]);
        if ends >= 0 {
            let mut events = [
                libc::pollfd { fd: SOCKET as c_int, events: 0, revents: 0 },
                libc::pollfd { fd: ends as c_int, events: libc::POLLIN, revents: 0 },
            ];
            let forever = usize::MAX;
            while sys::call(libc::SYS_poll, [events.as_mut_ptr() as usize, events.len(), forever, 0, 0, 0]) < 0 {}
            if events[0].revents != 0 && events[1].revents == 0 {
                sys::call(libc::SYS_kill, [child as usize, libc::SIGKILL as usize, 0, 0, 0, 0]);
            }
            close(ends as c_int);
        }
        while sys::call(libc::SYS_wait4, [child as usize, (&raw mut status) as usize, 0, 0, 0, 0]) < 0 {}
    }
    status
}
