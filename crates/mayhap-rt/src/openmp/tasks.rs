//! gcc's library: tasks.
//!
//! A task's data are copied by the library when it is made, by a function of the program's if there is one. The runtime puts a
//! [`Task`] in front of them, by being that function always.

use core::sync::atomic::AtomicU64;

use libc::{c_int, c_long, c_uint, c_void};
use mayhap_wire::ring::{Tag, state};

use super::library::Body;
use super::{address, functions, join_chain, stacks, take_turn, tell, tool};
use crate::hook::{self, Hook};
use crate::thread::Thread;
use crate::tls::{self, exports};
use crate::{blocking, ring, threads};

type Data = *mut c_void;
type Copy = unsafe extern "C-unwind" fn(Data, Data);

/// The ends of all tasks, and who takes the next one.
#[unsafe(no_mangle)]
static omp_tasks: AtomicU64 = AtomicU64::new(0);

/// The ends of all tasks that depend on others or that others depend on.
#[unsafe(no_mangle)]
static omp_task_depend: AtomicU64 = AtomicU64::new(0);

pub(super) fn chain() -> u64 {
    address(&omp_tasks)
}

pub(super) fn depend_chain() -> u64 {
    address(&omp_task_depend)
}

/// Flags of tasks.
mod flag {
    pub(super) const DEPEND: u32 = 1 << 3;
    /// Of the runtime's own: the task runs before its creator goes on, or no other thread can run it.
    pub(super) const AT_ONCE: u32 = 1 << 31;
    pub(super) const REDUCTION: u32 = 1 << 12;
    pub(super) const DETACH: u32 = 1 << 13;
    /// Of target regions.
    pub(super) const NOWAIT: u32 = 1;
}

/// What stands in front of a task's data.
#[repr(C)]
#[derive(Clone, Copy)]
struct Task {
    /// Words that the library itself reads or writes at the beginning of the data: the event of a detached task; the bounds of
    /// a share of a loop and the loop's reductions.
    words: [u64; 3],
    body: Body,
    copy: Option<Copy>,
    /// The program's own data, where they are copied from.
    data: Data,
    bytes: u64,
    /// The distance from here to the copy of the data.
    offset: u64,
    flags: u32,
    is_loop: bool,
    pc: u64,
    /// The thread that the task is in the recording, if it may run beside others.
    logical: Option<&'static Thread>,
    /// What it depends on.
    depends: Depends,
}

/// A task's data as the library is to take them: what, how many bytes, how aligned.
fn task(
    body: Body,
    data: Data,
    copy: Option<Copy>,
    sizes: [c_long; 2],
    flags: u32,
    is_loop: bool,
    pc: u64,
) -> (Task, [c_long; 2]) {
    let align = sizes[1].max(align_of::<Task>() as c_long);
    let offset = (size_of::<Task>() as c_long + align - 1) / align * align;
    let mut words = [0; 3];
    if is_loop && flags & flag::REDUCTION != 0 {
        // SAFETY: the data of such a loop begin with its bounds and a pointer.
        words[2] = unsafe { data.cast::<u64>().add(2).read() };
    }
    let bytes = sizes[0] as u64;
    let (logical, depends) = (None, Depends::default());
    let task = Task { words, body, copy, data, bytes, offset: offset as u64, flags, is_loop, pc, logical, depends };
    (task, [offset + sizes[0], align])
}

/// What the library calls to copy a task's data: in the thread that makes the task, before any other thread sees it.
unsafe extern "C-unwind" fn copy_task(to: Data, from: Data) {
    // SAFETY: the library passes what it got from `make` or `make_loop`, and room for as much as they asked for.
    unsafe {
        let task = from.cast::<Task>().read();
        let data = to.byte_add(task.offset as usize);
        if task.flags & flag::DETACH != 0 && !task.is_loop {
            task.data.cast::<u64>().write(task.words[0]);
        }
        match task.copy {
            Some(copy) => copy(data, task.data),
            None => {
                let hook = Hook::enter();
                core::ptr::copy_nonoverlapping(task.data.cast::<u8>(), data.cast(), task.bytes as usize);
                drop(hook);
            }
        }
        // Where the runtime is linked into the program, tasks stay with the threads that run them.
        let logical = match task.flags & flag::AT_ONCE {
            _ if cfg!(feature = "archive") => None,
            0 => Hook::enter().and_then(|hook| threads::create_logical(&hook, task.pc)),
            _ => None,
        };
        to.cast::<Task>().write(Task { logical, ..task });
        tell(Tag::OnceDone, task.pc, to as u64);
    }
}

