//! System calls that leave `errno` alone and bypass interposed libc functions.

use core::arch::asm;
use core::sync::atomic::AtomicU32;

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

/// The kernel's number of the calling thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: no precondition.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// The number of this process.
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
    let (new, mut old) = ([mask], [0u64]);
    // SAFETY: the kernel reads one word and writes the other.
    unsafe {
        let how = libc::SIG_SETMASK as usize;
        call(libc::SYS_rt_sigprocmask, [how, new.as_ptr() as usize, old.as_mut_ptr() as usize, 8, 0, 0]);
    }
    old[0]
}

/// Whether a process with this number exists.
pub(crate) fn process_exists(pid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { call(libc::SYS_kill, [pid as usize, 0, 0, 0, 0, 0]) != -(libc::ESRCH as isize) }
}

/// Zeroed memory of this many bytes that is never given back; null if there is none.
pub(crate) fn map(bytes: usize) -> *mut u8 {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a fresh anonymous mapping touches nothing.
    let address = unsafe { call(libc::SYS_mmap, [0, bytes, protection, flags, usize::MAX, 0]) };
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

/// The state letter of a thread of this process in `/proc`, `b'X'` if it is gone, `b'?'` if it is unknown.
pub(crate) fn thread_state(thread: u32) -> u8 {
    let mut path = *b"/proc/self/task/\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
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
    for &byte in b"/stat" {
        path[at] = byte;
        at += 1;
    }
    let mut text = [0u8; 256];
    // SAFETY: the path ends in zero and the kernel writes at most `text.len()` bytes.
    let read = unsafe {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let file = call(libc::SYS_open, [path.as_ptr() as usize, flags, 0, 0, 0, 0]);
        if file < 0 {
            return if thread_exists(thread) { b'?' } else { b'X' };
        }
        let read = call(libc::SYS_read, [file as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0]);
        call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        read
    };
    // The name in brackets may hold anything: the state follows the last bracket.
    let text = &text[..read.clamp(0, 256) as usize];
    match text.iter().rposition(|&b| b == b')') {
        Some(close) if close + 2 < text.len() => text[close + 2],
        _ => b'?',
    }
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
