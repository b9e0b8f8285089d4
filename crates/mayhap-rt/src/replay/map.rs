//! The mapped schedule: its tables, and the addresses in this run of the things that they name.

use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_int, c_void, dl_phdr_info, size_t};
use mayhap_wire::schedule::{
    AllocationSite, Block, Head, Lane as ThreadSlot, MAGIC, Module, NO_MODULE, Step, Target, class,
};

use crate::file_words::are_alike;
use crate::sys;

static HEAD: AtomicPtr<Head> = AtomicPtr::new(core::ptr::null_mut());

/// The schedule in use, if there is one.
#[inline]
pub(super) fn head() -> Option<&'static Head> {
    // SAFETY: only `claim` stores here, the address of a checked mapping that stays.
    unsafe { HEAD.load(Ordering::Acquire).as_ref() }
}

/// Takes a mapped schedule into use; `false` if it is none.
///
/// # Safety
/// `address` is a mapping of `bytes` bytes, page-aligned, that stays.
pub(super) unsafe fn claim(address: *mut u8, bytes: usize) -> bool {
    if bytes < size_of::<Head>() {
        return false;
    }
    // SAFETY: the mapping is large enough and page-aligned.
    let head = unsafe { &*address.cast::<Head>() };
    let sizes = [
        size_of::<Step>(),
        size_of::<ThreadSlot>(),
        size_of::<Module>(),
        size_of::<AllocationSite>(),
        size_of::<Block>(),
        size_of::<Target>(),
        1,
        8,
        size_of::<Step>(),
    ];
    let fits = (0..sizes.len()).all(|i| {
        let end = head.tables[i].checked_add(u64::from(head.counts[i]) * sizes[i] as u64);
        head.tables[i].is_multiple_of(8) && end.is_some_and(|end| end <= bytes as u64)
    });
    if head.magic != MAGIC || head.bytes != bytes as u64 || !fits {
        return false;
    }
    HEAD.store(address.cast(), Ordering::Release);
    true
}

/// A table of the schedule.
///
/// # Safety
/// `T` is the type of the entries of table `index`.
unsafe fn table<T>(index: usize) -> &'static [T] {
    let Some(head) = head() else { return &[] };
    let base = core::ptr::from_ref(head).cast::<u8>();
    // SAFETY: `claim` has checked that the table lies within the mapping and is aligned.
    unsafe { core::slice::from_raw_parts(base.add(head.tables[index] as usize).cast(), head.counts[index] as usize) }
}

pub(super) fn steps() -> &'static [Step] {
    // SAFETY: the first table.
    unsafe { table(0) }
}

pub(super) fn thread_slots() -> &'static [ThreadSlot] {
    // SAFETY: the second table.
    unsafe { table(1) }
}

fn modules() -> &'static [Module] {
    // SAFETY: the third table.
    unsafe { table(2) }
}

fn allocation_sites() -> &'static [AllocationSite] {
    // SAFETY: the fourth table.
    unsafe { table(3) }
}

fn blocks() -> &'static [Block] {
    // SAFETY: the fifth table.
    unsafe { table(4) }
}

pub(super) fn targets() -> &'static [Target] {
    // SAFETY: the sixth table.
    unsafe { table(5) }
}

pub(super) fn inputs() -> &'static [u64] {
    // SAFETY: the eighth table.
    unsafe { table(7) }
}

/// What synchronisation of several threads is about, each as a step of which only the object counts.
fn shared() -> &'static [Step] {
    // SAFETY: the ninth table.
    unsafe { table(8) }
}

/// Whether several threads of the schedule synchronise by this object.
pub(super) fn is_shared(object: u64) -> bool {
    shared().iter().any(|step| is_object(step, object))
}

fn text() -> &'static [u8] {
    // SAFETY: the seventh table.
    unsafe { table(6) }
}

/// The slot of the thread that `parent` (a slot plus 1, 0 for none) creates as its `nth` child, plus 1; 0 if the schedule does
/// not know it.
pub(super) fn slot_of(parent: u32, nth: u32) -> u32 {
    let found = thread_slots().iter().position(|slot| slot.parent == parent && slot.nth == nth);
    found.map_or(0, |index| index as u32 + 1)
}