/// What the library calls to run a task.
unsafe extern "C-unwind" fn run_task(at: Data) {
    // SAFETY: `copy_task` wrote it.
    let task = unsafe { at.cast::<Task>().read() };
    let stack = task.logical.and_then(|logical| Some((logical, stacks::take()?)));
    let Some((logical, stack)) = stack else {
        // SAFETY: as above.
        return unsafe { run_here(at) };
    };
    let before = threads::become_logical(logical, stack.range());
    // SAFETY: the stack is this thread's until it is given back.
    unsafe { stacks::call(stack.range().end, run_here, at) };
    if let Some(before) = before {
        // Otherwise it went on as the thread that runs it.
        if tls::active().is_some_and(|now| core::ptr::eq(now, logical)) {
            threads::end_logical(logical, before);
        }
    }
    stacks::give_back(stack);
    blocking::leave();
}

/// Runs a task as whatever thread the calling one is.
unsafe extern "C-unwind" fn run_here(at: Data) {
    // SAFETY: `copy_task` wrote it.
    let task = unsafe { at.cast::<Task>().read() };
    if let Some(hook) = Hook::enter() {
        if task.logical.is_none() {
            take_turn(&hook, task.pc, chain());
        }
        hook.record(Tag::OnceSeen, task.pc, &[at as u64]);
        if task.flags & flag::DEPEND != 0 {
            task.depends.begins(&hook, task.pc);
        }
    }
    // SAFETY: the copy of the data lies there; those of a share of a loop begin with its bounds.
    unsafe {
        let data = at.byte_add(task.offset as usize);
        if task.is_loop {
            data.cast::<[u64; 2]>().write([task.words[0], task.words[1]]);
        }
        (task.body)(data);
    }
    if let Some(hook) = Hook::enter() {
        join_chain(&hook, task.pc, chain());
        if task.flags & flag::DEPEND != 0 {
            task.depends.ends(&hook, task.pc);
        }
    }
    blocking::leave();
}

/// What a task depends on.
#[derive(Clone, Copy, Default)]
struct Depends {
    /// The addresses, those that it changes first.
    addresses: [u64; Depends::MOST],
    changed: usize,
    count: usize,
    /// There are more, or of kinds that are not known.
    others: bool,
}

impl Depends {
    const MOST: usize = 8;

    /// # Safety
    /// What a compiler passes for a task that has dependences.
    unsafe fn of(list: *const u64) -> Depends {
        let mut depends = Depends::default();
        // SAFETY: as the caller vouches.
        unsafe {
            let (count, changed, first, others) = match list.read() {
                0 => {
                    let [all, changed, exclusive, read] = [1, 2, 3, 4].map(|i| list.add(i).read());
                    (all, changed + exclusive, list.add(5), changed + exclusive + read != all)
                }
                all => (all, list.add(1).read(), list.add(2), false),
            };
            depends.others = others || count as usize > Depends::MOST;
            if !depends.others {
                (depends.count, depends.changed) = (count as usize, changed as usize);
                for (i, address) in depends.addresses[..count as usize].iter_mut().enumerate() {
                    *address = first.add(i).read();
                }
            }
        }
        depends
    }

    /// Who changes something comes after all who have used it, who reads it after all who have changed it.
    fn begins(&self, hook: &Hook, pc: u64) {
        if self.others {
            hook.record(Tag::OnceSeen, pc, &[depend_chain()]);
        }
        for (i, &address) in self.addresses[..self.count].iter().enumerate() {
            hook.record(Tag::OnceSeen, pc, &[address | CHANGED]);
            if i < self.changed {
                hook.record(Tag::OnceSeen, pc, &[address | READ]);
            }
        }
        hook.record(Tag::OnceSeen, pc, &[address(&omp_task_unknown)]);
    }

    fn ends(&self, hook: &Hook, pc: u64) {
        join_chain(hook, pc, depend_chain());
        if self.others {
            join_chain(hook, pc, address(&omp_task_unknown));
        }
        for (i, &address) in self.addresses[..self.count].iter().enumerate() {
            join_chain(hook, pc, address | if i < self.changed { CHANGED } else { READ });
        }
    }
}

