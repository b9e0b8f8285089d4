//! Threads: creation, end, join. Their records ([`Thread`]) come from mapped memory and are used again, never given back.
//!
//! A thread ends, for the recording, in the last round of the destructors of thread-specific data: after its own
//! destructors and those of C++ `thread_local` objects, however it ends (return, `pthread_exit`, cancellation).

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use libc::{EBUSY, ETIMEDOUT, c_int, c_void, pthread_attr_t, pthread_t, timespec};
use mayhap_wire::ring::{Tag, state};

use crate::hook::{self, Hook};
use crate::real::real;
use crate::replay::{self, Decision};
use crate::sched::Token;
use crate::thread::Thread;
use crate::tls::{self, exports};
use crate::{access, openmp, ring, sched, sys};

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The most threads that a trace can number.
const MAX_THREADS: u32 = u16::MAX as u32 - 1;

/// The bits of a thread's life.
const ENDED: u32 = 1;
const FORGOTTEN: u32 = 2;
const FREE: u32 = 4;

static ALL: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicU32 = AtomicU32::new(0);
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

unsafe extern "C" {
    static __libc_stack_end: *const c_void;
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
    fn pthread_attr_getsigmask_np(attributes: *const pthread_attr_t, mask: *mut libc::sigset_t) -> c_int;
}

mod libc_real {
    use super::*;
    real! {
        fn pthread_create(thread: *mut pthread_t, attr: *const pthread_attr_t, start: Start, arg: *mut c_void) -> c_int;
        fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int;
        fn pthread_tryjoin_np(thread: pthread_t, value: *mut *mut c_void) -> c_int;
        fn pthread_timedjoin_np(thread: pthread_t, value: *mut *mut c_void, time: *const timespec) -> c_int;
        fn pthread_detach(thread: pthread_t) -> c_int;
    }
}

exports! {
    pthread_create => create;
    pthread_join => join;
    pthread_tryjoin_np => try_join;
    pthread_timedjoin_np => timed_join;
    pthread_detach => detach;
    thrd_create => c11_create;
    thrd_join => c11_join;
    thrd_detach => c11_detach;
}

/// Makes the key whose destructor sees threads end.
pub(crate) fn prepare() {
    let mut key = 0;
    // SAFETY: the destructor has the signature that the library wants.
    if unsafe { libc::pthread_key_create(&mut key, Some(destroy)) } == 0 {
        KEY.store(key, Ordering::Release);
    }
}

/// A record for a new thread, with a new number; `None` beyond what a trace can number.
fn new_record() -> Option<&'static Thread> {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    if number >= MAX_THREADS {
        ring::set_state(state::TOO_MANY_THREADS);
        return None;
    }
    let thread = match reusable() {
        Some(thread) => thread,
        None => {
            let memory = sys::map(size_of::<Thread>()).cast::<Thread>();
            // SAFETY: fresh zeroed memory, and all zeros are a valid record.
            let thread: &'static Thread = unsafe { memory.as_ref() }?;
            // First the link, then the entry, by exchange: adopted threads come here without the token.
            let mut first = ALL.load(Ordering::Acquire);
            loop {
                thread.shared.all_next.store(first, Ordering::Relaxed);
                match ALL.compare_exchange(first, memory, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => break,
                    Err(now) => first = now,
                }
            }
            thread
        }
    };
    thread.identity.owner.store(number + 1, Ordering::Relaxed);
    thread.queue.priority.store(sched::new_priority(), Ordering::Relaxed);
    thread.own.left.store(0, Ordering::Relaxed);
    thread.own.outside.store(0, Ordering::Relaxed);
    thread.own.handlers.store(0, Ordering::Relaxed);
    thread.own.rounds.store(0, Ordering::Relaxed);
    thread.guarded.pthread.store(0, Ordering::Relaxed);
    thread.own.branch.store(0, Ordering::Relaxed);
    thread.own.announced.store(0, Ordering::Relaxed);
    thread.own.repeat_at.store(0, Ordering::Relaxed);
    thread.own.unrecorded_frames.store(0, Ordering::Relaxed);
    thread.calls.clear();
    thread.replay.thread_slot.store(0, Ordering::Relaxed);
    thread.replay.children.store(0, Ordering::Relaxed);
    thread.replay.in_step.store(0, Ordering::Relaxed);
    thread.own.team.store(core::ptr::null_mut(), Ordering::Relaxed);
    thread.own.starts.store(core::ptr::null_mut(), Ordering::Relaxed);
    Some(thread)
}

