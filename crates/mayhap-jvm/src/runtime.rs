//! The recording runtime, loaded as a library beside the agent. See `mayhap-rt/src/foreign.rs` for what each function does.

use core::ffi::{CStr, c_int, c_uint, c_void};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A thread as the runtime knows it.
pub(crate) type ThreadRecord = *const c_void;
type Object = *mut c_void;

/// The table of the runtime. The order is that of the runtime's own declaration.
#[repr(C)]
pub(crate) struct Runtime {
    pub(crate) is_recording: extern "C" fn() -> bool,
    pub(crate) access: extern "C" fn(pc: u64, address: u64, writes: bool, branched: bool),
    pub(crate) atomic_begin: extern "C" fn(pc: u64, address: u64),
    pub(crate) atomic_end: extern "C" fn(pc: u64, address: u64, kind: u32, form: u32, found: u64, written: u64),
    pub(crate) record: extern "C" fn(pc: u64, tag: u32, first: u64, second: u64),
    pub(crate) module: extern "C" fn(path: *const u8, length: usize, base: u64, end: u64),
    pub(crate) outside: extern "C" fn(),
    pub(crate) lock: extern "C" fn(pc: u64, how: u32, lock: Object) -> c_int,
    pub(crate) wait: extern "C" fn(pc: u64, condition: Object, mutex: Object, time: *const libc::timespec) -> c_int,
    pub(crate) notify: extern "C" fn(pc: u64, condition: Object, all: bool),
    pub(crate) semaphore: extern "C" fn(pc: u64, how: u32, semaphore: Object, value: c_uint) -> c_int,
    pub(crate) fork: extern "C" fn(pc: u64) -> ThreadRecord,
    pub(crate) forked: extern "C" fn(child: ThreadRecord),
    pub(crate) begin: extern "C" fn(thread: ThreadRecord),
    pub(crate) end: extern "C" fn(),
    pub(crate) join: extern "C" fn(pc: u64, child: ThreadRecord),
    pub(crate) joined: extern "C" fn(pc: u64, child: ThreadRecord) -> bool,
    pub(crate) pause: extern "C" fn(on: bool),
    pub(crate) branched: extern "C" fn(pc: u64),
    pub(crate) unseen: extern "C" fn(),
    pub(crate) call: extern "C" fn(pc: u64, stack: u64),
    pub(crate) returned: extern "C" fn(pc: u64),
    pub(crate) unwound: extern "C" fn(stack: u64),
    pub(crate) words: extern "C" fn(out: &mut [u64; 6]),
    pub(crate) opened: extern "C" fn(out: &mut [u64; 2]) -> bool,
    pub(crate) site: extern "C" fn(pc: u64) -> u32,
}

/// How locks are used, by the numbers of the runtime.
pub(crate) mod how {
    pub(crate) const LOCK: u32 = 0;
    pub(crate) const TRY_LOCK: u32 = 1;
    pub(crate) const UNLOCK: u32 = 2;
    pub(crate) const READ_LOCK: u32 = 3;
    pub(crate) const WRITE_LOCK: u32 = 4;
    pub(crate) const TRY_READ: u32 = 5;
    pub(crate) const TRY_WRITE: u32 = 6;
    pub(crate) const RW_UNLOCK: u32 = 7;
}

static RUNTIME: OnceLock<&'static Runtime> = OnceLock::new();

/// The runtime, if it was loaded and records.
#[inline]
pub(crate) fn get() -> Option<&'static Runtime> {
    RUNTIME.get().copied()
}

/// The folder that this library lies in.
pub(crate) fn folder() -> Option<PathBuf> {
    // SAFETY: the structure is plain data that the call fills.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: an address of this library.
    if unsafe { libc::dladdr(folder as *const c_void, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own text.
    let path = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes())).parent()?.to_path_buf())
}

/// Loads the runtime; says whether there is one that records.
pub(crate) fn load() -> bool {
    let Some(path) = folder().map(|folder| folder.join("libmayhap_rt.so")) else { return false };
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // What judges accesses to memory of machine code would take the machine's own faults for the program's.
    if let Ok(judge) = CString::new(mayhap_wire::judgement::ENVIRONMENT) {
        // SAFETY: the name ends in zero; the machine has one thread that looks at the environment.
        unsafe { libc::unsetenv(judge.as_ptr()) };
    }
    // SAFETY: the path ends in zero; the runtime's functions have the types of the table.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            return false;
        }
        let table = libc::dlsym(library, c"mayhap_foreign".as_ptr());
        if table.is_null() {
            return false;
        }
        let table: extern "C" fn() -> &'static Runtime = core::mem::transmute(table);
        let runtime = table();
        let records = (runtime.is_recording)();
        if records {
            let _ = RUNTIME.set(runtime);
        }
        records
    }
}
