//! The runtime for programs that are no machine code: an agent inside a language's machine loads this library (so that none of the functions that
//! stand in front of others takes effect) and calls the functions of one table.
//!
//! The agent mirrors the program: for each object it has memory, and announces accesses there; each lock of the program is a mutex in that
//! memory. So what is recorded, lowered and replayed is the same as of a program in C.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_uint, c_void, clockid_t, timespec};
use mayhap_wire::ring::{AtomicForm, AtomicKind, Tag, atomic_word, state};

use crate::hook::{self, Hook};
use crate::replay::{self, Decision};
use crate::sched::parking;
use crate::thread::{Own, Thread};
use crate::{
    access, calls, conditions, fast_path, locks, modules, ring, sched, sites, sys, threads, tls, waits, watch,
};

type Object = *mut c_void;

/// What the agent may call. `pc` is always the place in the program.
#[repr(C)]
pub(crate) struct Foreign {
    is_recording: extern "C" fn() -> bool,
    access: unsafe extern "C" fn(pc: u64, address: u64, writes: bool, branched: bool),
    atomic_begin: extern "C" fn(pc: u64, address: u64),
    atomic_end: extern "C" fn(pc: u64, address: u64, kind: u32, form: u32, found: u64, written: u64),
    record: unsafe extern "C" fn(pc: u64, tag: u32, first: u64, second: u64),
    module: unsafe extern "C" fn(path: *const u8, length: usize, base: u64, end: u64),
    outside: extern "C" fn(),
    lock: unsafe extern "C" fn(pc: u64, how: u32, lock: Object) -> c_int,
    wait: unsafe extern "C" fn(pc: u64, condition: Object, mutex: Object, time: *const timespec) -> c_int,
    notify: unsafe extern "C" fn(pc: u64, condition: Object, all: bool),
    semaphore: unsafe extern "C" fn(pc: u64, how: u32, semaphore: Object, value: c_uint) -> c_int,
    fork: extern "C" fn(pc: u64) -> *const Thread,
    forked: unsafe extern "C" fn(child: *const Thread),
    begin: unsafe extern "C" fn(thread: *const Thread),
    end: extern "C" fn(),
    join: unsafe extern "C" fn(pc: u64, child: *const Thread),
    joined: unsafe extern "C" fn(pc: u64, child: *const Thread) -> bool,
    pause: extern "C" fn(on: bool),
    branched: extern "C" fn(pc: u64),
    unseen: extern "C" fn(),
    call: extern "C" fn(pc: u64, stack: u64),
    returned: extern "C" fn(pc: u64),
    unwound: extern "C" fn(stack: u64),
    words: extern "C" fn(out: &mut [u64; 6]),
    opened: extern "C" fn(out: &mut [u64; 2]) -> bool,
    site: extern "C" fn(pc: u64) -> u32,
}

static TABLE: Foreign = Foreign {
    is_recording,
    access: announce,
    atomic_begin,
    atomic_end,
    record,
    module,
    outside,
    lock,
    wait,
    notify,
    semaphore,
    fork,
    forked,
    begin,
    end,
    join,
    joined,
    pause,
    branched,
    unseen,
    call,
    returned,
    unwound,
    words,
    opened,
    site,
};

/// The examinations, half a millisecond apart, after which a thread of a foreign machine that sleeps has done what it announced.
const PATIENCE: u32 = 60;

/// What a site does is one thing, so the branch before an access has a place of its own.
const BRANCH: u64 = 2;

/// How many threads have ended: a futex word for those that wait for an end.
static ENDS: AtomicU32 = AtomicU32::new(0);

/// Returns the table; the calling machine may stop its threads anywhere from here on.
#[unsafe(no_mangle)]
extern "C" fn mayhap_foreign() -> &'static Foreign {
    watch::PATIENCE.store(PATIENCE, Ordering::Relaxed);
    access::note_branches();
    &TABLE
}

extern "C" fn is_recording() -> bool {
    hook::is_recording()
}

extern "C" fn pause(on: bool) {
    watch::PAUSED.store(on.into(), Ordering::Relaxed);
}

/// Something that the program does is not seen.
extern "C" fn unseen() {
    ring::set_state(state::UNSEEN_JAVA);
}

/// The thread is about to call a function with hooks; `stack` is its stack pointer.
extern "C" fn call(pc: u64, stack: u64) {
    // SAFETY: the agent's own place, and the stack that the thread is on.
    unsafe { calls::enter(pc, stack) }
}

/// The function that was called at this place has returned.
extern "C" fn returned(pc: u64) {
    calls::leave_call(pc);
}

/// An exception has ended the functions that began at this stack pointer or below.
extern "C" fn unwound(stack: u64) {
    calls::leave_to(stack);
}

