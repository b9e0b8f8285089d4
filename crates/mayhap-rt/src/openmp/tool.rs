//! LLVM's library: what it reports to tools (OMPT) about regions, barriers and tasks, and the functions that compiled code calls where that
//! is not enough.
//!
//! It calls the tool in the thread that does what it reports, just before or after. Teams are in a table, since the
//! library reports their ends when their threads may still be on their way out.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use libc::{c_char, c_int, c_uint, c_void};
use mayhap_wire::ring::{Tag, state};

use super::{Team, address, functions, join_chain, library, take_turn, tasks, team, tell};
use crate::hook::{self, Hook};
use crate::tls::{self, exports};
use crate::{blocking, ring};

/// A word that the library keeps for the tool.
type Word = *mut u64;

/// The library reports.
static REPORTS: AtomicBool = AtomicBool::new(false);

pub(super) fn reports() -> bool {
    REPORTS.load(Ordering::Relaxed)
}

/// How many teams there may be at a time.
const TEAMS: usize = 1024;

static TAKEN: [AtomicU32; TEAMS] = [const { AtomicU32::new(0) }; TEAMS];
#[unsafe(no_mangle)]
static mut omp_teams: [Team; TEAMS] = [const { Team::new(0, core::ptr::null()) }; TEAMS];

fn new_team(pc: u64, outer: *const Team) -> *mut Team {
    let free = |taken: &AtomicU32| taken.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    match TAKEN.iter().position(free) {
        Some(index) => {
            // SAFETY: the entry is this thread's until it is given back.
            unsafe {
                let team = (&raw mut omp_teams).cast::<Team>().add(index);
                team.write(Team::new(pc, outer));
                team
            }
        }
        None => {
            ring::set_state(state::UNSEEN_ORDER);
            core::ptr::null_mut()
        }
    }
}

fn give_back(team: *const Team) {
    // SAFETY: an entry of the table.
    let index = unsafe { team.offset_from((&raw const omp_teams).cast()) };
    if let Some(taken) = usize::try_from(index).ok().and_then(|index| TAKEN.get(index)) {
        taken.store(0, Ordering::Release);
    }
}

#[repr(C)]
struct Start {
    initialize: extern "C" fn(Lookup, c_int, Word) -> c_int,
    finalize: extern "C" fn(Word),
    data: u64,
}

type Lookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type SetCallback = unsafe extern "C" fn(c_int, *const c_void) -> c_int;

/// The library asks for a tool when it starts.
#[unsafe(no_mangle)]
extern "C" fn ompt_start_tool(_version: c_uint, _runtime: *const c_char) -> *const c_void {
    static START: Start = Start { initialize, finalize, data: 0 };
    if hook::is_recording() { (&raw const START).cast() } else { core::ptr::null() }
}

extern "C" fn finalize(_data: Word) {}

extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: Word) -> c_int {
    const NAME: &CStr = c"ompt_set_callback";
    // SAFETY: the library's own function, which knows this name.
    let set = unsafe { lookup(NAME.as_ptr()) };
    if set.is_null() {
        return 0;
    }
    // SAFETY: a function of this type by the interface's definition.
    let set: SetCallback = unsafe { core::mem::transmute(set) };
    let callbacks: [(c_int, *const c_void); 8] = [
        (3, parallel_begins as *const c_void),
        (4, parallel_ends as *const c_void),
        (5, task_is_made as *const c_void),
        (6, task_switch as *const c_void),
        (7, implicit_task as *const c_void),
        (16, sync_region_wait as *const c_void),
        (23, sync_region as *const c_void),
        (31, reduction as *const c_void),
    ];
    // 0: an error, 1: never reported.
    // SAFETY: each function has the type of its event.
    let all = callbacks.iter().all(|&(event, function)| unsafe { set(event, function) } > 1);
    REPORTS.store(all, Ordering::Relaxed);
    if all {
        ring::set_state(state::OPENMP_TELLS);
    }
    1
}

/// The two ends of what is reported.
const BEGIN: c_int = 1;
const END: c_int = 2;

fn team_of<'a>(word: Word) -> Option<&'a Team> {
    // SAFETY: `parallel_begins` wrote it, or it is zero.
    unsafe { word.as_ref().and_then(|&team| (team as *const Team).as_ref()) }
}

extern "C-unwind" fn parallel_begins(
    _task: Word,
    _frame: *const c_void,
    parallel: Word,
    _threads: c_uint,
    _flags: c_int,
    pc: u64,
) {
    let (Some(thread), Some(hook)) = (tls::active(), Hook::enter()) else { return };
    let new = new_team(pc, thread.own.team.load(Ordering::Relaxed).cast());
    // SAFETY: the library's word for the tool; a team of the table.
    unsafe {
        *parallel = new as u64;
        if let Some(team) = new.as_ref() {
            team.begins(&hook);
        }
    }
    drop(hook);
    thread.own.starts.store(new.cast(), Ordering::Relaxed);
    blocking::leave();
}