/// Marks of what stands for the uses of an address, which is no address.
const CHANGED: u64 = 1 << 61;
const READ: u64 = 1 << 60;

/// The ends of all tasks of which not all that they depend on is known.
#[unsafe(no_mangle)]
static omp_task_unknown: AtomicU64 = AtomicU64::new(0);

/// A task has ended.
pub(super) fn ended(pc: u64, depends: bool) {
    if let Some(hook) = Hook::enter() {
        join_chain(&hook, pc, chain());
        if depends {
            join_chain(&hook, pc, depend_chain());
        }
    }
}

mod real {
    use super::*;
    functions! {
        fn GOMP_task(body: Body, data: Data, copy: Option<Copy>, bytes: c_long, align: c_long, deferred: bool,
            flags: c_uint, depend: Data, priority: c_int, detach: Data);
        fn GOMP_taskloop(body: Body, data: Data, copy: Option<Copy>, bytes: c_long, align: c_long, flags: c_uint,
            tasks: u64, priority: c_int, from: u64, to: u64, step: u64);
        fn GOMP_taskloop_ull(body: Body, data: Data, copy: Option<Copy>, bytes: c_long, align: c_long, flags: c_uint,
            tasks: u64, priority: c_int, from: u64, to: u64, step: u64);
        fn omp_get_num_threads() -> c_int;
        fn omp_in_final() -> c_int;
        fn omp_get_thread_num() -> c_int;
        fn GOMP_task_reduction_remap(count: usize, originals: usize, places: Data);
        fn GOMP_taskwait();
        fn GOMP_taskwait_depend(depend: Data);
        fn GOMP_taskgroup_end();
        fn omp_fulfill_event(event: u64);
        fn GOMP_target_ext(device: c_int, body: Body, count: usize, places: Data, sizes: Data, kinds: Data,
            flags: c_uint, depend: Data, arguments: Data);
    }
}

/// No other thread may run the tasks that the calling thread makes now.
fn is_alone() -> bool {
    // A program that contains the library may lack the functions that are asked here.
    if cfg!(feature = "archive") {
        return false;
    }
    // SAFETY: no precondition.
    unsafe { real::omp_get_num_threads() < 2 || real::omp_in_final() != 0 }
}

/// A task that asks which thread runs it may use what belongs to that thread: from here on it is recorded as a part of that thread.
unsafe extern "C-unwind" fn thread_number() -> c_int {
    if !tool::reports() {
        threads::end_logical_early(tls::caller());
    }
    // SAFETY: no precondition.
    unsafe { real::omp_get_thread_num() }
}

/// A task that takes part in a reduction gets the copy of the thread that runs it.
unsafe extern "C-unwind" fn own_copies(count: usize, originals: usize, places: Data) {
    if !tool::reports() {
        threads::end_logical_early(tls::caller());
    }
    // SAFETY: the caller's own arguments.
    unsafe { real::GOMP_task_reduction_remap(count, originals, places) };
}

exports! {
    omp_get_thread_num => thread_number;
    GOMP_task_reduction_remap => own_copies;
    GOMP_task => make;
    GOMP_taskloop => make_loop;
    GOMP_taskloop_ull => make_loop_ull;
    GOMP_taskwait => wait;
    GOMP_taskwait_depend => wait_depend;
    GOMP_taskgroup_end => end_group;
    omp_fulfill_event => fulfill;
    GOMP_target_ext => target;
}

#[allow(clippy::too_many_arguments, reason = "the library's own")]
unsafe extern "C-unwind" fn make(
    body: Body,
    data: Data,
    copy: Option<Copy>,
    bytes: c_long,
    align: c_long,
    deferred: bool,
    flags: c_uint,
    depend: Data,
    priority: c_int,
    detach: Data,
) {
    let pc = tls::caller();
    if !hook::is_recording() || tool::reports() {
        // SAFETY: the caller's own arguments.
        return unsafe { real::GOMP_task(body, data, copy, bytes, align, deferred, flags, depend, priority, detach) };
    }
    let (mut task, [bytes, align]) = task(body, data, copy, [bytes, align], flags, false, pc);
    if flags & flag::DEPEND != 0 {
        // SAFETY: the caller's own argument.
        task.depends = unsafe { Depends::of(depend.cast()) };
    }
    if !deferred || is_alone() {
        task.flags |= flag::AT_ONCE;
    }
    blocking::leave();
    let task = (&raw mut task).cast();
    // SAFETY: the caller's own arguments, with data that hold the program's.
    unsafe {
        real::GOMP_task(run_task, task, Some(copy_task), bytes, align, deferred, flags, depend, priority, detach);
    }
}

