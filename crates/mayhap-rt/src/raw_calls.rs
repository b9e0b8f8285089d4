//! System calls that the program makes by their number.
//!
//! Those that can order threads go where calls of the C library's functions go, or are noted as something that is not modelled. All
//! others go to the kernel as if the runtime were not there, since one of them may return twice.

use libc::{c_int, c_long};

use crate::channels::connections::*;
use crate::channels::doubts;
use crate::channels::file_locks::{control, lock_file};
use crate::channels::files::*;
use crate::channels::queues::*;
use crate::channels::readiness::*;
use crate::channels::settings::*;
use crate::channels::signals::{send_to_number, send_to_process};
use crate::channels::transfers::*;
use crate::rust::futex;
use crate::thread_names::control_process;
use crate::{blocking, sys, tls};

/// The numbers below this one that the runtime looks at, a bit for each.
const NUMBERS: usize = 512;

const fn set(numbers: &[c_long]) -> [u64; NUMBERS / 64] {
    let mut bits = [0; NUMBERS / 64];
    let mut at = 0;
    while at < numbers.len() {
        bits[numbers[at] as usize / 64] |= 1 << (numbers[at] % 64);
        at += 1;
    }
    bits
}

/// Calls that the C library has functions for with the same arguments, and what these return.
macro_rules! modelled {
    ($($number:ident => $inner:ident -> $type:ty;)*) => {
        const MODELLED: &[c_long] = &[$(libc::$number),*];

        /// Makes a call as the C library's function would; `None` for another one.
        unsafe fn modelled(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> Option<c_long> {
            type Function<T> = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> T;
            match number {
                $(
                    libc::$number => {
                        // SAFETY: the function takes the first of these numbers in the same registers, and ignores the rest.
                        let function: Function<$type> = unsafe { core::mem::transmute($inner as *const ()) };
                        // SAFETY: the caller's own arguments.
                        Some(unsafe { function(a, b, c, d, e, f) } as c_long)
                    }
                )*
                _ => None,
            }
        }
    };
}

modelled! {
    SYS_read => take_read -> isize;
    SYS_write => put_write -> isize;
    SYS_pread64 => take_pread -> isize;
    SYS_pwrite64 => put_pwrite -> isize;
    SYS_readv => take_readv -> isize;
    SYS_writev => put_writev -> isize;
    SYS_recvfrom => take_recvfrom -> isize;
    SYS_sendto => put_sendto -> isize;
    SYS_recvmsg => take_recvmsg -> isize;
    SYS_sendmsg => put_sendmsg -> isize;
    SYS_recvmmsg => take_messages -> c_int;
    SYS_sendmmsg => put_messages -> c_int;
    SYS_sendfile => put_file -> isize;
    SYS_splice => move_pipe -> isize;
    SYS_tee => copy_pipe -> isize;
    SYS_poll => wait_poll -> c_int;
    SYS_select => wait_select -> c_int;
    SYS_epoll_create => make_poll -> c_int;
    SYS_epoll_create1 => make_poll_with -> c_int;
    SYS_epoll_ctl => change_poll -> c_int;
    SYS_epoll_wait => wait_epoll -> c_int;
    SYS_mq_timedsend => put_message_in_time -> c_int;
    SYS_mq_timedreceive => take_message_in_time -> isize;
    SYS_msgsnd => send_message -> c_int;
    SYS_msgrcv => receive_message -> isize;
    SYS_semop => operate -> c_int;
    SYS_semtimedop => operate_in_time -> c_int;
    SYS_pipe => make_pipe -> c_int;
    SYS_pipe2 => make_pipe_with -> c_int;
    SYS_socketpair => make_pair -> c_int;
    SYS_eventfd2 => make_event -> c_int;
    SYS_timerfd_create => make_timer -> c_int;
    SYS_timerfd_settime => set_timer -> c_int;
    SYS_connect => connect_to -> c_int;
    SYS_accept => accept_from -> c_int;
    SYS_accept4 => accept_with -> c_int;
    SYS_bind => bind_to -> c_int;
    SYS_listen => listen_at -> c_int;
    SYS_shutdown => shut -> c_int;
    SYS_close => close_one -> c_int;
    SYS_dup => duplicate -> c_int;
    SYS_dup2 => duplicate_to -> c_int;
    SYS_dup3 => duplicate_with -> c_int;
    SYS_flock => lock_file -> c_int;
    SYS_fcntl => control -> c_int;
    SYS_kill => send_to_process -> c_int;
    SYS_tgkill => send_to_number -> c_int;
    SYS_open => open_file -> c_int;
    SYS_openat => open_at -> c_int;
    SYS_creat => create -> c_int;
    SYS_mkdir => make_folder -> c_int;
    SYS_mkdirat => make_folder_at -> c_int;
    SYS_symlink => make_link -> c_int;
    SYS_link => add_name -> c_int;
    SYS_linkat => add_name_at -> c_int;
    SYS_unlink => remove_name -> c_int;
    SYS_unlinkat => remove_name_at -> c_int;
    SYS_rmdir => remove_folder -> c_int;
    SYS_rename => change_name -> c_int;
    SYS_renameat => change_name_at -> c_int;
    SYS_renameat2 => change_name_with -> c_int;
    SYS_access => find -> c_int;
    SYS_stat => look -> c_int;
    SYS_lstat => look_at_link -> c_int;
    SYS_fstat => look_at_open -> c_int;
    SYS_newfstatat => look_at -> c_int;
    SYS_statx => look_closely -> c_int;
    SYS_truncate => shorten -> c_int;
    SYS_ftruncate => shorten_open -> c_int;
    SYS_chmod => change_mode -> c_int;
    SYS_fchmod => change_mode_of_open -> c_int;
    SYS_fallocate => reserve -> c_int;
    SYS_chdir => change_folder -> c_int;
    SYS_fchdir => change_to_folder -> c_int;
    SYS_setsockopt => set_option -> c_int;
    SYS_getsockopt => option -> c_int;
    SYS_prlimit64 => set_or_get_large_limit -> c_int;
    SYS_prctl => control_process -> c_int;
}

/// Calls that tell a thread nothing of what others have done, or that must go straight to the kernel. After all others that are not
/// modelled the thread may know what others did.
const PLAIN: &[c_long] = &[
    libc::SYS_arch_prctl,
    libc::SYS_bpf,
    libc::SYS_brk,
    libc::SYS_capget,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fork,
    libc::SYS_get_mempolicy,
    libc::SYS_get_robust_list,
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_madvise,
    libc::SYS_mbind,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    libc::SYS_mlock,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munlock,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_open,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_mprotect,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_yield,
    libc::SYS_seccomp,
    libc::SYS_set_mempolicy,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
    libc::SYS_time,
    libc::SYS_times,
    libc::SYS_uname,
    libc::SYS_userfaultfd,
    libc::SYS_vfork,
];

/// The calls that the runtime looks at.
static LOOKED_AT: [u64; NUMBERS / 64] = {
    let (mut bits, plain, modelled) = ([!0; NUMBERS / 64], set(PLAIN), set(MODELLED));
    let mut at = 0;
    while at < bits.len() {
        bits[at] = bits[at] & !plain[at] | modelled[at];
        at += 1;
    }
    bits[libc::SYS_futex as usize / 64] |= 1 << (libc::SYS_futex % 64);
    bits
};

/// The C library's `syscall`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "cmp rdi, {numbers}",
        "jae 3f",
        "lea r11, [rip + {looked_at}]",
        "bt qword ptr [r11], rdi",
        "jnc 3f",
        "mov r11, qword ptr [rsp]",
        "mov r10, qword ptr [rip + mayhap_pc@GOTTPOFF]",
        "mov qword ptr fs:[r10], r11",
        "mov qword ptr fs:[r10 + 8], rsp",
        "jmp {by_number}",
        "3:",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, qword ptr [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 2f",
        "ret",
        "2:",
        "mov rdi, rax",
        "jmp {returned}",
        numbers = const NUMBERS,
        looked_at = sym LOOKED_AT,
        by_number = sym by_number,
        returned = sym sys::returned,
    )
}

unsafe extern "C-unwind" fn by_number(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    if number == libc::SYS_futex {
        // SAFETY: the caller's own arguments.
        return unsafe { futex(arguments) };
    }
    // SAFETY: as above.
    if let Some(result) = unsafe { modelled(number, arguments) } {
        return result;
    }
    let pc = tls::caller();
    blocking::leave();
    // SAFETY: as above.
    let result = unsafe { sys::call(number, arguments) };
    doubts(pc);
    sys::returned(result) as c_long
}
