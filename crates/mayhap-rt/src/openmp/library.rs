//! gcc's library: parallel regions, barriers, shares of work, order within loops.

use core::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_long, c_uint, c_void};
use mayhap_wire::ring::Tag;

use super::{Team, address, functions, join_chain, take_turn, tasks, team, tell, tool};
use crate::hook::{self, Hook};
use crate::tls::{self, exports};
use crate::{blocking, replay, sys};

type Data = *mut c_void;
pub(super) type Body = unsafe extern "C-unwind" fn(Data);

/// A region under way, on the stack of the thread that began it.
#[repr(C)]
struct Region {
    /// What the library looks for at the beginning of a region's data, if it has tasks' reductions.
    reductions: u64,
    team: Team,
    body: Body,
    data: Data,
}

/// Runs a region: `call` gets what the library is to call in each thread, and its argument.
fn region(body: Body, data: Data, reductions: u64, call: impl FnOnce(Body, Data) -> c_uint) -> c_uint {
    let pc = tls::caller();
    // LLVM's library has gcc's functions too.
    let Some(thread) = tls::active().filter(|_| hook::is_recording() && !tool::reports()) else {
        return call(body, data);
    };
    let outer = thread.own.team.load(Ordering::Relaxed).cast::<Team>();
    let region = Region { reductions, team: Team::new(pc, outer), body, data };
    if let Some(hook) = Hook::enter() {
        region.team.begins(&hook);
    }
    let place = core::ptr::from_ref(&region).cast_mut().cast::<c_void>();
    let starting = thread.own.starts.swap(place, Ordering::Relaxed);
    blocking::leave();
    let result = call(run_region, place);
    thread.own.starts.store(starting, Ordering::Relaxed);
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::BarrierLeave, pc, &[address(&region.team.barrier)]);
        hook.record(Tag::OnceSeen, pc, &[tasks::chain()]);
    }
    result
}

/// What each thread of a region runs.
unsafe extern "C-unwind" fn run_region(region: Data) {
    // SAFETY: `region` passed its own region, which lives until the library has seen all threads return from here.
    let region = unsafe { &*region.cast::<Region>() };
    let (team, pc) = (&region.team, region.team.pc);
    tell(Tag::OnceSeen, pc, address(&team.start));
    team.begun.fetch_add(1, Ordering::Relaxed);
    let thread = tls::active();
    let before = thread.map(|thread| {
        let place = core::ptr::from_ref(team).cast_mut().cast();
        (
            thread.own.team.swap(place, Ordering::Relaxed),
            thread.own.starts.swap(core::ptr::null_mut(), Ordering::Relaxed),
        )
    });
    // SAFETY: what the program asked for.
    unsafe { (region.body)(region.data) };
    if let (Some(thread), Some((team, starting))) = (thread, before) {
        thread.own.team.store(team, Ordering::Relaxed);
        thread.own.starts.store(starting, Ordering::Relaxed);
    }
    tell(Tag::BarrierArrive, pc, address(&team.barrier));
    blocking::leave();
}

mod real {
    use super::*;
    functions! {
        fn GOMP_parallel(body: Body, data: Data, threads: c_uint, flags: c_uint);
        fn GOMP_parallel_reductions(body: Body, data: Data, threads: c_uint, flags: c_uint) -> c_uint;
        fn GOMP_parallel_sections(body: Body, data: Data, threads: c_uint, count: c_uint, flags: c_uint);
        fn omp_get_num_threads() -> c_int;
        fn GOMP_single_copy_start() -> Data;
        fn GOMP_single_copy_end(data: Data);
        fn GOMP_ordered_start();
        fn GOMP_ordered_end();
        fn GOMP_cancel(which: c_int, does: bool) -> bool;
        fn GOMP_cancellation_point(which: c_int) -> bool;
        fn GOMP_workshare_task_reduction_unregister(cancelled: bool);
    }
}

exports! {
    GOMP_parallel => parallel;
    GOMP_parallel_reductions => parallel_reductions;
    GOMP_parallel_sections => parallel_sections;
    GOMP_single_copy_start => single_copy_start;
    GOMP_single_copy_end => single_copy_end;
    GOMP_ordered_start => ordered_start;
    GOMP_ordered_end => ordered_end;
    GOMP_cancel => cancel;
    GOMP_cancellation_point => cancellation_point;
    GOMP_workshare_task_reduction_unregister => reduction_unregister;
}

