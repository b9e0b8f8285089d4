//! System calls that leave `errno` alone and bypass interposed libc functions.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// One system call with up to six arguments; the kernel's return value, negative on error.
///
/// # Safety
/// As the system call demands.
#[inline]
pub(crate) unsafe fn call(number: i64, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 only; the caller vouches for the rest.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2], in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Sleeps while `word` is `expected`, at most `timeout` nanoseconds if that is given.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<u64>) {
    let time = timeout.map(|ns| [ns / 1_000_000_000, ns % 1_000_000_000]);
    let pointer = time.as_ref().map_or(0, |t| t.as_ptr() as usize);
    let op = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the word and the time live until the call returns.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, op, expected as usize, pointer, 0, 0]) };
}

/// Wakes one sleeper on `word`.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let op = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: waking has no precondition.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, op, 1, 0, 0, 0]) };
}

/// Wakes all sleepers on `word`.
pub(crate) fn futex_wake_all(word: &AtomicU32) {
    let op = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: waking has no precondition.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, op, i32::MAX as usize, 0, 0, 0]) };
}

/// Sends the calling thread a signal with everything that is known of it.
///
/// # Safety
/// `info` is a whole `siginfo_t`.
pub(crate) unsafe fn send_to_self(signal: u32, info: *const u64) {
    let (process, thread) = (process_id() as usize, thread_id() as usize);
    // SAFETY: the kernel copies what the caller vouches for. Where that is forbidden, the signal comes without what is known of it.
    unsafe {
        if call(libc::SYS_rt_tgsigqueueinfo, [process, thread, signal as usize, info as usize, 0, 0]) < 0 {
            call(libc::SYS_tgkill, [process, thread, signal as usize, 0, 0, 0]);
        }
    }
}

/// Returns the kernel's number of the calling thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: no precondition.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// What the C library's functions return where the kernel returned this.
pub(crate) extern "C" fn returned(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = -result as libc::c_int };
        return -1;
    }
    result
}

/// Returns the number of this process.
pub(crate) fn process_id() -> u32 {
    // SAFETY: no precondition.
    unsafe { call(libc::SYS_getpid, [0; 6]) as u32 }
}

