//! Threads: creation, end, join. Their records ([`Thread`]) come from mapped memory and are used again, never given back.
//!
//! A thread ends, for the recording, in the last round of the destructors of thread-specific data: after its own
//! destructors and those of C++ `thread_local` objects, however it ends (return, `pthread_exit`, cancellation).

use core::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_void, pthread_attr_t, pthread_t, timespec};
use mayhap_wire::channel::{flag, orphan};
use mayhap_wire::ring::{Tag, state};

use crate::channels::results::wrote_all;
use crate::hook::{self, Hook};
use crate::inputs::Deadline;
use crate::real::real;
use crate::replay::{self, Decision};
use crate::sched::{Token, parking};
use crate::thread::Thread;
use crate::thread_records::{self, FREE};
pub(crate) use crate::thread_records::{all, by_handle};
use crate::tls::{self, exports};
use crate::{access, judge, opaque_calls, openmp, ring, sched, signals, sys};

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The most threads that a trace can number.
const MAX_THREADS: u32 = u16::MAX as u32 - 1;

/// The most threads that a trace may have for logical ones to be among them: analyses keep a clock for each.
const MAX_LOGICAL: u32 = 400;

/// The bits of a thread's life.
pub(crate) const ENDED: u32 = 1;
const FORGOTTEN: u32 = 2;

static COUNT: AtomicU32 = AtomicU32::new(0);
pub(crate) static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

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
pub(crate) fn new_record() -> Option<&'static Thread> {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    if number >= MAX_THREADS {
        ring::set_state(state::TOO_MANY_THREADS);
        return None;
    }
    let thread = thread_records::take()?;
    thread.identity.owner.store(number + 1, Ordering::Relaxed);
    thread.identity.tid.store(0, Ordering::Relaxed);
    thread.origin.start.store(0, Ordering::Relaxed);
    thread.queue.priority.store(sched::new_priority(), Ordering::Relaxed);
    parking::begins(thread);
    thread.own.left.store(0, Ordering::Relaxed);
    thread.own.outside.store(0, Ordering::Relaxed);
    thread.own.handlers.store(0, Ordering::Relaxed);
    thread.own.rounds.store(0, Ordering::Relaxed);
    thread.own.cancellable.store(0, Ordering::Relaxed);
    thread.guarded.pthread.store(0, Ordering::Relaxed);
    thread.own.branch.store(0, Ordering::Relaxed);
    thread.own.announced.store(0, Ordering::Relaxed);
    thread.own.repeat_at.store(0, Ordering::Relaxed);
    thread.values.reset();
    thread.waiting.reset();
    thread.own.spins.store(0, Ordering::Relaxed);
    thread.own.unrecorded_frames.store(0, Ordering::Relaxed);
    thread.calls.clear();
    thread.replay.thread_slot.store(0, Ordering::Relaxed);
    thread.replay.children.store(0, Ordering::Relaxed);
    thread.replay.in_step.store(0, Ordering::Relaxed);
    for next in &thread.replay.inputs {
        next.store(0, Ordering::Relaxed);
    }
    thread.own.stands.store(0, Ordering::Relaxed);
    thread.own.library_call.store(0, Ordering::Relaxed);
    thread.own.promises.store(0, Ordering::Relaxed);
    thread.own.team.store(core::ptr::null_mut(), Ordering::Relaxed);
    thread.own.starts.store(core::ptr::null_mut(), Ordering::Relaxed);
    thread.origin.carrier.store(core::ptr::null_mut(), Ordering::Relaxed);
    Some(thread)
}

/// Threads other than the calling one that were created and have not ended.
fn others() -> impl Iterator<Item = &'static Thread> {
    let me = sys::thread_id();
    all().filter(move |thread| {
        let tid = thread.identity.tid.load(Ordering::Relaxed);
        // A thread that was just created has no number yet; a logical one that has not begun has no function either.
        let is_thread = tid != 0 || thread.origin.start.load(Ordering::Relaxed) != 0;
        thread.shared.life.load(Ordering::Relaxed) & (ENDED | FREE) == 0 && is_thread && tid != me
    })
}

/// Whether the program has had more than one thread.
pub(crate) fn were_others() -> bool {
    COUNT.load(Ordering::Relaxed) > 1
}

/// Whether some other thread has not ended.
pub(crate) fn others_live() -> bool {
    others().next().is_some()
}

/// Whether every other thread waits for something, and not for a time.
pub(crate) fn others_rest() -> bool {
    others().all(|thread| {
        let tid = thread.identity.tid.load(Ordering::Relaxed);
        tid != 0 && sys::waits_for_good(tid)
    })
}

