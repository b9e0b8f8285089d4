//! The tables of inline hooks (see [`mayhap_wire::fast_path`]), and what happens to a hook that a signal interrupts.
//!
//! Until a hook commits, nothing has happened that cannot happen again: an interrupted hook begins again when the signal handler
//! returns. Once it has committed, only each access's last address is left to be noted with its place, which [`mend`] does for it.
//!
//! Every module that contains inline hooks describes them in notes, which the loader maps with it. [`locate`] copies them into one
//! sorted table for each module. It runs before a module's own code does: each instrumented file has a constructor that calls the
//! runtime. A signal handler only searches the tables; it takes no lock, allocates nothing and reads no memory that could vanish
//! with its module.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use libc::{c_int, c_void, dl_phdr_info, size_t};
use mayhap_wire::fast_path::{InlineHook, NOTE_NAME, NOTE_TYPE, PLACE_BYTES, PLACE_LAST};

use crate::lock::Lock;
use crate::sys;

/// The registers with which a hook was called.
pub(crate) struct Registers {
    /// The first place, in hooks that are called.
    pub(crate) places: u64,
    /// The addresses of the accesses.
    pub(crate) addresses: [u64; 4],
}

/// An inline hook at its address.
#[repr(C)]
#[derive(Clone, Copy)]
struct Hook {
    begin: u64,
    /// The place of its first access.
    places: u64,
    commit: u16,
    end: u16,
    accesses: u32,
}

/// The inline hooks of a module that is, or was, loaded. Modules are never given back; one that is loaded again is used again.
struct Module {
    low: u64,
    end: u64,
    /// The hooks, sorted by address, right after this header.
    hooks: *const Hook,
    count: usize,
    /// A sum over all hooks, by which the module is known again.
    sum: u64,
    /// The last call of [`locate`] that found the module loaded.
    generation: AtomicU64,
    next: AtomicPtr<Module>,
}

static MODULES: AtomicPtr<Module> = AtomicPtr::new(core::ptr::null_mut());
/// The number of calls of [`locate`] that read the modules.
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// How many modules the loader had loaded and unloaded, as the last call of [`locate`] saw it.
static SEEN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static LOCK: Lock = Lock::new();

/// Brings the tables up to date with the modules that are loaded.
pub(crate) fn locate() {
    LOCK.with(|| {
        let mut counts = [0u64; 2];
        // SAFETY: the callback fits, and its data outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut counts).cast()) };
        if SEEN.each_ref().map(|seen| seen.load(Ordering::Relaxed)) == counts {
            return;
        }
        let generation = GENERATION.load(Ordering::Relaxed) + 1;
        // SAFETY: the callback fits.
        unsafe { libc::dl_iterate_phdr(Some(read), generation as *mut c_void) };
        // From here on modules that were not seen are not searched.
        GENERATION.store(generation, Ordering::Release);
        for (seen, count) in SEEN.iter().zip(counts) {
            seen.store(count, Ordering::Relaxed);
        }
    });
}

/// A forked child has one thread, which may have forked while another one held the lock.
pub(crate) fn forget() {
    LOCK.forget();
}

unsafe extern "C" fn count(info: *mut dl_phdr_info, _size: size_t, counts: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module, `locate` two counters.
    unsafe { *counts.cast::<[u64; 2]>() = [(*info).dlpi_adds, (*info).dlpi_subs] };
    1
}

/// Reads the notes of one module.
unsafe extern "C" fn read(info: *mut dl_phdr_info, _size: size_t, generation: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module whose program headers it has mapped.
    let (base, headers) = unsafe {
        let info = &*info;
        (info.dlpi_addr, core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize))
    };
    let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE && header.p_align <= 4);
    let notes = notes.map(|header| (base + header.p_vaddr, base + header.p_vaddr + header.p_memsz));
    // SAFETY: the loader has mapped the segments.
    let hooks = || notes.clone().flat_map(|(low, end)| unsafe { described(low, end) });
    let (count, sum) = hooks().fold((0, 0u64), |(count, sum), hook| (count + 1, sum.wrapping_add(mixed(&hook))));
    if count > 0 {
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let low = loaded.clone().map(|header| base + header.p_vaddr).min().unwrap_or(base);
        let end = loaded.map(|header| base + header.p_vaddr + header.p_memsz).max().unwrap_or(base);
        let is_known = |module: &&Module| (module.low, module.end, module.count, module.sum) == (low, end, count, sum);
        let module = modules().find(is_known).or_else(|| add(low, end, count, sum, hooks()));
        match module {
            Some(module) => module.generation.store(generation as u64, Ordering::Release),
            // Without memory for the table, its hooks must not take the fast path.
            None => crate::fast_path::lock(),
        }
    }
    0
}

