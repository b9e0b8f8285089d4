//! Records which files are loaded where, so that program counters and addresses can be named after the run.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use libc::{c_char, c_int, c_void, dl_phdr_info, size_t};
use mayhap_wire::ring::{MAX_FOLLOWING, Tag};

use crate::ring;
use crate::sched::{Grant, Token};

/// Words of a module record before the path.
const FIXED: usize = 3;

/// How many modules the loader had ever loaded when they were last recorded.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// A program linked statically that loads libraries has a second C library in them: nothing to record.
#[cfg(not(feature = "archive"))]
mod opening {
    use libc::{c_char, c_int, c_void};

    use crate::channels::services;
    use crate::hook::{self, Hook};
    use crate::inline_hooks;
    use crate::real::real;
    use crate::tls::{self, exports};

    mod libc_real {
        use super::*;
        real! {
            fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
            fn dlclose(module: *mut c_void) -> c_int;
        }
    }

    exports! {
        dlopen => open;
        dlclose => close;
    }

    unsafe extern "C-unwind" fn open(path: *const c_char, flags: c_int) -> *mut c_void {
        let pc = tls::caller();
        // Constructors of the library run in there, hooks and all.
        // SAFETY: the caller's own arguments.
        let module = unsafe { libc_real::dlopen(path, flags) };
        if let Some(hook) = Hook::enter() {
            super::record_all(hook.token());
            services::loaded(&hook, pc, module);
            drop(hook);
        }
        module
    }

    unsafe extern "C-unwind" fn close(module: *mut c_void) -> c_int {
        // SAFETY: the caller's own argument.
        let result = unsafe { libc_real::dlclose(module) };
        // Other code may come to lie where the module's inline hooks were.
        if hook::is_recording() {
            inline_hooks::locate();
        }
        result
    }
}

/// Records all modules if any were loaded since the last time.
pub(crate) fn record_all(_: Token<'_>) {
    let mut loaded = 0u64;
    // SAFETY: the callback fits, and its data outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(count), (&raw mut loaded).cast());
        if KNOWN.swap(loaded, Ordering::Relaxed) != loaded {
            crate::replay::locate_modules();
            libc::dl_iterate_phdr(Some(record), core::ptr::null_mut());
        }
    }
}

unsafe extern "C" fn count(info: *mut dl_phdr_info, _size: size_t, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module, `record_all` a counter.
    unsafe { *loaded.cast::<u64>() = (*info).dlpi_adds };
    1
}

unsafe extern "C" fn record(info: *mut dl_phdr_info, _size: size_t, _data: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module whose program headers it has mapped.
    let (base, headers, name) = unsafe {
        let info = &*info;
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        (info.dlpi_addr, headers, CStr::from_ptr(info.dlpi_name).to_bytes())
    };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let low = loaded.clone().map(|header| base + header.p_vaddr).min().unwrap_or(base);
    let end = loaded.map(|header| base + header.p_vaddr + header.p_memsz).max().unwrap_or(base);
    // The program itself has no name here; the reader knows it from `/proc`.
    let mut link = [0u8; 8 * (MAX_FOLLOWING - FIXED)];
    let path = if name.is_empty() { program(&mut link) } else { name };
    let path = &path[..path.len().min(8 * (MAX_FOLLOWING - FIXED))];
    crate::openmp::loaded(path, low, end);
    let mut words = [0u64; MAX_FOLLOWING];
    (words[0], words[1], words[2]) = (base, low, end);
    for (i, bytes) in path.chunks(8).enumerate() {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        words[FIXED + i] = u64::from_le_bytes(word);
    }
    // SAFETY: `record_all`, whose callback this is, has a token.
    let grant = unsafe { Grant::assume() };
    ring::record(grant.token(), Tag::Module, path.len() as u32, &words[..FIXED + path.len().div_ceil(8)]);
    0
}

/// The path of the running program.
pub(crate) fn program(buffer: &mut [u8]) -> &[u8] {
    // SAFETY: the kernel writes at most the buffer's length.
    let length = unsafe {
        let path = c"/proc/self/exe";
        crate::sys::call(
            libc::SYS_readlink,
            [path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0],
        )
    };
    if length > 0 {
        return &buffer[..length as usize];
    }
    // Without /proc, the name by which it was called.
    // SAFETY: the kernel's own text, or null.
    unsafe {
        match libc::getauxval(libc::AT_EXECFN) as *const c_char {
            name if name.is_null() => &[],
            name => CStr::from_ptr(name).to_bytes(),
        }
    }
}