/// Marks a bit of a thread's life; a thread that has ended and will not be joined frees its record.
fn mark(thread: &Thread, bit: u32) {
    let life = thread.shared.life.fetch_or(bit, Ordering::AcqRel) | bit;
    if life & (ENDED | FORGOTTEN) == ENDED | FORGOTTEN {
        thread_records::free(thread);
    }
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
pub(crate) fn enrol(thread: &'static Thread) {
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
    let low = low as u64;
    let end = low + size as u64;
    // Above where the first thread's own frames begin lie arguments and environment, whose size changes.
    // SAFETY: the loader sets the variable before anything else runs.
    let start = unsafe { __libc_stack_end } as u64;
    let first_frame = if (low..end).contains(&start) { start } else { end };
    begin_on(token, thread, low, end, first_frame);
}

/// Records that the calling thread begins on this stack.
fn begin_on(token: Token<'_>, thread: &'static Thread, low: u64, end: u64, first_frame: u64) {
    let number = thread.identity.owner.load(Ordering::Relaxed) - 1;
    replay::begins(thread, first_frame);
    thread.calls.on_stack(low, end);
    judge::stack_begins(low, end);
    let tid = u64::from(thread.identity.tid.load(Ordering::Relaxed));
    ring::record(token, Tag::Begin, number, &[low, end, tid, first_frame]);
}

/// A thread of the program's own logic, such as a task: whichever thread runs it, what it does is recorded as of a thread of its own, since another
/// one could have run it. The calling thread creates it; `None` if there are too many.
pub(crate) fn create_logical(hook: &Hook, pc: u64) -> Option<&'static Thread> {
    if COUNT.load(Ordering::Relaxed) >= MAX_LOGICAL {
        return None;
    }
    let child = new_record()?;
    replay::adopts(hook.thread(), child);
    hook.thread().replay.children.fetch_add(1, Ordering::Relaxed);
    hook.record(Tag::Fork, pc, &[u64::from(child.identity.owner.load(Ordering::Relaxed) - 1)]);
    Some(child)
}