extern "C-unwind" fn parallel_ends(parallel: Word, _task: Word, _flags: c_int, pc: u64) {
    let (Some(team), Some(thread)) = (team_of(parallel), tls::active()) else { return };
    thread.own.team.store(team.outer.cast_mut().cast(), Ordering::Relaxed);
    thread.own.starts.store(core::ptr::null_mut(), Ordering::Relaxed);
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::BarrierLeave, pc, &[address(&team.barrier)]);
        hook.record(Tag::OnceSeen, pc, &[tasks::chain()]);
    }
    give_back(team);
}

/// A thread begins or ends its part in a region.
extern "C-unwind" fn implicit_task(
    endpoint: c_int,
    parallel: Word,
    _task: Word,
    _size: c_uint,
    _index: c_uint,
    _flags: c_int,
) {
    if let (BEGIN, Some(team)) = (endpoint, team_of(parallel)) {
        tell(Tag::OnceSeen, team.pc, address(&team.start));
        team.begun.fetch_add(1, Ordering::Relaxed);
        if let Some(thread) = tls::active() {
            thread.own.team.store(core::ptr::from_ref(team).cast_mut().cast(), Ordering::Relaxed);
            thread.own.starts.store(core::ptr::null_mut(), Ordering::Relaxed);
        }
    }
}

/// Kinds of [`sync_region`] that wait for tasks only.
const TASKWAIT: c_int = 5;
const TASKGROUP: c_int = 6;
const REDUCTION: c_int = 7;

/// A thread waits for its team or for tasks, or has waited.
extern "C-unwind" fn sync_region(kind: c_int, endpoint: c_int, parallel: Word, _task: Word, pc: u64) {
    let Some(current) = team() else { return };
    let pc = if pc == 0 { current.pc } else { pc };
    match (kind, endpoint) {
        (REDUCTION, _) => {}
        (TASKWAIT | TASKGROUP, BEGIN) => blocking::leave(),
        (TASKWAIT | TASKGROUP, END) => tell(Tag::OnceSeen, pc, tasks::chain()),
        (_, BEGIN) => {
            if let Some(hook) = Hook::enter() {
                join_chain(&hook, pc, address(&current.copied));
                hook.record(Tag::BarrierArrive, pc, &[address(&current.barrier)]);
            }
            blocking::leave();
        }
        // A thread learns only when the next region begins that it left the last barrier of a region; then this has no effect.
        (_, END) if team_of(parallel).is_some() => {
            if let Some(hook) = Hook::enter() {
                hook.record(Tag::BarrierLeave, pc, &[address(&current.barrier)]);
                hook.record(Tag::OnceSeen, pc, &[tasks::chain()]);
            }
        }
        _ => {}
    }
}

/// A thread has waited for tasks. It may add up what they reduced before the region ends.
extern "C-unwind" fn sync_region_wait(kind: c_int, endpoint: c_int, _parallel: Word, _task: Word, pc: u64) {
    if let (TASKWAIT | TASKGROUP, END, Some(team)) = (kind, endpoint, team()) {
        tell(Tag::OnceSeen, if pc == 0 { team.pc } else { pc }, tasks::chain());
    }
}

/// At a barrier a thread takes over what others there have added up.
extern "C-unwind" fn reduction(_kind: c_int, endpoint: c_int, _parallel: Word, _task: Word, pc: u64) {
    if let (BEGIN, Some(team)) = (endpoint, team()) {
        tell(Tag::OnceSeen, if pc == 0 { team.pc } else { pc }, address(&team.copied));
    }
}

/// In the word of a task that has dependences; the rest is where it was made.
const DEPENDS: u64 = 1 << 63;
/// A task of the program's.
const EXPLICIT: c_int = 4;
/// How a task was left: it is done.
const COMPLETE: c_int = 1;
const CANCELLED: c_int = 3;

extern "C-unwind" fn task_is_made(
    _task: Word,
    _frame: *const c_void,
    new: Word,
    flags: c_int,
    depends: c_int,
    pc: u64,
) {
    if flags & EXPLICIT != 0 && !new.is_null() {
        // SAFETY: the library's word for the tool.
        unsafe { *new = pc | if depends != 0 { DEPENDS } else { 0 } };
        tell(Tag::OnceDone, pc, new as u64);
    }
    blocking::leave();
}