pub(crate) fn all() -> impl Iterator<Item = &'static Thread> {
    // SAFETY: records are never given back.
    let mut at = unsafe { ALL.load(Ordering::Acquire).as_ref() };
    core::iter::from_fn(move || {
        let thread = at?;
        // SAFETY: as above.
        at = unsafe { thread.shared.all_next.load(Ordering::Relaxed).as_ref() };
        Some(thread)
    })
}

fn reusable() -> Option<&'static Thread> {
    all().find(|thread| thread.shared.life.compare_exchange(FREE, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok())
}

/// Marks a bit of a thread's life; a thread that has ended and will not be joined frees its record.
fn mark(thread: &Thread, bit: u32) {
    let life = thread.shared.life.fetch_or(bit, Ordering::AcqRel) | bit;
    if life & (ENDED | FORGOTTEN) == ENDED | FORGOTTEN {
        thread.shared.life.store(FREE, Ordering::Release);
    }
}

/// Under the token: the thread that the program knows by this handle.
pub(crate) fn by_handle(handle: pthread_t) -> Option<&'static Thread> {
    all().find(|thread| {
        thread.guarded.pthread.load(Ordering::Relaxed) == handle as usize
            && thread.shared.life.load(Ordering::Relaxed) & FREE == 0
    })
}

/// A record for the calling thread, which the runtime has not seen start (the main thread, or one of a foreign library).
pub(crate) fn adopt() -> Option<&'static Thread> {
    let Some(thread) = new_record() else {
        tls::finish();
        return None;
    };
    // SAFETY: no precondition.
    thread.guarded.pthread.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
    enrol(thread);
    Some(thread)
}

/// The calling thread takes its record, marked busy so that what the library does below is not recorded.
fn enrol(thread: &'static Thread) {
    thread.own.busy.store(1, Ordering::Relaxed);
    thread.identity.tid.store(sys::thread_id(), Ordering::Relaxed);
    tls::set(thread);
    let key = KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(key, core::ptr::from_ref(thread).cast()) };
    }
}

/// Records that the calling thread begins, and where its stack is.
pub(crate) fn begin(token: Token<'_>, thread: &'static Thread) {
    let (mut low, mut size) = (core::ptr::null_mut(), 0);
    // SAFETY: an attribute object is plain data that the first call fills and the last one releases.
    unsafe {
        let mut attributes: pthread_attr_t = core::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) == 0 {
            libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
            libc::pthread_attr_destroy(&mut attributes);
        }
    }
    let (low, number) = (low as u64, thread.identity.owner.load(Ordering::Relaxed) - 1);
    let end = low + size as u64;
    // Above where the first thread's own frames begin lie arguments and environment, whose size changes.
    // SAFETY: the loader sets the variable before anything else runs.
    let start = unsafe { __libc_stack_end } as u64;
    let first_frame = if (low..end).contains(&start) { start } else { end };
    replay::begins(thread, first_frame);
    thread.calls.on_stack(low, end);
    let tid = u64::from(thread.identity.tid.load(Ordering::Relaxed));
    ring::record(token, Tag::Begin, number, &[low, end, tid, first_frame]);
}

unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let pc = openmp::starts_team().unwrap_or_else(|| {
        let pc = tls::caller();
        openmp::starts_thread(pc);
        pc
    });
    let hook = Hook::enter_for(Tag::Fork, pc, 0).map(|(hook, _)| hook);
    let child = hook.as_ref().and_then(|_| new_record());
    let (Some(hook), Some(child)) = (hook, child) else {
        // SAFETY: the caller's own arguments.
        return unsafe { libc_real::pthread_create(handle, attributes, start, argument) };
    };
    replay::adopts(hook.thread(), child);
    child.origin.start.store(start as usize, Ordering::Relaxed);
    child.origin.argument.store(argument, Ordering::Relaxed);
    child.own.starts.store(hook.thread().own.starts.load(Ordering::Relaxed), Ordering::Relaxed);
    let record = core::ptr::from_ref(child).cast_mut().cast();
    // The new thread inherits that signals are blocked: a handler that ran before it has its record would be another thread's.
    let mask = sys::block_signals(u64::MAX);
    child.origin.mask.store(if has_mask(attributes) { u64::MAX } else { mask }, Ordering::Relaxed);
    // SAFETY: the caller's own arguments; `run` takes the record.
    let result = unsafe { libc_real::pthread_create(handle, attributes, run, record) };
    sys::block_signals(mask);
    if result != 0 {
        mark(child, ENDED | FORGOTTEN);
        return result;
    }
    // The child waits for the token before it does anything, and this thread has it.
    // SAFETY: the call succeeded, so the handle is set.
    child.guarded.pthread.store(unsafe { *handle } as usize, Ordering::Relaxed);
    let mut detached = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the attributes were good enough for creation.
        unsafe { pthread_attr_getdetachstate(attributes, &mut detached) };
    }
    if detached == libc::PTHREAD_CREATE_DETACHED {
        mark(child, FORGOTTEN);
    }
    hook.thread().replay.children.fetch_add(1, Ordering::Relaxed);
    hook.record(Tag::Fork, pc, &[u64::from(child.identity.owner.load(Ordering::Relaxed) - 1)]);
    hook.sync_point();
    0
}

