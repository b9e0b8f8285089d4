//! OpenMP. Its libraries synchronise in code of their own, without hooks. gcc's ([`library`], [`tasks`], [`locks`]) is seen
//! through the functions that compiled code calls; LLVM's ([`tool`]) reports what it does through the interface for tools.
//!
//! What is recorded orders at least what the library orders, sometimes more, so that no reordering is taken to be possible that is
//! not:
//!
//! | construct | record |
//! |---|---|
//! | `parallel` | `OnceDone` before, `OnceSeen` by each thread that runs it; its end is a barrier that the thread that began it leaves |
//! | barrier, explicit or at the end of a construct | a barrier of unknown size |
//! | `critical`, `atomic` (where it is a lock), `omp_set_lock` | a lock |
//! | a share of work: chunk of a loop, section, `single` | a relaxed update of a word of the team: who comes first gets it |
//! | `ordered`, `doacross` | a chain: each end comes after the one before, each beginning after the last end |
//! | task | a thread of its own, since any thread of the team may run it; its end joins a chain, which a thread that waits for tasks comes after |
//! | `depend` | two chains for each address, of tasks that change and that read it |
//! | `cancel` | a chain, which a thread that leaves early comes after |
//!
//! A team's objects are places within its [`Team`], on the stack of the thread that began it, where nothing else is.

mod library;
mod locks;
mod stacks;
mod tasks;
mod tool;

use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(feature = "archive"))]
use libc::c_void;
use mayhap_wire::ring::{AtomicKind, Tag, atomic_word, order, state};

use crate::hook::Hook;
use crate::{blocking, ring, tls};

/// Where the library of OpenMP lies.
static LOW: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);

/// A module is loaded: perhaps the library.
pub(crate) fn loaded(path: &[u8], low: u64, end: u64) {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    if [&b"libgomp.so"[..], b"libomp.so", b"libiomp5.so"].iter().any(|library| name.starts_with(library)) {
        LOW.store(low, Ordering::Relaxed);
        END.store(end, Ordering::Relaxed);
    }
}

/// Whether the library itself calls: what it does to its own memory is not recorded.
#[inline]
pub(crate) fn is_library(pc: u64) -> bool {
    pc < END.load(Ordering::Relaxed) && pc >= LOW.load(Ordering::Relaxed)
}

/// What `enter` says, unless the library itself calls: then the thread only gives the token up, since it may have to wait.
pub(crate) fn own_call<R>(pc: u64, enter: impl FnOnce() -> Option<R>) -> Option<R> {
    if is_library(pc) {
        blocking::leave();
        return None;
    }
    enter()
}

/// The library starts a thread for no team that the runtime knows: how it synchronises is not seen.
pub(crate) fn starts_thread(pc: u64) {
    if is_library(pc) && !tool::reports() {
        ring::set_state(state::UNSEEN_ORDER);
    }
}

/// What stands for the synchronisation of a team, by its address alone.
#[repr(C)]
pub(crate) struct Team {
    /// Its beginning.
    start: u64,
    /// Its barriers, the one at its end among them.
    barrier: u64,
    /// What one thread hands to the others at the end of a `single`.
    copied: u64,
    ordered: u64,
    cancelled: u64,
    /// Who takes the next share of work.
    work: u64,
    /// Where the region is in the program.
    pc: u64,
    /// The team that the thread that began this one is in.
    outer: *const Team,
    /// `ordered` was met.
    orders: AtomicU64,
    /// How many of its threads have begun, as far as that is known.
    begun: AtomicU64,
    /// The thread that took the last share of work.
    taker: AtomicU64,
}

impl Team {
    const fn new(pc: u64, outer: *const Team) -> Team {
        let (orders, begun, taker) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Team { start: 0, barrier: 0, copied: 0, ordered: 0, cancelled: 0, work: 0, pc, outer, orders, begun, taker }
    }

