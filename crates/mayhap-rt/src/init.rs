//! Start and end: the ring is claimed before the program's own constructors run.

use core::sync::atomic::{AtomicBool, Ordering};

use mayhap_wire::ring::{ENVIRONMENT, Schedule, TURNS_ENVIRONMENT};

#[cfg(not(feature = "archive"))]
use crate::fork_server;
use crate::hook::{self, Hook};
use crate::{
    channels, conditions, inline_hooks, judge, linger, modules, opaque_calls, process, real, replay, ring, sched, sys,
    threads, tls,
};

static DONE: AtomicBool = AtomicBool::new(false);

/// Runs when the loader has loaded this library and those it needs.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = start;

/// Runs after the destructors of the program and of the libraries that need this one.
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = process::finished;

unsafe extern "C" {
    static environ: *const *mut libc::c_char;
}

/// Every instrumented file's constructor calls this.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_init() {
    core::arch::naked_asm!("mov rdi, qword ptr [rsp]", "jmp {inner}", inner = sym init)
}

extern "C" fn start() {
    init(0);
}

/// Starts the runtime. gcc's start-up code calls this before the C library is ready: then there is no environment yet.
extern "C" fn init(caller: u64) {
    tls::ready();
    opaque_calls::has_hooks(caller);
    // SAFETY: the C library's variable, which no thread changes while the program starts.
    if unsafe { environ.is_null() } {
        return;
    }
    if DONE.swap(true, Ordering::AcqRel) {
        // A module that was loaded later runs its first constructor.
        if hook::is_recording() {
            inline_hooks::locate();
        }
        return;
    }
    let ring = variable(ENVIRONMENT);
    if ring.is_null() {
        return;
    }
    real::find_all();
    load_unwinder();
    // What came before is the same in every run, and all that follows is a run's own.
    #[cfg(not(feature = "archive"))]
    fork_server::serve(variable(mayhap_wire::fork_server::ENVIRONMENT));
    if !open_ring(ring) {
        return;
    }
    open_schedule();
    sys::register_barrier();
    process::prepare();
    #[cfg(not(feature = "archive"))]
    crate::cxx_streams::prepare();
    threads::prepare();
    conditions::prepare();
    channels::descriptors::inherit();
    let turns = variable(TURNS_ENVIRONMENT);
    if !turns.is_null() {
        sched::open_turns(turns);
    }
    if let Some(header) = ring::header() {
        sched::configure(header.seed, header.schedule, header.slice);
        if sched::schedule() != Schedule::Free {
            share_one_arena();
        }
        if header.values != 0 && !replay::active() {
            crate::values::enable();
        }
        linger::configure(header.linger);
    }
    inline_hooks::locate();
    hook::start();
    // The main thread gets its record and the token.
    if let Some(mut hook) = Hook::enter() {
        modules::record_all(&mut hook);
        drop(hook);
    }
}

/// Loads what unwinds stacks while the program has one thread. The C library does so when it is first needed: then other threads may
/// wait for the loader, and where modules lie would depend on who needs it when.
fn load_unwinder() {
    #[cfg(not(feature = "archive"))]
    {
        unsafe extern "C" {
            fn backtrace(buffer: *mut *mut libc::c_void, size: libc::c_int) -> libc::c_int;
        }
        let mut frame = core::ptr::null_mut();
        // SAFETY: there is room for one entry.
        unsafe { backtrace(&mut frame, 1) };
    }
}

/// Has all threads allocate from one part of the heap. With several, the part that a new thread gets depends on when the system ends
/// threads, and so would addresses, though a seed decides the order.
fn share_one_arena() {
    // SAFETY: no precondition; an allocator that does not know the option ignores it.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Returns the value of an environment variable; null without it.
fn variable(name: &str) -> *const libc::c_char {
    let mut text = [0u8; 64];
    text[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the name ends in zero; the value is read before the program can change the environment.
    unsafe { libc::getenv(text.as_ptr().cast()) }
}

/// Takes the schedule that the environment names into use, if it does.
fn open_schedule() {
    let path = variable(mayhap_wire::schedule::ENVIRONMENT);
    if !path.is_null() {
        replay::start(path);
    }
    let path = variable(mayhap_wire::judgement::ENVIRONMENT);
    if !path.is_null() {
        judge::start(path);
    }
}

/// Maps the ring that the environment names, if it can.
fn open_ring(path: *const libc::c_char) -> bool {
    // SAFETY: the path ends in zero.
    unsafe {
        let file = sys::call(libc::SYS_open, [path as usize, (libc::O_RDWR | libc::O_CLOEXEC) as usize, 0, 0, 0, 0]);
        if file < 0 {
            return false;
        }
        let size = sys::call(libc::SYS_lseek, [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0]);
        let claimed = size >= mayhap_wire::ring::DATA_OFFSET as isize && map(file as usize, size as usize);
        sys::call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        claimed
    }
}

fn map(file: usize, bytes: usize) -> bool {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a fresh mapping of the file; kept for good if it is a ring that no process has claimed.
    unsafe {
        let address = sys::call(libc::SYS_mmap, [0, bytes, protection, libc::MAP_SHARED as usize, file, 0]);
        if address < 0 {
            return false;
        }
        let claimed = ring::claim(address as *mut u8, bytes);
        if !claimed {
            sys::call(libc::SYS_munmap, [address as usize, bytes, 0, 0, 0, 0]);
        }
        claimed
    }
}