fn mixed(hook: &Hook) -> u64 {
    let small = u64::from(hook.commit) | u64::from(hook.end) << 16 | u64::from(hook.accesses) << 32;
    let factor = 0x9e37_79b9_7f4a_7c15u64;
    (hook.begin.wrapping_mul(factor) ^ hook.places).wrapping_mul(factor) ^ small
}

/// The inline hooks that the notes in this memory describe.
///
/// # Safety
/// The memory is mapped and holds notes.
unsafe fn described(mut at: u64, end: u64) -> impl Iterator<Item = Hook> + Clone {
    const HEADER: u64 = 12;
    const NAME: u64 = NOTE_NAME.len() as u64 + 1;
    core::iter::from_fn(move || {
        while at + HEADER <= end {
            // SAFETY: as the caller vouches, a note begins there.
            let [name, content, kind] = unsafe { (at as *const [u32; 3]).read_unaligned() };
            let begin = at + HEADER + u64::from(name).next_multiple_of(4);
            let note = at;
            at = begin + u64::from(content).next_multiple_of(4);
            let is_ours = (u64::from(name), kind, content as usize) == (NAME, NOTE_TYPE, size_of::<InlineHook>());
            if !is_ours || at > end {
                continue;
            }
            // SAFETY: the name and the content lie before the end of the notes.
            let (name, hook) = unsafe { (((note + HEADER) as *const [u8; NAME as usize]).read(), at_address(begin)) };
            if name.starts_with(NOTE_NAME.as_bytes()) {
                return Some(hook);
            }
        }
        None
    })
}

/// The hook that the entry at this address describes.
///
/// # Safety
/// There is an entry.
unsafe fn at_address(entry: u64) -> Hook {
    // SAFETY: as the caller vouches.
    let InlineHook { begin, commit, end, places, accesses } = unsafe { (entry as *const InlineHook).read_unaligned() };
    let target = |field: usize, distance: i32| (entry + field as u64).wrapping_add_signed(distance.into());
    let (begin, places) =
        (target(offset_of!(InlineHook, begin), begin), target(offset_of!(InlineHook, places), places));
    Hook { begin, places, commit, end, accesses }
}

/// Adds the table of a module that was not loaded before; `None` without memory.
fn add(low: u64, end: u64, count: usize, sum: u64, hooks: impl Iterator<Item = Hook>) -> Option<&'static Module> {
    let memory = sys::map(size_of::<Module>() + count * size_of::<Hook>()).cast::<Module>();
    if memory.is_null() {
        return None;
    }
    // SAFETY: the mapping has room for the header and so many hooks after it, whose alignment is the header's.
    let module = unsafe {
        let table = memory.add(1).cast::<Hook>();
        for (nth, hook) in hooks.take(count).enumerate() {
            table.add(nth).write(hook);
        }
        // Most linkers put the notes in the order of the code.
        core::slice::from_raw_parts_mut(table, count).sort_unstable_by_key(|hook| hook.begin);
        let next = AtomicPtr::new(MODULES.load(Ordering::Relaxed));
        memory.write(Module { low, end, hooks: table, count, sum, generation: AtomicU64::new(0), next });
        &*memory
    };
    MODULES.store(memory, Ordering::Release);
    Some(module)
}

fn modules() -> impl Iterator<Item = &'static Module> {
    // SAFETY: modules are never given back.
    let mut at = unsafe { MODULES.load(Ordering::Acquire).as_ref() };
    core::iter::from_fn(move || {
        let module = at?;
        // SAFETY: the same.
        at = unsafe { module.next.load(Ordering::Relaxed).as_ref() };
        Some(module)
    })
}

/// The inline hook that `pc` is in.
fn enclosing(pc: u64) -> Option<Hook> {
    let generation = GENERATION.load(Ordering::Acquire);
    // While `locate` runs, modules that it has already seen are ahead.
    let is_loaded = |module: &&Module| module.generation.load(Ordering::Acquire) >= generation;
    let module = modules().filter(is_loaded).find(|module| (module.low..module.end).contains(&pc))?;
    // SAFETY: the table of a module is never given back, and not changed once it can be found.
    let hooks = unsafe { core::slice::from_raw_parts(module.hooks, module.count) };
    find(hooks, pc)
}

fn find(hooks: &[Hook], pc: u64) -> Option<Hook> {
    let after = hooks.partition_point(|hook| hook.begin <= pc);
    let hook = *hooks.get(after.checked_sub(1)?)?;
    (pc < hook.begin + u64::from(hook.end)).then_some(hook)
}

/// Where a thread that a signal interrupted at `pc` goes on when the handler returns.
///
/// # Safety
/// The thread was interrupted there with those registers.
pub(crate) unsafe fn mend(pc: u64, registers: &Registers) -> u64 {
    match enclosing(pc) {
        // SAFETY: the program's own hook has so many places.
        Some(hook) => unsafe { completed(&hook, pc, registers) },
        None => pc,
    }
}