unsafe extern "C-unwind" fn parallel(body: Body, data: Data, threads: c_uint, flags: c_uint) {
    region(body, data, 0, |body, data| {
        // SAFETY: the caller's own arguments.
        unsafe { real::GOMP_parallel(body, data, threads, flags) };
        0
    });
}

unsafe extern "C-unwind" fn parallel_reductions(body: Body, data: Data, threads: c_uint, flags: c_uint) -> c_uint {
    // SAFETY: the data begin with a pointer for the library.
    let reductions = unsafe { *data.cast::<u64>() };
    region(body, data, reductions, |body, data| {
        // SAFETY: the caller's own arguments.
        unsafe { real::GOMP_parallel_reductions(body, data, threads, flags) }
    })
}

unsafe extern "C-unwind" fn parallel_sections(body: Body, data: Data, threads: c_uint, count: c_uint, flags: c_uint) {
    region(body, data, 0, |body, data| {
        // SAFETY: the caller's own arguments.
        unsafe { real::GOMP_parallel_sections(body, data, threads, count, flags) };
        0
    });
}

/// Regions that are loops: bounds, step and size of chunks, but for those that choose the size themselves.
macro_rules! loops {
    ($($name:ident => $inner:ident($($arg:ident),*);)*) => {
        mod real_loops {
            use super::*;
            functions! {
                $(fn $name(body: Body, data: Data, threads: c_uint, from: c_long, to: c_long, step: c_long
                    $(, $arg: c_long)*, flags: c_uint);)*
            }
        }
        exports! { $($name => $inner;)* }
        $(
            #[allow(clippy::too_many_arguments, reason = "the library's own")]
            unsafe extern "C-unwind" fn $inner(body: Body, data: Data, threads: c_uint, from: c_long, to: c_long,
                step: c_long $(, $arg: c_long)*, flags: c_uint) {
                region(body, data, 0, |body, data| {
                    // SAFETY: the caller's own arguments.
                    unsafe { real_loops::$name(body, data, threads, from, to, step $(, $arg)*, flags) };
                    0
                });
            }
        )*
    };
}

loops! {
    GOMP_parallel_loop_static => loop_static(chunk);
    GOMP_parallel_loop_dynamic => loop_dynamic(chunk);
    GOMP_parallel_loop_guided => loop_guided(chunk);
    GOMP_parallel_loop_nonmonotonic_dynamic => loop_nonmonotonic_dynamic(chunk);
    GOMP_parallel_loop_nonmonotonic_guided => loop_nonmonotonic_guided(chunk);
    GOMP_parallel_loop_runtime => loop_runtime();
    GOMP_parallel_loop_nonmonotonic_runtime => loop_nonmonotonic_runtime();
    GOMP_parallel_loop_maybe_nonmonotonic_runtime => loop_maybe_nonmonotonic_runtime();
}

/// The thread waits for its team, and runs tasks meanwhile. `call` says whether the team was cancelled.
fn barrier(call: impl FnOnce() -> bool) -> bool {
    let pc = tls::caller();
    let Some(team) = team().filter(|_| !tool::reports()) else { return call() };
    pass_on(team, pc);
    tell(Tag::BarrierArrive, pc, address(&team.barrier));
    blocking::leave();
    let cancelled = call();
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::BarrierLeave, pc, &[address(&team.barrier)]);
        hook.record(Tag::OnceSeen, pc, &[tasks::chain()]);
        if cancelled {
            hook.record(Tag::OnceSeen, pc, &[address(&team.cancelled)]);
        }
    }
    cancelled
}

/// Barriers, and ends of constructs that are some.
macro_rules! barriers {
    ($($name:ident => $inner:ident $(-> $ret:ty)?;)*) => {
        mod real_barriers {
            use super::*;
            functions! { $(fn $name() $(-> $ret)?;)* }
        }
        exports! { $($name => $inner;)* }
        $(
            unsafe extern "C-unwind" fn $inner() $(-> $ret)? {
                barriers!(@call $name $($ret)?)
            }
        )*
    };
    // SAFETY: the caller's own call.
    (@call $name:ident $ret:ty) => { barrier(|| unsafe { real_barriers::$name() }) };
    (@call $name:ident) => {{
        barrier(|| {
            // SAFETY: the caller's own call.
            unsafe { real_barriers::$name() };
            false
        });
    }};
}

