//! Records which files are loaded where, so that program counters and addresses can be named after the run.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use libc::{c_char, c_int, c_void, dl_phdr_info, size_t};
use mayhap_wire::ring::{MAX_FOLLOWING, Tag};

use crate::hook::Hook;
use crate::ring;
use crate::sched::Token;

/// Words of a module record before the path.
const FIXED: usize = 3;

/// How many modules the loader had ever loaded when they were last recorded.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// A program linked statically that loads libraries has a second C library in them: nothing to record.
#[cfg(not(feature = "archive"))]
mod opening {
    use core::sync::atomic::Ordering;

    use libc::{c_char, c_int, c_void};
    use mayhap_wire::ring::Tag;

    use crate::channels::services;
    use crate::channels::settings::{Setting, sets, settles};
    use crate::hook::{self, Hook};
    use crate::real::real;
    use crate::tls::{self, exports};
    use crate::{inline_hooks, judge, replay, values};

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
        let only_asks = flags & libc::RTLD_NOLOAD != 0;
        // Constructors of the library run in there, hooks and all.
        // SAFETY: the caller's own arguments.
        let module =
            settles(Setting::Libraries, (!only_asks, only_asks), pc, || unsafe { libc_real::dlopen(path, flags) });
        if let Some(mut hook) = Hook::enter() {
            super::record_all(&mut hook);
            services::loaded(&hook, pc, module);
            drop(hook);
        }
        module
    }

    unsafe extern "C-unwind" fn close(module: *mut c_void) -> c_int {
        let pc = tls::caller();
        sets(Setting::Libraries, pc);
        values::forget();
        // SAFETY: the caller's own argument.
        let result = unsafe {
            match Hook::enter() {
                Some(mut hook) => close_recorded(&mut hook, pc, module),
                None => libc_real::dlclose(module),
            }
        };
        // Its destructors may have accessed memory that is gone with it.
        values::forget();
        // Other code may come to lie where the module's inline hooks were.
        if hook::is_recording() {
            inline_hooks::locate();
        }
        result
    }

    /// Closes a library, and records which modules are gone with it. That is known only then: other parts of the program may need it.
    ///
    /// # Safety
    /// The module is the caller's own.
    unsafe fn close_recorded(hook: &mut Hook, pc: u64, module: *mut c_void) -> c_int {
        // What the loader does for itself is no step of the program.
        hook.thread().own.quiet.store(1, Ordering::Relaxed);
        let before = hook.exposed(super::Loaded::now);
        // A replay must hold back the call, not the record that follows it.
        for &(low, _) in before.all() {
            if replay::is_next(hook.thread(), Tag::Unmap as u8, pc, low) {
                replay::hold_back(hook.token(), hook.thread(), Tag::Unmap as u8, pc, low);
                hook.thread().replay.held_back.store(0, Ordering::Relaxed);
                break;
            }
        }
        // Its destructors run in there, hooks and all.
        // SAFETY: the caller's own argument.
        let result = hook.exposed(|| unsafe { libc_real::dlclose(module) });
        let after = hook.exposed(super::Loaded::now);
        hook.thread().own.quiet.store(0, Ordering::Relaxed);
        for &(low, end) in before.all().iter().filter(|range| !after.all().contains(range)) {
            hook.record(Tag::Unmap, pc, &[low, end - low]);
            judge::unloaded(low, end, pc);
        }
        result
    }
}

/// Where modules are loaded now: the latest [`MOST_LOADED`] of them.
struct Loaded {
    ranges: [(u64, u64); MOST_LOADED],
    count: usize,
}

/// How many modules are looked at when one is unloaded, from the latest on.
const MOST_LOADED: usize = 64;

impl Loaded {
    fn now() -> Loaded {
        let mut loaded = Loaded { ranges: [(0, 0); MOST_LOADED], count: 0 };
        // SAFETY: the callback fits, and its data outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut loaded).cast()) };
        loaded
    }

    fn all(&self) -> &[(u64, u64)] {
        &self.ranges[..self.count.min(MOST_LOADED)]
    }
}

unsafe extern "C" fn add(info: *mut dl_phdr_info, _size: size_t, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module whose program headers it has mapped, `now` what is to be filled.
    unsafe {
        let loaded = &mut *loaded.cast::<Loaded>();
        loaded.ranges[loaded.count % MOST_LOADED] = range(&*info);
        loaded.count += 1;
    }
    0
}