/// Where an interrupted hook goes on: at its beginning, or at its end when what was left to be done has been done here.
///
/// # Safety
/// The hook's places exist.
unsafe fn completed(hook: &Hook, pc: u64, registers: &Registers) -> u64 {
    if pc <= hook.begin + u64::from(hook.commit) {
        return hook.begin;
    }
    for (nth, address) in registers.addresses.iter().take(hook.accesses as usize).enumerate() {
        let last = hook.places + (nth * PLACE_BYTES + PLACE_LAST) as u64;
        // SAFETY: as the caller vouches.
        unsafe { (last as *mut u64).write_unaligned(*address) };
    }
    hook.begin + u64::from(hook.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE_BYTES: usize = 12 + 8 + 16;

    /// A note as the assembler writes it, for a hook that begins `begin` bytes after the entry.
    fn note(begin: i32, commit: u16, end: u16, places: i32, accesses: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [8u32, 16, NOTE_TYPE] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(NOTE_NAME.as_bytes());
        bytes.push(0);
        bytes.extend(begin.to_le_bytes());
        bytes.extend(commit.to_le_bytes());
        bytes.extend(end.to_le_bytes());
        bytes.extend(places.to_le_bytes());
        bytes.extend(accesses.to_le_bytes());
        assert_eq!(bytes.len(), NOTE_BYTES);
        bytes
    }

    fn hooks(notes: &[u8]) -> Vec<Hook> {
        let low = notes.as_ptr() as u64;
        // SAFETY: the vector holds notes.
        unsafe { described(low, low + notes.len() as u64) }.collect()
    }

    #[test]
    fn notes_of_others_are_skipped_and_ours_are_found() {
        let mut notes = Vec::new();
        // A build id: "GNU" and 20 bytes.
        for word in [4u32, 20, 3] {
            notes.extend(word.to_le_bytes());
        }
        notes.extend(*b"GNU\0");
        notes.extend([0xab; 20]);
        let first = notes.len();
        notes.extend(note(1000, 40, 60, 2000, 2));
        notes.extend(note(-500, 10, 17, 64, 1));
        let found = hooks(&notes);
        let entry = notes.as_ptr() as u64 + first as u64 + 20;
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].begin, found[0].places, found[0].accesses), (entry + 1000, entry + 8 + 2000, 2));
        assert_eq!((found[1].begin, found[1].end), (entry + NOTE_BYTES as u64 - 500, 17));
    }

    #[test]
    fn notes_that_are_cut_off_describe_nothing() {
        let notes = note(1000, 40, 60, 2000, 2);
        for length in 0..notes.len() {
            assert!(hooks(&notes[..length]).is_empty(), "{length} bytes");
        }
        let mut other = notes.clone();
        other[4] = 12;
        assert!(hooks(&other).is_empty(), "the content has another size");
        let mut huge = notes;
        huge[0..8].copy_from_slice(&[0xff; 8]);
        assert!(hooks(&huge).is_empty());
    }

    fn hook(begin: u64, places: u64, accesses: u32) -> Hook {
        Hook { begin, places, commit: 40, end: 60, accesses }
    }

    #[test]
    fn the_hook_around_an_address_is_found() {
        let table: Vec<Hook> = [100, 160, 400].map(|begin| hook(begin, 0, 1)).into();
        let begin = |pc| find(&table, pc).map(|hook| hook.begin);
        for (pc, expected) in [
            (99, None),
            (100, Some(100)),
            (159, Some(100)),
            (160, Some(160)),
            (219, Some(160)),
            (220, None),
            (459, Some(400)),
            (460, None),
        ] {
            assert_eq!(begin(pc), expected, "{pc}");
        }
        assert!(find(&[], 100).is_none());
    }

    #[test]
    fn an_interrupted_hook_begins_again_or_is_completed() {
        let places = [const { AtomicU64::new(7) }; 3 * PLACE_BYTES / 8];
        let hook = hook(1000, places.as_ptr() as u64, 2);
        let registers = Registers { places: 0, addresses: [11, 12, 13, 14] };
        // SAFETY: the hook's places are those above.
        let goes_on = |pc| unsafe { completed(&hook, pc, &registers) };
        for pc in [1000, 1001, 1040] {
            assert_eq!(goes_on(pc), 1000);
        }
        let last = || [1, 4, 7].map(|at: usize| places[at].load(Ordering::Relaxed));
        assert_eq!(last(), [7, 7, 7], "nothing has happened");
        for pc in [1041, 1059] {
            assert_eq!(goes_on(pc), 1060);
        }
        assert_eq!(last(), [11, 12, 7]);
    }

    #[test]
    fn a_thread_that_jumped_to_nowhere_is_left_alone() {
        let registers = Registers { places: 0, addresses: [0; 4] };
        locate();
        // SAFETY: nothing is there.
        assert_eq!(unsafe { (mend(0, &registers), mend(8, &registers)) }, (0, 8));
    }
}