barriers! {
    GOMP_barrier => team_barrier;
    GOMP_barrier_cancel => team_barrier_cancel -> bool;
    GOMP_loop_end => loop_end;
    GOMP_loop_end_cancel => loop_end_cancel -> bool;
    GOMP_sections_end => sections_end;
    GOMP_sections_end_cancel => sections_end_cancel -> bool;
}

unsafe extern "C-unwind" fn reduction_unregister(cancelled: bool) {
    barrier(|| {
        // SAFETY: the caller's own argument.
        unsafe { real::GOMP_workshare_task_reduction_unregister(cancelled) };
        false
    });
}

/// All wait for what the one that runs the `single` hands out at its end.
unsafe extern "C-unwind" fn single_copy_start() -> Data {
    let pc = tls::caller();
    let copied = team().map(|team| address(&team.copied));
    if let (Some(team), Some(hook)) = (team(), Hook::enter()) {
        take_turn(&hook, pc, address(&team.work));
        hook.record(Tag::BarrierArrive, pc, &[address(&team.copied)]);
    }
    blocking::leave();
    // SAFETY: the caller's own call.
    let data = unsafe { real::GOMP_single_copy_start() };
    if let (false, Some(copied)) = (data.is_null(), copied) {
        tell(Tag::BarrierLeave, pc, copied);
    }
    data
}

unsafe extern "C-unwind" fn single_copy_end(data: Data) {
    let pc = tls::caller();
    let copied = team().map(|team| address(&team.copied));
    if let Some(copied) = copied {
        tell(Tag::BarrierArrive, pc, copied);
    }
    blocking::leave();
    // SAFETY: the caller's own argument.
    unsafe { real::GOMP_single_copy_end(data) };
    if let Some(copied) = copied {
        tell(Tag::BarrierLeave, pc, copied);
    }
}

/// The library lets the next thread into its `ordered` when this one has done with its share.
fn pass_on(team: &Team, pc: u64) {
    if team.orders.load(Ordering::Relaxed) != 0
        && let Some(hook) = Hook::enter()
    {
        join_chain(&hook, pc, address(&team.ordered));
    }
}

/// Waits for its turn in an `ordered`.
pub(super) fn enter_ordered(call: impl FnOnce()) {
    let pc = tls::caller();
    if let Some(team) = team() {
        team.orders.store(1, Ordering::Relaxed);
    }
    blocking::leave();
    call();
    if let Some(team) = team() {
        tell(Tag::OnceSeen, pc, address(&team.ordered));
    }
}

/// Leaves an `ordered`.
pub(super) fn leave_ordered(call: impl FnOnce()) {
    let pc = tls::caller();
    if let Some(team) = team() {
        pass_on(team, pc);
    }
    call();
}

unsafe extern "C-unwind" fn ordered_start() {
    // SAFETY: the caller's own call.
    enter_ordered(|| unsafe { real::GOMP_ordered_start() });
}

unsafe extern "C-unwind" fn ordered_end() {
    // SAFETY: the caller's own call.
    leave_ordered(|| unsafe { real::GOMP_ordered_end() });
}

unsafe extern "C-unwind" fn cancel(which: c_int, does: bool) -> bool {
    let pc = tls::caller();
    if let (Some(team), Some(hook)) = (team(), Hook::enter()) {
        join_chain(&hook, pc, address(&team.cancelled));
    }
    // SAFETY: the caller's own arguments.
    unsafe { real::GOMP_cancel(which, does) }
}

unsafe extern "C-unwind" fn cancellation_point(which: c_int) -> bool {
    let pc = tls::caller();
    // SAFETY: the caller's own argument.
    let cancelled = unsafe { real::GOMP_cancellation_point(which) };
    if let (true, Some(team)) = (cancelled, team()) {
        tell(Tag::OnceSeen, pc, address(&team.cancelled));
    }
    cancelled
}

/// Functions with up to ten integers and pointers as arguments, whichever they have.
macro_rules! any {
    ($before:ident, $after:ident, $module:ident: $($name:ident => $inner:ident;)*) => {
        mod $module {
            use super::functions;
            functions! {
                $(fn $name(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, j: u64) -> u64;)*
            }
        }
        exports! { $($name => $inner;)* }
        $(
            #[allow(clippy::too_many_arguments, reason = "the library's own")]
            unsafe extern "C-unwind" fn $inner(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, j: u64) -> u64 {
                let pc = tls::caller();
                if let Some(team) = team() {
                    $before(team, pc);
                }
                // SAFETY: the caller's own arguments; those that the function does not have are words of the caller's frame.
                let result = unsafe { $module::$name(a, b, c, d, e, f, g, h, i, j) };
                if let Some(team) = team() {
                    $after(team, pc);
                }
                result
            }
        )*
    };
}