/// From where to where a module lies.
///
/// # Safety
/// The loader has mapped its program headers.
unsafe fn range(info: &dl_phdr_info) -> (u64, u64) {
    // SAFETY: as the caller vouches.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let base = info.dlpi_addr;
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let low = loaded.clone().map(|header| base + header.p_vaddr).min().unwrap_or(base);
    (low, loaded.map(|header| base + header.p_vaddr + header.p_memsz).max().unwrap_or(base))
}

/// A module as the loader knows it.
struct Found {
    /// How many modules were loaded and unloaded before the loader was asked.
    changes: u64,
    /// How many modules come before it.
    before: usize,
    base: u64,
    low: u64,
    end: u64,
    path: [u8; 8 * (MAX_FOLLOWING - FIXED)],
    length: usize,
}

/// Records all modules if any were loaded since the last time. The loader is asked outside the hook: a thread that has the loader's
/// lock may wait for the token.
pub(crate) fn record_all(hook: &mut Hook) {
    let mut loaded = 0u64;
    // SAFETY: the callback fits, and its data outlives the call.
    hook.exposed(|| unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut loaded).cast()) });
    if KNOWN.swap(loaded, Ordering::Relaxed) == loaded {
        return;
    }
    hook.exposed(crate::replay::locate_modules);
    let (mut before, mut changes) = (0, None);
    while let Some(found) = hook.exposed(|| find(before)) {
        // Where other modules came or went in the meantime, all are recorded anew.
        before = if changes.replace(found.changes).is_none_or(|known| known == found.changes) { before + 1 } else { 0 };
        record(hook.token(), &found);
    }
}

unsafe extern "C" fn count(info: *mut dl_phdr_info, _size: size_t, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module, `record_all` a counter.
    unsafe { *loaded.cast::<u64>() = (*info).dlpi_adds };
    1
}

/// The module that this many others come before, if there is one.
fn find(before: usize) -> Option<Found> {
    let path = [0; 8 * (MAX_FOLLOWING - FIXED)];
    let mut found = Found { changes: 0, before: before + 1, base: 0, low: 0, end: 0, path, length: 0 };
    // SAFETY: the callback fits, and its data outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    (found.before == 0).then_some(found)
}

unsafe extern "C" fn look(info: *mut dl_phdr_info, _size: size_t, found: *mut c_void) -> c_int {
    // SAFETY: `find` passes what is to be filled.
    let found = unsafe { &mut *found.cast::<Found>() };
    found.before -= 1;
    if found.before > 0 {
        return 0;
    }
    // SAFETY: the loader passes a module whose program headers it has mapped.
    let (info, (low, end), name) = unsafe { (&*info, range(&*info), CStr::from_ptr((*info).dlpi_name).to_bytes()) };
    found.changes = info.dlpi_adds + info.dlpi_subs;
    found.base = info.dlpi_addr;
    (found.low, found.end) = (low, end);
    // The program itself has no name here; the reader knows it from `/proc`.
    if name.is_empty() {
        found.length = program(&mut found.path).len();
    } else {
        found.length = name.len().min(found.path.len());
        found.path[..found.length].copy_from_slice(&name[..found.length]);
    }
    1
}

fn record(token: Token<'_>, found: &Found) {
    let path = &found.path[..found.length];
    crate::openmp::loaded(path, found.low, found.end);
    crate::opaque_calls::loaded(path, found.low, found.end);
    record_range(token, path, found.base, found.low..found.end);
}

/// Records that a file lies in this part of the memory.
pub(crate) fn record_range(token: Token<'_>, path: &[u8], base: u64, range: core::ops::Range<u64>) {
    let path = &path[..path.len().min(8 * (MAX_FOLLOWING - FIXED))];
    let mut words = [0u64; MAX_FOLLOWING];
    (words[0], words[1], words[2]) = (base, range.start, range.end);
    for (i, bytes) in path.chunks(8).enumerate() {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        words[FIXED + i] = u64::from_le_bytes(word);
    }
    ring::record(token, Tag::Module, path.len() as u32, &words[..FIXED + path.len().div_ceil(8)]);
}

/// Returns the path of the running program.
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
    let name = unsafe {
        match libc::getauxval(libc::AT_EXECFN) as *const c_char {
            name if name.is_null() => &[],
            name => CStr::from_ptr(name).to_bytes(),
        }
    };
    let length = name.len().min(buffer.len());
    buffer[..length].copy_from_slice(&name[..length]);
    &buffer[..length]
}