/// Whether the attributes say which signals a new thread blocks.
fn has_mask(attributes: *const pthread_attr_t) -> bool {
    // SAFETY: a set of signals is plain data, which the call fills.
    let mut mask = unsafe { core::mem::zeroed() };
    // SAFETY: as above; the attributes are the caller's own.
    !attributes.is_null() && unsafe { pthread_attr_getsigmask_np(attributes, &mut mask) } == 0
}

/// The function that new threads start in.
unsafe extern "C-unwind" fn run(record: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passed a record, and records are never given back.
    let thread = unsafe { &*record.cast::<Thread>() };
    enrol(thread);
    if hook::is_recording() {
        let grant = sched::ensure(thread, true);
        begin(grant.token(), thread);
        // A thread for an OpenMP team waits for the others first.
        if !thread.own.starts.swap(core::ptr::null_mut(), Ordering::Relaxed).is_null() {
            sched::leave(thread);
        }
    }
    // SAFETY: `create` stored the program's own function.
    let start: Start = unsafe { core::mem::transmute(thread.origin.start.load(Ordering::Relaxed)) };
    let argument = thread.origin.argument.load(Ordering::Relaxed);
    let mask = thread.origin.mask.load(Ordering::Relaxed);
    thread.own.busy.store(0, Ordering::Relaxed);
    if mask != u64::MAX {
        sys::block_signals(mask);
    }
    // SAFETY: this is what the program asked for.
    unsafe { start(argument) }
}

/// The destructor of the key; the thread ends in its last round.
unsafe extern "C" fn destroy(record: *mut c_void) {
    // SAFETY: only `enrol` sets the key's value.
    let thread = unsafe { &*record.cast::<Thread>() };
    let round = thread.own.rounds.load(Ordering::Relaxed) + 1;
    thread.own.rounds.store(round, Ordering::Relaxed);
    // POSIX guarantees four rounds; a value set again earns another one.
    if round < 4 {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), record) };
        return;
    }
    end(thread);
}

/// Records the end of the calling thread. Once marked ended, its [`Thread`] may be another thread's.
fn end(thread: &'static Thread) {
    // A thread cancelled at an arbitrary moment may have been inside a hook.
    hook::abandon(thread);
    if let Some(hook) = Hook::enter() {
        release_robust(&hook);
        replay::ends(thread);
        access::put_branch(hook.token(), thread);
        ring::record(hook.token(), Tag::End, 0, &[]);
        hook.leave();
    }
    tls::finish();
    mark(thread, ENDED);
}

/// A thread that ends with robust mutexes held gives them up: the kernel does, by the list that the C library keeps for it.
fn release_robust(hook: &Hook) {
    /// What the kernel knows of a thread's list: a ring of entries, and where the lock lies from each entry.
    #[repr(C)]
    struct Head {
        next: usize,
        offset: isize,
        pending: usize,
    }
    let (mut head, mut size) = (core::ptr::null::<Head>(), 0usize);
    // SAFETY: the kernel fills both places.
    let result = unsafe {
        sys::call(libc::SYS_get_robust_list, [0, (&raw mut head) as usize, (&raw mut size) as usize, 0, 0, 0])
    };
    // SAFETY: the C library's own head, if there is one.
    let Some(list) = (unsafe { head.as_ref() }).filter(|_| result == 0) else { return };
    let mut entry = list.next;
    // The kernel follows as many entries.
    for _ in 0..2048 {
        // The lowest bit marks another kind of mutex.
        let place = entry & !1;
        if place == head as usize || place == 0 {
            return;
        }
        hook.record(Tag::Release, 0, &[place.wrapping_add_signed(list.offset) as u64]);
        // SAFETY: an entry of the list, which only this thread changes.
        entry = unsafe { *(place as *const usize) };
    }
}