/// Between two looks whether another thread has come to take a share, in nanoseconds.
const PAUSE: i64 = 200_000;
/// How many looks for a share a run may take: a second in all, since threads that have done their part come no more.
static PATIENCE: AtomicU32 = AtomicU32::new(5_000);
/// How many looks one share is worth.
const LOOKS: u32 = 100;

/// Waits without the token until something holds, for so many looks at most.
fn await_others(looks: u32, holds: impl Fn() -> bool) {
    blocking::leave();
    let time = libc::timespec { tv_sec: 0, tv_nsec: PAUSE };
    for _ in 0..looks {
        if holds() || PATIENCE.load(Ordering::Relaxed) == 0 {
            return;
        }
        PATIENCE.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the kernel reads the time.
        unsafe { sys::call(libc::SYS_nanosleep, [(&raw const time) as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Lets the other threads of a team take a share first, so that one thread does not do all the work that any of them may do. What
/// two shares of one thread do is in one order; what those of two threads do is not.
fn spread(team: &Team) {
    // A program that contains the library may lack the function that is asked here.
    if cfg!(feature = "archive") {
        return;
    }
    let Some(thread) = tls::active().filter(|_| !replay::active()) else { return };
    let (begun, me) = (&team.begun, u64::from(thread.identity.owner.load(Ordering::Relaxed)));
    if begun.load(Ordering::Relaxed) == 0 {
        return;
    }
    // SAFETY: no precondition.
    let size = unsafe { real::omp_get_num_threads() } as u64;
    if size < 2 {
        return;
    }
    if begun.load(Ordering::Relaxed) < size {
        await_others(10 * LOOKS, || begun.load(Ordering::Relaxed) >= size);
        begun.fetch_max(size, Ordering::Relaxed);
    }
    if team.taker.load(Ordering::Relaxed) == me {
        await_others(LOOKS, || team.taker.load(Ordering::Relaxed) != me);
    }
    team.taker.store(me, Ordering::Relaxed);
}

fn share(team: &Team, pc: u64) {
    pass_on(team, pc);
    spread(team);
    if let Some(hook) = Hook::enter() {
        take_turn(&hook, pc, address(&team.work));
    }
}

/// Where shares wait for each other (`doacross`): the thread may have to wait in the library.
fn post(team: &Team, pc: u64) {
    team.orders.store(1, Ordering::Relaxed);
    pass_on(team, pc);
}

fn may_wait(team: &Team, _pc: u64) {
    team.orders.store(1, Ordering::Relaxed);
    blocking::leave();
}

fn waited(team: &Team, pc: u64) {
    tell(Tag::OnceSeen, pc, address(&team.ordered));
}

fn nothing(_team: &Team, _pc: u64) {}

any! { post, nothing, real_posts:
    GOMP_doacross_post => doacross_post;
    GOMP_doacross_ull_post => doacross_ull_post;
    __kmpc_doacross_post => llvm_doacross_post;
}

any! { may_wait, waited, real_waits:
    GOMP_doacross_wait => doacross_wait;
    GOMP_doacross_ull_wait => doacross_ull_wait;
    __kmpc_doacross_wait => llvm_doacross_wait;
}

any! { pass_on, nothing, real_ends:
    GOMP_loop_end_nowait => loop_end_nowait;
    GOMP_sections_end_nowait => sections_end_nowait;
}

any! { share, nothing, real_shares:
    __kmpc_single => llvm_single;
    __kmpc_dispatch_next_4 => llvm_next_4;
    __kmpc_dispatch_next_4u => llvm_next_4u;
    __kmpc_dispatch_next_8 => llvm_next_8;
    __kmpc_dispatch_next_8u => llvm_next_8u;
    GOMP_single_start => single_start;
    GOMP_scope_start => scope_start;
    GOMP_sections_start => sections_start;
    GOMP_sections2_start => sections2_start;
    GOMP_sections_next => sections_next;
    GOMP_loop_start => start;
    GOMP_loop_ordered_start => ordered_loop_start;
    GOMP_loop_doacross_start => doacross_start;
    GOMP_loop_ull_start => ull_start;
    GOMP_loop_ull_ordered_start => ull_ordered_start;
    GOMP_loop_ull_doacross_start => ull_doacross_start;
    GOMP_loop_dynamic_start => dynamic_start;
    GOMP_loop_dynamic_next => dynamic_next;
    GOMP_loop_guided_start => guided_start;
    GOMP_loop_guided_next => guided_next;
    GOMP_loop_runtime_start => runtime_start;
    GOMP_loop_runtime_next => runtime_next;
    GOMP_loop_static_start => static_start;
    GOMP_loop_static_next => static_next;
    GOMP_loop_nonmonotonic_dynamic_start => nonmonotonic_dynamic_start;
    GOMP_loop_nonmonotonic_dynamic_next => nonmonotonic_dynamic_next;
    GOMP_loop_nonmonotonic_guided_start => nonmonotonic_guided_start;
    GOMP_loop_nonmonotonic_guided_next => nonmonotonic_guided_next;
    GOMP_loop_nonmonotonic_runtime_start => nonmonotonic_runtime_start;
    GOMP_loop_nonmonotonic_runtime_next => nonmonotonic_runtime_next;
    GOMP_loop_maybe_nonmonotonic_runtime_start => maybe_nonmonotonic_runtime_start;
    GOMP_loop_maybe_nonmonotonic_runtime_next => maybe_nonmonotonic_runtime_next;
    GOMP_loop_ordered_dynamic_start => ordered_dynamic_start;
    GOMP_loop_ordered_dynamic_next => ordered_dynamic_next;
    GOMP_loop_ordered_guided_start => ordered_guided_start;
    GOMP_loop_ordered_guided_next => ordered_guided_next;
    GOMP_loop_ordered_runtime_start => ordered_runtime_start;
    GOMP_loop_ordered_runtime_next => ordered_runtime_next;
    GOMP_loop_ordered_static_start => ordered_static_start;
    GOMP_loop_ordered_static_next => ordered_static_next;
    GOMP_loop_doacross_dynamic_start => doacross_dynamic_start;
    GOMP_loop_doacross_guided_start => doacross_guided_start;
    GOMP_loop_doacross_runtime_start => doacross_runtime_start;
    GOMP_loop_doacross_static_start => doacross_static_start;
    GOMP_loop_ull_dynamic_start => ull_dynamic_start;
    GOMP_loop_ull_dynamic_next => ull_dynamic_next;
    GOMP_loop_ull_guided_start => ull_guided_start;
    GOMP_loop_ull_guided_next => ull_guided_next;
    GOMP_loop_ull_runtime_start => ull_runtime_start;
    GOMP_loop_ull_runtime_next => ull_runtime_next;
    GOMP_loop_ull_static_start => ull_static_start;
    GOMP_loop_ull_static_next => ull_static_next;
    GOMP_loop_ull_nonmonotonic_dynamic_start => ull_nonmonotonic_dynamic_start;
    GOMP_loop_ull_nonmonotonic_dynamic_next => ull_nonmonotonic_dynamic_next;
    GOMP_loop_ull_nonmonotonic_guided_start => ull_nonmonotonic_guided_start;
    GOMP_loop_ull_nonmonotonic_guided_next => ull_nonmonotonic_guided_next;
    GOMP_loop_ull_nonmonotonic_runtime_start => ull_nonmonotonic_runtime_start;
    GOMP_loop_ull_nonmonotonic_runtime_next => ull_nonmonotonic_runtime_next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start => ull_maybe_nonmonotonic_runtime_start;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next => ull_maybe_nonmonotonic_runtime_next;
    GOMP_loop_ull_ordered_dynamic_start => ull_ordered_dynamic_start;
    GOMP_loop_ull_ordered_dynamic_next => ull_ordered_dynamic_next;
    GOMP_loop_ull_ordered_guided_start => ull_ordered_guided_start;
    GOMP_loop_ull_ordered_guided_next => ull_ordered_guided_next;
    GOMP_loop_ull_ordered_runtime_start => ull_ordered_runtime_start;
    GOMP_loop_ull_ordered_runtime_next => ull_ordered_runtime_next;
    GOMP_loop_ull_ordered_static_start => ull_ordered_static_start;
    GOMP_loop_ull_ordered_static_next => ull_ordered_static_next;
    GOMP_loop_ull_doacross_dynamic_start => ull_doacross_dynamic_start;
    GOMP_loop_ull_doacross_guided_start => ull_doacross_guided_start;
    GOMP_loop_ull_doacross_runtime_start => ull_doacross_runtime_start;
    GOMP_loop_ull_doacross_static_start => ull_doacross_static_start;
}