/// Finds where the schedule's modules are loaded now.
pub(crate) fn locate_modules() {
    if !modules().is_empty() {
        // SAFETY: the callback fits and needs no data.
        unsafe { libc::dl_iterate_phdr(Some(locate), core::ptr::null_mut()) };
    }
}

unsafe extern "C" fn locate(info: *mut dl_phdr_info, _size: size_t, _data: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module with a name.
    let (base, name) = unsafe { ((*info).dlpi_addr, core::ffi::CStr::from_ptr((*info).dlpi_name).to_bytes()) };
    let mut link = [0u8; 4096];
    let path = if name.is_empty() { crate::modules::program(&mut link) } else { name };
    place(path, base);
    0
}

/// A module of the schedule is loaded here.
pub(crate) fn place(path: &[u8], base: u64) {
    for module in modules() {
        let start = module.path as usize;
        if text().get(start..start + module.length as usize) == Some(path) {
            module.base.store(base, Ordering::Relaxed);
            module.loaded.store(1, Ordering::Release);
        }
    }
}

fn module_base(index: u32) -> Option<u64> {
    let module = modules().get(index as usize)?;
    (module.loaded.load(Ordering::Acquire) != 0).then(|| module.base.load(Ordering::Relaxed))
}

/// Whether the code at `pc` is the step's.
pub(super) fn is_site(step: &Step, pc: u64) -> bool {
    step.module == NO_MODULE || module_base(u32::from(step.module)).is_some_and(|base| base + step.site == pc)
}

/// Whether `object`, an address or a slot, is the step's.
pub(super) fn is_object(step: &Step, object: u64) -> bool {
    match step.class {
        class::GLOBAL => module_base(step.index).is_some_and(|base| are_alike(base + step.offset, object)),
        class::HEAP => match blocks().get(step.index as usize).map(|block| block.address.load(Ordering::Relaxed)) {
            Some(0) | None => false,
            Some(start) => start + step.offset == object,
        },
        class::STACK => match thread_slots().get(step.index as usize).map(|slot| slot.stack.load(Ordering::Relaxed)) {
            Some(0) | None => true,
            Some(start) => start.wrapping_sub(step.offset) == object,
        },
        class::LANE => u64::from(step.index) == object,
        _ => true,
    }
}

/// Where on the stack of its thread a step's object lies; 0 if that is not known.
pub(super) fn address(step: &Step) -> u64 {
    let slot = thread_slots().get(step.index as usize).filter(|_| step.class == class::STACK);
    slot.map_or(0, |slot| slot.stack.load(Ordering::Relaxed).saturating_sub(step.offset))
}

/// A slot has allocated a block: if steps are about it, they find it from now on.
pub(super) fn allocated(slot: &ThreadSlot, pc: u64, address: u64) {
    let sites = allocation_sites().iter().skip(slot.sites as usize).take(slot.site_count as usize);
    for site in sites {
        if module_base(site.module).is_none_or(|base| base + site.site != pc) {
            continue;
        }
        let nth = site.calls.load(Ordering::Relaxed) + 1;
        site.calls.store(nth, Ordering::Relaxed);
        let blocks = blocks().get(site.blocks as usize..(site.blocks + site.count) as usize).unwrap_or(&[]);
        if let Ok(found) = blocks.binary_search_by_key(&nth, |block| block.nth) {
            blocks[found].address.store(address, Ordering::Relaxed);
        }
    }
}

/// Where a schedule lies if nothing else does, far from all else: what the program maps lies where it would without one.
const ASIDE: usize = 0x1000_0000_0000;

/// Maps the schedule that a file holds.
pub(super) fn open(path: *const libc::c_char) -> bool {
    // SAFETY: the path ends in zero; a fresh mapping that stays if it is a schedule.
    unsafe {
        let file = sys::call(libc::SYS_open, [path as usize, (libc::O_RDWR | libc::O_CLOEXEC) as usize, 0, 0, 0, 0]);
        if file < 0 {
            return false;
        }
        let size = sys::call(libc::SYS_lseek, [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0]).max(0) as usize;
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let address = sys::call(libc::SYS_mmap, [ASIDE, size, protection, libc::MAP_SHARED as usize, file as usize, 0]);
        sys::call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        address > 0 && claim(address as *mut u8, size)
    }
}