/// The calling thread, which is in no hook, becomes a logical one, with a stack that nothing else uses. Returns what it was.
pub(crate) fn become_logical(logical: &'static Thread, stack: core::ops::Range<u64>) -> Option<&'static Thread> {
    let before = tls::active()?;
    hook::while_busy(before, || sched::leave(before));
    logical.own.busy.store(1, Ordering::Relaxed);
    logical.identity.tid.store(sys::thread_id(), Ordering::Relaxed);
    logical.own.team.store(before.own.team.load(Ordering::Relaxed), Ordering::Relaxed);
    logical.origin.carrier.store(core::ptr::from_ref(before).cast_mut().cast(), Ordering::Relaxed);
    tls::set(logical);
    if hook::is_recording() {
        let grant = sched::ensure(logical, true);
        begin_on(grant.token(), logical, stack.start, stack.end, stack.end);
    }
    logical.own.busy.store(0, Ordering::Relaxed);
    Some(before)
}

/// The calling thread, if it is a logical one, goes on as the one that runs it.
pub(crate) fn end_logical_early(pc: u64) {
    let Some(logical) = tls::active() else { return };
    // SAFETY: only `become_logical` sets it, and records are never given back.
    let Some(before) = (unsafe { logical.origin.carrier.load(Ordering::Relaxed).cast::<Thread>().as_ref() }) else {
        return;
    };
    let number = u64::from(logical.identity.owner.load(Ordering::Relaxed) - 1);
    end_logical(logical, before);
    if let Some(hook) = Hook::enter() {
        hook.record(Tag::Join, pc, &[number]);
    }
}

/// The calling thread is what it was before it became a logical one, which has ended.
pub(crate) fn end_logical(logical: &'static Thread, before: &'static Thread) {
    if let Some(hook) = Hook::enter() {
        replay::ends(logical);
        access::put_branch(hook.token(), logical);
        ring::record(hook.token(), Tag::End, 0, &[]);
        hook.leave();
    }
    tls::set(before);
    mark(logical, ENDED | FORGOTTEN);
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
    wrote_all(pc, handle);
    let hook = Hook::enter_for(Tag::Fork, pc, 0).map(|(hook, _)| hook);
    let child = hook.as_ref().and_then(|_| new_record());
    let (Some(mut hook), Some(child)) = (hook, child) else {
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
    child.origin.known.store(0, Ordering::Relaxed);
    // A thread in the loader may have the lock that this call needs, and wait for the token.
    let result = {
        hook.thread().own.quiet.store(1, Ordering::Relaxed);
        // SAFETY: the caller's own arguments; `run` takes the record.
        let result = hook.exposed(|| unsafe { libc_real::pthread_create(handle, attributes, run, record) });
        hook.thread().own.quiet.store(0, Ordering::Relaxed);
        result
    };
    sys::block_signals(mask);
    if result != 0 {
        parking::ends(child);
        mark(child, ENDED | FORGOTTEN);
        return result;
    }
    // The child waits before it does anything until its creation is recorded.
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
    child.origin.known.store(1, Ordering::Release);
    sys::futex_wake(&child.origin.known);
    parking::await_arrival(child);
    hook.sync_point();
    0
}

/// How long a new thread sleeps before it looks again by itself whether its creation is recorded, in nanoseconds.
const DOZE: u64 = 20_000_000;

/// Waits until the creation of the calling thread is recorded.
fn wait_until_known(thread: &Thread) {
    while hook::is_recording() && thread.origin.known.load(Ordering::Acquire) == 0 {
        sys::futex_wait(&thread.origin.known, 0, Some(DOZE));
    }
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
    wait_until_known(thread);
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
pub(crate) fn end(thread: &'static Thread) {
    // A thread cancelled at an arbitrary moment may have been inside a hook.
    hook::abandon(thread);
    signals::deliver_last(thread);
    if let Some(hook) = Hook::enter() {
        release_robust(&hook);
        opaque_calls::thread_ends(&hook, thread);
        end_stack(&hook);
        replay::ends(thread);
        access::put_branch(hook.token(), thread);
        ring::record(hook.token(), Tag::End, 0, &[]);
        parking::ends(thread);
        hook.leave();
    }
    tls::finish();
    mark(thread, ENDED);
}

/// What lies on the stack of a thread that ends is gone, and so are its thread-local variables, which lie there too.
fn end_stack(hook: &Hook) {
    let stack = hook.thread().calls.stack();
    // SAFETY: the loader sets the variable before anything else runs.
    let is_first = stack.contains(&(unsafe { __libc_stack_end } as u64));
    if !stack.is_empty() && !is_first {
        hook.record(Tag::Unmap, 0, &[stack.start, stack.end - stack.start]);
        judge::stack_ended(stack.start, stack.end, 0);
    }
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
        let mutex = place.wrapping_add_signed(list.offset) as u64;
        hook.record(Tag::Send, 0, &[orphan(mutex), 0, 0, flag::WITHIN]);
        hook.record(Tag::Release, 0, &[mutex]);
        // SAFETY: an entry of the list, which only this thread changes.
        entry = unsafe { *(place as *const usize) };
    }
}

/// Waits until the thread has done its last step; `false` if that must be waited for in the kernel.
pub(crate) fn has_ended(hook: &mut Hook, thread: &Thread, limited: bool) -> bool {
    let ended = || parking::has_ended(thread).then_some(());
    ended().is_some() || hook.parked(parking::end_of(thread), limited, ended).is_some()
}

/// Runs a join of any kind, and records it if it joined.
fn joining(handle: pthread_t, pc: u64, [blocks, limited]: [bool; 2], call: impl FnOnce() -> c_int) -> c_int {
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
    let result = match child {
        _ if !blocks => call(),
        // A thread that has done its last step is not waited for long.
        Some(child) if parking::is_on() && has_ended(&mut hook, child, limited) => call(),
        _ => hook.blocking(call),
    };
    if let (0, Some(child)) = (result, child) {
        hook.record(Tag::Join, pc, &[u64::from(child.identity.owner.load(Ordering::Relaxed) - 1)]);
        mark(child, FORGOTTEN);
        hook.sync_point();
    } else if let Some(child) = child.filter(|_| result != 0) {
        let child = u64::from(child.identity.owner.load(Ordering::Relaxed) - 1);
        hook.record(Tag::Failed, pc, &[child, result as u64, Tag::Join as u64]);
    }
    result
}

unsafe extern "C-unwind" fn join(handle: pthread_t, value: *mut *mut c_void) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    joining(handle, pc, [true, false], || unsafe { libc_real::pthread_join(handle, value) })
}

unsafe extern "C-unwind" fn try_join(handle: pthread_t, value: *mut *mut c_void) -> c_int {
    let pc = tls::caller();
    // SAFETY: the caller's own arguments.
    joining(handle, pc, [false, false], || unsafe { libc_real::pthread_tryjoin_np(handle, value) })
}

unsafe extern "C-unwind" fn timed_join(handle: pthread_t, value: *mut *mut c_void, time: *const timespec) -> c_int {
    let pc = tls::caller();
    let time = Deadline::new(libc::CLOCK_REALTIME, time);
    // SAFETY: the caller's own arguments.
    joining(handle, pc, [true, true], || unsafe { libc_real::pthread_timedjoin_np(handle, value, time.get()) })
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