    /// Records that the team begins: the places may have been those of another one.
    fn begins(&self, hook: &Hook) {
        for object in [&self.start, &self.barrier, &self.copied, &self.ordered, &self.cancelled] {
            hook.record(Tag::Renew, self.pc, &[address(object), 1]);
        }
        hook.record(Tag::OnceDone, self.pc, &[address(&self.start)]);
    }
}

/// The team that the calling thread is in.
fn team() -> Option<&'static Team> {
    let team = tls::active()?.own.team.load(Ordering::Relaxed).cast::<Team>();
    // SAFETY: a team lives until all its threads have left it; who leaves sets the pointer back.
    unsafe { team.as_ref() }
}

/// Where the program began the region whose threads the library is starting, if it is.
pub(crate) fn starts_team() -> Option<u64> {
    // SAFETY: as in `team`.
    let starting = unsafe { tls::active()?.own.starts.load(Ordering::Relaxed).cast::<Team>().as_ref() }?;
    Some(starting.pc)
}

fn address<T>(object: &T) -> u64 {
    core::ptr::from_ref(object) as u64
}

/// Records something about an object.
fn tell(tag: Tag, pc: u64, object: u64) {
    if let Some(hook) = Hook::enter() {
        hook.record(tag, pc, &[object]);
    }
}

/// The thread's past comes after the chain's, and what comes after the chain from now on comes after the thread's past.
fn join_chain(hook: &Hook, pc: u64, chain: u64) {
    hook.record(Tag::OnceSeen, pc, &[chain]);
    hook.record(Tag::OnceDone, pc, &[chain]);
}

/// Who comes first decides what this thread gets: a word read and written.
fn take_turn(hook: &Hook, pc: u64, word: u64) {
    hook.record(Tag::Atomic, pc, &[word, atomic_word(AtomicKind::Update, order::RELAXED, 8)]);
}

/// A function of the OpenMP library, found when first called.
#[cfg(not(feature = "archive"))]
#[cold]
fn find(name: &core::ffi::CStr) -> *mut c_void {
    // SAFETY: names end in zero. A library that a plug-in brought is not in reach of the first search.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        if !next.is_null() {
            return next;
        }
        for library in [c"libgomp.so.1", c"libomp.so.5", c"libomp.so", c"libiomp5.so"] {
            let library = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            let found = if library.is_null() { library } else { libc::dlsym(library, name.as_ptr()) };
            if !found.is_null() {
                return found;
            }
        }
        // Nobody but a program that has the library calls here.
        libc::abort()
    }
}

/// Where a function of the OpenMP library is.
#[cfg(not(feature = "archive"))]
macro_rules! library_address {
    ($name:ident) => {{
        use core::sync::atomic::{AtomicPtr, Ordering};
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("an identifier holds no zero"),
            };
        static FOUND: AtomicPtr<libc::c_void> = AtomicPtr::new(core::ptr::null_mut());
        let mut found = FOUND.load(Ordering::Relaxed);
        if found.is_null() {
            found = $crate::openmp::find(NAME);
            FOUND.store(found, Ordering::Relaxed);
        }
        found
    }};
}

/// Where a function of the OpenMP library is. Only programs that use it have it; the linker is asked to include it.
#[cfg(feature = "archive")]
macro_rules! library_address {
    ($name:ident) => {{
        let found: *mut libc::c_void;
        core::arch::asm!(
            concat!(".weak __real_", stringify!($name)),
            concat!("mov {0}, qword ptr [rip + __real_", stringify!($name), "@GOTPCREL]"),
            out(reg) found,
            options(nostack, pure, readonly, preserves_flags),
        );
        found
    }};
}
use library_address;

/// Declares functions of the OpenMP library.
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
        $(
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the library's own")]
            #[inline]
            pub(super) unsafe fn $name($($arg: $type),*) $(-> $ret)? {
                // SAFETY: the library's function of this name has this type.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($($type),*) $(-> $ret)? =
                        core::mem::transmute($crate::openmp::library_address!($name));
                    function($($arg),*)
                }
            }
        )*
    };
}
use functions;