/// Sleeps for this many nanoseconds, or less if a signal comes.
pub(crate) fn sleep(ns: u64) {
    let time = [ns / 1_000_000_000, ns % 1_000_000_000];
    // SAFETY: the time lives until the call returns.
    unsafe { call(libc::SYS_nanosleep, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Blocks these signals (a bit each) and no others for the calling thread; returns those blocked before.
pub(crate) fn block_signals(mask: u64) -> u64 {
    change_blocked(libc::SIG_SETMASK, mask)
}

/// Changes which signals the calling thread blocks, in one of the ways that `sigprocmask` knows; returns which it blocked before.
pub(crate) fn change_blocked(how: libc::c_int, mask: u64) -> u64 {
    let (new, mut old) = ([mask], [0u64]);
    // SAFETY: the kernel reads one word and writes the other.
    unsafe {
        let how = how as usize;
        call(libc::SYS_rt_sigprocmask, [how, new.as_ptr() as usize, old.as_mut_ptr() as usize, 8, 0, 0]);
    }
    old[0]
}

/// Whether a process with this number exists.
pub(crate) fn process_exists(pid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { call(libc::SYS_kill, [pid as usize, 0, 0, 0, 0, 0]) != -(libc::ESRCH as isize) }
}

/// The runtime's mappings lie here, far from all else, so that what the program maps lies where it would without them: a replay has
/// more of them than a recorded run.
const ASIDE: usize = 0x1100_0000_0000;
const PAGE: usize = 4096;

/// Returns where a mapping of this many bytes may lie. The kernel takes another place if this one is not free.
pub(crate) fn aside(bytes: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(ASIDE);
    NEXT.fetch_add(bytes.next_multiple_of(PAGE), Ordering::Relaxed)
}

/// Zeroed memory of this many bytes that is never given back; null if there is none.
pub(crate) fn map(bytes: usize) -> *mut u8 {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a fresh anonymous mapping touches nothing.
    let address = unsafe { call(libc::SYS_mmap, [aside(bytes), bytes, protection, flags, usize::MAX, 0]) };
    if address < 0 { core::ptr::null_mut() } else { address as *mut u8 }
}

/// Copies bytes of this process that may not be there; `false` if they are not.
pub(crate) fn peek(address: u64, to: *mut u8, bytes: usize) -> bool {
    let (local, remote) = ([to as usize, bytes], [address as usize, bytes]);
    let args = [process_id() as usize, local.as_ptr() as usize, 1, remote.as_ptr() as usize, 1, 0];
    // SAFETY: the kernel writes at most the caller's bytes and checks the other side.
    unsafe { call(libc::SYS_process_vm_readv, args) == bytes as isize }
}

/// Asks the kernel for the right to use [`barrier`].
pub(crate) fn register_barrier() {
    // SAFETY: no precondition.
    unsafe { call(libc::SYS_membarrier, [1 << 4, 0, 0, 0, 0, 0]) };
}

/// Makes every running thread of this process execute a full memory barrier; `false` where the kernel cannot.
pub(crate) fn barrier() -> bool {
    // SAFETY: no precondition.
    unsafe { call(libc::SYS_membarrier, [1 << 3, 0, 0, 0, 0, 0]) == 0 }
}

/// The CPU time that a thread of this process has used, in nanoseconds; 0 if it is unknown.
pub(crate) fn cpu_time(thread: u32) -> u64 {
    // The kernel's clock number of a thread: its number inverted, then 4 for "thread" and 2 for "scheduler".
    let clock = (!(thread as i64) << 3) | 6;
    let mut time = [0u64; 2];
    // SAFETY: the kernel fills two words.
    let result = unsafe { call(libc::SYS_clock_gettime, [clock as usize, time.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    if result < 0 { 0 } else { time[0] * 1_000_000_000 + time[1] }
}

/// Whether a thread of this process with this number exists.
fn thread_exists(thread: u32) -> bool {
    // SAFETY: signal 0 only asks.
    let result = unsafe { call(libc::SYS_tgkill, [process_id() as usize, thread as usize, 0, 0, 0, 0]) };
    result != -(libc::ESRCH as isize)
}

/// Reads a file that the kernel has about a thread of this process; `None` if it cannot be opened.
fn task_file<'a>(thread: u32, name: &[u8], text: &'a mut [u8; 256]) -> Option<&'a [u8]> {
    let mut path = *b"/proc/self/task/\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut at = b"/proc/self/task/".len();
    let mut digits = [0u8; 10];
    let (mut n, mut rest) = (0, thread);
    loop {
        digits[n] = b'0' + (rest % 10) as u8;
        n += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    for i in (0..n).rev() {
        path[at] = digits[i];
        at += 1;
    }
    for &byte in name {
        path[at] = byte;
        at += 1;
    }
    // SAFETY: the path ends in zero and the kernel writes at most `text.len()` bytes.
    let read = unsafe {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let file = call(libc::SYS_open, [path.as_ptr() as usize, flags, 0, 0, 0, 0]);
        if file < 0 {
            return None;
        }
        let read = call(libc::SYS_read, [file as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0]);
        call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        read
    };
    Some(&text[..read.clamp(0, 256) as usize])
}

/// The state letter of a thread of this process in `/proc`, `b'X'` if it is gone, `b'?'` if it is unknown.
pub(crate) fn thread_state(thread: u32) -> u8 {
    let mut text = [0u8; 256];
    let Some(text) = task_file(thread, b"/stat", &mut text) else {
        return if thread_exists(thread) { b'?' } else { b'X' };
    };
    // The name in brackets may hold anything: the state follows the last bracket.
    match text.iter().rposition(|&b| b == b')') {
        Some(close) if close + 2 < text.len() => text[close + 2],
        _ => b'?',
    }
}

/// Whether a thread is gone, or sleeps in a system call that no time ends. Not if the kernel does not say.
pub(crate) fn waits_for_good(thread: u32) -> bool {
    let mut text = [0u8; 256];
    let Some(text) = task_file(thread, b"/syscall", &mut text) else { return !thread_exists(thread) };
    let mut words = text.split(|&byte| matches!(byte, b' ' | b'\n'));
    let number = words.next().and_then(|word| core::str::from_utf8(word).ok()?.parse::<i64>().ok());
    let Some(number) = number.filter(|&number| number >= 0) else { return false };
    let mut arguments = [0u64; 6];
    for (argument, word) in arguments.iter_mut().zip(words) {
        let digits = word.strip_prefix(b"0x").and_then(|digits| core::str::from_utf8(digits).ok());
        *argument = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(1);
    }
    // A time that is a number is negative if there is none, one that is a pointer is null.
    match number {
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => false,
        libc::SYS_poll => (arguments[2] as i32) < 0,
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => (arguments[3] as i32) < 0,
        libc::SYS_ppoll | libc::SYS_rt_sigtimedwait => arguments[2] == 0,
        libc::SYS_futex | libc::SYS_semtimedop | libc::SYS_epoll_pwait2 => arguments[3] == 0,
        libc::SYS_select | libc::SYS_pselect6 | libc::SYS_recvmmsg => arguments[4] == 0,
        libc::SYS_mq_timedreceive | libc::SYS_mq_timedsend => arguments[4] == 0,
        _ => true,
    }
}

/// Fills memory without `memset`, which the runtime stands in front of: its hook would take this for the program's own access.
///
/// # Safety
/// The memory may be written.
pub(crate) unsafe fn fill(to: *mut u8, byte: u8, bytes: usize) {
    // SAFETY: the caller's promise; the direction flag is clear between functions.
    unsafe {
        asm!("rep stosb", inout("rdi") to => _, inout("rcx") bytes => _, in("al") byte, options(nostack, preserves_flags))
    };
}

/// Copies memory without `memcpy`, for the same reason.
///
/// # Safety
/// The one may be read, the other written, and they do not overlap.
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: as above.
    unsafe {
        asm!("rep movsb", inout("rsi") from => _, inout("rdi") to => _, inout("rcx") bytes => _, options(nostack, preserves_flags))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_seen_running_and_asleep() {
        assert_eq!(thread_state(thread_id()), b'R');
        let (send, receive) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            send.send(thread_id()).unwrap();
            let _ = stopped.recv();
        });
        let id = receive.recv().unwrap();
        while thread_state(id) != b'S' {
            sleep(100_000);
        }
        drop(stop);
        sleeper.join().unwrap();
        while thread_state(id) != b'X' {
            sleep(100_000);
        }
    }

    #[test]
    fn work_uses_cpu_time() {
        let before = cpu_time(thread_id());
        let mut x = 1u64;
        while cpu_time(thread_id()) < before + 1_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(cpu_time(thread_id()) > before);
    }
}