/// A value that was read may have decided how the thread came here.
extern "C" fn branched(pc: u64) {
    // SAFETY: any place will do.
    unsafe { access::branch(pc) }
}

/// The thread is about to read or write eight bytes.
unsafe extern "C" fn announce(pc: u64, address: u64, writes: bool, is_branched: bool) {
    if is_branched {
        branched(pc + BRANCH);
    }
    // SAFETY: the agent's own memory.
    unsafe {
        match writes {
            true => access::write_and_open(address, pc),
            false => access::read_and_open(address, pc),
        }
    }
}

/// Where the words are that hooks use which are code of the foreign machine: the fast path, the ring's head, where the last addresses of sites begin, and what
/// is known of the last word; then how far the word with a thread's last branch is from that which marks it busy.
extern "C" fn words(out: &mut [u64; 6]) {
    let head = ring::header().map_or(0, |header| core::ptr::from_ref(&header.head.0) as u64);
    let branch = (offset_of!(Own, branch) as u64).wrapping_sub(offset_of!(Own, busy) as u64);
    let [word_end, word_high] = [ring::WORD_END.as_ptr() as u64, ring::WORD_HIGH.as_ptr() as u64];
    *out = [fast_path::owner().as_ptr() as u64, head, sites::first_last(), word_end, word_high, branch];
}

// Such hooks mark a thread busy and not outside by one store.
const _: () = assert!(offset_of!(Own, outside) == offset_of!(Own, busy) + 4 && offset_of!(Own, busy).is_multiple_of(8));

/// Whether the fast path is open for the calling thread: then where the word is that marks it busy, and by which pointer the path knows it.
extern "C" fn opened(out: &mut [u64; 2]) -> bool {
    let Some(thread) = tls::active() else { return false };
    *out = [thread.own.busy.as_ptr() as u64, fast_path::own_pointer()];
    fast_path::owner().load(Ordering::Relaxed) == out[1]
}

/// The number of the site at this place; 0 if it is not at hand.
extern "C" fn site(pc: u64) -> u32 {
    sites::cached(pc)
}

/// The thread is about to do an atomic operation, and keeps the token until [`atomic_end`] and on: where the agent announces an operation before the
/// program does it, no other thread may come in between. So others get their turn before the operation.
extern "C" fn atomic_begin(pc: u64, address: u64) {
    if let Some(hook) = Hook::enter() {
        hook.sync_point();
    }
    drop(Hook::enter_for(Tag::Atomic, pc, address));
}

extern "C" fn atomic_end(pc: u64, address: u64, kind: u32, form: u32, found: u64, written: u64) {
    let kind = [AtomicKind::Load, AtomicKind::Store, AtomicKind::Update][kind as usize % 3];
    let form = [AtomicForm::Plain, AtomicForm::Exchange, AtomicForm::Compare][form as usize % 3];
    let Some(hook) = Hook::enter_if(false) else { return };
    hook.thread().replay.held_back.store(Tag::Atomic as u32, Ordering::Relaxed);
    replay::check_atomic(hook.thread(), kind as u8, pc, address);
    let word = form.in_word(atomic_word(kind, mayhap_wire::ring::order::SEQ_CST, 8));
    hook.record(Tag::Atomic, pc, &[address, word, found, written]);
}

/// Writes a record of two words.
unsafe extern "C" fn record(pc: u64, tag: u32, first: u64, second: u64) {
    let Some(tag) = u8::try_from(tag).ok().and_then(Tag::from_code) else { return };
    if let Some(hook) = Hook::enter() {
        hook.record(tag, pc, &[first, second]);
        if matches!(tag, Tag::OnceDone | Tag::OnceSeen) {
            hook.sync_point();
        }
    }
}

/// Code and data of the program lie here, and a file has their names.
unsafe extern "C" fn module(path: *const u8, length: usize, base: u64, end: u64) {
    // SAFETY: the agent's own text.
    let path = unsafe { core::slice::from_raw_parts(path, length) };
    replay::map::place(path, base);
    if let Some(hook) = Hook::enter() {
        modules::record_range(hook.token(), path, base, base..end);
    }
}

/// The thread goes to code without hooks, where it may wait, and all it announced is done.
extern "C" fn outside() {
    let Some(thread) = tls::active() else { return };
    if sched::OWNER.load(Ordering::Relaxed) == thread.identity.owner.load(Ordering::Relaxed)
        && let Some(mut hook) = Hook::enter()
    {
        hook.ends_outside();
    }
}