extern "C-unwind" fn task_switch(prior: Word, status: c_int, next: Word) {
    // SAFETY: the library's words for the tool; 0 but for tasks that `task_is_made` saw.
    let [prior_pc, next_pc] = [prior, next].map(|word| unsafe { word.as_ref().copied().unwrap_or(0) });
    if matches!(status, COMPLETE | CANCELLED) && prior_pc != 0 {
        tasks::ended(prior_pc & !DEPENDS, prior_pc & DEPENDS != 0);
    }
    if next_pc == 0 {
        return blocking::leave();
    }
    if let Some(hook) = Hook::enter() {
        take_turn(&hook, next_pc & !DEPENDS, tasks::chain());
        hook.record(Tag::OnceSeen, next_pc & !DEPENDS, &[next as u64]);
        if next_pc & DEPENDS != 0 {
            hook.record(Tag::OnceSeen, next_pc & !DEPENDS, &[tasks::depend_chain()]);
        }
    }
}

mod real {
    use super::*;
    functions! {
        fn __kmpc_omp_task_alloc(source: *mut c_void, id: c_int, flags: c_int, bytes: usize, shared: usize,
            entry: *mut c_void) -> *mut u64;
        fn __kmpc_ordered(source: *mut c_void, id: c_int);
        fn __kmpc_end_ordered(source: *mut c_void, id: c_int);
        fn __kmpc_reduce(source: *mut c_void, id: c_int, count: c_int, bytes: usize, data: *mut c_void,
            function: *mut c_void, lock: *mut c_void) -> c_int;
        fn __kmpc_reduce_nowait(source: *mut c_void, id: c_int, count: c_int, bytes: usize, data: *mut c_void,
            function: *mut c_void, lock: *mut c_void) -> c_int;
        fn __kmpc_end_reduce(source: *mut c_void, id: c_int, lock: *mut c_void);
        fn __kmpc_end_reduce_nowait(source: *mut c_void, id: c_int, lock: *mut c_void);
    }
}

exports! {
    __kmpc_omp_task_alloc => task_alloc;
    __kmpc_ordered => ordered;
    __kmpc_end_ordered => end_ordered;
    __kmpc_reduce => reduce;
    __kmpc_reduce_nowait => reduce_nowait;
    __kmpc_end_reduce => end_reduce;
    __kmpc_end_reduce_nowait => end_reduce_nowait;
}

/// The library uses tasks' memory again without freeing it: from here on it is something else.
unsafe extern "C-unwind" fn task_alloc(
    source: *mut c_void,
    id: c_int,
    flags: c_int,
    bytes: usize,
    shared: usize,
    entry: *mut c_void,
) -> *mut u64 {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    let task = unsafe { real::__kmpc_omp_task_alloc(source, id, flags, bytes, shared, entry) };
    if let (false, Some(hook)) = (task.is_null(), Hook::enter()) {
        // SAFETY: a task begins with the address of what it shares, after the rest of it.
        let shares = unsafe { *task };
        let bytes = if shares > task as u64 { shares - task as u64 + shared as u64 } else { bytes as u64 };
        hook.record(Tag::Alloc, pc, &[task as u64, bytes]);
    }
    task
}

unsafe extern "C-unwind" fn ordered(source: *mut c_void, id: c_int) {
    // SAFETY: the caller's own arguments.
    library::enter_ordered(|| unsafe { real::__kmpc_ordered(source, id) });
}

unsafe extern "C-unwind" fn end_ordered(source: *mut c_void, id: c_int) {
    // SAFETY: the caller's own arguments.
    library::leave_ordered(|| unsafe { real::__kmpc_end_ordered(source, id) });
}

/// The thread is to add its part to the result: alone, in a critical section or after the others (1), by atomics (2), or not (0).
fn reducing(lock: *mut c_void, call: impl FnOnce() -> c_int) -> c_int {
    let pc = tls::caller();
    blocking::leave();
    let how = call();
    if how == 1 {
        tell(Tag::Acquire, pc, lock as u64);
    }
    how
}

/// Reductions, and their ends where the thread was to do anything.
macro_rules! reductions {
    ($($begin:ident => $real_begin:ident, $end:ident => $real_end:ident;)*) => {
        $(
            unsafe extern "C-unwind" fn $begin(source: *mut c_void, id: c_int, count: c_int, bytes: usize,
                data: *mut c_void, function: *mut c_void, lock: *mut c_void) -> c_int {
                // SAFETY: the caller's own arguments.
                reducing(lock, || unsafe { real::$real_begin(source, id, count, bytes, data, function, lock) })
            }

            unsafe extern "C-unwind" fn $end(source: *mut c_void, id: c_int, lock: *mut c_void) {
                tell(Tag::AnyRelease, tls::caller(), lock as u64);
                // SAFETY: the caller's own arguments.
                unsafe { real::$real_end(source, id, lock) };
            }
        )*
    };
}

reductions! {
    reduce => __kmpc_reduce, end_reduce => __kmpc_end_reduce;
    reduce_nowait => __kmpc_reduce_nowait, end_reduce_nowait => __kmpc_end_reduce_nowait;
}