/// Runs a join of any kind, and records it if it joined.
fn joining(handle: pthread_t, pc: u64, blocks: bool, call: impl FnOnce() -> c_int) -> c_int {
    let Some(mut hook) = Hook::enter() else { return call() };
    // The thread is looked up now: a handle may be used again as soon as its thread has been joined.
    let child = by_handle(handle);
    if let Decision::Fail(error) =
        replay::hold_back(hook.token(), hook.thread(), Tag::Join as u8, pc, replay::slot_number(child))
    {
        return error;
    }
    if let (true, Some(child)) = (blocks, child) {
        let child = u64::from(child.identity.owner.load(Ordering::Relaxed) - 1);
        hook.record(Tag::Blocked, pc, &[child, Tag::Join as u64]);
    }
    let result = if blocks { hook.blocking(call) } else { call() };
    if let (0, Some(child)) = (result, child) {
        hook.record(Tag::Join, pc, &[u64::from(child.identity.owner.load(Ordering::Relaxed) - 1)]);
        mark(child, FORGOTTEN);
        hook.sync_point();
    } else if let (Some(child), EBUSY | ETIMEDOUT) = (child, result) {
        let child = u64::from(child.identity.owner.load(Ordering::Relaxed) - 1);
        hook.record(Tag::Failed, pc, &[child, result as u64, Tag::Join as u64]);
    }
    result
}

unsafe extern "C-unwind" fn join(handle: pthread_t, value: *mut *mut c_void) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    joining(handle, pc, true, || unsafe { libc_real::pthread_join(handle, value) })
}

unsafe extern "C-unwind" fn try_join(handle: pthread_t, value: *mut *mut c_void) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    joining(handle, pc, false, || unsafe { libc_real::pthread_tryjoin_np(handle, value) })
}

unsafe extern "C-unwind" fn timed_join(handle: pthread_t, value: *mut *mut c_void, time: *const timespec) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    joining(handle, pc, true, || unsafe { libc_real::pthread_timedjoin_np(handle, value, time) })
}

unsafe extern "C-unwind" fn detach(handle: pthread_t) -> c_int {
    let hook = Hook::enter();
    let child = hook.as_ref().and_then(|_| by_handle(handle));
    // SAFETY: the caller's own arguments.
    let result = unsafe { libc_real::pthread_detach(handle) };
    if let (0, Some(child)) = (result, child) {
        mark(child, FORGOTTEN);
    }
    result
}

/// C11 threads are POSIX threads with other result types. glibc's own do not go through `pthread_create`.
const THRD_SUCCESS: c_int = 0;
const THRD_ERROR: c_int = 2;
const THRD_NOMEM: c_int = 3;

type C11Start = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

#[repr(C)]
struct C11Call {
    start: C11Start,
    argument: *mut c_void,
}

unsafe extern "C-unwind" fn c11_run(call: *mut c_void) -> *mut c_void {
    // SAFETY: `c11_create` passed its own call from malloc.
    let C11Call { start, argument } = unsafe { call.cast::<C11Call>().read() };
    // SAFETY: as above; freed once.
    unsafe {
        crate::heap::untracked_free(call);
        start(argument) as isize as *mut c_void
    }
}

unsafe extern "C-unwind" fn c11_create(handle: *mut pthread_t, start: C11Start, argument: *mut c_void) -> c_int {
    let call = crate::heap::untracked_malloc(size_of::<C11Call>()).cast::<C11Call>();
    if call.is_null() {
        return THRD_NOMEM;
    }
    // SAFETY: fresh memory of the right size; `create` gets what `pthread_create` would.
    unsafe {
        call.write(C11Call { start, argument });
        match create(handle, core::ptr::null(), c11_run, call.cast()) {
            0 => THRD_SUCCESS,
            error => {
                crate::heap::untracked_free(call.cast());
                if error == libc::ENOMEM { THRD_NOMEM } else { THRD_ERROR }
            }
        }
    }
}

unsafe extern "C-unwind" fn c11_join(handle: pthread_t, result: *mut c_int) -> c_int {
    let mut value = core::ptr::null_mut();
    // SAFETY: the caller's own handle.
    if unsafe { join(handle, &mut value) } != 0 {
        return THRD_ERROR;
    }
    if !result.is_null() {
        // SAFETY: the caller's own place for the result.
        unsafe { *result = value as isize as c_int };
    }
    THRD_SUCCESS
}

unsafe extern "C-unwind" fn c11_detach(handle: pthread_t) -> c_int {
    // SAFETY: the caller's own handle.
    if unsafe { detach(handle) } == 0 { THRD_SUCCESS } else { THRD_ERROR }
}
