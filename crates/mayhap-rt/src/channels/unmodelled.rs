//! Functions of the C library that may tell a thread what others have done, in ways that are not modelled. After each of them a doubt is
//! recorded. Functions that start other processes only are noted.

use libc::{c_int, c_ulong};
use mayhap_wire::ring::Tag;

use super::descriptors::{self, Descriptor};
use super::results::{wrote, wrote_all};
use super::{doubts, shares_descriptors};
use crate::blocking::leave;
use crate::hook::Hook;
use crate::real::real;
use crate::tls::{self, exports};

mod libc_real {
    use super::*;
    real! {
        fn ioctl(f: c_int, request: c_ulong, argument: usize) -> c_int;
    }
}

exports! {
    ioctl => ask_descriptor;
}

/// Functions with at most six arguments, all of them numbers or addresses; `then` is done after the call, with its call site.
macro_rules! noted {
    ($real:ident, $then:expr, $($name:ident => $inner:ident $($place:literal: $bytes:literal)?;)*) => {
        mod $real {
            use super::*;
            real! { $(fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize;)* }
        }
        exports! { $($name => $inner;)* }
        $(
            unsafe extern "C-unwind" fn $inner(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
                let pc = tls::caller();
                leave();
                // SAFETY: the caller's own arguments in the same registers; what it did not pass is ignored.
                let result = unsafe { $real::$name(a, b, c, d, e, f) };
                $then(pc);
                $(wrote(pc, [a, b, c, d, e, f][$place] as *const u8, $bytes);)?
                result
            }
        )*
    };
}

noted! {
    libc_tells, doubts,
    fgetxattr => read_attribute_of_open 2: 1;
    getitimer => look_at_interval 1: 32;
    getxattr => read_attribute 2: 1;
    glob => find_names;
    hsearch => find_in_table;
    hsearch_r => find_in_given_table;
    lgetxattr => read_attribute_of_link;
    mincore => look_at_memory;
    mq_getattr => look_at_queue 1: 32;
    msgctl => look_at_messages;
    nftw => walk_folders;
    preadv2 => read_parts;
    process_vm_readv => read_process;
    readlink => read_link 1: 1;
    readlinkat => read_link_at 2: 1;
    sbrk => move_break;
    scandir => list_folder 1: 8;
    sem_getvalue => look_at_semaphore 1: 4;
    sigpending => look_at_signals 0: 8;
    shmctl => look_at_segment;
    statfs => look_at_file_system 1: 120;
    statvfs => look_at_volume 1: 112;
    strtok => next_word;
    tdelete => remove_from_tree;
    tfind => find_in_tree;
    timer_getoverrun => count_overruns;
    timer_gettime => look_at_timer 1: 32;
    timerfd_gettime => look_at_timer_descriptor 1: 32;
    tsearch => enter_into_tree;
    umask => set_mask;
}

noted! {
    libc_starts, |_| shares_descriptors(),
    popen => start_command;
    posix_spawn => start_program;
    posix_spawnp => start_program_by_name;
}

/// A thread that asks how much there is to read comes after those who wrote it. What else is asked about channels is not modelled.
unsafe extern "C-unwind" fn ask_descriptor(f: c_int, request: c_ulong, argument: usize) -> c_int {
    let pc = tls::caller();
    leave();
    // SAFETY: the caller's own arguments.
    let result = unsafe { libc_real::ioctl(f, request, argument) };
    let what = Descriptor::of(f);
    if let Descriptor::Socket(inode) = what {
        descriptors::look_up(f, inode);
    }
    match what.receives() {
        Some(channel) if request == libc::FIONREAD => {
            // SAFETY: a call that succeeded has filled the number there.
            let bytes = if result == 0 { unsafe { *(argument as *const c_int) } } else { 0 };
            wrote_all(pc, if result == 0 { argument as *const c_int } else { core::ptr::null() });
            if bytes > 0
                && let Some(hook) = Hook::enter_outermost()
            {
                hook.record(Tag::Ready, pc, &[channel.key, 0]);
                hook.sync_point();
            }
        }
        Some(_) if result == 0 && request != libc::FIONBIO && request != libc::FIOCLEX => doubts(pc),
        _ if what == Descriptor::Unmodelled => doubts(pc),
        _ => {}
    }
    result
}