unsafe extern "C" fn lock(pc: u64, how: u32, lock: Object) -> c_int {
    tls::set_caller(pc);
    // SAFETY: the agent's own lock.
    unsafe {
        match how {
            0 => locks::mutex_lock(lock),
            1 => locks::mutex_trylock(lock),
            2 => locks::mutex_unlock(lock),
            3 => locks::rdlock(lock),
            4 => locks::wrlock(lock),
            5 => locks::tryrdlock(lock),
            6 => locks::trywrlock(lock),
            _ => locks::rwlock_unlock(lock),
        }
    }
}

unsafe extern "C" fn wait(pc: u64, condition: Object, mutex: Object, time: *const timespec) -> c_int {
    tls::set_caller(pc);
    // SAFETY: the agent's own objects.
    unsafe {
        match time.is_null() {
            true => conditions::wait(condition, mutex),
            false => conditions::clockwait(condition, mutex, libc::CLOCK_MONOTONIC as clockid_t, time),
        }
    }
}

unsafe extern "C" fn notify(pc: u64, condition: Object, all: bool) {
    tls::set_caller(pc);
    // SAFETY: the agent's own condition.
    unsafe {
        match all {
            true => conditions::broadcast(condition),
            false => conditions::signal(condition),
        };
    }
}

unsafe extern "C" fn semaphore(pc: u64, how: u32, semaphore: Object, value: c_uint) -> c_int {
    tls::set_caller(pc);
    // SAFETY: the agent's own semaphore.
    unsafe {
        match how {
            0 => waits::semaphore_init(semaphore, 0, value),
            1 => waits::semaphore_wait(semaphore),
            2 => waits::semaphore_trywait(semaphore),
            _ => waits::semaphore_post(semaphore),
        }
    }
}

/// The calling thread is about to start another one. Null where nothing is recorded.
extern "C" fn fork(pc: u64) -> *const Thread {
    let Some((hook, _)) = Hook::enter_for(Tag::Fork, pc, 0) else { return core::ptr::null() };
    let Some(child) = threads::new_record() else { return core::ptr::null() };
    replay::adopts(hook.thread(), child);
    child.origin.start.store(1, Ordering::Relaxed);
    hook.thread().replay.children.fetch_add(1, Ordering::Relaxed);
    hook.record(Tag::Fork, pc, &[u64::from(child.identity.owner.load(Ordering::Relaxed) - 1)]);
    child
}

/// The thread has been started.
unsafe extern "C" fn forked(child: *const Thread) {
    // SAFETY: records are never given back.
    parking::await_arrival(unsafe { &*child });
}

/// The calling thread is the one that was started so.
unsafe extern "C" fn begin(thread: *const Thread) {
    // SAFETY: records are never given back.
    let thread: &'static Thread = unsafe { &*thread };
    threads::enrol(thread);
    if hook::is_recording() {
        let grant = sched::ensure(thread, true);
        threads::begin(grant.token(), thread);
        sched::leave(thread);
    }
    thread.own.busy.store(0, Ordering::Relaxed);
}

/// The calling thread ends.
extern "C" fn end() {
    let Some(thread) = tls::active() else { return };
    let key = threads::KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(key, core::ptr::null()) };
    }
    threads::end(thread);
    ENDS.fetch_add(1, Ordering::Release);
    sys::futex_wake_all(&ENDS);
}

fn has_ended(child: &Thread) -> bool {
    child.shared.life.load(Ordering::Acquire) & threads::ENDED != 0
}

/// Waits for the end of a thread.
unsafe extern "C" fn join(pc: u64, child: *const Thread) {
    // SAFETY: records are never given back.
    let child = unsafe { &*child };
    let Some(mut hook) = Hook::enter() else { return };
    let slot = replay::slot_number(Some(child));
    if let Decision::Fail(_) = replay::hold_back(hook.token(), hook.thread(), Tag::Join as u8, pc, slot) {
        return;
    }
    let number = u64::from(child.identity.owner.load(Ordering::Relaxed) - 1);
    hook.record(Tag::Blocked, pc, &[number, Tag::Join as u64]);
    if !(parking::is_on() && threads::has_ended(&mut hook, child, false)) {
        hook.blocking(|| {
            loop {
                let seen = ENDS.load(Ordering::Acquire);
                if has_ended(child) || !hook::is_recording() {
                    break;
                }
                sys::futex_wait(&ENDS, seen, None);
            }
        });
    }
    hook.record(Tag::Join, pc, &[number]);
    hook.sync_point();
}

/// Records that the thread has found another one ended, if it has.
unsafe extern "C" fn joined(pc: u64, child: *const Thread) -> bool {
    // SAFETY: records are never given back.
    let child = unsafe { &*child };
    let ended = has_ended(child);
    if ended && let Some(hook) = Hook::enter() {
        hook.record(Tag::Join, pc, &[u64::from(child.identity.owner.load(Ordering::Relaxed) - 1)]);
    }
    ended
}