type Loop = unsafe fn(Body, Data, Option<Copy>, c_long, c_long, c_uint, u64, c_int, u64, u64, u64);

/// Both kinds of loops, which differ in the type of their bounds.
macro_rules! loops {
    ($($inner:ident => $name:ident;)*) => {
        $(
            #[allow(clippy::too_many_arguments, reason = "the library's own")]
            unsafe extern "C-unwind" fn $inner(body: Body, data: Data, copy: Option<Copy>, bytes: c_long, align: c_long,
                flags: c_uint, tasks: u64, priority: c_int, from: u64, to: u64, step: u64) {
                let (sizes, bounds) = ([bytes, align], [from, to, step]);
                // SAFETY: the caller's own arguments.
                unsafe { make_shares(real::$name, body, data, copy, sizes, flags, tasks, priority, bounds) };
            }
        )*
    };
}

loops! {
    make_loop => GOMP_taskloop;
    make_loop_ull => GOMP_taskloop_ull;
}

/// A loop whose shares are tasks. The thread waits for them at its end, unless the program says otherwise.
#[allow(clippy::too_many_arguments, reason = "the library's own")]
unsafe fn make_shares(
    call: Loop,
    body: Body,
    data: Data,
    copy: Option<Copy>,
    sizes: [c_long; 2],
    flags: c_uint,
    tasks: u64,
    priority: c_int,
    [from, to, step]: [u64; 3],
) {
    let pc = tls::caller();
    if !hook::is_recording() || tool::reports() {
        // SAFETY: the caller's own arguments.
        return unsafe { call(body, data, copy, sizes[0], sizes[1], flags, tasks, priority, from, to, step) };
    }
    let (mut task, [bytes, align]) = task(body, data, copy, sizes, flags, true, pc);
    if is_alone() {
        task.flags |= flag::AT_ONCE;
    }
    blocking::leave();
    let task = (&raw mut task).cast();
    // SAFETY: the caller's own arguments, with data that hold the program's.
    unsafe { call(run_task, task, Some(copy_task), bytes, align, flags, tasks, priority, from, to, step) };
    tell(Tag::OnceSeen, pc, chain());
}

/// The thread waits for tasks, and runs some meanwhile.
fn waiting(call: impl FnOnce()) {
    let pc = tls::caller();
    blocking::leave();
    call();
    tell(Tag::OnceSeen, pc, chain());
}

unsafe extern "C-unwind" fn wait() {
    // SAFETY: the caller's own call.
    waiting(|| unsafe { real::GOMP_taskwait() });
}

unsafe extern "C-unwind" fn wait_depend(depend: Data) {
    // SAFETY: the caller's own argument.
    waiting(|| unsafe { real::GOMP_taskwait_depend(depend) });
}

unsafe extern "C-unwind" fn end_group() {
    // SAFETY: the caller's own call.
    waiting(|| unsafe { real::GOMP_taskgroup_end() });
}

unsafe extern "C-unwind" fn fulfill(event: u64) {
    ended(tls::caller(), true);
    // SAFETY: the caller's own argument.
    unsafe { real::omp_fulfill_event(event) };
}

/// A region for another device. Where there is none it runs here, at once unless it may be put off.
#[allow(clippy::too_many_arguments, reason = "the library's own")]
unsafe extern "C-unwind" fn target(
    device: c_int,
    body: Body,
    count: usize,
    places: Data,
    sizes: Data,
    kinds: Data,
    flags: c_uint,
    depend: Data,
    arguments: Data,
) {
    if flags & flag::NOWAIT != 0 || !depend.is_null() {
        ring::set_state(state::UNSEEN_ORDER);
    }
    // SAFETY: the caller's own arguments.
    unsafe { real::GOMP_target_ext(device, body, count, places, sizes, kinds, flags, depend, arguments) };
}
